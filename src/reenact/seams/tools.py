"""Tools: the agent's own functions that touch the world."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, overload

from reenact.errors import UsageError
from reenact.facts.call import Effect, Kind
from reenact.seams.functions import Seam
from reenact.seams.parameters import Marks
from reenact.seams.wrapping import decorate

F = TypeVar("F", bound=Callable[..., Any])
RULE = "tool/1"
"""The rule for the key of a tool's call: the name, and the arguments except the opaque ones."""


@overload
def tool(
    fn: F,
    *,
    effect: str = ...,
    name: str | None = ...,
    key: str | Callable[..., Any] | None = ...,
    state: Iterable[str] = ...,
) -> F: ...
@overload
def tool(
    fn: None = None,
    *,
    effect: str = ...,
    name: str | None = ...,
    key: str | Callable[..., Any] | None = ...,
    state: Iterable[str] = ...,
) -> Callable[[F], F]: ...
def tool(
    fn: Any = None,
    *,
    effect: str = "write",
    name: str | None = None,
    key: str | Callable[..., Any] | None = None,
    state: Iterable[str] = (),
) -> Any:
    """Make a function a tool: its calls are recorded, and answered from the recording on replay.

    Works on plain and ``async`` functions, generators of both sorts, methods, static and class methods; with and
    without parentheses; next to the function, below a framework's own decorator. Without a session it costs about 0.2
    µs a call.

    The arguments are kept by name, defaults applied; ``self`` and ``cls`` are not arguments. An argument that cannot be
    stored is named as opaque and does not take part in finding the recorded call. Changes that the function makes in
    its arguments, its closure, ``self`` or the globals it names are kept, and made again on replay. Its result comes
    back as the type that the function declares to return.

    Args:
        fn: The function.
        effect: ``write`` (default: changes the world), ``read`` (asks it) or ``none`` (computes: always runs).
        name: Its name in the run; the function's name where not given.
        key: Names the effect for good: a parameter, or a function of the same arguments. A second call with the same
            key in one lineage of runs returns the first result and does not act again.
        state: Parameters that are the tool's own state, such as a database that every tool is handed. Their contents
            take no part in finding the recorded call. They are neither kept nor restored on replay. A digest before and
            after the call is kept, and a replay names the parameter as not compared.

    Raises:
        UsageError: The effect is unknown, a key or a state is no parameter, or the object is no function.
    """
    try:
        kind = Effect(effect)
    except ValueError:
        raise UsageError(
            f"a tool has no effect {effect!r}",
            cause='an effect is what calling it may do to the world: "none", "read" or "write"',
            next_command="python -m pydoc reenact.tool",
        ) from None

    marks = Marks(key, (state,) if isinstance(state, str) else tuple(state))

    def make(function: Callable[..., Any]) -> Seam:
        return Seam(function, kind=Kind.TOOL, effect=kind, rule=RULE, name=name, marks=marks)

    if fn is None:
        return lambda function: decorate(function, make)
    return decorate(fn, make)
