"""Printed output is compared byte by byte, but for lines below frozen calls, and addresses."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.replaying.normal_output import normalised
from reenact.replaying.results import Output, outputs_differ

OURS = '  File "/somewhere/reenact/seams/switchboard.py", line 64, in cross\n    return reveal()\n'
AGENT = 'Traceback (most recent call last):\n  File "agent.py", line 5, in <module>\n    lookup()\n'
CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"

AGENTS = {
    "a tool's error, logged": """
        import logging, reenact
        @reenact.tool(effect="read")
        def lookup(x):
            try:
                return {}[x]
            except KeyError as error:
                raise LookupError(x) from error
        try:
            lookup("a")
        except LookupError:
            logging.exception("the tool failed")
    """,
    "a tool's error, logged as JSON": """
        import json, reenact, sys, traceback
        @reenact.tool(effect="read")
        def lookup(x):
            raise LookupError(x)
        try:
            lookup("a")
        except LookupError:
            print(json.dumps({"level": "error", "trace": traceback.format_exc(), "more": 1}), file=sys.stderr)
    """,
    "an error at a line of code with a line's end in it": r"""
        import reenact, traceback
        @reenact.tool(effect="read")
        def lookup(x):
            return str(round(x, 2)) + "\n"
        try:
            lookup("a")
        except TypeError:
            traceback.print_exc()
    """,
    "errors of a task group": """
        import asyncio, reenact, traceback
        @reenact.tool(effect="read")
        async def lookup(x):
            raise LookupError(x)
        async def main():
            async with asyncio.TaskGroup() as group:
                group.create_task(lookup("a"))
                group.create_task(lookup("b"))
        try:
            asyncio.run(main())
        except* LookupError:
            traceback.print_exc()
    """,
    "a refused connection that ends a thread": """
        import threading, httpx
        thread = threading.Thread(target=lambda: httpx.get("http://127.0.0.1:9/", trust_env=False))
        thread.start()
        thread.join()
    """,
    "an address": "print(object())",
}


@pytest.mark.parametrize("name", AGENTS)
def test_unchanged_code_replays_the_same_whatever_it_logs(name: str, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(textwrap.dedent(AGENTS[name]))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "REENACT_STORE": str(tmp_path / "store.sqlite")}
        command = [sys.executable, "-m", "reenact", *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)

    assert run("record", "--", sys.executable, "agent.py").returncode == 0
    replayed = run("replay", "@")
    assert replayed.returncode == 0, replayed.stderr
    assert "verdict: same" in replayed.stderr
    assert re.search(r"compared without (traceback-lines|addresses) \(\d", replayed.stderr)


def test_the_error_its_causes_and_what_stands_beside_them_still_count() -> None:
    recorded = f"before\n{AGENT}ValueError: 1\n{CAUSE}{AGENT}{OURS}  File \"low.py\", line 1\nKeyError: 'a'\nafter\n"
    now = f"before\nValueError: 1\n{CAUSE}{AGENT}{OURS}KeyError: 'a'\nafter\n"
    assert _difference(recorded, now) == ""
    for there, here in (("ValueError: 1", "ValueError: 2"), ("'a'", "'b'"), ("after", "later"), ("before", "")):
        assert _difference(recorded, now.replace(there, here)) == "stdout"
    assert _difference(recorded, now.replace(CAUSE, "")) == "stdout"


def test_a_traceback_that_passes_through_no_recorded_call_counts_whole() -> None:
    text = f"{AGENT}ValueError: 1\n"
    assert _difference(text, text.replace("line 5", "line 6")) == "stdout"
    assert _difference(text + AGENT + OURS + "E\n", text.replace("line 5", "line 6") + AGENT + OURS + "E\n") == "stdout"
    unmarked = f"{AGENT}{OURS}    def put(self):\n\nKeyboardInterrupt\n"  # an empty line of marks below it
    assert _difference(unmarked, f"{AGENT}{OURS}KeyboardInterrupt\n") == ""


def test_a_log_in_json_is_read_through_its_escapes() -> None:
    def logged(below: str) -> str:
        return json.dumps({"trace": f"{AGENT}{OURS}{below}KeyError: 'a'\n", "level": "error"}) + "\n"

    below = '  File "low.py", line 1, in f\n    raise\n'
    assert _difference(logged(below), logged("")) == ""
    assert _difference(logged(below), logged("").replace("error", "info")) == "stdout"


@given(st.text(alphabet="ab \n\\|+\"'Tr:", max_size=60))
def test_other_output_is_left_as_it_is(text: str) -> None:
    data = text.encode()
    assert normalised(data).data == data
    assert normalised(data).rules == ()


def _difference(recorded: str, now: str) -> str:
    output = Output(1, lambda: iter([recorded.encode()]))
    output.feed(now.encode())
    return "".join(difference.what for difference in outputs_differ([output]))
