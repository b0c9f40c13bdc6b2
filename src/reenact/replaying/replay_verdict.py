"""The verdict: the proof of a replay, made from its session and its results."""

from __future__ import annotations

from collections.abc import Sequence

from reenact.errors import UnreplayableRun
from reenact.facts.imported_runs import UNPROVEN, is_imported, remarks
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.phrases import counted
from reenact.replaying.options import Options
from reenact.replaying.replay_lines import first_line, from_divergence, last_line
from reenact.replaying.replay_report import EndDifference, Report
from reenact.replaying.replay_session import ReplaySession
from reenact.seams.strands.handler_lanes import signal_name

_WAITS = "stopped where the program waits for a call without a recorded answer; what follows is unknown"


@dataclass(frozen=True, slots=True)
class Contact:
    """The contacts of a replay with the world.

    Attributes:
        refused: The refused contacts, with the place in the agent's code.
        live_calls: The contacts that were made in spite of that.
        enforcement: The means that kept the replay from the world.
    """

    refused: tuple[str, ...] = ()
    live_calls: int = 0
    enforcement: tuple[str, ...] = ()


def conclude(
    session: ReplaySession, differences: Sequence[EndDifference], contact: Contact, options: Options, saved: str = ""
) -> Report:
    """The report of a code replay.

    Args:
        session: The closed session.
        differences: The differences in results (output, exit status, return value, files).
        contact: The contacts that the guard saw.
        options: The options of the replay.
        saved: Id of the replay's own run, if it was kept.
    """
    tally, covered = session.tally, session.covered()
    diverged = [from_divergence(divergence) for divergence in session.faults.divergences]
    causes = "; ".join(str(divergence.cause) for divergence in session.faults.divergences)
    unused = (
        []
        if (diverged or session.faults.damaged or session.faults.unreplayable) and options.on_divergence != "observe"
        else session.unused()
    )
    every = [*diverged, *differences]
    every.extend(EndDifference("unreplayable", str(error)) for error in session.faults.unreplayable)
    every.extend(
        EndDifference("damaged", str(error), getattr(error, "event", None)) for error in session.faults.damaged[:1]
    )
    if unused:
        named = ", ".join(f"{event.number} {event.name}" for event in unused[:5])
        every.append(
            EndDifference(
                "unused",
                f"{counted(len(unused), 'recorded call')} {'were' if unused[1:] else 'was'} not made: {named}",
                unused[0].number,
                [event.number for event in unused],
            )
        )
    for number in tally.unread:
        every.append(EndDifference("unread", f"event {number} was read less far than in the recording", number))
    unproven = _unproven(session) if not diverged else _unproven_before(session)
    unproven += [f"state not proven at {number}" for number in sorted({*tally.states_unproven})]
    exact = not (tally.reordered or tally.moved or tally.renamed or unproven)
    verdict = "different" if every else "live" if session.asked else ("exact" if exact else "same")
    report = Report(
        run=session.run.id,
        verdict=verdict,
        first_line=first_line(session.run.id, options),
        last_line="",
        divergence=diverged[0].data if diverged else None,
        differences=tuple(every),
        live_calls=contact.live_calls + session.asked,
        refused=contact.refused,
        events=covered.total,
        matched=tally.matched,
        inside=covered.inside,
        reordered=tally.reordered,
        moved=tally.moved,
        renamed=tally.renamed,
        unused=len(unused),
        plumbing=session.exports.made,
        unproven=tuple(unproven),
        redacted=tally.redacted,
        not_compared=tuple(tally.own_state),
        fidelity=covered.fidelity,
        enforcement=contact.enforcement,
        executed=tally.matched,
        digest_chain=session.chains.digest(),
        exit_code=_exit_code(contact, session, bool(every)),
        remarks=(
            *remarks(session.run),
            *session.matching_remarks(),
            *((_WAITS,) if options.on_divergence == "observe" and session.gate.halted is not None else ()),
            *(session.suspects.unproven_order() if every and not diverged else ()),
            *(each for each in session.suspects.changed_inputs() if each not in causes),
            *tally.remarks.values(),
            *(_handled_within(number) for number in sorted(tally.signals) if every),
            *(f"{what} ({count})" for what, count in tally.gaps.items()),
            *(f"ignore rule {name} applied {counted(count, 'time')}" for name, count in session.rules.ignored.items()),
        ),
        saved=saved,
    )
    return report.with_last_line(last_line(report))


def _handled_within(number: int) -> str:
    return f"{signal_name(number)} came during a call that is answered as a whole: its handler did not run again"


def _exit_code(contact: Contact, session: ReplaySession, different: bool) -> int:
    """The highest exit code that applies."""
    if contact.refused or contact.live_calls:
        return 5
    if session.faults.damaged:
        return session.faults.damaged[0].exit_code
    if session.faults.unreplayable:
        return UnreplayableRun.exit_code
    return session.missing_code if session.faults.divergences else int(different)


def _unproven(session: ReplaySession) -> list[str]:
    """The unproven parts of the order."""
    if is_imported(session.run):
        return [UNPROVEN]
    notes = [f"order not proven at {number}" for number in sorted({*session.schedule.doubts})]
    if session.run.capture.get("order") == "off":
        notes.append("order not recorded")
    if session.schedule.surplus:
        notes.append(f"the order of {counted(session.schedule.surplus, 'step')} is assumed, not proven")
    return notes


def _unproven_before(session: ReplaySession) -> list[str]:
    """The unproven parts of the recorded order before a divergence, which may be its cause."""
    unproven = session.schedule.unproven_so_far() if session.run.totals.unproven else ()
    return [f"order not proven at {number}" for number in unproven]
