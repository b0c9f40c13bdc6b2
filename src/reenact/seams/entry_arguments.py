"""Makes the recorded arguments of an entry point again, through the types that its parameters declare."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

from reenact.errors import UnreplayableRun
from reenact.facts.decoding import decode, restore
from reenact.facts.encoding import EncodedValue
from reenact.facts.interruptions import let_through
from reenact.facts.jsontext import parsed
from reenact.facts.type_hints import Candidates, candidates
from reenact.seams.functions import hints_of

_TAGGED: Final = b'"~'
_BY_POSITION: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def given_to(function: Callable[..., Any], body: bytes) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call of ``function``, by position and by name.

    Args:
        function: The entry point, undecorated.
        body: The encoded arguments.

    Raises:
        UnreplayableRun: One of them needs a live value, or is of a type that its parameter does not declare.
    """
    if _TAGGED not in body:  # plain JSON data
        values = decode(body)
        return list(values["args"]), dict(values["kwargs"])
    node = parsed(body.decode())
    declared = _DeclaredTypes(function)
    placed = [restore(item, declared.at(place)) for place, item in enumerate(node["args"])]
    return placed, {name: restore(item, declared.named(name)) for name, item in node["kwargs"].items()}


def undeclared_of(function: Callable[..., Any], arguments: EncodedValue) -> tuple[str, ...]:
    """A type in a call's arguments that a replay cannot make again, because the function does not declare it; or empty.

    Costs as much as making the arguments again where they hold records, and nothing where they do not."""
    if not arguments.shapes or arguments.opaque:
        return ()
    try:
        given_to(function, arguments.body)
    except UnreplayableRun as error:
        return tuple(name for name in arguments.shapes if (name,) == error.missing)
    except Exception as error:
        let_through(error)
    return ()


class _DeclaredTypes:
    """The declared types of a function's parameters.

    Args:
        function: The function.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        hints: Mapping[str, Any] = hints_of(function)
        try:
            parameters = tuple(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            parameters = ()
        self._placed = [_opened(hints, each) for each in parameters if each.kind in _BY_POSITION]
        self._named = {each.name: _opened(hints, each) for each in parameters}
        of_kind = {each.kind: _opened(hints, each) for each in parameters}
        self._further = of_kind.get(inspect.Parameter.VAR_POSITIONAL, ())
        self._others = of_kind.get(inspect.Parameter.VAR_KEYWORD, ())

    def at(self, place: int) -> Candidates:
        """The possible types of the argument at a position."""
        return self._placed[place] if place < len(self._placed) else self._further

    def named(self, name: str) -> Candidates:
        """The possible types of the argument of a name."""
        return self._named.get(name, self._others)


def _opened(hints: Mapping[str, Any], parameter: inspect.Parameter) -> Candidates:
    return candidates(hints.get(parameter.name))
