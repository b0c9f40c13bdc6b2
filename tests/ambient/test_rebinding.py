"""Early names are found in every module that is loaded later, also where modules were taken out in between, and by one
search for all sets of replacements."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reenact.seams.rebinding import Rebinding


def real() -> str:
    return "real"


def ours() -> str:
    return "ours"


def other() -> str:
    return "other"


OWNER = types.ModuleType("rebinding_owner")
OWNER.real = real  # type: ignore[attr-defined]
OWNER.other = other  # type: ignore[attr-defined]
NAMES = tuple(f"rebound_{number}" for number in range(5))


def module(name: str) -> types.ModuleType:
    """A module that has bound the function early."""
    made = types.ModuleType(name)
    made.early = real  # type: ignore[attr-defined]
    return made


@pytest.fixture
def clean() -> Iterator[None]:
    """Whatever a test loads is taken out again."""
    yield
    for name in NAMES:
        sys.modules.pop(name, None)


def bound() -> Rebinding:
    """A rebinding of the function, which searches every module."""
    made = Rebinding(exempt=lambda name: False)
    made.add(OWNER, "real", real, ours)
    return made


@pytest.mark.usefixtures("clean")
@settings(max_examples=settings().max_examples * 6 // 5, deadline=None)
@example([(NAMES[0], "load"), ("", "join"), (NAMES[0], "drop"), (NAMES[0], "load"), ("", "join")])
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(["load", "drop", "join"])), max_size=14))
def test_a_session_finds_the_early_names_of_every_module_that_was_loaded(steps: list[tuple[str, str]]) -> None:
    """A module is loaded, or taken out and perhaps loaded again; between that a session begins and ends."""
    for name in NAMES:
        sys.modules.pop(name, None)
    rebinding = bound()
    for name, what in steps:
        if what == "load" and name not in sys.modules:
            sys.modules[name] = module(name)
        elif what == "drop":
            sys.modules.pop(name, None)
        elif what == "join":
            rebinding.join()
            assert [sys.modules[each].early() for each in NAMES if each in sys.modules] == ["ours"] * sum(
                each in sys.modules for each in NAMES
            )
            rebinding.leave()
            assert all(sys.modules[each].early() == "real" for each in NAMES if each in sys.modules)


@pytest.mark.usefixtures("clean")
def test_a_module_that_is_still_being_imported_is_looked_at_again() -> None:
    rebinding = bound()
    half = module(NAMES[0])
    half.__spec__ = types.SimpleNamespace(_initializing=True)  # type: ignore[assignment]
    sys.modules[NAMES[0]] = half
    rebinding.join()
    assert half.early() == "real"
    half.__spec__ = None
    rebinding.apply()
    assert half.early() == "ours", "it is complete by now, and nothing else was loaded since"
    rebinding.leave()
    assert half.early() == "real"


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("late", [False, True])
def test_a_module_that_was_searched_for_one_set_is_known_to_another(late: bool) -> None:
    """``late``: the other set is made when the module has been searched already."""
    also = Rebinding(exempt=lambda name: False)
    if not late:
        also.add(OWNER, "other", other, ours)
    sys.modules[NAMES[0]] = loaded = module(NAMES[0])
    loaded.late = other  # type: ignore[attr-defined]
    first = bound()
    first.join()
    assert (loaded.early(), loaded.late()) == ("ours", "other")
    if late:
        also.add(OWNER, "other", other, ours)
    also.join()
    assert (loaded.early(), loaded.late(), OWNER.other()) == ("ours", "ours", "ours")
    first.leave()
    assert (loaded.early(), loaded.late()) == ("real", "ours")
    also.leave()
    assert (loaded.late(), OWNER.other()) == ("other", "other")


@pytest.mark.usefixtures("clean")
def test_only_the_first_session_begins_it_and_only_the_last_one_ends_it() -> None:
    said: list[str] = []
    rebinding = Rebinding(lambda: said.append("begins"), lambda: said.append("ends"), exempt=lambda name: False)
    rebinding.join()
    rebinding.join()
    rebinding.leave()
    assert said == ["begins"]
    rebinding.leave()
    assert said == ["begins", "ends"]
