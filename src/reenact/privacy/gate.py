"""The gate: every record of a run, cleaned of credentials before anything is written.

It runs in the writer's thread, sees records in order, and never raises: what cannot be cleaned is withheld. Stand-ins
of one run share a secret that is drawn when the run begins and kept nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

from reenact.abc.sources import ENTROPY
from reenact.facts import texts
from reenact.facts.call import Call, ErrorFact, Failure, Fidelity, Json, Kind, Value
from reenact.facts.changed import changed, changed_entry
from reenact.facts.compression import undo
from reenact.facts.credentials import RULES
from reenact.facts.framing import header
from reenact.facts.known import NONE, RULE, Known
from reenact.facts.policy import Policy
from reenact.facts.record import (
    AmbientRead,
    CallIssued,
    CallSettled,
    CheckpointTaken,
    GapNoted,
    HeadArrived,
    Noted,
    Printed,
    Record,
    RunClosed,
    RunOpened,
    SegmentArrived,
    StreamEnded,
)
from reenact.facts.run import Run
from reenact.facts.serving import is_exchange
from reenact.facts.spans import Exhausted
from reenact.facts.weaving import Woven
from reenact.privacy.erasing import Eraser
from reenact.privacy.streams import NOTE, Stream, Withheld, stream_for, withheld_segment
from reenact.privacy.tails import Part, Tail, cleaned_in_pieces

_TEXTS = ("env/", "listing/")
"""Ambient sources whose values are texts (``seams.ambient``)."""
_LENGTH = 4
_PIECEWISE = 4 << 20
_DECODED = 32 << 20
_GONE = Fidelity.WITHHELD
_IMMUTABLE = (str, int, float, bool, type(None))
_UNCLEAN = "could not be cleaned"


def make_redactor(
    run: str = "",
    policy: Policy | None = None,
    secret: bytes | None = None,
    known: Known = NONE,
    spotless: dict[str, Json] | None = None,
) -> CredentialRedactor:
    """The redactor of one run.

    Args:
        run: Id of the run; stand-ins of two runs have nothing in common.
        policy: How it is recorded; what its extra redaction names comes with ``known``.
        secret: Key of the stand-ins' digests; drawn from the system's entropy where none is given.
        known: Credentials that are known by value.
        spotless: Facts of surroundings in which redactors with the same ``known`` have found nothing, the last value
            of each: they are not looked through again, and what this one finds nothing in is added.
    """
    return CredentialRedactor(secret if secret is not None else ENTROPY.bytes(32), known, spotless)


class CredentialRedactor:
    """Cleans the records of one run (``abc.redaction.Redactor``).

    Args:
        secret: Key of the digests in stand-ins; one that is kept nowhere, because whoever has it can try candidates.
        known: Credentials that are known by value.
        spotless: See ``make_redactor``.

    Attributes:
        fault: Told of whatever went wrong in here; what it cost is withheld, or gone.
    """

    def __init__(self, secret: bytes, known: Known = NONE, spotless: dict[str, Json] | None = None) -> None:
        self.fault: Callable[[Exception], object] = repr
        self._eraser = Eraser(secret, known)
        self._comparing = Eraser(None, known)
        self._streams: dict[int, Stream] = {}
        self._printed: dict[int, Tail[Printed]] = {}
        self._facts: dict[str, tuple[Json, Json]] = {}
        self._remembers = spotless is not None
        self._spotless = {} if spotless is None else spotless
        self._run_known: tuple[Run, Run] | None = None

    @property
    def rules(self) -> tuple[str, ...]:
        """Named, versioned rules in force."""
        return (*RULES, RULE)

    def clean(self, record: Record) -> tuple[Record, ...]:
        """The records to store in place of this one, each labelled."""
        step = _STEPS.get(type(record))
        if step is None:
            return (record,)
        try:
            return step(self, record)
        except Exception as error:  # never raw, never raising: whatever went wrong costs the payload
            self.fault(error)
            reason = "too many candidates" if isinstance(error, Exhausted) else type(error).__name__
            return _withheld(record, f"{_UNCLEAN}: {reason}")

    def flush(self) -> tuple[Record, ...]:
        """Whatever is still held back."""
        out: list[Record] = []
        for event in list(self._streams):
            out += self._rest(event)
        for tail in self._printed.values():
            out += _labelled(tail.rest(), tail.withheld)
        self._printed.clear()
        return tuple(out)

    def call(self, call: Call) -> Call:
        """A live call of a replay with its credentials reduced to constants of their classes. Never raises."""
        try:
            return _cleaned_call(self._comparing, call)
        except Exception:
            return call

    # -- calls --------------------------------------------------------------------------------------------------------

    def _issued(self, record: CallIssued) -> tuple[Record, ...]:
        call = _cleaned_call(self._eraser, record.call)
        if call is record.call:
            return (record,)
        return (replace(record, call=call, fidelity=Fidelity.REDACTED, note=NOTE),)

    def _settled(self, record: CallSettled) -> tuple[Record, ...]:
        outcome = record.outcome
        cleaned: Value | Failure
        if isinstance(outcome, Value):
            body, changes = (_body(self._eraser, one) for one in (outcome.body, outcome.changes))
            facts = self._eraser.json(dict(outcome.head)) if outcome.head else outcome.head
            if body is outcome.body and changes is outcome.changes and facts == outcome.head:
                return (*self._rest(record.event), record)
            cleaned = replace(outcome, body=body, changes=changes, head=facts)
        elif isinstance(outcome, Failure):
            cleaned = replace(
                outcome,
                error=self._eraser.error(outcome.error),
                changes=_body(self._eraser, outcome.changes),
                head=self._eraser.json(dict(outcome.head)) if outcome.head else outcome.head,
            )
        else:
            return (*self._rest(record.event), record)
        before = self._rest(record.event)
        if cleaned == outcome:
            return (*before, record)
        return (*before, replace(record, outcome=cleaned, fidelity=Fidelity.REDACTED, note=NOTE))

    # -- streams ------------------------------------------------------------------------------------------------------

    def _head(self, record: HeadArrived) -> tuple[Record, ...]:
        head = dict(record.head)
        headers = self._eraser.headers(head.get("headers"), fit=True)
        extensions = self._eraser.json(head.get("extensions")) if head.get("extensions") else head.get("extensions")
        if headers is not head.get("headers") or extensions is not head.get("extensions"):
            head = {**head, "headers": headers} | ({"extensions": extensions} if "extensions" in head else {})
            record = replace(record, head=head, fidelity=Fidelity.REDACTED, note=NOTE)
        stream, holds = stream_for(self._eraser, record)
        self._streams[record.event] = stream
        return () if holds else (record,)

    def _segment(self, record: SegmentArrived) -> tuple[Record, ...]:
        stream = self._streams.get(record.event)
        if stream is None:
            cleaned = self._eraser.text(record.data, fit=True)
            if cleaned is record.data:
                return (record,)
            return (replace(record, data=cleaned, fidelity=Fidelity.REDACTED, note=NOTE),)
        try:
            return tuple(stream.feed(record))
        except Exception as error:
            # Whatever the stream still held, and all that follows, goes the same way.
            self.fault(error)
            held = [one for one in self._given_up(record.event) if one is not record]
            return (*held, withheld_segment(record, _UNCLEAN))

    def _ended(self, record: StreamEnded) -> tuple[Record, ...]:
        before = self._rest(record.event)
        if record.end.error is not None:
            record = replace(record, end=replace(record.end, error=self._eraser.error(record.end.error)))
        return (*before, record)

    def _rest(self, event: int) -> list[Record]:
        stream = self._streams.pop(event, None)
        if stream is None:
            return []
        try:
            return stream.rest()
        except Exception as error:
            self.fault(error)
            return _without_payload(stream.held())

    def _given_up(self, event: int) -> list[Record]:
        stream = self._streams[event]
        self._streams[event] = Withheld()
        return _without_payload(stream.held())

    # -- the rest -----------------------------------------------------------------------------------------------------

    def _noted(self, record: Noted) -> tuple[Record, ...]:
        value = self._eraser.json(record.value, record.key)
        return (record if value is record.value else replace(record, value=value, fidelity=Fidelity.REDACTED),)

    def _ambient(self, record: AmbientRead) -> tuple[Record, ...]:
        if not record.source.startswith(_TEXTS):
            return (record,)
        data = texts.cleaned(record.data[_LENGTH:], self._eraser.string)
        data = len(data).to_bytes(_LENGTH, "big") + data
        return (record if data == record.data else replace(record, data=data),)

    def _print(self, record: Printed) -> tuple[Record, ...]:
        tail = self._printed.get(record.stream)
        if tail is None:
            tail = self._printed[record.stream] = Tail(self._eraser)
        return tuple(_labelled(tail.feed(record, record.data), tail.withheld))

    def _checkpoint(self, record: CheckpointTaken) -> tuple[Record, ...]:
        slots = {name: self._slot(name, value) for name, value in record.slots.items()}
        if all(slots[name] is record.slots[name] for name in slots):
            return (record,)
        return (replace(record, slots=slots, fidelity=Fidelity.REDACTED, note=NOTE),)

    def _slot(self, name: str, value: bytes) -> bytes:
        lead = b'"' + name.encode("utf-8", "replace").replace(b'"', b"") + b'":'
        cleaned = _body(self._eraser, lead + value)
        return value if cleaned == lead + value else cleaned[len(lead) :]

    def _gap(self, record: GapNoted) -> tuple[Record, ...]:
        return (replace(record, what=self._eraser.string(record.what), place=self._eraser.string(record.place)),)

    def _opened(self, record: RunOpened) -> tuple[Record, ...]:
        return (RunOpened(self._run(record.run)),)

    def _closed(self, record: RunClosed) -> tuple[Record, ...]:
        return (RunClosed(self._run(record.run), self._eraser.json(dict(record.extra)) if record.extra else {}),)

    def _run(self, run: Run) -> Run:
        """A run; the same object comes twice as it begins, for its row and as a record."""
        known = self._run_known
        if known is None or known[0] is not run:
            known = self._run_known = (run, self._cleaned_run(run))
        return known[1]

    def _cleaned_run(self, run: Run) -> Run:
        eraser = self._eraser
        return changed(
            run,
            entry=changed_entry(run.entry, argv=eraser.argv(run.entry.argv), own=eraser.argv(run.entry.own)),
            environment=self.surroundings(run.environment),
            tags={name: str(eraser.json(value, name)) for name, value in run.tags.items()},
            error=eraser.string(run.error),
            degraded=tuple(eraser.string(reason) for reason in run.degraded),
        )

    def surroundings(self, environment: Mapping[str, Json]) -> dict[str, Json]:
        """The facts of the process, cleaned: they are the same objects at the run's begin and end, so each is cleaned
        once (1 ms).

        Raises:
            Exhausted: One of them was made to be slow.
        """
        out: dict[str, Json] = {}
        facts, spotless = self._facts, self._spotless
        for name, value in environment.items():
            known = facts.get(name)
            if known is None or known[0] is not value:
                same = name in spotless and spotless[name] == value
                known = facts[name] = (value, value if same else self._fact(name, value))
            out[name] = known[1]
        return out

    def _fact(self, name: str, value: Json) -> Json:
        cleaned = self._eraser.environment({name: value})[name]
        if cleaned == value and self._remembers:
            self._spotless[name] = value if isinstance(value, _IMMUTABLE) else deepcopy(value)
        return cleaned


_STEPS: Mapping[type, Callable[[CredentialRedactor, Any], tuple[Record, ...]]] = {
    CallIssued: CredentialRedactor._issued,
    HeadArrived: CredentialRedactor._head,
    SegmentArrived: CredentialRedactor._segment,
    StreamEnded: CredentialRedactor._ended,
    CallSettled: CredentialRedactor._settled,
    Noted: CredentialRedactor._noted,
    AmbientRead: CredentialRedactor._ambient,
    Printed: CredentialRedactor._print,
    CheckpointTaken: CredentialRedactor._checkpoint,
    GapNoted: CredentialRedactor._gap,
    RunOpened: CredentialRedactor._opened,
    RunClosed: CredentialRedactor._closed,
}
"""What cleans each sort of record."""


def _without_payload(held: list[HeadArrived | SegmentArrived]) -> list[Record]:
    """A stream's head, and its segments without their bytes."""
    return [withheld_segment(one, _UNCLEAN) if isinstance(one, SegmentArrived) else one for one in held]


