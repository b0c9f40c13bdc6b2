"""Proves that a class of ``facts.lazy_dataclass`` cannot be told from one of ``dataclasses``, but by what it costs."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from typing import Any, Generic, TypeVar

import pytest

from reenact.facts import lazy_dataclass
from reenact.facts.call import Call, Effect, End, EndKind, Kind
from reenact.facts.lazy_dataclass import complete, dataclass
from reenact.facts.run import Entry, Run, Status, Totals, kept_in

T = TypeVar("T")
CALL = Call(Kind.TOOL, "look", Effect.READ, "tool/1", {"tool": "look"}, b"{}", "application/json", "", "c1", "a.py:1")
RUN = Run("r", "agent", "2", Status.OK, Entry("command", ("a", "b")), "user", files={"a": "b"}, exit_status=3)


def declared(by: Any) -> dict[str, Any]:
    """The same classes, as ``dataclasses`` makes them and as ``lazy_dataclass`` does."""

    @by.dataclass(frozen=True, slots=True)
    class Plain:
        """One with every sort of field."""

        one: int
        two: str = "2"
        many: list[int] = by.field(default_factory=list, compare=False)
        hidden: int = by.field(default=4, repr=False)

        def more(self) -> int:
            return self.one + 1

    @by.dataclass(frozen=True, slots=True)
    class Derived(Plain):
        three: int = 3
        two: str = "two"

    @by.dataclass(frozen=True, slots=True)
    class Busy:
        one: int
        made: int = by.field(init=False, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "made", self.one * 2)

    @by.dataclass(slots=True)
    class Loose(Generic[T]):
        one: T
        many: dict[str, int] = by.field(default_factory=dict)

    @by.dataclass(frozen=True, slots=True)
    class Own:
        one: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __repr__(self) -> str:
            return "mine"

    @by.dataclass(frozen=True, slots=True)
    class Empty:
        pass

    return {each.__name__: each for each in (Plain, Derived, Busy, Loose, Own, Empty)}


STANDARD, LAZY = declared(dataclasses), declared(lazy_dataclass)
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "Plain": (1, "x"), "Derived": (1,), "Busy": (2,), "Loose": (1,), "Own": (1,), "Empty": ()
}  # fmt: skip


@pytest.mark.parametrize("name", STANDARD)
def test_both_make_the_same(name: str) -> None:
    standard, lazy, arguments = STANDARD[name], LAZY[name], ARGUMENTS[name]
    known, made = standard(*arguments), lazy(*arguments)
    assert repr(made) == repr(known) and made == lazy(*arguments) and made != known
    assert lazy.__slots__ == standard.__slots__ and lazy.__match_args__ == standard.__match_args__
    assert str(inspect.signature(lazy)) == str(inspect.signature(standard))
    assert lazy_dataclass.asdict(made) == dataclasses.asdict(known) == dataclasses.asdict(made)
    assert [each.name for each in lazy_dataclass.fields(lazy)] == [each.name for each in dataclasses.fields(standard)]
    assert (lazy.__hash__ is None) == (standard.__hash__ is None)
    if lazy.__hash__ is not None:
        assert hash(made) == hash(known)


@pytest.mark.parametrize("name", STANDARD)
def test_dataclasses_takes_it_for_one_of_its_own(name: str) -> None:
    standard, lazy = STANDARD[name], LAZY[name]
    made = lazy(*ARGUMENTS[name])
    told = ("name", "type", "default", "default_factory", "init", "repr", "compare")
    assert all(map(dataclasses.is_dataclass, (lazy, made)))
    for ours, theirs in zip(dataclasses.fields(lazy), dataclasses.fields(standard), strict=True):
        assert [getattr(ours, each) for each in told] == [getattr(theirs, each) for each in told]
    assert lazy.__dataclass_params__.frozen == standard.__dataclass_params__.frozen
    assert dataclasses.replace(made) == made and type(dataclasses.replace(made)) is lazy
    if sys.version_info >= (3, 13):
        assert copy.replace(made) == made


def test_what_is_frozen_is_not_changed() -> None:
    made = LAZY["Plain"](1)
    for name in ("one", "else"):
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(made, name, 2)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'one'"):
        del made.one
    loose = LAZY["Loose"](1)
    loose.one = 2
    assert loose.one == 2
    with pytest.raises(AttributeError):
        loose.other = 1


def test_arguments_are_those_of_its_fields() -> None:
    for make in (STANDARD["Plain"], LAZY["Plain"]):
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'one'"):
            make()
        with pytest.raises(TypeError, match="unexpected keyword argument 'three'"):
            make(1, three=3)
    assert LAZY["Plain"](1).many is not LAZY["Plain"](1).many
    with pytest.raises(ValueError, match="default_factory"):

        @dataclass(frozen=True, slots=True)
        class Shared:
            one: list[int] = []  # noqa: RUF012 - it is what is refused


@pytest.mark.parametrize("value", [CALL, RUN, End(EndKind.EOF), Totals(events=3)])
def test_a_copy_equals_its_original(value: Any) -> None:
    assert pickle.loads(pickle.dumps(value)) == copy.copy(value) == copy.deepcopy(value) == value
    assert lazy_dataclass.replace(value) == value and lazy_dataclass.replace(value) is not value


@pytest.mark.parametrize("name", [each.name for each in dataclasses.fields(Run)])
def test_a_changed_run_differs_in_the_named_field_alone(name: str) -> None:
    value: Any = object()
    kept = kept_in(RUN, "somewhere")
    made = lazy_dataclass.replace(kept, **{name: value})
    assert getattr(made, name) is value and type(made) is Run and made.home is None
    assert made == dataclasses.replace(kept, **{name: value}) and kept == RUN
    with pytest.raises(TypeError):
        lazy_dataclass.replace(RUN, nothing=1)  # type: ignore[call-arg]


def test_a_class_can_be_matched_and_derived_from() -> None:
    match End(EndKind.EOF):
        case End(kind):
            assert kind is EndKind.EOF

    plain: Any = LAZY["Plain"]

    class Named(plain):  # type: ignore[misc]
        pass

    @dataclasses.dataclass(frozen=True)
    class More(plain):  # type: ignore[misc]
        five: int = 5

    assert Named(1).more() == 2 and Named(1) == Named(1) and Named(1) != plain(1)
    assert More(1, five=6).five == 6 and repr(More(1)).endswith("More(one=1, two='2', many=[], five=5)")


def test_a_value_that_holds_itself_can_be_shown() -> None:
    made = LAZY["Loose"](1)
    made.one = made
    assert "..." in repr(made)


def test_no_audit_hook_hears_of_an_instance() -> None:
    heard: list[str] = []
    listening = True
    fresh = declared(lazy_dataclass)
    complete()
    sys.addaudithook(lambda event, args: heard.append(event) if listening else None)
    heard.clear()
    values = [fresh["Plain"](2), fresh["Loose"](2)]
    said, listening = list(heard), False
    assert said == [] and len(values) == 2


def test_defining_and_making_needs_nothing_of_dataclasses() -> None:
    program = (
        "from __future__ import annotations\n"
        "import sys\n"
        "from reenact.facts.lazy_dataclass import asdict, dataclass, field, fields, replace\n"
        "@dataclass(frozen=True, slots=True)\n"
        "class Two:\n    one: int\n    two: dict = field(default_factory=dict)\n"
        "made = replace(Two(1), one=2)\n"
        "print(asdict(made), made, hash(Two(1, ())) != 0, len(fields(Two)), 'dataclasses' in sys.modules)\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told == "{'one': 2, 'two': {}} Two(one=2, two={}) True 2 False\n"
