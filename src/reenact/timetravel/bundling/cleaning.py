"""The records of a run before they leave this machine: once more through the gate, and looked at afterwards.

They were cleaned when they were recorded. Rules are better now than they were then, and a value may have become a
credential since; so everything passes the same gate again, and nothing is handed on that would not pass it unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

from reenact.abc.sources import ENTROPY
from reenact.errors import RedactionLeak
from reenact.facts.call import Fidelity, Json, Outcome, Value
from reenact.facts.ids import tail
from reenact.facts.known_credentials import KnownCredentials
from reenact.facts.large_values import is_withheld
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.path_before import is_content
from reenact.facts.record import (
    AmbientRead,
    CallIssued,
    CallSettled,
    CheckpointTaken,
    EvidenceNoted,
    GapNoted,
    HeadArrived,
    OutputPrinted,
    Record,
    RunClosed,
    SegmentArrived,
    StreamEnded,
)
from reenact.facts.removed_digests import REMOVED, RemovedDigests, listed, noted
from reenact.facts.run import Run
from reenact.facts.variables import chosen
from reenact.privacy import RemovedValues, make_redactor
from reenact.privacy.personal_data import personal
from reenact.recording.run_evidence import PROCESS
from reenact.store.codec import dump, joined, weaker

_FLOWING: Final = (HeadArrived, SegmentArrived, OutputPrinted)
_PLACES: Final[dict[type, str]] = {
    CallIssued: "the request",
    **dict.fromkeys((CallSettled, HeadArrived, SegmentArrived, StreamEnded), "the answer"),
    CheckpointTaken: "the state",
    EvidenceNoted: "the evidence",
    AmbientRead: "what it read of its surroundings",
    GapNoted: "what escaped",
}
_OUTPUT: Final = {1: "its output", 2: "its error output"}


@dataclass(frozen=True, slots=True)
class CleanBundle:
    """Records that may be handed on.

    Attributes:
        records: The records.
        removed: The places where a credential was removed, in the order of the run.
        personal: The number of different findings that look like personal data, by sort and place.
    """

    records: tuple[Record, ...]
    removed: tuple[str, ...]
    personal: Mapping[str, Mapping[str, int]]


def known_here(
    run: Run, environment: Mapping[str, str], lists: Iterable[RemovedDigests] = (), redact: Iterable[str] = ()
) -> KnownCredentials:
    """The credentials that are known by value: the values of variables that were credentials when the run was recorded,
    those of variables that are credentials today, and the values that were removed from the run.

    Args:
        run: The run.
        environment: Today's variables.
        lists: The removals in runs that are handed on with it.
        redact: Names of fields that hold credentials, beside those that the run was recorded with.
    """
    names = {*_names(run.environment.get("env_secret")), *_names(chosen(environment)["env_secret"])}
    same, fields = run.capture.get("same_values"), run.capture.get("redact")
    return KnownCredentials(
        environment,
        names,
        same if isinstance(same, Mapping) else {},
        {*_names(list(fields) if isinstance(fields, Mapping) else fields), *redact},
        RemovedDigests(b"", (), (listed(run.capture.get(REMOVED)), *lists)),
    )


def list_of(run: Run, records: Iterable[Record]) -> RemovedDigests:
    """The removals that a run lists; a run that was cut short lists them in several parts."""
    own = listed(run.capture.get(REMOVED))
    return own or noted(
        {each.key: each.value for each in records if isinstance(each, EvidenceNoted) and each.event is None}
    )


def _names(found: object) -> list[str]:
    return [each for each in found if isinstance(each, str)] if isinstance(found, (list, tuple)) else []


def clean(
    run: Run, records: Iterable[Record], known: KnownCredentials, removed: RemovedValues | None = None
) -> CleanBundle:
    """The records of a run without credentials, also at places that were recorded before a value was known as a
    credential.

    Args:
        run: The run.
        records: Its whole log.
        known: Credentials that are known by value.
        removed: The removals from runs that are packed with it; new removals are added.

    Raises:
        RedactionLeak: A record that came out of the gate does not pass it unchanged.
    """
    before = tuple(records)
    found = RemovedValues() if removed is None else removed
    passed = partial(_passed, known=known, removed=found, secret=ENTROPY.bytes(32))
    mark = found.mark
    once, where = passed(before)
    if found.mark != mark:  # a value that was found late may occur in earlier records
        once, more = passed(once)
        where = tuple(dict.fromkeys((*where, *more)))
    were, are = _joined(before), _joined(once)
    where = tuple(dict.fromkeys((*where, *(place for place, data in were.items() if are.get(place) != data))))
    again, left = passed(once)
    places = left or tuple(place for place, data in are.items() if _joined(again).get(place) != data)
    if places:
        place = places[0]
        raise RedactionLeak(
            f"run {tail(run.id)} is not handed on: a credential is left in {place}",
            cause="what redaction put in its place looks like a credential again",
            next_command=f"reenact show {tail(run.id)}",
            run=run.id,
        )
    return CleanBundle(_listing(once, list_of(run, before), found), where, _about_people(once))


def _listing(records: tuple[Record, ...], own: RemovedDigests, removed: RemovedValues) -> tuple[Record, ...]:
    """The records. The last one lists the values that were removed only now: a replay needs them."""
    key = own.key or ENTROPY.bytes(16)
    fresh = [each for each in removed.entries_under(key) if each not in own.entries]
    if not fresh:
        return records
    said = RemovedDigests(key, (*own.entries, *fresh)).to_json()
    return tuple(
        replace(each, run=replace(each.run, capture={**each.run.capture, REMOVED: said}))
        if isinstance(each, RunClosed)
        else each
        for each in records
    )


def _passed(
    records: tuple[Record, ...], known: KnownCredentials, removed: RemovedValues, secret: bytes
) -> tuple[tuple[Record, ...], tuple[str, ...]]:
    """The records that came out of the gate, and the places that the gate changed."""
    redactor = make_redactor(known=known, secret=secret, removed=removed)
    labelled = {
        place_of(each) for each in records if isinstance(each, _FLOWING) and each.fidelity is not Fidelity.EXACT
    }
    out: list[Record] = []
    where: dict[str, None] = {}

    def keep(record: Record, cleaned: Record) -> None:
        if isinstance(cleaned, _FLOWING):  # the gate may hold a piece back, so that pieces do not correspond
            differs = cleaned.fidelity is not Fidelity.EXACT and place_of(cleaned) not in labelled
        else:
            differs = type(record) is type(cleaned) and record != cleaned
        if isinstance(cleaned, CallIssued) and isinstance(record, CallIssued) and differs:
            fidelity, note = weaker(record.fidelity, cleaned.fidelity), joined(record.note, cleaned.note)
            cleaned = replace(cleaned, fidelity=fidelity, note=note)
        if differs:
            where[place_of(cleaned)] = None
        out.append(cleaned)

    ended = next((n for n, each in enumerate(records) if isinstance(each, RunClosed)), len(records))
    for record in records[:ended]:
        for cleaned in redactor.clean(record):
            keep(record, cleaned)
    for cleaned in redactor.flush():
        keep(cleaned, cleaned)
    for record in records[ended:]:
        for cleaned in redactor.clean(record):
            keep(record, cleaned)
    return tuple(out), tuple(where)


def _joined(records: Iterable[Record]) -> dict[str, bytes]:
    """The data that flowed in pieces, joined, by place."""
    found: dict[str, bytearray] = {}
    for record in records:
        if isinstance(record, (SegmentArrived, OutputPrinted)):
            found.setdefault(place_of(record), bytearray()).extend(record.data)
    return {place: bytes(data) for place, data in found.items()}


def place_of(record: Record) -> str:
    """Where a record belongs, for people."""
    if isinstance(record, OutputPrinted):
        return _OUTPUT.get(record.stream, "its output")
    name = _PLACES.get(type(record), "the run itself")
    event = getattr(record, "event", None)
    if isinstance(record, EvidenceNoted) and event is None:
        return "the run's evidence"
    if isinstance(record, CheckpointTaken) and is_content(record.event, record.phase):
        return "a file as it was before the run changed it"
    return name if event is None else f"{name} of event {event}"


def _about_people(records: Iterable[Record]) -> dict[str, dict[str, int]]:
    """The findings that look like personal data, by sort and place; the pieces of a stream are read as one text."""
    texts: dict[str, list[bytes]] = {}
    for record in records:
        texts.setdefault(place_of(record), []).extend(_contents(record))
    found: dict[str, dict[str, int]] = {}
    for place, pieces in texts.items():
        for sort, count in personal(b"".join(pieces).decode("utf-8", "replace")).items():
            found.setdefault(sort, {})[place] = count
    return found


def _of_outcome(outcome: Outcome) -> tuple[bytes, ...]:
    if not isinstance(outcome, Value):
        return (str(outcome).encode("utf-8", "replace"),)
    return () if is_withheld(outcome.body) else (outcome.body, b"\n")


def _without_versions(note: EvidenceNoted) -> Json:
    """The value of a note without the installed packages: a version of four numbers reads as an address."""
    if note.key != PROCESS or not isinstance(note.value, dict):
        return note.value
    return {name: each for name, each in note.value.items() if name != "packages"}


def _contents(record: Record) -> tuple[bytes, ...]:
    """The parts of a record that may name people."""
    match record:
        case CallIssued():
            return (record.call.body, dump(dict(record.call.head)).encode(), b"\n")
        case CallSettled():
            return _of_outcome(record.outcome)
        case SegmentArrived() | OutputPrinted():
            return (record.data,)
        case CheckpointTaken():
            return tuple(each + b"\n" for each in record.slots.values())
        case EvidenceNoted():
            return (dump(_without_versions(record)).encode(), b"\n")
        case _:
            return ()
