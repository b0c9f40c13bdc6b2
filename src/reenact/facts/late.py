"""Late names: names that a module needs only on a rare path, loaded on first use.

A type checker reads the import, the interpreter makes the name::

    if TYPE_CHECKING:
        from reenact.store.run_removal import forget
    else:
        forget = late("reenact.store.run_removal", "forget")

So a command that shows ten runs does not load the code that removes one. ``tests/project/test_late.py`` checks that
both branches name the same object, and that late names follow the direction of imports. A name that a recording may
need in the process of an agent is never late, because the program may have removed files, closed descriptors or given
up rights.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

__all__ = ["late"]


class _Late:
    """The object that takes the place of a function, a class or a module until its first use."""

    __slots__ = ("_found", "_module", "_name")

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name
        self._found: Any = None

    def _load(self) -> Any:
        found = self._found
        if found is None:
            module = import_module(self._module)
            found = self._found = getattr(module, self._name) if self._name else module
        return found

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._load()(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)

    def __instancecheck__(self, instance: Any) -> bool:
        """False if the module of the class is not loaded, because the class then has no instance."""
        return self._module in sys.modules and isinstance(instance, self._load())

    def __repr__(self) -> str:
        return f"<late {self._module}{':' if self._name else ''}{self._name}>"


def late(module: str, name: str = "") -> Any:
    """A name that is loaded at its first call, or at the first read of an attribute; then about 0.1 µs a call.

    Args:
        module: Full name of the module.
        name: A function or a class in it, for calls and ``isinstance`` (not for ``except``, nor to inherit from); the
            module itself when empty.
    """
    return _Late(module, name)
