"""Calls hooks when a module has been imported, by a finder in front of the others that leaves no trace on the module.

The finder lets the later finders find an awaited module, and replaces the module's loader until its code has run. By
then the module and its spec name the loader that really loaded it. Nothing is imported for this: a library that does
the same would bring a hundred modules into a program that may use none of them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["on_arrival"]

Hook = Callable[[ModuleType], None]

_waiting: dict[str, list[Hook]] = {}
_lock = threading.Lock()
_finding = threading.local()


def _asked() -> set[str]:
    """The modules that this thread looks for at the moment."""
    names: set[str] | None = getattr(_finding, "names", None)
    if names is None:
        names = _finding.names = set()
    return names


def on_arrival(name: str, hook: Hook) -> None:
    """Call ``hook(module)`` after the code of the next module of that name has run; at once if the module is loaded.

    An error of a hook reaches the code that imports. The hook is called once, in the thread that imports. Only Python's
    lock for the module is held.
    """
    with _lock:
        if _FINDER not in sys.meta_path:
            sys.meta_path.insert(0, _FINDER)
        module = sys.modules.get(name)
        if module is None:
            _waiting.setdefault(name, []).append(hook)
    if module is not None:
        hook(module)


class _Finder:
    """Finds the awaited modules through the later finders."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of an awaited module, with a loader that calls back; None leaves it to the others."""
        if name not in _waiting or name in _asked():
            return None
        _asked().add(name)  # a later finder may ask all finders, this one too
        try:
            return self._found(name, path, target)
        finally:
            _asked().discard(name)

    def _found(self, name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        finders = list(sys.meta_path)
        for finder in finders[finders.index(self) + 1 if self in finders else 0 :]:
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None if find is None else find(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module") and not isinstance(spec.loader, _Loader):
                    standing_in: Any = _Loader(spec.loader)
                    spec.loader = standing_in
                return spec
        return None


class _Loader:
    """Stands in for a loader until the module's code runs. All other requests are answered by the loader itself."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        if name == "_loader":  # a copy of this object has no such attribute yet
            raise AttributeError(name)
        return getattr(self._loader, name)

    @property  # type: ignore[misc]  # mypy takes no property for a class; ``isinstance`` asks for this one
    def __class__(self) -> type:
        return type(self._loader)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module, as the loader makes it."""
        make = getattr(self._loader, "create_module", None)
        return None if make is None else make(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Put the real loader back into the module, let it run the module's code, and call the hooks."""
        spec = getattr(module, "__spec__", None)
        if spec is not None and getattr(spec, "loader", None) is self:
            spec.loader = self._loader
        if getattr(module, "__loader__", None) is self:
            module.__loader__ = self._loader
        self._loader.exec_module(module)
        with _lock:
            hooks = _waiting.pop(module.__name__, [])
        for hook in hooks:
            hook(module)


_FINDER = _Finder()
