"""Values come back exactly as they were: standard types by themselves, records through declared types, by property."""

from __future__ import annotations

import collections
import datetime as dt
import enum
import json
import math
import zoneinfo
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, TypedDict, TypeVar
from uuid import UUID

import attrs
import pydantic
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reenact.errors import UnreplayableRun
from reenact.facts.values import canonical, decode, encode, encode_flat, jsonable, leads_of

ZONES = [
    None,
    dt.UTC,
    dt.timezone(dt.timedelta(hours=-3, minutes=-30)),
    dt.timezone(dt.timedelta(seconds=1), "odd"),
    zoneinfo.ZoneInfo("Europe/Paris"),
    zoneinfo.ZoneInfo("UTC"),
]
moments = st.builds(
    lambda moment, zone, fold: moment.replace(tzinfo=zone, fold=fold),
    st.datetimes(),
    st.sampled_from(ZONES),
    st.integers(0, 1),
)
texts = st.text(st.characters(codec=None, exclude_categories=()), max_size=8)
hashables = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    texts,
    st.binary(max_size=8),
    st.decimals().filter(lambda value: not value.is_snan()),
    st.fractions(),
    st.uuids(),
    st.dates(),
    moments,
    moments.map(lambda moment: moment.timetz().replace(fold=moment.fold)),
    st.timedeltas(),
    st.complex_numbers(),
    st.sampled_from([zone for zone in ZONES if zone is not None]),
    st.sampled_from(
        [..., NotImplemented, range(3), range(9, 2, -2), PurePosixPath("/a/b"), PureWindowsPath("c:\\x"), Path("ü")]
    ),
)
keys = st.one_of(
    texts, st.sampled_from(["~", "~bytes", "~dict", "~opaque"]), st.integers(), st.tuples(texts, st.integers())
)


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(texts, inner, max_size=4),
        st.dictionaries(keys, inner, max_size=3),
        st.dictionaries(st.sampled_from(["~", "~bytes", "~error"]), inner, max_size=1),
        st.lists(inner, max_size=3).map(lambda items: collections.deque(items, maxlen=5)),
        st.dictionaries(keys, inner, max_size=3).map(collections.OrderedDict),
        st.dictionaries(keys, inner, max_size=3).map(lambda held: collections.defaultdict(list, held)),
        st.frozensets(hashables, max_size=4),
        st.sets(hashables, max_size=4),
        st.binary(max_size=4).map(bytearray),
        st.dictionaries(texts, st.integers(), max_size=3).map(collections.Counter),
    )


values = st.recursive(hashables, nested, max_leaves=20)


