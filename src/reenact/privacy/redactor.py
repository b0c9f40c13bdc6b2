"""The gate: every record of a run, cleaned of credentials before anything is written.

It runs in the writer's thread, sees records in order, and never raises: data that cannot be cleaned is withheld.
Stand-ins of one run share a secret that is drawn when the run begins and kept nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import partial
from typing import Any, TypeVar

from reenact.abc.sources import ENTROPY
from reenact.facts import texts
from reenact.facts.call import Call, Failure, Fidelity, Json, Value
from reenact.facts.credentials import RULES, CredentialSort, constant
from reenact.facts.growth import mark_in
from reenact.facts.interruptions import let_through
from reenact.facts.known_credentials import NONE, RULE, KnownCredentials
from reenact.facts.lazy_dataclass import replace
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.record import (
    AmbientRead,
    CallIssued,
    CallSettled,
    CheckpointTaken,
    EvidenceNoted,
    HeadArrived,
    LaneOpened,
    OutputPrinted,
    Record,
    RunClosed,
    RunOpened,
    SegmentArrived,
    StreamEnded,
    TurnsDelivered,
)
from reenact.facts.run import Run
from reenact.facts.text_spans import SearchExhausted
from reenact.privacy.batch_search import text_of
from reenact.privacy.crossings import clean_call, clean_end, clean_head, clean_outcome, clean_slots, clean_text
from reenact.privacy.eraser import Eraser
from reenact.privacy.record_cleaning import WITHHELD, cleaned, lane_of, withheld
from reenact.privacy.removed_values import RemovedValues
from reenact.privacy.stream_cleaning import NOTE, Stream, WithheldBody, stream_for, withheld_segment
from reenact.privacy.tails import Tail, TailPart

R = TypeVar("R")

_SOURCES = "texts"
"""The part of a note of a run's surroundings (``recording.run_evidence``) that has paths of source files with their
contents."""

_TEXTS = ("env/", "listing/")
"""Ambient sources whose values are texts (``seams.ambient``)."""
_LENGTH = 4
_PASSES = 8
_CONSTANT = lazy_regex(rb"~rx[a-uw-z]~")
_VARIABLE = lazy_regex(rb"(~rxv[a-z2-7]{3})[a-z2-7]+~")
"""A stand-in that names a variable. Three characters of the name's digest are kept: the stand-in for a value of eight
bytes has no room for more."""
_ANY = constant(CredentialSort.NAMED)
_IMMUTABLE = (str, int, float, bool, type(None))
_UNCLEAN = "could not be cleaned"


def make_redactor(
    secret: bytes | None = None,
    known: KnownCredentials = NONE,
    spotless: dict[str, Json] | None = None,
    removed: RemovedValues | None = None,
) -> CredentialRedactor:
    """The redactor of one run.

    Args:
        secret: Key of the stand-ins' digests; drawn from the system's entropy where none is given, so that stand-ins of
            two runs have nothing in common.
        known: Credentials that are known by value.
        spotless: The last value of each fact of the surroundings in which redactors with the same ``known`` have found
            nothing. These facts are not searched again; this redactor adds its own.
        removed: The values that were removed before in this process; this redactor adds its own.
    """
    return CredentialRedactor(secret if secret is not None else ENTROPY.bytes(32), known, spotless, removed)


class CredentialRedactor:
    """Cleans the records of one run (``abc.redaction.Redactor``).

    Args:
        secret: The key of the digests in stand-ins; it is kept nowhere, because with it one could try candidates.
        known: Credentials that are known by value.
        spotless, removed: See ``make_redactor``.

    Attributes:
        fault: Called with every failure in here; the affected data is withheld, or gone.
    """

    def __init__(
        self,
        secret: bytes,
        known: KnownCredentials = NONE,
        spotless: dict[str, Json] | None = None,
        removed: RemovedValues | None = None,
    ) -> None:
        self.fault: Callable[[Exception], object] = repr
        self._removed = RemovedValues() if removed is None else removed
        self._known = known
        self._eraser = Eraser(secret, known, self._removed)
        self._comparing = self._eraser.constants
        self._streams: dict[int, Stream] = {}
        self._printed: dict[int, Tail[OutputPrinted]] = {}
        self._facts: dict[str, tuple[Json, Json]] = {}
        self._remembers = spotless is not None
        self._spotless = {} if spotless is None else spotless
        self._run_known: tuple[Run, Run] | None = None
        self._of_run = {"entry": lambda entry: cleaned(entry, self._eraser), "environment": self.surroundings}
        self._lanes: dict[str, str] = {}

    @property
    def rules(self) -> tuple[str, ...]:
        """Named, versioned rules in force."""
        return (*RULES, RULE)

    @property
    def mark(self) -> bytes:
        """Bytes that change with each removed value, because the value may also be in data that was cleaned before."""
        return self._removed.mark

    def clean(self, record: Record) -> tuple[Record, ...]:
        """The records to store in place of this one, each labelled."""
        step = _STEPS.get(type(record))
        try:
            made = (cleaned(record, self._eraser),) if step is None else step(self, record)
        except Exception as error:  # never raw, never raising: an error costs only the value that caused it
            made = (self._withheld(record, error),)
        if self._removed.has_fresh and type(record) is not RunOpened:  # the run is cleaned once more, for its row
            return (*self._removed.notes(), *made)
        return made

    def foresee(self, records: Sequence[Record]) -> None:
        """Search in one go the texts of records that will be cleaned next, in this order. The cleaned records are the
        same without this call, which only saves a search of each clean text. Never raises."""
        with suppress(Exception):  # an error here comes again, and is reported, when the record is cleaned
            self._eraser.foresee([text for record in records if (text := text_of(record))])

    def _withheld(self, record: R, error: Exception) -> R:
        self.fault(error)
        return withheld(record, _why(error), self._eraser)

    def flush(self) -> tuple[Record, ...]:
        """All that is still held back."""
        out: list[Record] = []
        for event in list(self._streams):
            out += self._rest(event)
        for tail in self._printed.values():
            out += _labelled(tail.rest(), tail.withheld)
        self._printed.clear()
        return (*out, *self._removed.notes())

    # -- both sides of a comparison -----------------------------------------------------------------------------------

    def call(self, call: Call) -> Call:
        """A live call of a replay, with its credentials reduced to constants of their classes, and without data that
        cannot be cleaned, as in the recording. Never raises."""
        try:
            return clean_call(self._comparing, call)
        except Exception as error:  # never raises: the call is withheld as in the recording
            let_through(error)
            return withheld(call, _why(error), self._comparing)

    def outcome(self, outcome: Value | Failure) -> Value | Failure:
        """Clean the outcome of a body that ran again, or the recorded outcome, as ``call`` cleans a call."""
        try:
            return clean_outcome(self._comparing, outcome)
        except Exception as error:  # never raises: the outcome is withheld as in the recording
            let_through(error)
            return withheld(outcome, _why(error), self._comparing)

    def slots(self, slots: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """Clean the state of a step, by the names of its parts, as ``call`` cleans a call."""
        try:
            return clean_slots(self._comparing, slots)
        except Exception as error:  # never raises, never raw: nothing of the state is compared
            let_through(error)
            return {}

    def printed(self, texts: Sequence[bytes]) -> list[bytes] | None:
        """Clean everything that a program has printed, as ``call`` cleans a call; None if a text cannot be cleaned.

        A recording's output was cleaned as it came, when fewer values were known. A value may also appear without its
        name, before or after the place with the name. So the texts are searched until nothing new is found. The result
        does not depend on their order, or on where they are cut."""
        try:
            for text in texts:  # a value known by its digest becomes known as text, to be found inside words
                clean_text(self._comparing, text)
            for _ in range(_PASSES):
                mark = self._removed.mark
                found = [self._alike(text) for text in texts]
                if mark == self._removed.mark:
                    break
            return found
        except Exception as error:  # never raises: the outputs count as different, and their text is not shown
            let_through(error)
            return None

    def _alike(self, text: bytes) -> bytes:
        """Printed output without any known value. The class that a value gets depends on the place where it is found
        first, so all classes leave the same constant here."""
        known = self._removed.erased(self._known.erased(text))
        cleaned = _VARIABLE.sub(rb"\1~", _CONSTANT.sub(_ANY, clean_text(self._comparing, known)))
        if _ANY in cleaned:
            for shaped in self._shaped():
                cleaned = cleaned.replace(shaped, _ANY)
        return cleaned

    def _shaped(self) -> list[bytes]:
        """The stand-ins of values that were known only by their shape when they were printed. Each keeps the first part
        of its shape."""
        shaped = {_CONSTANT.sub(_ANY, self._eraser.naming.text(value)) for value in self._removed.values()}
        return sorted((each for each in shaped if _ANY in each and each != _ANY), key=len, reverse=True)

    def text(self, text: str) -> str:
        """Clean a text (a name, or words for people) as ``call`` cleans a call."""
        return _text(self._comparing, text)

    @property
    def naming(self) -> Callable[[str], str]:
        """A function that cleans names of lanes; it does not depend on the run, and may outlive it. Values that were
        removed elsewhere in the run do not count: a lane must always have the same name."""
        return partial(_text, self._eraser.naming)

    def data(self, data: Json) -> Json:
        """Clean JSON that people or other programs read, as ``call`` cleans a call."""
        try:
            return self._comparing.json(data)
        except Exception as error:  # never raises, never raw
            let_through(error)
            return WITHHELD

    # -- calls --------------------------------------------------------------------------------------------------------

    def _issued(self, record: CallIssued) -> tuple[Record, ...]:
        call = clean_call(self._eraser, record.call)
        if call is record.call:
            return (record,)
        return (replace(record, call=call, fidelity=Fidelity.REDACTED, note=NOTE),)

    def _settled(self, record: CallSettled) -> tuple[Record, ...]:
        before = self._rest(record.event) if record.event in self._streams else ()
        try:
            found = clean_outcome(self._eraser, record.outcome)
        except Exception as error:  # the records of the stream before this error are still returned
            return (*before, self._withheld(record, error))
        if found is record.outcome:
            return (*before, record)
        return (*before, replace(record, outcome=found, fidelity=Fidelity.REDACTED, note=NOTE))

    # -- streams ------------------------------------------------------------------------------------------------------

    def _head(self, record: HeadArrived) -> tuple[Record, ...]:
        head = clean_head(self._eraser, record.head)
        if head is not record.head:
            record = replace(record, head=head, fidelity=Fidelity.REDACTED, note=NOTE)
        stream, holds = stream_for(self._eraser, record)
        self._streams[record.event] = stream
        return () if holds else (record,)

    def _segment(self, record: SegmentArrived) -> tuple[Record, ...]:
        stream = self._streams.get(record.event)
        if stream is None:
            found = self._eraser.text(record.data, fit=True)
            if found is record.data:
                return (record,)
            return (replace(record, data=found, fidelity=Fidelity.REDACTED, note=NOTE),)
        try:
            return tuple(stream.feed(record))
        except Exception as error:  # never raw, never raising
            # The data that the stream still held back, and all later data, is withheld too.
            self.fault(error)
            held = [one for one in self._given_up(record.event) if one is not record]
            return (*held, withheld_segment(record, _UNCLEAN))

    def _ended(self, record: StreamEnded) -> tuple[Record, ...]:
        before = self._rest(record.event)
        if record.end.error is None:
            return (*before, record)
        try:
            return (*before, cleaned(record, self._eraser, {"end": partial(clean_end, self._eraser)}))
        except Exception as error:  # the records of the stream before this error are still returned
            return (*before, self._withheld(record, error))

    def _rest(self, event: int) -> list[Record]:
        stream = self._streams.pop(event, None)
        if stream is None:
            return []
        try:
            return stream.rest()
        except Exception as error:  # never raw: the records stay, without their payload
            self.fault(error)
            return _without_payload(stream.held())

    def _given_up(self, event: int) -> list[Record]:
        stream = self._streams[event]
        self._streams[event] = WithheldBody()
        return _without_payload(stream.held())

    # -- the rest -----------------------------------------------------------------------------------------------------

    def _evidence(self, key: str, value: Json) -> Json:
        """Clean a note. The sources of a program are separate texts, because a search of one after the other costs less
        than a search of all at once."""
        texts = value.get(_SOURCES) if isinstance(value, dict) else None
        if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
            return self._eraser.json(value, key)
        rest = self._eraser.json({name: each for name, each in value.items() if name != _SOURCES}, key)
        found = {self._eraser.string(path): self._eraser.string(text) for path, text in texts.items()}
        return {**rest, _SOURCES: found}

    def _noted(self, record: EvidenceNoted) -> tuple[Record, ...]:
        found = cleaned(record, self._eraser, {"value": lambda value: self._evidence(record.key, value)})
        return (record if found is record else replace(found, fidelity=Fidelity.REDACTED),)

    def _ambient(self, record: AmbientRead) -> tuple[Record, ...]:
        if not record.source.startswith(_TEXTS):
            return (record,)
        return (cleaned(record, self._eraser, {"data": self._texts}),)

    def _texts(self, data: bytes) -> bytes:
        found = texts.cleaned(data[_LENGTH:], self._eraser.string)
        return len(found).to_bytes(_LENGTH, "big") + found

    def _lane(self, record: LaneOpened) -> tuple[Record, ...]:
        """Clean the address of a lane. Lanes are clean already (``seams.lanes``), except those of an import, which are
        not made there."""
        path = lane_of(self._eraser, record.path)
        if path == record.path:
            return (record,)
        self._lanes[record.path] = path
        return (replace(record, path=path),)

    def _delivered(self, record: TurnsDelivered) -> tuple[Record, ...]:
        if not self._lanes:
            return (record,)
        return (
            TurnsDelivered(
                tuple(
                    each._replace(tag=each.tag._replace(lane=self._lanes.get(each.tag.lane, each.tag.lane)))
                    for each in record.deliveries
                )
            ),
        )

    def _print(self, record: OutputPrinted) -> tuple[Record, ...]:
        tail = self._printed.get(record.stream)
        if tail is None:
            tail = self._printed[record.stream] = Tail(self._eraser)
        return tuple(_labelled(tail.feed(record, record.data), tail.withheld))

    def _checkpoint(self, record: CheckpointTaken) -> tuple[Record, ...]:
        slots = clean_slots(self._eraser, record.slots)
        if slots is record.slots:
            return (record,)
        note = "\n".join(filter(None, (NOTE, mark_in(record.note))))
        return (replace(record, slots=slots, fidelity=Fidelity.REDACTED, note=note),)

    def _opened(self, record: RunOpened) -> tuple[Record, ...]:
        return (RunOpened(self._run(record.run)),)

    def _closed(self, record: RunClosed) -> tuple[Record, ...]:
        closed = cleaned(record, self._eraser, {"run": self._run})
        return (replace(closed, run=self._removed.kept_with(closed.run)),)

    def _run(self, run: Run) -> Run:
        """Clean a run. At its beginning the same object comes twice: for its row and as a record."""
        known = self._run_known
        if known is None or known[0] is not run:
            known = self._run_known = (run, cleaned(run, self._eraser, self._of_run))
        return known[1]

    def surroundings(self, environment: Mapping[str, Json]) -> dict[str, Json]:
        """The facts of the process, cleaned. At the end of the run they are the same objects as at its beginning, so
        each is cleaned once (1 ms).

        Raises:
            SearchExhausted: A fact is built so that a search takes too long.
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
        found = self._eraser.environment({name: value})[name]
        if found == value and self._remembers:
            self._spotless[name] = value if isinstance(value, _IMMUTABLE) else deepcopy(value)
        return found


