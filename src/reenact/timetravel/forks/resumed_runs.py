"""A run that broke off continues, and the result replaces the run under its own id.

The continuation is recorded as a separate attempt, which holds the whole run: recorded answers and live calls. When the
attempt ends, it and the run exchange their recordings in one step. So a run is never a mixture of two recordings, and
the next attempt can continue from a killed attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reenact.abc.sources import ENTROPY
from reenact.abc.store import Store
from reenact.errors import EffectInDoubt, UsageError
from reenact.facts.call import EndKind, Json, Kind, Stream
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass, field, replace
from reenact.facts.run import ATTEMPT, IDLE, Entry, Run, Status
from reenact.facts.served_requests import preamble_of
from reenact.seams import trust
from reenact.seams.databases.statements import ends_with
from reenact.store.nested_runs import holder_of
from reenact.timetravel import preview
from reenact.timetravel.event_contents import error_of, error_text, form_of, status_of
from reenact.timetravel.forks.fork_report import ForkReport, last_line
from reenact.timetravel.forks.plan import Plan, Settling, by_number, is_number
from reenact.timetravel.forks.resume_points import ResumePoint, require_broken, resume_point_of, stopped_in_doubt

_LONGEST = 160
"""The most characters of an error in a question about a write."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """A run that is about to continue.

    Attributes:
        run: The run.
        base: The run that is continued: the run itself, or the latest attempt that came further than the run.
        plan: The plan of the resumption.
        doubts: Writes of the base that may have changed the world.
        forms: The form in which the result of each is typed, by name.
    """

    run: Run
    base: Run
    plan: Plan
    doubts: tuple[Event, ...] = ()
    forms: Mapping[str, str] = field(default_factory=dict)


def resumption(
    store: Store,
    run: Run,
    step: str,
    settle: Settling,
    results: Mapping[int, Json],
    given: Mapping[str, Json] | None = None,
) -> Resumption:
    """The resumption of a run.

    Args:
        store: The store of the run.
        run: The run.
        step: The event to continue from, as a run of its own; empty: the end of the run, under its own id.
        settle: The word on writes in doubt.
        results: Results of recorded calls, by number: the result of a write in doubt that has happened, or a corrected
            result.
        given: Results of writes that other runs of the lineage have begun, by their identity.

    Raises:
        UsageError: There is nothing to resume.
        EventNotFound: There is no such step.
    """
    if preamble_of(run):
        raise UsageError(
            f"run {tail(run.id)} is a request of a server, and cannot go on",
            cause="the client that asked has gone: the answer would go nowhere",
            next_command=f"reenact fork {tail(run.id)}:{max(0, store.open(run).count() - 1)} --live all --dry-run",
        )
    if step:
        at = store.event(f"{run.id}:{step}").number
        plan = Plan(at, "all", results=results, resume=True, apart=True, settle=settle, given=given or {})
        return Resumption(run, run, plan)
    if run.relation == ATTEMPT and run.parent:  # the id of an attempt stands for the run that it continues
        run = store.run(run.parent)
    run = holder_of(store, run)
    again = sorted(_said_before(run).intersection(results))
    if not (again and run.status is Status.OK):
        require_broken(run)
    base = run if again else _furthest(store, run)
    head = ResumePoint(again[0]) if again and run.status is Status.OK else resume_point_of(store.open(base), results)
    at = min((head.at, *again))
    doubts = tuple(event for event in head.doubts if event.number not in results)
    moved = str((base.environment.get("fork") or {}).get("at_time") or "")
    how: dict[str, Any] = {"retries": head.retries, "until": head.until, "at_time": moved, "given": given or {}}
    plan = Plan(at, results=results, resume=True, settle=settle, **how)
    return Resumption(run, base, plan, doubts, {event.name: form_of(store.open(base), event.name) for event in doubts})


def _said_before(run: Run) -> frozenset[int]:
    """The numbers of the events whose results a user gave at an earlier resumption; they can be changed."""
    kept: Any = run.environment.get("resumed") or ()
    return frozenset(number for each in kept for number in each.get("said") or ())


def require_settled(told: Resumption) -> None:
    """Require a person's word on each write in doubt.

    Raises:
        EffectInDoubt: A write has no word.
        UsageError: ``done`` is not enough: the result is needed too.
    """
    name = tail(told.run.id)
    for event in told.doubts:
        where = f"{event.name} (event {event.number}, at {event.call.source or 'an unknown place'})"
        word = told.plan.settled.get(by_number(event.number), told.plan.settle)
        form = told.forms.get(event.name, "…")
        if not word:
            how, why = how_left(event)
            again = "its transaction" if event.kind == Kind.DB and ends_with(event.call) else "it"
            raise EffectInDoubt(
                f"{where} {how}: whether it happened is not known",
                cause=f"{why}; --settle retry makes {again} again, --settle done --result {event.number}='{form}' "
                "takes it as made, with what it gave",
                next_command=f"reenact resume {name} --settle retry",
                event=event.number,
            )
        if word == "done":
            raise UsageError(
                f"{where} has happened, but what was it answered?",
                cause="the code goes on with the answer, which was not recorded: JSON, null where it gives nothing",
                next_command=f"reenact resume {name} --settle done --result {event.number}='{form}'",
            )


def how_left(event: Event) -> tuple[str, str]:
    """How a write in doubt ended, and why that does not show whether it happened."""
    error, status = error_of(event), status_of(event)
    end = event.outcome.end if isinstance(event.outcome, Stream) else None
    stopped = error is not None and error.type.endswith((KeyboardInterrupt.__name__, "CancelledError"))
    if event.is_open or stopped or (end is not None and end.kind is EndKind.CANCELLED):
        cause = "its process was stopped, or its connection broke, before the answer came"
        return "was under way when the run broke off", cause
    if error is not None:
        return (
            f"raised {preview.clip(error_text(error), _LONGEST)}",
            "the error does not tell whether it had acted before",
        )
    if status is not None:  # a failure: only failed answers leave a write in doubt
        return f"was answered with status {status}", "the status does not tell whether it had acted before"
    return (
        "was not committed when the run broke off",
        "its database rolled back what it wrote there; it may have done more",
    )


def _furthest(store: Store, run: Run) -> Run:
    """The latest attempt that came past its resume point, and was killed or stopped in doubt; else the run."""
    kept: Any = run.environment.get("resumed") or [{}]
    since_us = int(kept[-1].get("started_us", 0))
    for attempt in store.runs(parent=run.id):
        plan: Any = attempt.environment.get("fork") or {}
        if attempt.relation != ATTEMPT or attempt.started_us <= since_us or not plan.get("resume"):
            continue
        broke_off = attempt.status is Status.INTERRUPTED or stopped_in_doubt(attempt)
        if broke_off and store.open(attempt).count() > plan["at"]:
            return attempt
    return run


def conclude(store: Store, told: Resumption, report: ForkReport) -> ForkReport:
    """Let the result of an attempt replace the run; an attempt that was stopped stays an attempt."""
    if report.exit_code or told.plan.apart:
        return report
    before, attempt = store.run(told.run.id), store.run(report.run)
    store.exchange(_continued(before, attempt, told.plan, _worked_us(store, before)), _left(before, attempt))
    done = replace(report, run=before.id, parent=before.id, exit_code=int(attempt.status is not Status.OK))
    return replace(done, last_line=last_line(done))


_OWN = ("agent", "version", "user", "tenant", "session", "tags", "flag", "flagged", "started_us", "parent",
        "relation", "fork_event", "retention")  # fmt: skip
"""The fields that a run keeps when its recording is exchanged."""


def _worked_us(store: Store, run: Run) -> int:
    """The time that a run had taken until it broke off."""
    if run.interrupted_at is None:
        return run.lasted_us or 0
    last = store.open(run).event(run.interrupted_at)
    return max(last.issued_us, last.ended_us or 0)


def _continued(before: Run, attempt: Run, plan: Plan, worked_us: int) -> Run:
    """The run with the recording of the attempt, which goes on ``worked_us`` after the run began."""
    resumed: Any = before.environment.get("resumed") or []
    environment = {name: value for name, value in attempt.environment.items() if name != "fork"}
    kept = before.environment.get("fork")
    same = replace(attempt.entry, hash_seed=before.entry.hash_seed) == before.entry
    entry = before.entry if same else attempt.entry  # a user may have given it another command
    return replace(
        attempt,
        id=before.id,
        environment={
            **environment,
            **({"fork": kept} if kept is not None else {}),
            IDLE: attempt.started_us - before.started_us - worked_us,
            "resumed": [*resumed, {"at": plan.at, "started_us": attempt.started_us, "said": sorted(plan.results)}],
        },
        capture={**attempt.capture, "seal": _seal(entry, attempt, before)},
        entry=entry,
        **{name: getattr(before, name) for name in _OWN},
    )


def _left(before: Run, attempt: Run) -> Run:
    """The run before its continuation, kept as an attempt."""
    broken = before.status is Status.INTERRUPTED
    return replace(
        before,
        id=attempt.id,
        parent=before.id,
        relation=ATTEMPT,
        fork_event=None,
        flag=None,
        flagged=False,
        status=Status.RECORDING if broken else before.status,
        interrupted_at=None,
        capture={**before.capture, "seal": _seal(before.entry, before, attempt)},
    )


def _seal(entry: Entry, since: Run, now: Run) -> Json:
    """The seal for ``entry`` under the id of ``now``, where it stood under that of ``since``. A new one is made only if
    this user started ``since`` here."""
    if entry == now.entry:
        return now.capture.get("seal")
    return trust.seal(now.id, entry, ENTROPY) if trust.is_ours(since) else ""


def settled_on_the_way(
    store: Store, told: Resumption, report: ForkReport, word: Settling, result: Json = None
) -> Resumption:
    """The next resumption, after a user has decided about the write at which the last one stopped.

    The work of the stopped attempt is not repeated: if it came further, it is continued. If the write happened,
    ``result`` is its result.

    Raises:
        UsageError: There is nothing to resume any more.
    """
    assert report.doubted is not None
    settled = {**told.plan.settled, str(report.doubted["write"]): word}
    given = {**told.plan.given, **({str(report.doubted["write"]): result} if word == "done" else {})}
    if told.plan.apart:
        return replace(told, plan=replace(told.plan, settled=settled, given=given))
    again = resumption(store, store.run(told.run.id), "", told.plan.settle, {})
    if again.base.id == told.base.id:
        return replace(told, plan=replace(told.plan, settled=settled, given=given))
    settled = {name: said for name, said in settled.items() if not is_number(name)}  # numbers of another recording
    return replace(again, plan=replace(again.plan, settled=settled, given=given))


Asking = Callable[[Event], tuple[Settling, Json]]
"""Asks a person about a write in doubt: whether it happened, and its result."""


def settled(store: Store, told: Resumption, ask: Asking) -> Resumption:
    """The resumption with a user's answer for each write in doubt."""
    if told.plan.settle or not told.doubts:
        return told
    known = told.plan.settled
    asked = {event.number: ask(event) for event in told.doubts if by_number(event.number) not in known}
    words: dict[str, Settling] = {by_number(number): word for number, (word, _) in asked.items()}
    results = {number: result for number, (word, result) in asked.items() if word == "done"}
    results = {**told.plan.results, **results}
    retries = resume_point_of(store.open(told.base), results).retries
    plan = replace(told.plan, settled={**known, **words}, results=results, retries=retries)
    return replace(told, plan=plan, doubts=tuple(event for event in told.doubts if event.number not in results))