def twin(left: Any, right: Any) -> bool:
    """Equal in type, value and order, all the way down; NaN equals NaN, and signs of zero count."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return (left != left and right != right) or (
            left == right and math.copysign(1, left) == math.copysign(1, right)
        )
    if isinstance(left, complex):
        return twin(left.real, right.real) and twin(left.imag, right.imag)
    if isinstance(left, Decimal):
        return str(left) == str(right)
    if isinstance(left, list | tuple | collections.deque):
        return (
            len(left) == len(right)
            and all(map(twin, left, right))
            and getattr(left, "maxlen", 0) == getattr(right, "maxlen", 0)
        )
    if isinstance(left, dict):
        return twin(list(left.items()), list(right.items())) and getattr(left, "default_factory", 0) == getattr(
            right, "default_factory", 0
        )
    if isinstance(left, set | frozenset):
        return len(left) == len(right) and encode(left, sort_sets=True).body == encode(right, sort_sets=True).body
    if isinstance(left, dt.datetime | dt.time):
        return repr(left) == repr(right)
    return bool(left == right)


@given(values)
@example(float("nan"))
@example({"~bytes": "aGk="})
@example({"~dict": [[1, 2]]})
@example({"a": [{"~": {"~a": {1: 2}}}]})
@example([Decimal("sNaN"), Decimal("-Infinity"), Decimal("1.10")])
@example("\ud83d\ude00")
@example({"\ud800": "\udfff"})
@example([2**63, -(2**63), 2**63 - 1, 10**5000, True, 1, 1.0, -0.0])
@example({True: 1, "True": 2, None: 3, "None": 4})
@example(collections.defaultdict(None, {1: 2}))
def test_every_standard_value_comes_back_as_it_was(value: Any) -> None:
    encoded = encode(value)
    assert encoded.opaque == ()
    assert twin(decode(encoded.body), value)
    assert encode(value) == encoded
    json.loads(encoded.body, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    encoded.body.decode("utf-8")


@given(values)
def test_showing_never_fails_and_is_json(value: Any) -> None:
    json.dumps(jsonable(encode(value).body), ensure_ascii=True)


@given(st.binary(max_size=40))
def test_showing_and_canonical_form_take_any_bytes(data: bytes) -> None:
    jsonable(data)
    canonical(data)


json_data = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | st.sampled_from(
        ["~data", "~enum", "~error", "~codec", "~opaque", "~set", "~deque", "~datetime", "~path", "~range"]
    ), inner, max_size=2),
    max_leaves=8,
)  # fmt: skip


@given(json_data)
def test_reading_foreign_data_gives_a_value_or_says_what_is_wrong(node: Any) -> None:
    try:
        decode(json.dumps(node).encode())
    except UnreplayableRun as error:
        assert error.next_command


flat = st.one_of(st.none(), st.booleans(), st.integers(), texts, st.sampled_from([2**63, -(2**63), 10**5000, "~", 1.5]))


class Word(str):
    """Text of a class of the agent's."""


@given(st.dictionaries(st.sampled_from(["order", "größe", "_", "x1", "tool_call_id"]), flat | values, min_size=1))
@example({"order": float("nan")})
@example({"order": "\ud800"})
@example({"order": True, "x1": Word("a")})
def test_flat_arguments_are_written_as_any_value_is(given: dict[str, Any]) -> None:
    written, whole = encode_flat(leads_of(given), given.values()), encode(given, sort_sets=True)
    assert written is None or (written, (), ()) == whole
    plain = all(type(value) in (str, bool, type(None)) or value == 7 for value in given.values())
    assert written is not None or not plain or b"~" in whole.body


@given(st.sets(hashables, max_size=6), st.dictionaries(texts, st.integers(), max_size=5))
def test_the_canonical_form_knows_no_order(members: set[Any], mapping: dict[str, int]) -> None:
    backwards = dict(reversed(mapping.items()))
    assert canonical(encode(mapping).body) == canonical(encode(backwards).body)
    turned = list(members)
    turned.reverse()
    shuffled = set(turned)
    assert canonical(encode([members]).body) == canonical(encode([shuffled]).body)
    assert encode(members, sort_sets=True) == encode(shuffled, sort_sets=True)


class Colour(enum.Enum):
    RED = "red"
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


class Name(enum.StrEnum):
    ANN = "ann"


