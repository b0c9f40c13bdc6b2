"""A look at a state gives what its whole and each of its parts are encoded as one by one, from one walk."""

from __future__ import annotations

import array
import collections
import copy
import enum
import json
import math
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from hashlib import blake2b
from typing import Any, NamedTuple

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as some

from reenact.facts import encoding, value_writer, weaving, woven_text
from reenact.facts.encoding import encode
from reenact.facts.states import encode_state
from reenact.facts.value_writer import Codec
from reenact.facts.woven_text import Node, Piece, Woven
from tests.values import hostile


@dataclass
class Record:
    held: Any
    n: int = 0


@dataclass(slots=True)
class Slotted:
    held: Any
    n: int = 0


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow", arbitrary_types_allowed=True)
    held: Any = None
    _own: Any = pydantic.PrivateAttr(None)


class Bare(pydantic.BaseModel):
    held: Any = None


def unset(held: Any) -> Slotted:
    """A record of which one slot was never set."""
    made = Slotted(held)
    del made.n
    return made


class Colour(enum.Enum):
    RED = "red"
    PAIR = (1, (2,))


class Pair(NamedTuple):
    left: Any
    right: Any


class Counted:
    """Counts how often one of its kind is looked at."""

    times = 0

    def seen(self) -> str:
        Counted.times += 1
        return "seen"


class Zone(tzinfo):
    """A zone of the agent's own."""

    def utcoffset(self, at: datetime | None) -> timedelta:
        return timedelta(hours=3)


ZONES: list[tzinfo | None] = [None, UTC, timezone(timedelta(hours=2), "x"), Zone()]  # type: ignore[abstract]

NAMES = ("messages", "~dict", "~tuple", "é", "a", "b", "", "\ud800", "n")
SMALL = {"RUN": 2, "USUAL": 24, "LONGEST": 40, "REMEMBERED": 4000, "BESIDE": 0, "_MOST_NODES": 2000, "_MOST_CUT": 99}
"""How weaving cuts small values as it cuts large ones."""
names = some.one_of(some.sampled_from(NAMES), some.text(max_size=2))
atoms = some.one_of(
    some.text(max_size=6), some.integers(-5, 5), some.booleans(), some.none(), some.floats(), some.integers()
)
odd = some.one_of(
    some.binary(max_size=3),
    some.frozensets(some.integers(), max_size=3),
    some.dates(),
    some.datetimes(timezones=some.sampled_from(ZONES)),
    some.sampled_from(Colour),
    some.frozensets(some.tuples(some.just("record"), some.just(1), some.integers(0, 2)), max_size=2),
    some.tuples(some.sampled_from(["record", "enum", "tuple", "scalar"]), some.just(1)),
    some.sampled_from(["\ud800", 10**400, math.nan, {1: 2}, {True: 1}, object(), ValueError("no"), Record]).map(
        lambda held: copy.deepcopy(held) if not isinstance(held, type) else held
    ),
)


def _shapes(held: some.SearchStrategy[Any]) -> some.SearchStrategy[Any]:
    return some.one_of(
        some.lists(held, max_size=6),
        some.dictionaries(names, held, max_size=6),
        held.map(Record),
        some.tuples(held, held).map(lambda two: Pair(*two)),
        some.lists(held, max_size=2).map(lambda args: ValueError(*args)),
        some.dictionaries(some.one_of(names, some.integers()), held, max_size=3),
    )


def trees(leaves: some.SearchStrategy[Any]) -> some.SearchStrategy[Any]:
    return some.recursive(leaves, _shapes, max_leaves=30)


plain = some.recursive(
    atoms,
    lambda held: some.one_of(some.lists(held, max_size=6), some.dictionaries(names, held, max_size=6)),
    max_leaves=40,
)
anything = trees(some.one_of(atoms, atoms, odd))
states = some.one_of(
    some.dictionaries(names, some.one_of(plain, anything), max_size=6), some.dictionaries(names, plain, max_size=6)
)


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    weaving.forget()
    yield
    weaving.forget()


LOST = "contains itself, or is too large"


def require_the_same(state: Any) -> None:
    """A look says what the encodings say, and the next one the same. Limits count for each part of a state, and for
    each entry of a large one, so it may hold more than the encoding of the whole."""
    look = encode_state(state)
    assert encode_state(state) == look
    whole = encode(state, sort_sets=True)
    if any(LOST in name for name in whole.opaque):
        assert look.body.count(LOST.encode()) <= whole.body.count(LOST.encode())
        return
    assert (look.body, look.opaque) == (whole.body, whole.opaque)
    if type(state) is dict and all(type(key) is str and key for key in state):
        assert look.slots == {key: encode(value, sort_sets=True).body for key, value in state.items()}
        assert list(look.slots) == list(state)
    else:
        assert look.slots == {"": whole.body}