def _labelled(parts: list[Part[Printed]], withheld: bool) -> list[Record]:
    out: list[Record] = []
    for record, data, differs in parts:
        if not differs:
            out.append(record)
        elif withheld:
            out.append(replace(record, data=data, fidelity=Fidelity.WITHHELD, note=_UNCLEAN))
        else:
            out.append(replace(record, data=data, fidelity=Fidelity.REDACTED, note=NOTE))
    return out


def _body(eraser: Eraser, body: bytes) -> bytes:
    """A text of any length; a very long one in pieces."""
    if len(body) <= _PIECEWISE or type(body) is Woven:
        return eraser.text(body)
    cleaned, withheld = cleaned_in_pieces(eraser, body)
    if withheld:
        raise Exhausted
    return cleaned


def _cleaned_call(eraser: Eraser, call: Call) -> Call:
    """A call without credentials, itself where it had none."""
    if call.kind in (Kind.HTTP, Kind.WEBSOCKET) or is_exchange(call.rule):
        sort = "request"
    else:
        sort = "process" if call.kind in (Kind.PROCESS, Kind.ENV) else "value"
    clean = partial(_cleaned_head, eraser, call, sort)
    name, head = eraser.head(sort, call.name, call.head, clean)
    if sort == "request":
        head, body = _cleaned_content(eraser, call, head)
    else:
        body = _body(eraser, call.body)
    if body == call.body and name == call.name and head == call.head:
        return call
    return replace(call, head=head, body=body, name=name)


