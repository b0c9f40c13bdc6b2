"""What `show` prints of recorded agents is compared as text, at 80 and at 140 columns.

``REENACT_WRITE_TRANSCRIPTS=1`` writes the texts anew; then read the difference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from .conftest import Sampled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # the first of them records every agent

TRANSCRIPTS = Path(__file__).parent / "transcripts"
SHOWN = ("declined", "refunded", "booking", "graph", "crowd", "shop", "ledger", "server", "ask", "ask_bad", "fork")


def compared(name: str, width: int, text: str) -> None:
    """A text is as it is kept."""
    kept = TRANSCRIPTS / f"{name}.{width}.txt"
    if os.environ.get("REENACT_WRITE_TRANSCRIPTS"):
        kept.write_text(text)
    assert text == kept.read_text()
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("name", SHOWN)
def test_a_run_reads_as_it_is_kept(desk: Sampled, name: str, width: int) -> None:
    text = desk.show(name, width)
    if name in ("booking", "graph"):  # which of two nodes asks first is open
        text = "\n".join(sorted((re.sub(r"^( +)\d(?=  )", r"\1n", line) for line in text.splitlines()), key=_place))
        text += "\n"
    compared(name, width, text)


def _place(line: str) -> tuple[bool, str]:
    """Where a line stands: below the head of the run the events by their text, then what follows them."""
    event = re.match(" +n  ", line) is not None
    ending = not event and line.startswith(("  answer", "  error", "  expires", "     "))
    return ending, line if event else ""


@pytest.mark.parametrize("name", SHOWN)
def test_no_line_is_a_false_alarm(desk: Sampled, name: str) -> None:
    marks = [line.rpartition("<- ")[2] for line in desk.show(name, 140).splitlines() if "<- " in line]
    assert marks == (["error"] if name in ("declined", "ask_bad") else [])


@pytest.mark.parametrize("width", [80, 140])
def test_the_list_reads_as_it_is_kept(desk: Sampled, width: int) -> None:
    listed = desk.run("reenact", "ls", more={"COLUMNS": str(width)})
    head, *rows = listed.text.splitlines()
    when, lasted = head.index("WHEN"), head.index("DURATION")
    settled = [f"{row[:when]}AGO   {row[when + 6 : lasted]}       T{row[lasted + 8 :]}" for row in rows]
    compared("ls", width, desk.settled("\n".join([head, *settled, ""])))


@pytest.mark.parametrize("command", [("python", "nosuch.py"), ("python", "-m", "nosuch")])
def test_a_program_that_could_not_start_leaves_no_run(desk: Sampled, command: tuple[str, ...]) -> None:
    before = desk.listed("-n", "1")
    ended = desk.run("reenact", "record", "--", *command)
    assert ended.code in (1, 2) and "nosuch" in ended.told and "not recorded" in ended.told
    assert desk.listed("-n", "1") == before


@pytest.mark.parametrize("last", ["pass", "import sys; sys.argv[:] = ['nosuch.py']", "import os; os.chdir('/')"])
def test_a_program_in_which_nothing_happens_is_a_run(desk: Sampled, last: str) -> None:
    (desk.folder / "idle.py").write_text(f"print('idle'); {last}\n")
    for command in (("idle.py",), ("-m", "idle"), ("-c", "print('idle')")):
        ended = desk.run("reenact", "record", "--", "python", *command)
        assert (ended.code, ended.text, "  ok  0 events" in ended.told) == (0, "idle\n", True), ended.told


def test_a_program_that_fails_at_once_is_a_run(desk: Sampled) -> None:
    ended = desk.run("reenact", "record", "--", "python", "-c", "raise SystemExit(3)")
    assert (ended.code, "failed: exit status 3" in ended.told) == (3, True)
    (run,) = desk.listed("-n", "1")
    assert run["exit_status"] == 3