def share(state: dict[str, Any], draw: Any) -> None:
    """Parts in other places, too, and in themselves."""
    found = [held for held in parts_of(state) if held or held is state]
    for _ in range(draw(some.integers(1, 3))):
        into, what = draw(some.sampled_from(found)), draw(some.sampled_from(found))
        if isinstance(into, dict):
            into[draw(some.sampled_from(NAMES))] = what
        else:
            into.append(what)


@given(some.one_of(states, anything))
def test_a_look_is_the_encodings(state: Any) -> None:
    require_the_same(state)


@given(some.dictionaries(names, plain, min_size=1, max_size=5), some.data())
def test_so_it_is_where_parts_are_shared_or_hold_themselves(state: dict[str, Any], data: Any) -> None:
    share(state, data.draw)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "_PLAIN_NODE_LIMIT", 500)
        patch.setattr(encoding, "NODE_LIMIT", 200)
        patch.setattr(value_writer, "NODE_LIMIT", 200)
        require_the_same(state)


@given(states, some.integers(0, 40), some.integers(0, 25), some.integers(2, 14), some.integers(2, 14))
def test_so_it_is_at_the_limits(state: Any, nodes: int, woven: int, plain_depth: int, depth: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "_PLAIN_NODE_LIMIT", nodes + woven)
        patch.setattr(encoding, "NODE_LIMIT", nodes)
        patch.setattr(value_writer, "NODE_LIMIT", nodes)
        patch.setattr(encoding, "_SEVERAL", woven)
        patch.setattr(encoding, "_PLAIN_DEPTH_LIMIT", plain_depth)
        patch.setattr(encoding, "DEPTH_LIMIT", depth)
        patch.setattr(value_writer, "DEPTH_LIMIT", depth)
        patch.setattr(encoding, "_MARGIN", 2)
        require_the_same(state)


