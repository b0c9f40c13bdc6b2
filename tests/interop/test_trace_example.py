"""The examples of agents whose runs are traces do what they say."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.interop.conftest import Tried

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_the_spans_have_their_parents_and_lead_back_to_the_run(desk: Tried) -> None:
    shutil.copytree(EXAMPLES / "traced_agent", desk.folder / "traced_agent")
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


def test_an_agent_of_another_package_is_received_and_leads_back_to_its_recording(desk: Tried) -> None:
    pytest.importorskip("openinference.instrumentation.openai", reason="OpenInference is not installed")
    shutil.copytree(EXAMPLES / "instrumented_agent", desk.folder / "instrumented_agent")
    done = desk.run("python", "instrumented_agent/tour.py")
    assert done.code == 0, done.err.decode()
    lines = done.out.decode().splitlines()
    assert lines[:8] == [
        "Done: order 7 is paid back.",
        "step answer",
        "  model gpt-5-2025-08-07",
        "  step settle",
        "    tool refund  failed: the bank does not answer",
        "    tool refund  failed: the bank does not answer",
        "    tool refund",
        "  model gpt-5-2025-08-07",
    ]
    assert re.fullmatch("the agent's span names the recording [0-9a-z]{18}", lines[8])
    assert lines[9] == lines[0] and b"verdict: same (exact)" in done.err and b"live calls made: 0" in done.err
    received = desk.reenact("kit", "@")
    assert b"replays as events" in received.out and b"semantic in 3 of 3" in received.out, received.out.decode()
