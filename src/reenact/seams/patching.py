"""Replaces functions by our own: once in a process, when their module is imported.

Patches stay for the life of the process; each begins with a test that costs about 0.1 µs without a session.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from reenact.seams.arrivals import on_arrival

_done: set[tuple[int, str]] = set()
_waiting: set[tuple[str, int]] = set()
_owners: set[str] = set()
_naming: set[tuple[str, int]] = set()


def when_imported(name: str, install: Callable[[ModuleType], None], *, answers: bool = True) -> None:
    """Call ``install(module)`` now if the module is loaded, else right after its import. Once for each pair.

    ``answers=False``: the patch only names contact that escapes, so the module counts as one without a seam."""
    key = (name, id(install))
    if not answers:
        _naming.add(key)
    if key in _waiting:
        return
    _waiting.add(key)
    on_arrival(name, install)


def replace(owner: Any, name: str, make: Callable[[Any], Any], *, answers: bool = True) -> None:
    """Replace ``owner.name`` by ``make(original)``, once.

    ``original`` is the owner's own attribute (a plain function for a class), so ``make`` returns a function that takes
    ``self``. The replacement keeps name and documentation, and carries the original as ``__wrapped__``.
    """
    key = (id(owner), name)
    if key in _done:
        return
    _done.add(key)
    if answers:
        _owners.add(str(owner.__module__ if isinstance(owner, type) else getattr(owner, "__name__", "")))
    original = owner.__dict__[name] if isinstance(owner, type) and name in owner.__dict__ else getattr(owner, name)
    replacement: Any = make(original)
    target = replacement.__func__ if isinstance(replacement, (classmethod, staticmethod)) else replacement
    source = original.__func__ if isinstance(original, (classmethod, staticmethod)) else original
    for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
        try:
            setattr(target, attribute, getattr(source, attribute))
        except (AttributeError, TypeError):
            pass
    try:
        target.__dict__["__wrapped__"] = source
    except (AttributeError, TypeError):
        pass
    setattr(owner, name, replacement)


def hooked() -> frozenset[str]:
    """Names of the modules that have a seam: those waited for, and those in which something has been replaced."""
    return frozenset({name for name, _ in _waiting - _naming} | _owners)