@given(states, some.data())
def test_so_it_is_of_what_is_woven(state: Any, data: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, size in SMALL.items():
            patch.setattr(weaving if hasattr(weaving, name) else woven_text, name, size)
        patch.setattr(encoding, "_SEVERAL", 3)
        require_the_same(state)
        share(state, data.draw)
        patch.setattr(encoding, "_PLAIN_NODE_LIMIT", 500)
        patch.setattr(encoding, "NODE_LIMIT", 200)
        patch.setattr(value_writer, "NODE_LIMIT", 200)
        require_the_same(state)


@pytest.mark.parametrize("name", sorted({*hostile.NAMES} - {"bad error"}))
def test_so_it_is_of_what_will_not_be_looked_at(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "_PLAIN_NODE_LIMIT", 5_000)
    monkeypatch.setattr(encoding, "NODE_LIMIT", 2_000)
    monkeypatch.setattr(value_writer, "NODE_LIMIT", 2_000)
    held = hostile.objects()[name]
    require_the_same({"before": [1], "held": held, "again": [held, {"held": held}]})


def test_an_exception_is_told_by_itself_as_it_is_among_others() -> None:
    """Whether its text is asked for depends on what was written before it."""
    state = {"first": Record(1), "second": ValueError(Record(2)), "third": ValueError(object()), "fourth": object()}
    require_the_same(state)


def test_the_whole_of_what_is_woven_is_woven() -> None:
    state = {"messages": [{"n": n, "text": "word " * 9} for n in range(3000)], "step": 3, "plan": "on", "more": {}}
    look = encode_state(state)
    assert type(look.slots["messages"]) is Woven and type(look.body) is Woven
    assert b"".join(look.body[at : at + len(piece.text)] for at, piece in look.body.places) == b"".join(
        piece.text for _, piece in look.body.places
    )
    require_the_same(state)


def parts_of(state: Any) -> list[Any]:
    """Every list and dictionary in a state, each once."""
    found = [state]
    for held in found:
        for each in list(held.values()) if isinstance(held, dict) else list(held):
            if type(each) in (dict, list) and not any(each is other for other in found):
                found.append(each)
    return found


def change(state: dict[str, Any], draw: Any) -> None:
    """One thing in it, anywhere: by another value, by an equal one of another type, or by one less or more."""
    held = draw(some.sampled_from(parts_of(state)))
    new = draw(some.one_of(plain, odd, some.sampled_from(ALIKE).map(copy.copy)))
    keys = list(held) if isinstance(held, dict) else list(range(len(held)))
    how = draw(some.sampled_from(["put", "put", "alike", "alike", "delete", "more", "turn"]))
    if how == "more" or not keys:
        if isinstance(held, dict):
            held[draw(names)] = new
        else:
            held.insert(draw(some.integers(0, len(held))), new)
        return
    key = draw(some.sampled_from(keys))
    if how == "put":
        held[key] = new
    elif how == "delete":
        del held[key]
    elif how == "turn":
        if isinstance(held, dict):
            held[key] = held.pop(key)
        else:
            held.reverse()
    else:
        held[key] = alike(held[key])


ALIKE = (1, 1.0, True, 0, 0.0, -0.0, False, "1", b"1", array.array("h", [1, 2]), array.array("i", [131073]), (1,), [1])


class Text(str):
    """A text of the agent's own."""


def records(held: some.SearchStrategy[Any]) -> some.SearchStrategy[Any]:
    return some.one_of(
        held.map(Record),
        held.map(Slotted),
        held.map(unset),
        held.map(lambda value: Model(held=value)),
        held.map(lambda value: Bare(held=value)),
        some.dictionaries(some.sampled_from("abc"), held, max_size=3).map(lambda more: Model(**more)),
    )


def states_of(record: Any) -> list[Any]:
    """Every dictionary that a record keeps, and what is in it."""
    found = [record.__dict__] if hasattr(record, "__dict__") else []
    found += [record.__pydantic_extra__] if getattr(record, "__pydantic_extra__", None) is not None else []
    return [part for held in found for part in parts_of(held)]


@given(
    some.lists(some.one_of(records(plain), records(anything), plain, records(records(plain))), min_size=1, max_size=8),
    some.booleans(),
    some.data(),
)
def test_so_it_is_of_records(entries: list[Any], named: bool, data: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, size in {**SMALL, "LONG": 12}.items():
            patch.setattr(weaving if hasattr(weaving, name) else woven_text, name, size)
        patch.setattr(encoding, "_SOME", 3)
        weaving.forget()
        for _ in range(data.draw(some.integers(2, 6))):
            state = {"entries": {f"n{n}": entry for n, entry in enumerate(entries)} if named else entries, "n": 1}
            look = encode_state(state)
            with pytest.MonkeyPatch.context() as without:
                without.setattr(encoding, "weave", lambda value, fits, hand=None: None)
                whole = encode(state, sort_sets=True)
                assert (look.body, look.opaque) == (whole.body, whole.opaque)
                assert look.slots == {key: encode(value, sort_sets=True).body for key, value in state.items()}
            kept = [part for entry in entries for part in states_of(entry)]
            if kept:
                change({"part": data.draw(some.sampled_from(kept))}, data.draw)
            slotted = [entry for entry in entries if type(entry) is Slotted]
            if slotted:
                data.draw(some.sampled_from(slotted)).held = data.draw(some.one_of(plain, odd))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (array.array("h", [1, 2]), array.array("i", [131073])),
        (b"ab", bytearray(b"ab")),
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ((1,), [1]),
        ({1}, frozenset({1})),
        (..., None),
        ({1: 2}, {"1": 2}),
        (Record(1), (1, 0)),
        (Record({"n": 1}), Slotted({"n": 1})),
    ],
)
def test_no_record_is_taken_for_another_one(left: Any, right: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weaving, "LONG", 12)
    for kind in (Record, Slotted, lambda held: Model(held=held), lambda held: Record([held])):
        entries = [kind(left), kind("x" * 20), {"n": 1}]
        state = {"entries": entries}
        seen = []
        for held in (left, right, left, right):
            entries[0] = kind(held)
            for _ in range(2):
                look = encode_state(state)
                seen.append(look)
                with pytest.MonkeyPatch.context() as without:
                    without.setattr(encoding, "weave", lambda value, fits, hand=None: None)
                    assert look.body == encode(state, sort_sets=True).body
                    assert look.slots["entries"] == encode(entries, sort_sets=True).body
        assert type(seen[-1].slots["entries"]) is Woven, "otherwise this asks nothing"