def _cleaned_head(eraser: Eraser, call: Call, sort: str) -> tuple[str, Mapping[str, Json]]:
    name = eraser.string(call.name)
    if sort == "request":
        return name, _cleaned_request(eraser, call)
    return name, eraser.environment(call.head) if sort == "process" else eraser.json(dict(call.head))


def _cleaned_request(eraser: Eraser, call: Call) -> Mapping[str, Json]:
    head = dict(call.head)
    if "url" in head:
        head["url"] = eraser.url(str(head["url"]))
    if "headers" in head:
        head["headers"] = eraser.headers(head["headers"])
    for name, value in call.head.items():
        if name not in ("url", "headers", "method"):
            head[name] = eraser.json(value, "" if isinstance(value, str) else name)
    return head


def _cleaned_content(eraser: Eraser, call: Call, head: Mapping[str, Json]) -> tuple[Mapping[str, Json], bytes]:
    """The body of a request, and its head, which says how the body is stored."""
    body = call.body
    if not body:
        return head, body
    encoding = header(call.head, "content-encoding")
    undone = undo(encoding, body, _DECODED) if encoding and body else None
    plain = body if undone is None else undone.data
    form = header(call.head, "content-type").strip().lower().startswith("application/x-www-form-urlencoded")
    cleaned = eraser.form(plain) if form and len(plain) <= _PIECEWISE else _body(eraser, plain)
    if cleaned == plain:
        if undone is not None and not undone.whole and len(undone.data) >= _DECODED:
            raise Exhausted
        return head, body
    if undone is not None:  # stored decoded, and its head says so
        left = [pair for pair in head.get("headers") or () if str(pair[0]).lower() != "content-encoding"]
        head = {**head, "headers": left}
    return head, cleaned


