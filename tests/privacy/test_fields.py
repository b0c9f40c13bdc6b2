"""Every field of every record that can hold a text is classified, cleaned as the table says, and withheld when that
fails: a field that nobody thought of fails here first."""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from reenact.facts import call as calls
from reenact.facts import order as orders
from reenact.facts import record as records
from reenact.facts import run as runs
from reenact.facts.call import Call, Effect, End, EndKind, ErrorFact, Failure, Kind, Stream, Value
from reenact.facts.order import Delivery, Tag
from reenact.facts.record import (
    AmbientRead,
    CallIssued,
    CallSettled,
    CheckpointTaken,
    EvidenceNoted,
    GapNoted,
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
from reenact.facts.run import Entry, Run
from reenact.facts.text_spans import SearchExhausted
from reenact.privacy import CredentialRedactor
from reenact.privacy.eraser import Eraser
from reenact.privacy.record_cleaning import FIELDS, WITHHELD, Way, cleaned
from reenact.seams import lanes
from tests.privacy.canaries import seen

SECRET = "sk-proj-Zq3vT9xKb7LmW2nRc4Yd8sPf6HgJ1uQer5Ta0oEi"
NAMES = {**vars(calls), **vars(orders), **vars(runs)}
"""What annotations may name that is imported for the type checker alone."""
SILENT = (int, float, bool, type(None), enum.Enum)
"""Types that hold no text of anybody's."""


def facts_of(annotation: Any) -> Iterator[Any]:
    """The plain types in an annotation; mappings, tuples and unions taken apart."""
    if typing.get_args(annotation):
        for each in typing.get_args(annotation):
            if each is not Ellipsis:
                yield from facts_of(each)
    else:
        yield annotation


def is_fact(kind: Any) -> bool:
    return dataclasses.is_dataclass(kind) or (
        isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")
    )


def fields_of(kind: Any) -> Mapping[str, Any]:
    names = kind._fields if not dataclasses.is_dataclass(kind) else [each.name for each in dataclasses.fields(kind)]
    hints = typing.get_type_hints(kind, localns=NAMES)
    return {name: hints[name] for name in names}


def reached() -> dict[type, Mapping[str, Any]]:
    """Every record, and every fact that stands in one, with its fields."""
    found: dict[type, Mapping[str, Any]] = {}
    left = list(typing.get_args(Record))
    while left:
        kind = left.pop()
        if kind not in found:
            found[kind] = fields_of(kind)
            left += [each for hint in found[kind].values() for each in facts_of(hint) if is_fact(each)]
    return found


def speaks(annotation: Any) -> bool:
    """Whether a field can hold a text, bytes or JSON, or a fact that can."""
    return any(
        each is Any or not isinstance(each, type) or not issubclass(each, SILENT) for each in facts_of(annotation)
    )


def test_every_field_that_can_hold_a_text_is_classified() -> None:
    missing = [
        f"{kind.__name__}.{name}"
        for kind, fields in reached().items()
        for name, hint in fields.items()
        if speaks(hint) and name not in FIELDS.get(kind, {}) and not is_silent_fact(hint)
    ]
    assert missing == []


def is_silent_fact(hint: Any) -> bool:
    """A fact of numbers alone."""
    kinds = list(facts_of(hint))
    return all(is_fact(kind) and not any(speaks(each) for each in fields_of(kind).values()) for kind in kinds)


def test_nothing_is_classified_that_does_not_exist() -> None:
    known = reached()
    assert set(FIELDS) <= set(known)
    assert [f"{kind.__name__}.{name}" for kind in FIELDS for name in FIELDS[kind] if name not in known[kind]] == []
    assert set(typing.get_args(Record)) == {getattr(records, each.__name__) for each in typing.get_args(Record)}


def run_with(text: str) -> Run:
    return Run(
        "01id",
        agent=text,
        version=text,
        user=text,
        tenant=text,
        session=text,
        tags={"a": text, text: "b"},
        flag=text,
        lane=f"root/{text}#1",
        retention=text,
        files={text: "digest"},
        error=text,
        environment={"a": text, "env": {"b": text}},
        capture={"a": {"b": [text], text: 1}},
        degraded=(text,),
        entry=Entry("command", ("x", text), text, text, text, text, "", text, (text, text)),
    )


def records_with(text: str) -> list[Record]:
    """One record of each type, the text in each field that is not of our own making."""
    data = text.encode()
    error = ErrorFact(text, text, data, data, None, None, False, (text,), ())
    error = dataclasses.replace(error, cause=error, context=error, members=(error,))
    call = Call(Kind.TOOL, text, Effect.READ, "tool/1", {"tool": text, "opaque": [text], text: text}, data)
    call = dataclasses.replace(call, media=text, channel=text, ordinal=text, source=f"{text}.py:1")
    body = b'{"a": "' + data + b'"}'
    return [
        RunOpened(run_with(text)),
        LaneOpened(1, f"root/{text}#1", 0),
        CallIssued(0, 1, 0, None, 0, call),
        CallIssued(
            1, 1, 0, None, 0, dataclasses.replace(call, kind=Kind.HTTP, rule="http/1", head={"url": text, "x": text})
        ),
        CallSettled(0, 1, Value(body, text, body, {"a": text})),
        CallSettled(1, 1, Failure(error, body, {"a": text})),
        CallSettled(1, 1, Stream({"reason": text}, End(EndKind.ERROR, error))),
        HeadArrived(2, 1, {"status": 200, "reason": text, "headers": [["x-a", text]], "x": [text]}),
        SegmentArrived(2, 1, data),
        StreamEnded(2, 1, End(EndKind.ERROR, error)),
        SegmentArrived(3, 1, data),
        StreamEnded(4, 1, End(EndKind.ERROR, error)),
        EvidenceNoted(0, text, {"a": text}),
        AmbientRead(0, 0, f"env/{text}", b""),
        TurnsDelivered((Delivery(0, Tag("t", f"root/{text}#1", 0, 0), 0, True),)),
        OutputPrinted(1, 0, data),
        CheckpointTaken(0, "in", {text: body, "b": body}),
        GapNoted(text, text),
        RunClosed(run_with(text), {"a": text, text: 1}),
    ]


def issued_with(secret: str) -> CallIssued:
    return next(each for each in records_with(secret) if isinstance(each, CallIssued))


def lane_of(redactor: CredentialRedactor, number: int, path: str) -> str:
    """The path of a new lane as it is kept."""
    (kept,) = redactor.clean(LaneOpened(number, path, 0))
    assert isinstance(kept, LaneOpened)
    return kept.path


def test_each_type_of_record_is_tried() -> None:
    assert {type(each) for each in records_with("")} == set(typing.get_args(Record))


@pytest.mark.parametrize("at", range(len(records_with(""))), ids=lambda at: type(records_with("")[at]).__name__)
def test_nothing_of_a_secret_is_left_in_any_field(at: int) -> None:
    redactor = CredentialRedactor(b"a secret of the run")
    path = lane_of(redactor, 1, f"root/{SECRET}#1")
    found = [*redactor.clean(records_with(SECRET)[at]), *redactor.flush()]
    assert path == "root/sk-proj-~rxk~#1"
    assert found and SECRET[8:] not in seen(found)


@pytest.mark.parametrize("at", range(len(records_with(""))), ids=lambda at: type(records_with("")[at]).__name__)
@pytest.mark.parametrize("fault", [SearchExhausted(), MemoryError(), RecursionError(), ValueError(SECRET)])
def test_what_cannot_be_cleaned_is_withheld_whole(at: int, fault: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise fault

    for name in ("text", "find", "spans", "string", "json", "url", "headers", "header", "argv", "environment"):
        monkeypatch.setattr(Eraser, name, fails)
    redactor = CredentialRedactor(b"a secret of the run")
    redactor.fault = lambda error: None
    redactor.clean(LaneOpened(1, f"root/{SECRET}#1", 0))
    found = [*redactor.clean(records_with(SECRET)[at]), *redactor.flush()]
    assert found and SECRET[8:] not in seen(found)


def test_two_lanes_that_cannot_be_cleaned_stay_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Eraser, "string", lambda *_: 1 / 0)
    redactor = CredentialRedactor(b"a secret of the run")
    redactor.fault = lambda error: None
    paths = [lane_of(redactor, n, f"root/{n}{SECRET}#1") for n in (1, 2)]
    assert paths[0] != paths[1]


def test_what_a_live_call_cannot_be_cleaned_of_is_withheld_as_in_the_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise SearchExhausted

    recorder, replayer = CredentialRedactor(b"a secret of the run"), CredentialRedactor(b"another")
    issued = issued_with(SECRET)
    monkeypatch.setattr(Eraser, "text", fails)
    (kept,) = recorder.clean(issued)
    assert isinstance(kept, CallIssued)
    now = replayer.call(issued.call)
    assert kept.call.name == now.name == WITHHELD
    assert (kept.call.head, kept.call.body) == (now.head, now.body) == ({}, b"")
    settled = Value(SECRET.encode())
    (after,) = recorder.clean(CallSettled(0, 1, settled))
    assert isinstance(after, CallSettled) and after.outcome == replayer.outcome(settled) == Value(b"null", "")


def test_names_are_the_same_in_two_runs_and_in_a_replay() -> None:
    call = issued_with(SECRET).call
    names = set()
    for redactor in (CredentialRedactor(b"one"), CredentialRedactor(b"two")):
        (kept,) = redactor.clean(CallIssued(0, 0, 0, None, 0, call))
        assert isinstance(kept, CallIssued)
        names |= {(each.name, each.ordinal) for each in (kept.call, redactor.call(call))}
    assert names == {("sk-proj-~rxk~", "sk-proj-~rxk~")}


def test_a_channel_keeps_two_credentials_apart() -> None:
    redactor = CredentialRedactor(b"one")
    channels = set()
    for secret in (SECRET, SECRET[::-1].replace("-jorp-ks", "")):
        call = Call(Kind.HTTP, "GET h/x", Effect.READ, "http/1", {}, channel=f"GET h/bot123456789:AA{secret[-33:]}/x")
        (found,) = redactor.clean(CallIssued(0, 0, 0, None, 0, call))
        assert isinstance(found, CallIssued) and "~rxk" in found.call.channel
        channels.add(found.call.channel)
    assert len(channels) == 2


def test_by_hand_is_what_the_table_does_not_clean() -> None:
    eraser = Eraser(b"x")
    for kind, table in FIELDS.items():
        assert all(isinstance(way, Way) for way in table.values()), kind
    gap = GapNoted("a", "b")
    assert cleaned(gap, eraser) is gap
    assert isinstance(FIELDS, (dict, types.MappingProxyType))


class Faults:
    """Lets no fault pass."""

    def told(self, error: Exception) -> bool:
        return True


@pytest.mark.parametrize(
    "name", ["work", "Agent.run", SECRET, f"a/{SECRET}#1", "postgresql://u:hut-Zebra77@h/d", "password=hut-Zebra77"]
)
def test_the_gate_leaves_a_lane_the_name_that_it_was_given(name: str) -> None:
    redactor = CredentialRedactor(b"a secret of the run")
    faults = Faults()
    lanes.call_by(redactor.naming, faults.told)
    try:
        given = lanes._plain(name)
    finally:
        lanes.call_by(str, faults.told)
    opened = LaneOpened(1, f"root/{given}#1>{given}#2", 0)
    assert "Zebra" not in given and SECRET[8:] not in given and not set(given) & set("/>#")
    assert redactor.clean(opened) == (opened,)
