"""Telling: the two lines of a replay, and differences as data. What only tells of a replay loads none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reenact.errors import Divergence
from reenact.facts.call import Json
from reenact.facts.ids import tail
from reenact.replaying.options import Options
from reenact.replaying.report import Difference, Report, enforced

FROZEN = "http tools models processes flags environment clock random"


def first_line(run: str, options: Options) -> str:
    """Mode, what is frozen, live calls allowed: said before the agent's code starts."""
    frozen = "everything recorded" if options.mode == "events" else FROZEN
    line = f"replay {tail(run)}  mode: {options.mode}  frozen: {frozen}  live calls allowed: 0"
    if options.rev:
        line += f"  code: {options.rev}"
    if options.through:
        line += f"  through: {', '.join(options.through)}"
    if options.order.startswith("shuffle"):
        line += f"  order: {options.order}"
    return line


def last_line(report: Report) -> str:
    """Verdict, live calls made, what was matched, plumbing; fidelity and enforcement where they are not whole."""
    counts = f"matched {report.matched} of {report.events}"
    if report.inside:
        counts += f", {report.inside} inside frozen calls"
    for name in ("reordered", "moved", "renamed", "unused", "plumbing"):
        count = getattr(report, name)
        if count:
            counts += f", {name} {count}"
    word = "different" if report.verdict == "different" else "same"
    if report.verdict == "exact":
        word = "same (exact)"
    elif any(difference.what == "unreplayable" for difference in report.differences):
        word = "cannot be replayed"
    if report.redacted:
        word += f", {report.redacted} redacted"
    if report.not_compared:
        word += f", not compared: {', '.join(report.not_compared)}"
    if report.unproven:
        more = f" and {len(report.unproven) - 1} more" if len(report.unproven) > 1 else ""
        word += f", {report.unproven[0]}{more}"
    line = f"verdict: {word}  live calls made: {report.live_calls}  {counts}"
    if report.fidelity != "exact":
        line += f"  fidelity: {report.fidelity}"
    if report.mode == "code" and not enforced(report.enforcement):
        line += f"  {in_force(report)}"
    return line


def in_force(report: Report) -> str:
    """What kept the replay from the world, and what did not."""
    return f"enforcement: {', '.join(report.enforcement) or 'none'}"


def exit_statuses(recorded: int | None, now: int) -> Difference | None:
    """Whether the process ended as it did."""
    if recorded is None or recorded == now:
        return None
    return Difference(
        "exit status",
        f"exit status {now} instead of {recorded}",
        None,
        {"recorded": recorded, "now": now},
    )


def from_divergence(divergence: Divergence) -> Difference:
    """A divergence as a difference."""
    data: Mapping[str, Json] = {
        "event": divergence.event,
        "source": divergence.source,
        "recorded": divergence.recorded,
        "now": divergence.now,
        "path": divergence.path,
        "reason": divergence.reason,
        "cause": divergence.cause,
        "message": divergence.message,
        "next": divergence.next_command,
    }
    return Difference("divergence", str(divergence), divergence.event, data)


def to_divergence(data: Mapping[str, Any], message: str = "") -> Divergence:
    """The inverse of ``from_divergence``'s data; ``message`` in place of its own, where given."""
    return Divergence(
        message or data["message"],
        event=data["event"],
        source=data["source"],
        recorded=data["recorded"],
        now=data["now"],
        path=data["path"],
        reason=data["reason"],
        cause=data["cause"],
        next_command=data["next"],
    )