def _withheld(record: Record, why: str) -> tuple[Record, ...]:
    """The record without its payload."""
    if isinstance(record, CallIssued):
        head = {name: record.call.head[name] for name in ("method", "tool", "opaque") if name in record.call.head}
        call = replace(record.call, head=head, body=b"")
        return (replace(record, call=call, fidelity=Fidelity.WITHHELD, note=why),)
    if isinstance(record, SegmentArrived):
        return (withheld_segment(record, why),)
    if isinstance(record, HeadArrived):
        head = {name: record.head[name] for name in ("status", "version", "framing") if name in record.head}
        return (replace(record, head={**head, "headers": []}, fidelity=Fidelity.WITHHELD, note=why),)
    if isinstance(record, CallSettled):
        outcome: Value | Failure
        if isinstance(record.outcome, Failure):
            outcome = Failure(ErrorFact(record.outcome.error.type, ""))
        else:
            outcome = Value(b"null")
        return (replace(record, outcome=outcome, fidelity=Fidelity.WITHHELD, note=why),)
    return _withheld_beside(record, why)


def _withheld_beside(record: Record, why: str) -> tuple[Record, ...]:
    """The same for records that are no part of a call."""
    if isinstance(record, (Noted, AmbientRead)):
        gone = (
            replace(record, data=b"")
            if isinstance(record, AmbientRead)
            else replace(record, value=None, fidelity=_GONE)
        )
        return (gone,)
    if isinstance(record, Printed):
        return (replace(record, data=b"~" * len(record.data), fidelity=Fidelity.WITHHELD, note=why),)
    if isinstance(record, CheckpointTaken):
        return (replace(record, slots={}, fidelity=Fidelity.WITHHELD, note=why),)
    if isinstance(record, StreamEnded):
        return (replace(record, end=replace(record.end, error=None)),)
    if isinstance(record, (RunOpened, RunClosed)):
        entry = replace(record.run.entry, argv=record.run.entry.argv[:1], own=())
        run = replace(record.run, environment={}, tags={}, error="", entry=entry, degraded=(why,))
        return (replace(record, run=run),)
    return (record,)
