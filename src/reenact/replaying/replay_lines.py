"""The two lines of a replay, and differences as data. A module that only reports a replay need not load the
replay itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reenact.errors import Divergence
from reenact.facts.call import Json
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import replace
from reenact.facts.trace_runs import Grade
from reenact.replaying.options import Options
from reenact.replaying.replay_report import EndDifference, Report, enforced

FROZEN = "http tools models processes flags environment clock random"
NOT_PROVEN = "order not proven at "
"""The beginning of a sentence that doubts the order."""
NOT_THE_CODE = ", so the code need not have changed"
"""The addition to a message, unless it is known that the code has changed."""


def first_line(run: str, options: Options) -> str:
    """The line before the agent's code starts: mode, frozen part, allowed live calls."""
    frozen = "everything recorded" if options.mode == "events" else FROZEN
    allowed = "0"
    if options.live:
        frozen, allowed = "the answers of the import, and everything that is not a model", ", ".join(options.live)
    line = f"replay {tail(run)}  mode: {options.mode}  frozen: {frozen}  live calls allowed: {allowed}"
    if options.rev:
        line += f"  code: {options.rev}"
    if options.through:
        line += f"  through: {', '.join(options.through)}"
    if options.order.startswith("shuffle"):
        line += f"  order: {options.order}"
    return line


def last_line(report: Report) -> str:
    """Verdict, live calls and counts of matched calls; also fidelity and enforcement, if either is incomplete."""
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
    elif report.verdict == "live":
        word = "live, where the import has no answer"
    elif report.verdict == "same" and report.fidelity == Grade.SEMANTIC:
        word = "same (semantic)"
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
    if report.fidelity not in ("exact", Grade.SEMANTIC):
        line += f"  fidelity: {report.fidelity}"
    if report.mode == "code" and not enforced(report.enforcement):
        line += f"  {in_force(report)}"
    return line


def in_force(report: Report) -> str:
    """The means that kept the replay from the world, and the missing ones."""
    return f"enforcement: {', '.join(report.enforcement) or 'none'}"


def with_changed_code(report: Report, changed: str, onward: str = "") -> Report:
    """The report of a replay whose code has changed. The change is a likelier cause than an unproven order.

    Args:
        report: The report.
        changed: The change; empty for none.
        onward: The next command, if it is to do more than show the recorded run; else empty.
    """
    if not changed:
        return report
    doubts = [*(each.data["by_order"] for each in report.differences if each.what == "divergence"), *report.remarks]
    doubt = next((each for each in doubts if each.startswith(NOT_PROVEN)), "")
    divergence = _by_code(report.divergence, onward) if report.divergence else report.divergence
    differences = tuple(
        from_divergence(to_divergence(_by_code(each.data, onward))) if each.what == "divergence" else each
        for each in report.differences
    )
    return replace(
        report,
        changed_code=changed,
        order_doubt=doubt.replace(NOT_THE_CODE, ""),
        divergence=divergence,
        differences=differences,
        remarks=tuple(each for each in report.remarks if not each.startswith(NOT_PROVEN)),
    )


def _by_code(data: Mapping[str, Any], onward: str) -> Mapping[str, Any]:
    """A divergence as data, with changed code as its cause."""
    shows = str(data["next"]).startswith("reenact show ")
    return {**data, "cause": data["by_code"] or data["cause"], "next": (shows and onward) or data["next"]}


def exit_statuses(recorded: int | None, now: int) -> EndDifference | None:
    """The difference in exit status, if the process ended in another way than recorded."""
    if recorded is None or recorded == now:
        return None
    return EndDifference(
        "exit status", f"exit status {now} instead of {recorded}", None, {"recorded": recorded, "now": now}
    )


def from_divergence(divergence: Divergence) -> EndDifference:
    """A divergence as a difference."""
    data: Mapping[str, Json] = {
        "event": divergence.event,
        "source": divergence.source,
        "recorded": divergence.recorded,
        "now": divergence.now,
        "path": divergence.path,
        "reason": divergence.reason,
        "cause": divergence.cause,
        "by_order": divergence.by_order,
        "by_code": divergence.by_code,
        "message": divergence.message,
        "next": divergence.next_command,
    }
    return EndDifference("divergence", str(divergence), divergence.event, data)


def to_divergence(data: Mapping[str, Any], message: str = "") -> Divergence:
    """The inverse of ``from_divergence``'s data; ``message``, where given, replaces that of the data."""
    divergence = Divergence(
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
    divergence.by_order, divergence.by_code = data.get("by_order", ""), data.get("by_code", "")
    return divergence