_STEPS: Mapping[type, Callable[[CredentialRedactor, Any], tuple[Record, ...]]] = {
    CallIssued: CredentialRedactor._issued,
    HeadArrived: CredentialRedactor._head,
    SegmentArrived: CredentialRedactor._segment,
    StreamEnded: CredentialRedactor._ended,
    CallSettled: CredentialRedactor._settled,
    EvidenceNoted: CredentialRedactor._noted,
    AmbientRead: CredentialRedactor._ambient,
    OutputPrinted: CredentialRedactor._print,
    CheckpointTaken: CredentialRedactor._checkpoint,
    LaneOpened: CredentialRedactor._lane,
    TurnsDelivered: CredentialRedactor._delivered,
    RunOpened: CredentialRedactor._opened,
    RunClosed: CredentialRedactor._closed,
}
"""The function for each sort of record that is not cleaned field by field."""


def _without_payload(held: list[HeadArrived | SegmentArrived]) -> list[Record]:
    """A stream's head, and its segments without their bytes."""
    return [withheld_segment(one, _UNCLEAN) if isinstance(one, SegmentArrived) else one for one in held]


def _labelled(parts: list[TailPart[OutputPrinted]], withheld: bool) -> list[Record]:
    out: list[Record] = []
    for record, data, differs in parts:
        if not differs:
            out.append(record)
        elif withheld:
            out.append(replace(record, data=data, fidelity=Fidelity.WITHHELD, note=_UNCLEAN))
        else:
            out.append(replace(record, data=data, fidelity=Fidelity.REDACTED, note=NOTE))
    return out


def _text(eraser: Eraser, text: str) -> str:
    try:
        return eraser.string(text)
    except Exception as error:  # never raises, never raw
        let_through(error)
        return WITHHELD


def _why(error: Exception) -> str:
    return f"{_UNCLEAN}: {'too many candidates' if isinstance(error, SearchExhausted) else type(error).__name__}"