class Right(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()


class Point(NamedTuple):
    x: int
    colour: Colour


class Url(str):
    """A text with a class."""


T = TypeVar("T")


@dataclass
class Leaf:
    at: dt.datetime
    tags: set[str] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.calls.append("made")


@dataclass(frozen=True, slots=True)
class Node(Generic[T]):
    content: T
    children: list[Node[T]] = field(default_factory=list)
    by_name: dict[str, Leaf | None] = field(default_factory=dict)
    pair: tuple[int, Leaf] | None = None


class Doc(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    title: str
    leaf: Leaf | None = None
    parts: list[Doc] = []
    when: dt.datetime | None = None
    _seen: int = pydantic.PrivateAttr(default=0)

    @pydantic.field_validator("title")
    @classmethod
    def shout(cls, title: str) -> str:
        return title + "!"


class Special(Doc):
    more: bytes = b""


@attrs.define
class Box:
    item: Leaf
    n: int = attrs.field(default=0)


class Typed(TypedDict, total=False):
    doc: Doc
    boxes: list[Box]


UserId = NewType("UserId", Leaf)
LEAF = Leaf(dt.datetime(2024, 1, 2, tzinfo=dt.UTC), {"a"})
PART = Doc.model_validate({"title": "u", "when": "2024-01-01T00:00:00Z"})
DOC = Doc.model_validate({"title": "t", "leaf": LEAF, "parts": [PART], "extra_field": (1, 2)})
DOC._seen = 7

RECORDS = [
    (Colour.RED, Colour),
    (Level.LOW, Level | None),
    (Name.ANN, Name),
    (Right.READ | Right.WRITE, Right),
    (Point(1, Colour.BLUE), Point),
    (Url("x"), Url),
    (LEAF, Leaf),
    ([LEAF, None], list[Leaf | None]),
    ({"k": (1, LEAF)}, dict[str, tuple[int, Leaf]]),
    ({"k": (LEAF, LEAF)}, dict[str, tuple[Leaf, ...]]),
    (Node(LEAF, [Node(LEAF)], {"a": LEAF, "b": None}, (1, LEAF)), Node[Leaf]),
    (Node(Node(Colour.RED)), Node[Node[Colour]]),
    (DOC, Doc),
    (DOC, Annotated[Doc | str, "note"]),
    (Special(title="s", more=b"\xff"), Doc),
    (Doc.model_construct(title="no validator"), "Doc"),
    (Box(LEAF, 3), Box),
    ({"doc": DOC, "boxes": [Box(LEAF)]}, Typed),
    (LEAF, UserId),
    ({Point(1, Colour.RED): 1}, dict[Point, int]),
    ({Colour.RED}, set[Colour]),
    (["a", Colour.RED], list[Literal["a"] | Colour]),
]


@pytest.mark.parametrize(("value", "declared"), RECORDS, ids=lambda part: str(part)[:40])
def test_records_come_back_through_the_declared_type(value: Any, declared: Any) -> None:
    encoded = encode(value)
    assert encoded.opaque == () and encoded.shapes
    back = decode(encoded.body, Doc if declared == "Doc" else declared)
    assert type(back) is type(value) and back == value
    assert encode(back, sort_sets=True) == encode(value, sort_sets=True)
    json.dumps(jsonable(encoded.body))


def test_no_code_of_a_record_runs_when_it_is_restored() -> None:
    back = decode(encode(DOC).body, Doc)
    assert back.title == "t!" and back.leaf.calls == ["made"]
    assert (
        back._seen == 7
        and back.model_extra == {"extra_field": (1, 2)}
        and back.model_fields_set == DOC.model_fields_set
    )


@pytest.mark.parametrize("declared", [None, Any, dict, list[Leaf], "Leaf", TypeVar("V")], ids=str)
def test_a_record_that_is_not_declared_is_refused_by_name(declared: Any) -> None:
    with pytest.raises(UnreplayableRun, match=r"Box.*does not declare") as caught:
        decode(encode([Box(LEAF)]).body, declared)
    assert caught.value.missing[0].endswith("Box")


def test_a_type_named_in_data_is_never_used_by_itself() -> None:
    body = b'{"~data":["dataclass","subprocess.Popen",{"args":"true"}]}'
    with pytest.raises(UnreplayableRun):
        decode(body, Leaf)
    with pytest.raises(UnreplayableRun):
        decode(b'{"~error":{"type":"subprocess.Popen","text":"","args":{"~tuple":[]}}}')


def test_fractions_and_sharp_edges() -> None:
    assert decode(encode(Fraction(10**5000, 3)).body) == Fraction(10**5000, 3)
    assert encode(UUID(int=5)).body == b'{"~uuid":"00000000-0000-0000-0000-000000000005"}'
    assert encode({"b": 1, "a": [1.5, None]}).body == b'{"b":1,"a":[1.5,null]}'
    assert jsonable(encode({1: Colour.RED, "n": Point(1, Colour.RED)}).body) == {
        "1": "red",
        "n": {"x": 1, "colour": "red"},
    }
