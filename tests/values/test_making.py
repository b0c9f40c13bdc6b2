"""Proves that the fast constructor of a fact makes exactly what the class's own constructor makes."""

from __future__ import annotations

import copy
import pickle
import sys
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from typing import Any

import pytest

from reenact.facts.call import Call, Effect, End, EndKind, Fidelity, Kind, Stream, Value
from reenact.facts.event import Event, Payload
from reenact.facts.making import changer, maker
from reenact.facts.record import CallIssued, CallSettled, HeadArrived, SegmentArrived, StreamEnded
from reenact.facts.run import Entry, Run, Status, Totals

CALL = Call(Kind.TOOL, "look", Effect.READ, "tool/1", {"tool": "look"}, b"{}", "application/json", "", "c1", "a.py:1")
MADE: list[tuple[Any, tuple[Any, ...]]] = [
    (Call, tuple(getattr(CALL, field.name) for field in fields(CALL))),
    (Call, (Kind.TOOL, "look", Effect.READ, "tool/1")),
    (Event, ("r", 1, "root", 0, None, CALL, Payload("ab", 2), Value(b"1"), None, 1, 2, 3, 4, "", Fidelity.SEALED)),
    (Event, ("r", 1, "root", 0, None, CALL)),
    (End, (EndKind.EOF,)),
    (Stream, ({"status": 200}, End(EndKind.EOF), 3, 1)),
    (Value, (b"1",)),
    (CallIssued, (1, 0, 0, None, 5, CALL)),
    (CallSettled, (1, 5, Value(b"1"), None)),
    (HeadArrived, (1, 5, {"status": 200}, 3)),
    (SegmentArrived, (1, 5, b"x", 3)),
    (StreamEnded, (1, 5, End(EndKind.EOF), None)),
]


@pytest.mark.parametrize(("cls", "values"), MADE)
def test_what_it_makes_cannot_be_told_from_what_the_class_makes(cls: Any, values: tuple[Any, ...]) -> None:
    made, known = maker(cls)(*values), cls(*values)
    assert type(made) is cls and made == known and repr(made) == repr(known)
    assert copy.copy(made) == known and pickle.loads(pickle.dumps(made)) == known and replace(made) == known
    with pytest.raises(FrozenInstanceError):
        setattr(made, fields(cls)[0].name, None)
    with pytest.raises((TypeError, AttributeError)):
        made.something = 1


def test_no_audit_hook_hears_of_it() -> None:
    heard: list[str] = []
    listening = True
    sys.addaudithook(lambda event, args: heard.append(event) if listening else None)
    make = maker(End)
    heard.clear()
    make(EndKind.EOF)
    said, listening = list(heard), False
    assert said == []


def test_it_takes_the_same_names_and_makes_defaults_anew() -> None:
    make = maker(Call)
    named = make(kind=Kind.TOOL, name="look", effect=Effect.READ, rule="tool/1")
    assert named == Call(Kind.TOOL, "look", Effect.READ, "tool/1")
    assert named.head is not make(kind=Kind.TOOL, name="look", effect=Effect.READ, rule="tool/1").head
    with pytest.raises(TypeError):
        make(kind=Kind.TOOL)  # type: ignore[call-arg]


def test_it_refuses_classes_it_would_not_make_whole() -> None:
    @dataclass(frozen=True)
    class Loose:
        one: int

    @dataclass(frozen=True, slots=True)
    class Busy:
        one: int

        def __post_init__(self) -> None:
            """Do something of its own."""

    @dataclass(frozen=True, slots=True)
    class Derived(End):
        more: int = 0

    for cls in (Loose, Busy, Derived):
        with pytest.raises(TypeError):
            maker(cls)


RUN = Run("r", "agent", "2", Status.OK, Entry("command", ("a", "b")), "user", files={"a": "b"}, exit_status=3)


@pytest.mark.parametrize("name", [each.name for each in fields(Run)])
def test_a_changed_run_differs_in_what_was_named_alone(name: str) -> None:
    value: Any = object()
    kept = RUN.kept_in("somewhere")
    made = changer(Run)(kept, **{name: value})
    assert getattr(made, name) is value and type(made) is Run and made.home is None
    assert made == replace(kept, **{name: value}) and kept == RUN
    assert changer(Run)(kept) == RUN


def test_what_is_changed_is_named_and_a_field() -> None:
    assert changer(Totals)(Totals(events=1), tools=2) == Totals(events=1, tools=2)
    with pytest.raises(TypeError):
        changer(Run)(RUN, nothing=1)
    with pytest.raises(TypeError):
        changer(Run)(RUN, "s")


def test_nothing_is_changed_of_a_class_that_would_not_be_made_whole() -> None:
    @dataclass(frozen=True)
    class Loose:
        one: int

    @dataclass(frozen=True, slots=True)
    class Busy:
        one: int

        def __post_init__(self) -> None:
            pass

    class Derived(Entry):
        pass

    for cls in (Loose, Busy, Derived):
        with pytest.raises(TypeError):
            changer(cls)
