"""A recorded entry point is called with its recorded arguments; what takes none is known without a look at its form."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import pytest

from reenact.replaying.caller import _takes_nothing


def nothing() -> None:
    """Takes nothing."""


def many(*each: Any) -> None:
    """Takes any."""


def named(**each: Any) -> None:
    """Takes any by name."""


def one(value: Any = 1) -> None:
    """Takes one."""


def only_named(*, value: Any) -> None:
    """Takes one by name."""


async def later() -> None:
    """Takes nothing."""


@wraps(nothing)
def dressed(*each: Any) -> None:
    """Says that it takes nothing."""


def described() -> None:
    """Says that it takes one."""


described.__signature__ = inspect.signature(one)  # type: ignore[attr-defined]


class Thing:
    """Is called."""

    def __call__(self, value: Any) -> None:
        """Takes one."""

    def method(self) -> None:
        """Takes nothing when it is bound."""


FUNCTIONS = (
    *(nothing, many, named, one, only_named, later, dressed, described, Thing, Thing(), Thing().method, Thing.method),
    *(partial(one, 2), partial(only_named, value=1), lambda: None, lambda value: value),
)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: getattr(each, "__qualname__", type(each).__name__))
def test_what_takes_nothing_is_known_as_its_signature_says_it(function: Callable[..., Any]) -> None:
    assert _takes_nothing(function) is not bool(inspect.signature(function).parameters)