def pieces_made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the pieces that weaving makes from now on."""
    made: list[int] = []
    new = weaving._new

    def counted(blob: bytes, node: Node) -> Piece:
        made.append(len(blob))
        return new(blob, node)

    monkeypatch.setattr(weaving, "_new", counted)
    return made


def test_each_of_many_records_is_kept_and_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "NODE_LIMIT", 500)
    monkeypatch.setattr(value_writer, "NODE_LIMIT", 500)
    messages = [Model(held={"n": n, "text": "word " * 9}) for n in range(2000)]
    state = {"messages": messages, "step": 0}
    assert encode_state(state).opaque == ()
    made = pieces_made(monkeypatch)
    encode_state(state)
    made.clear()
    for step in range(5):
        messages.append(Model(held={"n": step}))
        look = encode_state(state)
        assert look.opaque == () and look.body.count(b"Model") == len(messages)
        assert sum(made) < 2 * weaving.LONGEST
        made.clear()


def test_records_in_records_are_looked_at_and_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = [Record([Slotted(datetime(2027, 1, n % 28 + 1, tzinfo=UTC)), Colour.PAIR, (n,)], n) for n in range(900)]
    state = {"entries": [Model(held=record) for record in inner], "n": 0}
    encode_state(state)
    encode_state(state)
    monkeypatch.setattr(encoding._Entries, "entry", None)
    monkeypatch.setattr(encoding._Entries, "copied", None)
    state["n"] = 1
    look = encode_state(state)
    monkeypatch.undo()
    assert type(look.slots["entries"]) is Woven and look.opaque == ()
    require_the_same(state)
    inner[450].held[0].held = datetime(2028, 1, 1, tzinfo=UTC)
    require_the_same(state)


def alike(value: Any) -> Any:
    """A value that is equal to it, or nearly so, and is written otherwise."""
    swaps: dict[type, Any] = {
        bool: int,
        int: float if type(value) is int and abs(value) < 1 << 50 else str,
        float: lambda held: -held,
        str: lambda held: Text(held),
        list: tuple,
        dict: lambda held: collections.OrderedDict(held),
        array.array: bytes,
    }
    swap = swaps.get(type(value))
    return swap(value) if swap else [value]


@given(some.dictionaries(names, plain, min_size=1, max_size=4), some.data())
def test_whatever_is_changed_between_two_looks_is_seen(state: dict[str, Any], data: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, size in {**SMALL, "LONG": 12}.items():
            patch.setattr(weaving if hasattr(weaving, name) else woven_text, name, size)
        patch.setattr(encoding, "_SOME", 3)
        weaving.forget()
        for _ in range(data.draw(some.integers(2, 6))):
            look = encode_state(state)
            with pytest.MonkeyPatch.context() as without:
                without.setattr(encoding, "weave", lambda value, fits, hand=None: None)
                whole = encode(state, sort_sets=True)
                assert (look.body, look.opaque) == (whole.body, whole.opaque)
                if "" not in state:
                    assert look.slots == {key: encode(value, sort_sets=True).body for key, value in state.items()}
            for _ in range(data.draw(some.integers(0, 2))):
                change(state, data.draw)


def test_what_is_as_it_was_is_compared_and_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made = pieces_made(monkeypatch)
    digests: list[int] = []

    def digest(blob: bytes, **how: Any) -> Any:
        digests.append(len(blob))
        return blake2b(blob, **how)

    monkeypatch.setattr(weaving, "blake2b", digest)
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": f"{n} " + "words of it " * 40, "n": [n]} for n in range(1500)
    ]
    state: dict[str, Any] = {"messages": messages, "step": 0}
    first = encode_state(state)
    assert len(made) > 30
    for step in range(1, 9):
        made.clear()
        digests.clear()
        again = encode_state(state)
        assert again.slots["messages"] is first.slots["messages"] and again.body is first.body
        assert not made and max(digests, default=0) < 99
        messages.append({"role": "assistant", "content": "more " * 20, "n": step})
        state["step"] = step
        first = encode_state(state)
        assert 1 <= len(made) <= 2 and sum(made) < weaving.LONGEST
        assert sum(digests) < weaving.LONGEST
        require_the_same(state)


def test_threads_look_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in {**SMALL, "LONG": 12, "JOINED": 900}.items():
        monkeypatch.setattr(weaving if hasattr(weaving, name) else woven_text, name, size)
    monkeypatch.setattr(encoding, "_SOME", 3)
    shared = [{"n": n, "text": "a" * n} for n in range(30)]
    found: list[BaseException] = []

    def run(number: int) -> None:
        try:
            for step in range(150):
                state = {"shared": shared, f"own{number}": [{"n": [n, step % 7]} for n in range(9)], "step": step}
                look = encode_state(state)
                assert json.loads(look.body) == state
                assert {name: json.loads(body) for name, body in look.slots.items()} == state
        except BaseException as error:
            found.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not found


@pytest.mark.parametrize("state", [{"one": Counted(), "rest": [1, 2, 3]}, [Counted()], {"": Counted()}, Counted()])
def test_one_walk_makes_the_whole_and_the_parts(state: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(value_writer.codecs, f"{__name__}.Counted", Codec(Counted.seen, lambda cls, _: cls()))
    Counted.times = 0
    encode_state(state)
    assert Counted.times == 1
