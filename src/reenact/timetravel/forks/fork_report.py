"""The report of a fork, as one frozen value that travels between processes, and its two lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from reenact.facts.call import Json
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import asdict, dataclass, fields, replace
from reenact.facts.run import Run
from reenact.replaying.replay_lines import from_divergence
from reenact.replaying.replay_report import without_credentials
from reenact.timetravel.forks.fork_course import ForkCourse
from reenact.timetravel.forks.permits import meant
from reenact.timetravel.forks.plan import Plan

if TYPE_CHECKING:
    from reenact.timetravel.forks.fork_session import ForkSession


@dataclass(frozen=True, slots=True)
class ForkReport:
    """The result of a fork.

    Attributes:
        run: Id of the fork.
        parent: Id of the run it branched from; ``at`` the branching event.
        status: How the fork ended.
        first_line, last_line: The lines that are printed before the agent's code starts, and at the end.
        events: Calls in the fork.
        frozen: Calls answered from the parent's recording.
        live: Calls that were performed.
        renamed: The number of strands whose function has another name now.
        plumbing: The number of telemetry requests.
        answers: The answer of each call after the branching event, and the reason.
        refused: The calls that were not allowed, and contacts with the world outside the seams.
        remarks: Further remarks on how the fork came about.
        divergence: The divergence in the prefix, as data; None without one.
        message: Why the fork stopped before its end; empty where it ended by itself.
        doubt: Whether the fork stopped at a write that may have happened already.
        doubted: The write in doubt: ``write`` (its identity), ``name``, ``why``, ``can_be_done``, ``next_command``.
        exit_code: 0 fine, 1 the prefix diverged or a change found no place (or the resumed run failed again), 3 a write
            in doubt, 5 a refused call.
        change: The change, in words; empty for a resumption.
        parts: The first difference of the runs: the event of the fork, and its name; empty without one.
        raised: The exception that ended the program, and the line of its code, if the parent ended differently.
    """

    run: str
    parent: str
    at: int
    status: str
    first_line: str
    last_line: str = ""
    events: int = 0
    frozen: int = 0
    live: int = 0
    renamed: int = 0
    plumbing: int = 0
    answers: tuple[Mapping[str, Json], ...] = ()
    refused: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    divergence: Mapping[str, Json] | None = None
    message: str = ""
    doubt: bool = False
    doubted: Mapping[str, Json] | None = None
    exit_code: int = 0
    raised: str = ""
    change: str = ""
    parts: str = ""

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON-able data."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ForkReport:
        """The inverse of ``to_json``."""
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in data.items()}
        return cls(**values)


def first_line(parent: str, plan: Plan) -> str:
    """The line before the agent's code starts: the mode, the frozen calls, the calls that may go live."""
    if plan.resume:
        return (
            f"resume {tail(parent)} at event {plan.at}  before it, and what was finished: all frozen; the rest: live"
            "  writes: allowed, none made twice"
        )
    writes = ", ".join(plan.allow_writes) or "refused"
    change = "; ".join(plan.changes) or "none"
    if plan.only:
        return (
            f"replay {tail(parent)}  a fork without writes  recorded answers where the same call is made"
            f"  live calls allowed: {', '.join(plan.only)}  writes: {writes}  change: {change}"
        )
    return (
        f"fork {tail(parent)}:{plan.at}  before event {plan.at}: all frozen; after it: recorded answers where the same"
        f" call is made  live calls allowed: {plan.live}  writes: {writes}  change: {change}"
    )


def conclude(session: ForkSession, run: Run, contacts: tuple[str, ...]) -> ForkReport:
    """The report of a fork whose recording has been closed."""
    course, plan, doubt = session.course, session.plan, session.stops.doubt
    diverged = from_divergence(session.faults.divergences[0]) if session.faults.divergences else None
    code, message = 0, ""
    if diverged is not None:
        code, message = 1, f"{_diverged(plan, reached=course.reached)}: {diverged.text}"
    elif session.stops.error is not None:
        code, message = session.stops.error.exit_code, str(session.stops.error)
    elif session.faults.unheeded is not None:
        code, message = session.faults.unheeded.exit_code, str(session.faults.unheeded)
    elif contacts:
        code, message = 5, f"refused: {contacts[0]}"
    elif session.faults.unreplayable or session.faults.damaged:
        error = [*session.faults.unreplayable, *session.faults.damaged][0]
        code, message = error.exit_code, str(error)
    elif not course.reached and not session.schedule.open_ended:
        code, message = 1, f"event {plan.at} was not reached: the agent ended before it"
    elif session.needs_flags and not course.given.issuperset(plan.flags):
        left = ", ".join(sorted(set(plan.flags) - course.given))
        code, message = 1, f"flag {left} was not evaluated from event {plan.at} on: setting it has changed nothing"
    elif unasked := [] if plan.resume else sorted(plan.answered - session.changed.keys()):
        name = session.recording.event(unasked[0]).call.name
        code, message = 1, f"event {unasked[0]} ({name}) was not requested again as recorded: its change had no effect"
    amiss = session.suspects.changed_inputs() if code == 1 and diverged is None else ()  # a divergence names them
    report = ForkReport(
        run=run.id,
        parent=session.run.id,
        at=plan.at,
        status=run.status.value,
        first_line=first_line(session.run.id, plan),
        events=run.totals.events,
        frozen=course.frozen,
        live=course.live,
        renamed=session.tally.renamed,
        plumbing=session.exports.made,
        answers=tuple(answer.to_json() for answer in course.answers),
        refused=(*course.refused, *contacts),
        remarks=(*course.remarks, *_unasked(plan, course), *amiss),
        divergence=diverged.data if diverged is not None else None,
        message=message,
        doubt=doubt is not None,
        doubted=asdict(doubt) if doubt is not None else None,
        exit_code=code,
        change="" if plan.resume else "; ".join(plan.changes) or "none",
    )
    return without_credentials(replace(report, last_line=last_line(report)), session.redactor)


def _diverged(plan: Plan, *, reached: bool) -> str:
    """The place of a divergence in a fork: before its branching event, or after it."""
    if reached:
        return f"the {plan.noun} cannot go on"
    place = f"event {plan.at}, where the run goes on" if plan.resume else "the fork point"
    return f"the code no longer reproduces the events before {place}"


def _unasked(plan: Plan, course: ForkCourse) -> Iterator[str]:
    """Remarks on allowed names that were never called: such a name is usually misspelled."""
    called = {answer.name for answer in course.answers} | course.given
    for name in dict.fromkeys(plan.allow_writes):
        if not meant((name,), *called):
            from difflib import get_close_matches  # imported late: few names are misspelled

            near = get_close_matches(name, [each for each in called if not meant(plan.allow_writes, each)], 1)
            perhaps = f"; did you mean {near[0]}?" if near else ""
            yield f"{name} was allowed to write, and was not called from event {plan.at} on{perhaps}"


def last_line(report: ForkReport) -> str:
    """The number of live and frozen calls, renamed strands, plumbing, and the end."""
    renamed = f", renamed {report.renamed}" if report.renamed else ""
    plumbing = f", plumbing {report.plumbing}" if report.plumbing else ""
    change = f"  change: {report.change}" if report.change else ""
    kept = "continued in" if report.run == report.parent else "kept as"  # a resumed run keeps its id
    parts = f"  parts at {report.parts}" if report.parts else ""
    return (
        f"live calls made: {report.live}  frozen: {report.frozen}{renamed}{plumbing}  refused: {len(report.refused)}"
        f"  status: {report.status}  {kept} {tail(report.run)}{change}{parts}"
    )
