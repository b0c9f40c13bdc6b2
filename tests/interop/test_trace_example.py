"""The example of an agent whose runs are traces does what it says."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.interop.conftest import Tried

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "traced_agent"


def test_the_spans_have_their_parents_and_lead_back_to_the_run(desk: Tried) -> None:
    shutil.copytree(EXAMPLE, desk.folder / "traced_agent")
    done = desk.run("python", "traced_agent/traced.py")
    assert done.code == 0, done.err.decode()
    lines = done.out.decode().splitlines()
    assert lines[:7] == [
        "order 7 is paid back",
        "invoke_agent refunds",
        "  execute_tool find_order",
        "  settle",
        "    execute_tool refund  failed: the bank does not answer",
        "    execute_tool refund  retry 1  failed: the bank does not answer",
        "    execute_tool refund  retry 2",
    ]
    assert lines[-1] == "in the store: refund the bank does not answer"
    replayed = desk.reenact("replay", "@")
    assert replayed.code == 0 and b"same" in replayed.err, replayed.err.decode()
