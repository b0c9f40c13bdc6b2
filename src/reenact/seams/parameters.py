"""Parameters of a decorated function: the author's declarations about them, and the arguments of a call by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from reenact.errors import UsageError
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.values import leads_of

RECEIVERS = ("self", "cls")
"""First parameters of methods: part of a call's surroundings, never of its arguments."""

_EMPTY = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Marks:
    """The author's declarations about parameters.

    Attributes:
        key: Names the effect: a parameter, or a function of the same arguments.
        state: Parameters that are the function's own state: their content is not part of the request.
        bind: Gives the arguments of a call by name where the signature does not tell them (``Parameters.bind``).
    """

    key: str | Callable[..., Any] | None = None
    state: tuple[str, ...] = ()
    bind: Callable[[tuple[Any, ...], Mapping[str, Any]], dict[str, Any]] | None = None


class Parameters:
    """The parameters of one function.

    Args:
        function: The function.
        state: The parameters that are the function's own state.

    Attributes:
        receives: Whether the first parameter is the object that a method belongs to. Known, as ``leads`` is, after the
            first ``bind``.
        leads: The encoded text before each argument, in an object of all arguments (``encode_flat``).
    """

    def __init__(self, function: Callable[..., Any], state: tuple[str, ...] = ()) -> None:
        self._function = function
        self._state = state
        self._all: tuple[inspect.Parameter, ...] | None = None
        self._plain: tuple[tuple[str, ...], dict[str, Any]] | None = None
        self.receives = True
        self.leads: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[inspect.Parameter, ...]:
        """The parameters in order; a catch-all pair for a function without a signature."""
        if self._all is None:
            try:
                self._all = tuple(inspect.signature(self._function).parameters.values())
            except (TypeError, ValueError):
                self._all = (
                    inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                    inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
                )
        return self._all

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by parameter name, defaults applied, in the order of the signature.

        Never raises: of a call that does not fit the signature, the fitting arguments are kept, and the function itself
        raises.
        """
        plain = self._plain
        if plain is None:
            plain = self._plain = _plain_parameters(self.all)
            self.receives = any(parameter.name in RECEIVERS for parameter in self.all[:1])
            self.leads = leads_of(name for name in plain[0][self.receives :] if name not in self._state)
        names, defaults = plain
        if not names:
            return self._bind_any(args, kwargs)
        bound = dict(zip(names, args))  # noqa: B905 - a keyword would cost a third of it
        if len(args) < len(names):
            for name in names[len(args) :]:
                if name in kwargs:
                    bound[name] = kwargs[name]
                elif name in defaults:
                    bound[name] = defaults[name]
        return bound

    def _bind_any(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """``bind`` for parameters of every sort."""
        given = dict(kwargs)
        left = list(args)
        bound: dict[str, Any] = {}
        for parameter in self.all:
            if parameter.kind is parameter.VAR_POSITIONAL:
                bound[parameter.name] = left
                left = []
            elif parameter.kind is parameter.VAR_KEYWORD:
                bound[parameter.name] = given
            elif left and parameter.kind is not parameter.KEYWORD_ONLY:
                bound[parameter.name] = left.pop(0)
            elif parameter.name in given and parameter.kind is not parameter.POSITIONAL_ONLY:
                bound[parameter.name] = given.pop(parameter.name)
            elif parameter.default is not _EMPTY:
                bound[parameter.name] = parameter.default
        return bound


def require_parameters(function: Callable[..., Any], called: str, marks: Marks) -> None:
    """Check that every mark names a parameter.

    Raises:
        UsageError: A mark names no parameter, or names the object that a method belongs to.
    """
    named = [*([marks.key] if isinstance(marks.key, str) else []), *marks.state]
    if not named:
        return
    names = list(inspect.signature(function).parameters)
    for name in named:
        if name not in names:
            what = "key" if name == marks.key else "state"
            rule = "or a function of them" if what == "key" else "one name or several"
            raise UsageError(
                f"{what} {name!r} is no parameter of {called}",
                cause=f"a {what} is one of {', '.join(names)}, {rule}",
                next_command="python -m pydoc reenact.tool",
            )
    if marks.state and names[0] in RECEIVERS and names[0] in marks.state:
        raise UsageError(
            f"state {names[0]!r} is no argument of {called}",
            cause="the object that a method belongs to is never part of what a call asks",
            next_command="python -m pydoc reenact.tool",
        )


def _plain_parameters(parameters: tuple[inspect.Parameter, ...]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The names and defaults of the parameters, if all of them may be given by position or by name; else no names."""
    if any(parameter.kind is not parameter.POSITIONAL_OR_KEYWORD for parameter in parameters):
        return (), {}
    defaults = {each.name: each.default for each in parameters if each.default is not _EMPTY}
    return tuple(each.name for each in parameters), defaults
