"""The result of a fork as lines of text, for the commands that make a fork."""

from __future__ import annotations

from reenact.facts.ids import tail
from reenact.interfaces.cli.shell import Shell
from reenact.timetravel import preview
from reenact.timetravel.forks.fork_course import MADE
from reenact.timetravel.forks.fork_report import ForkReport


def tell_fork(shell: Shell, report: ForkReport) -> None:
    """Print how each call that is not frozen was answered, and why; the writes that runs of the lineage have made; and
    how the fork ended."""
    if shell.json:
        shell.line(report.to_json())
        return
    for answer in report.answers:
        if answer["how"] != "frozen" or str(answer["why"]).startswith(MADE):
            shell.talk(f"reenact: {answer['how']} {preview.safe(str(answer['name']))}: {answer['why']}")
    for text in report.remarks:
        shell.talk(f"reenact: {preview.safe(text)}")
    if report.message:
        for text in report.message.splitlines():
            shell.talk(f"reenact: {preview.safe(text)}")
    else:
        shell.talk(f"reenact: next: reenact diff {tail(report.parent)} {tail(report.run)}")
    shell.talk(f"reenact: {report.last_line}")
