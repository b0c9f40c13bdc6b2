"""A trace becomes a run in the store: through the same gate as a recording, all of it or nothing, and once.

The events are those of the trace, in its order; the last one holds the original documents. A trace that the store
already has with the same content is not written again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from reenact.abc.sources import Clock, Entropy
from reenact.abc.store import Log, Store
from reenact.errors import RunNotFound
from reenact.facts.call import Call, Effect, ErrorFact, Failure, Json, Kind, Outcome, Value
from reenact.facts.ids import make_run_id
from reenact.facts.imported_runs import IMPORT, NOTE, ORDER
from reenact.facts.known_credentials import KnownCredentials, same_values
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.policy import Policy
from reenact.facts.reading import briefly
from reenact.facts.record import (
    CallIssued,
    CallSettled,
    EvidenceNoted,
    LaneOpened,
    Record,
    RunClosed,
    RunOpened,
)
from reenact.facts.run import Entry, Run, Status, Totals
from reenact.facts.trace_runs import ORIGINAL, ORIGINAL_RULE, RULE, SPAN, Grade, bodies, trace_of
from reenact.facts.values import encode
from reenact.facts.variables import chosen
from reenact.interop.traces import SpanSort, Trace, TraceItem
from reenact.privacy import make_redactor
from reenact.recording.recording_opening import Who

TAG: Final = "trace"
"""Label of a run that was made of a trace: its id."""

EARLIER: Final = "another part of this trace, or another state of it, was imported before"

_UP_US: Final = 3_600_000_000
_BATCH: Final = 512
_PART: Final = 1 << 20
"""The most bytes of original documents in one event, about."""
_STEP_US: Final = 1000
"""The distance in time between the ids of two runs of a file: so the ids keep the order in which the traces began."""
_MEDIA: Final = "application/x-ndjson"
_KINDS: Final[Mapping[SpanSort, tuple[Kind, Effect, str]]] = {
    SpanSort.MODEL: (Kind.MODEL, Effect.READ, RULE),
    SpanSort.TOOL: (Kind.TOOL, Effect.WRITE, "tool/1"),
    SpanSort.RETRIEVAL: (Kind.RETRIEVAL, Effect.READ, "retrieval/1"),
    SpanSort.OTHER: (Kind.STEP, Effect.NONE, "step/1"),
}


def untold(*_: int) -> None:
    """Ignore progress, which no command shows here."""


@dataclass(frozen=True, slots=True)
class TraceImport:
    """Options for making runs of traces.

    Attributes:
        store: The store for the runs.
        file, sha256: The name of their file, and its digest.
        who: The agent, user and session for traces that do not name them, and the tags.
        policy: The rules for what may be kept, and how.
        clock, entropy: The sources of the runs' identities.
        written: Called with the number of newly written events.
    """

    store: Store
    file: str
    sha256: str
    who: Who
    policy: Policy
    clock: Clock
    entropy: Entropy
    written: Callable[[int], object] = untold

    def known(self, trace: Trace) -> tuple[Run | None, bool]:
        """The run that was made of a trace before; and whether another run was made of a trace with the same id."""
        others = False
        try:
            for run in self.store.runs(tag={TAG: trace.id}):
                if trace_of(run).get("digest") == trace.digest:
                    return run, others
                others = True
        except RunNotFound:  # there is no store yet
            pass
        return None, others

    def land(self, trace: Trace, left: int, *, earlier: bool) -> Run:
        """Write a trace as a run.

        Args:
            trace: The trace.
            left: The number of traces after it in this file: they get later ids, and no id lies in the future.
            earlier: Whether a run exists of a trace with the same id.

        Raises:
            StoreError: The trace could not be written; nothing of it is kept.
        """
        run = self._begun(trace, left, earlier)
        redactor = make_redactor(
            known=KnownCredentials(os.environ, run.environment["env_secret"], fields=self.policy.redact),
        )
        run = replace(run, capture={**run.capture, "rules": list(redactor.rules)})
        (opened,) = redactor.clean(RunOpened(run))
        log = self.store.begin(opened.run if isinstance(opened, RunOpened) else run)
        try:
            return self._written(log, run, trace, redactor)
        except BaseException:
            log.close()
            self.store.delete(run)
            raise
        finally:
            log.close()

    def _written(self, log: Log, run: Run, trace: Trace, redactor: Any) -> Run:
        tally = _Tally()
        batch: list[Record] = []
        for some in _batches(tally.seen(_records(run, trace))):
            if batch:  # the last batch is written with the end of the run
                log.write(batch)
                self.written(sum(isinstance(each, CallIssued) for each in batch))
            redactor.foresee(some)
            batch = [cleaned for record in some for cleaned in redactor.clean(record)]
        batch += redactor.flush()
        error = trace.error
        ended = replace(
            run,
            status=Status.OK if error is None else Status.FAILED,
            error="" if error is None else redactor.text(f"{error.type}: {error.text}"),
            ended_us=run.started_us + tally.last_us,
            totals=Totals(tally.events, tally.models, tally.tools, tally.tokens_in, tally.tokens_out),
        )
        batch += redactor.clean(RunClosed(ended))
        log.write(batch, durable=True)
        self.written(sum(isinstance(each, CallIssued) for each in batch))
        return ended

    def _begun(self, trace: Trace, left: int, earlier: bool) -> Run:
        now_us = self.clock.wall_us() - left * _STEP_US
        told_us = trace.began_us or 0
        began_us = told_us if 0 < told_us < _LATEST_US else now_us
        surroundings = chosen(os.environ, self.policy.env)
        secrets = sorted(surroundings["env_secret"])
        facts, who = trace.facts, self.who
        remarks = {**trace.remarks, **({EARLIER: 1} if earlier else {})}
        seen: dict[str, Json] = {
            "format": trace.source,
            "file": self.file,
            "sha256": self.sha256,
            "exchanges": 0,
            "times": trace.began_us is not None,
            "remarks": remarks,
            "left": list(trace.left),
            "trace": {"id": trace.id, "digest": trace.digest, "spans": trace.spans, "service": facts.service},
        }
        tags = {str(name): str(value) for name, value in (who.tags or {}).items()}
        commit = {"commit": facts.commit} if facts.commit else {}
        return Run(
            id=make_run_id(now_us, self.entropy.bytes(8)),
            agent=who.name or facts.agent,
            version=who.version or facts.version,
            entry=Entry(IMPORT, target=trace.source),
            user=who.user or facts.user or None,
            tenant=who.tenant or facts.tenant or None,
            session=who.session or facts.session or None,
            tags={TAG: trace.id, **commit, **tags},
            started_us=began_us,
            origin_us=0,
            retention=self.policy.retention,
            capture={
                "order": ORDER,
                "ignore": dict(self.policy.ignore),
                "redact": dict(self.policy.redact),
                "same_values": same_values(os.environ, secrets),
                NOTE: seen,
            },
            environment={"env_secret": secrets, "clock": [began_us, _UP_US]},
        )


_LATEST_US: Final = 1 << 62
"""The latest time that is believed: a later time in a file is damaged, and would not fit into a store."""
_HEAVY: Final = 4 << 20
"""The most bytes of a batch, about."""


def _batches(records: Iterator[Record]) -> Iterator[list[Record]]:
    """The same records in batches, each of which is cleaned and written together."""
    batch: list[Record] = []
    size = 0
    for record in records:
        batch.append(record)
        size += _weight(record)
        if len(batch) >= _BATCH or size >= _HEAVY:
            yield batch
            batch, size = [], 0
    yield batch


def _weight(record: Record) -> int:
    if isinstance(record, CallIssued):
        return len(record.call.body)
    outcome = record.outcome if isinstance(record, CallSettled) else None
    return len(outcome.body) if isinstance(outcome, Value) else 0


class _Tally:
    """The sums of a run, counted while its records pass."""

    def __init__(self) -> None:
        self.events = self.models = self.tools = self.tokens_in = self.tokens_out = self.last_us = 0

    def seen(self, records: Iterator[Record]) -> Iterator[Record]:
        """Count records, and give them on unchanged."""
        for record in records:
            if isinstance(record, CallIssued):
                self.events += 1
                self.models += record.call.kind is Kind.MODEL
                self.tools += record.call.kind is Kind.TOOL
            elif isinstance(record, CallSettled):
                self.last_us = max(self.last_us, record.at_us)
            elif isinstance(record, EvidenceNoted) and record.key == "reading" and isinstance(record.value, dict):
                usage = record.value.get("usage") or {}
                self.tokens_in += usage.get("tokens_in", 0)
                self.tokens_out += usage.get("tokens_out", 0)
            yield record


def _records(run: Run, trace: Trace) -> Iterator[Record]:
    """The records of a trace, as a recording with a single strand would have noted them."""
    yield RunOpened(run)
    yield LaneOpened(0, "root", None)
    yield EvidenceNoted(None, NOTE, run.capture[NOTE])
    number = -1
    last_us = 0
    for number, item in enumerate(trace.items):
        at_us = item.start_us if item.start_us is not None else last_us
        last_us = max(last_us, at_us)
        yield from _event(number, item, at_us)
    yield from _original(number + 1, trace, last_us)


def _event(number: int, item: TraceItem, at_us: int) -> Iterator[Record]:
    kind, effect, rule = _KINDS[item.sort]
    reading = None if item.reading is None else item.reading.to_json()
    asked, answered = bodies(reading) if reading is not None else (_body(item.asked), _body(item.answered))
    head: dict[str, Json] = {}
    if item.sort is SpanSort.TOOL:
        head = {"tool": item.name, "opaque": []}
    elif item.sort is SpanSort.RETRIEVAL and item.embedding_model:
        head = {"embedding_model": item.embedding_model}
    call = Call(
        kind,
        item.name,
        effect,
        rule,
        head,
        asked,
        "application/json" if asked else "",
        channel="conversation" if item.reading is not None else "",
        ordinal=item.call_id or None,
        observed=item.sort is SpanSort.OTHER,
    )
    yield CallIssued(number, 0, number, item.parent, at_us, call)
    outcome = _outcome(item, answered)
    if outcome is not None:
        yield CallSettled(number, max(item.end_us if item.end_us is not None else at_us, at_us), outcome)
    if reading is not None:
        yield EvidenceNoted(number, "reading", briefly(reading))
    yield EvidenceNoted(number, SPAN, _said(item))


def _body(value: Json) -> bytes:
    """The stored bytes of a value; empty without one."""
    return b"" if value is None else encode(value).body


def _outcome(item: TraceItem, answered: bytes) -> Outcome | None:
    """The outcome of an item: an error or an answer; None where the trace has none."""
    if item.error is not None:
        return Failure(ErrorFact(item.error.type, item.error.text))
    absent = item.grades.get({SpanSort.MODEL: "answer", SpanSort.TOOL: "result"}.get(item.sort, "")) is Grade.ABSENT
    if item.end_us is None and absent:
        return None
    head: dict[str, Json] = {"chunks": list(item.chunks)} if item.chunks is not None else {}
    return Value(answered or b"null", head=head)


def _said(item: TraceItem) -> dict[str, Json]:
    """The facts of a span for its event."""
    found: dict[str, Json] = {"fidelity": {name: grade.value for name, grade in item.grades.items()}}
    for name, value in (("id", item.span), ("dialect", item.dialect), ("merged", list(item.merged))):
        if value:
            found[name] = value
    if item.rest:
        found["attributes"] = dict(item.rest)
    return found


def _original(number: int, trace: Trace, at_us: int) -> Iterator[Record]:
    """The original documents as the last events: whole documents, as many in each event as keep it small."""
    for event, part in enumerate(_parts(trace.original), number):
        call = Call(Kind.NOTE, ORIGINAL, Effect.NONE, ORIGINAL_RULE, observed=True)
        yield CallIssued(event, 0, event, None, at_us, call)
        yield CallSettled(event, at_us, Value(part, _MEDIA))


def _parts(documents: Iterable[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    size = 0
    for document in documents:
        if held and size + len(document) > _PART:
            yield b"".join(held)
            held, size = [], 0
        held.append(document)
        size += len(document)
    if held:
        yield b"".join(held)
