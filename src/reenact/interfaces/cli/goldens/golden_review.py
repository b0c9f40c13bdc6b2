"""``reenact golden run --mode review``: shows each difference that today's code makes, and asks whether the difference
is intended."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence

import click

from reenact.errors import ReenactError, UsageError
from reenact.interfaces.cli.commands.pack import tell_findings
from reenact.interfaces.cli.shell import Shell, paint
from reenact.testing.goldens.acceptance import Reasons
from reenact.testing.goldens.golden_acceptance import ReviewResult, SettledGolden, accept, look, settle, summary
from reenact.testing.goldens.golden_differences import Category, GoldenDifference
from reenact.testing.goldens.golden_dir import GoldenDir
from reenact.testing.goldens.golden_execution import status_of
from reenact.testing.goldens.golden_outcome import Outcome
from reenact.testing.goldens.side_by_side import drawn, side_by_side
from reenact.timetravel.preview import safe

_COLOURS: Mapping[Category, str] = {
    Category.CREATE: "green",
    Category.FIX: "cyan",
    Category.TRIM: "red",
    Category.UPDATE: "yellow",
}
_QUESTION = "accept? [y]es, [n]o, [a]ll that are left, [q]uit"


class _Quit(Exception):
    """Raised when the user stops the review. Differences that were accepted before stay accepted."""


def review_all(shell: Shell, golden_dir: GoldenDir, names: Sequence[str], reasons: Reasons) -> int:
    """Review goldens one after the other; returns the exit code.

    At a terminal, the user is asked about each difference that no option accepts.
    """
    code = 0
    asks = not (reasons or shell.json) and _at_a_terminal()
    first = ""
    for name in names:
        go_on = True
        try:
            settled, go_on = _settled(shell, golden_dir, look(golden_dir, name), reasons, asks=asks)
        except UsageError:
            raise
        except ReenactError as error:
            settled = SettledGolden(
                Outcome(name, golden_dir.shown(golden_dir.path(name)), status_of(error), message=str(error))
            )
        _tell(shell, settled)
        code = max(code, settled.outcome.exit_code)
        first = first or _next(settled)
        if not go_on:
            break
    shell.next(first or "reenact golden run")
    return code


def _settled(
    shell: Shell, golden_dir: GoldenDir, looked: ReviewResult, reasons: Reasons, *, asks: bool
) -> tuple[SettledGolden, bool]:
    """Review one golden. Returns the result, and whether to go on with the next golden."""
    asks = asks and looked.outcome.status == "passed" and bool(looked.left)
    go_on = True
    _show(shell, looked, asks=asks)
    if asks:
        chosen, go_on = _asked(shell, looked)
        settled = accept(golden_dir, looked, chosen)
    else:
        settled = settle(golden_dir, looked, reasons)
    if settled.replaced and looked.findings is not None:
        tell_findings(shell, looked.findings)
    return settled, go_on


def _show(shell: Shell, looked: ReviewResult, *, asks: bool) -> None:
    """Print the result of a review; differences that the user is asked about are shown with the question."""
    left = {each.place for each in looked.left}
    name = looked.opened.golden.name
    if shell.json:
        for each in looked.differences:
            shell.line({"type": "difference", "golden": name, "open": each.place in left, **each.to_json()})
        return
    if not looked.differences:
        return
    before = len(looked.differences) - len(left)
    more = f"; {before} accepted before" if before else ""
    shell.data(paint(f"{safe(name)}: {summary(looked.differences)}{more}", bold=True))
    for each, lines in () if asks else drawn(looked.left):
        _draw(shell, each, lines)


def _draw(shell: Shell, each: GoldenDifference, lines: Sequence[str]) -> None:
    head, *rows = lines
    shell.data(paint(head, fg=_COLOURS[each.category]))
    for row in rows:
        shell.data(row)


# --- asking ----------------------------------------------------------------------------------------------------------


def _at_a_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()


def _asked(shell: Shell, looked: ReviewResult) -> tuple[dict[str, str], bool]:
    """The differences that the user accepts, with reasons by place, and whether the next golden is reviewed."""
    chosen: dict[str, str] = {}
    left = list(looked.left)
    try:
        while left:
            each = left.pop(0)
            _draw(shell, each, side_by_side(each))
            answer = _answer()
            if answer == "a":
                reason = _reason()
                chosen |= {one.place: reason for one in (each, *left)}
                break
            if answer == "y":
                chosen[each.place] = _reason()
    except _Quit:
        return chosen, False
    return chosen, True


def _answer() -> str:
    while True:
        given = _line(f"{_QUESTION}: ").lower()[:1]
        if given == "q":
            raise _Quit
        if given in ("y", "n", "a"):
            return given


def _reason() -> str:
    """The reason that the user types; an empty reason is asked for again."""
    while True:
        given = _line("reason: ")
        if given:
            return given


def _line(prompt: str) -> str:
    """One line that the user types.

    Raises:
        _Quit: The input has ended, or the user has interrupted it.
    """
    try:
        click.echo(prompt, err=True, nl=False)
        given = sys.stdin.readline()
    except KeyboardInterrupt:
        raise _Quit from None
    if not given:
        raise _Quit
    return given.strip()


# --- the result ------------------------------------------------------------------------------------------------------


def _tell(shell: Shell, settled: SettledGolden) -> None:
    outcome = settled.outcome
    if shell.json:
        shell.line(
            {
                "type": "reviewed",
                "name": outcome.name,
                "status": outcome.status,
                "message": outcome.message,
                "accepted": settled.accepted,
                "open": [each.place for each in settled.left],
                "replaced": settled.replaced,
                "exit_code": outcome.exit_code,
            }
        )
        return
    shell.data(safe(settled.line))
    for line in outcome.message.splitlines():
        shell.data(f"    {safe(line)}")


def _next(settled: SettledGolden) -> str:
    """The next command; empty if nothing is wrong."""
    outcome = settled.outcome
    name = shlex.quote(outcome.name)
    if outcome.status == "passed":
        return ""
    if outcome.status == "stale" and outcome.next_command:
        return outcome.next_command
    if settled.left and outcome.message.endswith("are not accepted"):
        return f"reenact golden run {name} --mode review --accept {settled.left[0].place}=REASON"
    return f"reenact show {shlex.quote(outcome.file)}"
