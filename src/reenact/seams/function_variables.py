"""The data that a function can change: its arguments, its closure, and the globals that its code names.

Reads only; the variables are looked at through the interpreter's own structures, never through the agent's code.
"""

from __future__ import annotations

import opcode
import types
from collections.abc import Callable, Iterator
from typing import Any

_NOT_STATE = (
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    type,
    staticmethod,
    classmethod,
    property,
)
_MORE = opcode.opmap["EXTENDED_ARG"]
_GLOBALS = {
    opcode.opmap[name]: 1 if name == "LOAD_GLOBAL" else 0  # the lowest bit of its argument is a flag
    for name in ("LOAD_GLOBAL", "STORE_GLOBAL", "LOAD_NAME", "DELETE_GLOBAL")
}
"""The instructions that name a global, and how many bits of their argument stand below its number."""


class FunctionVariables:
    """The variables around one function.

    Args:
        function: The function; anything without code of its own has no surroundings.

    Attributes:
        empty: Whether there are none.
    """

    __slots__ = ("_cells", "_function", "_globals", "_names", "empty")

    def __init__(self, function: Callable[..., Any]) -> None:
        code = getattr(function, "__code__", None)
        self._function = function
        self._globals: dict[str, Any] = getattr(function, "__globals__", {})
        self._cells: tuple[tuple[str, types.CellType], ...] = ()
        self._names: tuple[str, ...] = ()
        if isinstance(code, types.CodeType):
            self._cells = tuple(zip(code.co_freevars, getattr(function, "__closure__", None) or (), strict=False))
            self._names = tuple(dict.fromkeys(_global_names(code)))
        self.empty = not (self._cells or self._names)

    def variables(self) -> Iterator[tuple[str, Any]]:
        """Closure cells (``cell.NAME``) and globals (``global.NAME``) that hold something a call may change."""
        for name, cell in self._cells:
            try:
                value = cell.cell_contents
            except ValueError:  # the cell is still empty
                continue
            if not _is_code(value):
                yield "cell." + name, value
        for name in self._names:
            value = self._globals.get(name, self)
            if value is not self and not _is_code(value):
                yield "global." + name, value

    def assign(self, root: str, value: Any) -> None:
        """Bind a variable again.

        Raises:
            KeyError: The function has no such variable.
        """
        sort, name = root.split(".", 1)
        if sort == "global":
            self._globals[name] = value
            return
        dict(self._cells)[name].cell_contents = value


def _is_code(value: Any) -> bool:
    # By exact type: ``isinstance`` would ask the agent's own ``__class__``.
    return issubclass(type(value), _NOT_STATE)


def _global_names(code: types.CodeType) -> Iterator[str]:
    names = code.co_names
    more = 0
    words = code.co_code if names else b""
    for op, arg in zip(words[::2], words[1::2], strict=True):  # reading it by ``dis`` takes ten times as long
        more |= arg
        if op in _GLOBALS:
            yield names[more >> _GLOBALS[op]]
        more = more << 8 if op == _MORE else 0
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)
