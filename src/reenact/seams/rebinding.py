"""Replaces functions of the standard library as long as a session listens, under every name they were imported as.

``from time import monotonic`` binds the function where no attribute of ``time`` can reach it. So the globals of loaded
modules are searched for it too, once for each module. The found names are remembered, so that replacing and restoring
costs only those names. Names bound anywhere else (default arguments, class attributes, closures) are out of reach
unless the replacement was in place before they were made.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Collection
from types import ModuleType
from typing import Any

_STDLIB_FOLLOWS = frozenset({"timeit", "secrets", "threading", "queue"})
"""Modules of the standard library whose early names are rebound too; the others keep the real functions.

``threading`` and ``queue`` compute the rest of a wait, and must use the clock by which their timers fire."""


class _Modules:
    """The loaded modules, each of which is looked through once for the names that any set of replacements asks for."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a signal's handler may begin a session while the lock is held
        self.sets: weakref.WeakSet[Rebinding] = weakref.WeakSet()
        self._wanted: dict[int, weakref.WeakSet[Rebinding]] = {}
        self._fresh: dict[int, weakref.WeakSet[Rebinding]] = {}
        """The modules and namespaces that were not searched yet."""
        self._seen: dict[str, Callable[[], object]] = {}
        self._unfinished: list[str] = []
        self._known = (0, "")

    def want(self, original: object, by: Rebinding) -> None:
        """From the next search on, ``by`` gets each name that is bound to ``original``."""
        self._fresh.setdefault(id(original), weakref.WeakSet()).add(by)

    def search(self) -> None:
        """Look for early names in modules not searched before: about 10 µs a module. The caller holds the lock."""
        if self._fresh:
            fresh, self._fresh = self._fresh, {}
            for name, seen in list(self._seen.items()):
                module = sys.modules.get(name)
                if module is not None and seen() is module:
                    _look_through(name, module, fresh)
            for place, sets in fresh.items():
                self._wanted.setdefault(place, weakref.WeakSet()).update(sets)
        names = self._new()
        self._unfinished = []
        for name in names:
            module = sys.modules.get(name)
            if module is None or self._has_seen(name, module):
                continue
            spec = getattr(module, "__spec__", None)
            if spec is not None and getattr(spec, "_initializing", False):
                self._unfinished.append(name)
                continue  # it is searched when complete; names that it binds from now on already get the replacement
            self._seen[name] = _referring(module)
            _look_through(name, module, self._wanted)

    def _new(self) -> list[str]:
        """Names of the modules that may not have been searched. ``sys.modules`` grows at its end: while no module was
        removed from it, only the modules after the last known one are searched. A look at every module costs a forked
        process a copy of the page that each lies on."""
        count, last = self._known
        modules, found = sys.modules, []
        self._known = (0, "")
        grown = self._has_seen(last, modules.get(last))  # else the module was removed, and perhaps loaded again
        try:
            size, newest = len(modules), next(reversed(modules))
            for name in reversed(modules) if grown else ():
                if name == last:
                    break
                found.append(name)
        except RuntimeError:  # another thread imports: all modules are searched, now and next time
            return list(modules)
        self._known = (size, newest)
        grown = grown and size == count + len(found)
        return [*self._unfinished, *reversed(found)] if grown else list(modules)

    def _has_seen(self, name: str, module: object) -> bool:
        seen = self._seen.get(name)
        return seen is not None and seen() is module


def _look_through(name: str, module: object, wanted: dict[int, weakref.WeakSet[Rebinding]]) -> None:
    namespace: dict[str, Any] = getattr(module, "__dict__", None) or {}
    for bound, value in list(namespace.items()):
        for each in wanted.get(id(value), ()):
            each.finds(name, namespace, bound, value)


_modules = _Modules()


def search_ahead() -> None:
    """Search every loaded module for names that any seam rebinds, without replacing them yet."""
    with _modules.lock:
        _modules.search()


def lay_beneath(replacements: dict[int, tuple[Any, Any]], spared: Collection[str]) -> None:
    """Replace functions for good, below the replacements of any seam: under every name in every module, the standard
    library's and our own.

    Args:
        replacements: Each original and its replacement, by the original's identity.
        spared: Modules that keep the originals.
    """
    with _modules.lock:
        for each in list(_modules.sets):
            each.rest_on(replacements)
    for name, module in list(sys.modules.items()):
        namespace = getattr(module, "__dict__", None)
        if name in spared or not isinstance(namespace, dict):
            continue
        for key, value in list(namespace.items()):
            found = replacements.get(id(value))
            if found is not None and found[0] is value:
                namespace[key] = found[1]


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "reenact"


class Rebinding:
    """A set of replacements that can be applied and undone, any number of times.

    Args:
        begins, ends: Called before the replacements of the first session are put in place, and after those of the last
            session are removed.
        exempt: Says of a module's name that its own names keep the real functions; ours, by default.
    """

    def __init__(
        self,
        begins: Callable[[], object] = tuple,
        ends: Callable[[], object] = tuple,
        *,
        exempt: Callable[[str], bool] = _is_ours,
    ) -> None:
        self._exempt = exempt
        self._begins = begins
        self._ends = ends
        self._owned: list[tuple[Any, Callable[[str], Any], str, Any, Any]] = []
        self._by_identity: dict[int, tuple[Any, Any]] = {}
        self._early: list[tuple[dict[str, Any], str, Any, Any]] = []
        self._listeners = 0
        self.applied = False
        _modules.sets.add(self)

    def join(self) -> None:
        """One more session listens: the first one puts the replacements in place, each has new modules searched."""
        with _modules.lock:
            self._listeners += 1
            if self._listeners == 1:
                self._begins()
            self._apply()

    def leave(self) -> None:
        """One session has ended. After the last one, the originals are back."""
        with _modules.lock:
            self._listeners -= 1
            if self._listeners == 0:
                self._undo()
                self._ends()

    def add(self, owner: Any, name: str, original: Any, replacement: Any, *, early: bool = True) -> None:
        """Replace ``owner.name``; with ``early``, also each module-level name bound to ``original`` anywhere."""
        self._owned.append((owner, _held_by(owner), name, original, replacement))
        if early:
            self._by_identity[id(original)] = (original, replacement)
            _modules.want(original, self)

    def rest_on(self, replacements: dict[int, tuple[Any, Any]]) -> None:
        """Other functions take the place of the originals, for good. The caller holds the lock."""
        for at, (owner, held, name, original, replacement) in enumerate(self._owned):
            found = replacements.get(id(original))
            if found is not None:
                self._owned[at] = owner, held, name, found[1], replacement
        for place, (namespace, name, original, replacement) in enumerate(self._early):
            found = replacements.get(id(original))
            if found is not None:
                self._early[place] = namespace, name, found[1], replacement
        for original, replacement in list(self._by_identity.values()):
            found = replacements.get(id(original))
            if found is not None:
                self._by_identity[id(found[1])] = found[1], replacement
                _modules.want(found[1], self)

    def apply(self) -> None:
        """Apply the replacements. A name that other code has replaced meanwhile is left alone."""
        with _modules.lock:
            self._apply()

    def _apply(self) -> None:
        if not self.applied:
            self.applied = True
            for owner, held, name, original, replacement in self._owned:
                if held(name) is original:
                    setattr(owner, name, replacement)
            for namespace, name, original, replacement in self._early:
                if namespace.get(name) is original:
                    namespace[name] = replacement
        _modules.search()

    def _undo(self) -> None:
        """Put the originals back wherever a name still has the replacement."""
        if not self.applied:
            return
        self.applied = False
        for owner, held, name, original, replacement in self._owned:
            if held(name) is replacement:
                setattr(owner, name, original)
        for namespace, name, original, replacement in self._early:
            if namespace.get(name) is replacement:
                namespace[name] = original

    def finds(self, module: str, namespace: dict[str, Any], name: str, value: Any) -> None:
        """A module has a name for a possible original. The caller holds the lock."""
        found = self._by_identity.get(id(value))
        if found is None or found[0] is not value or self._keeps(module):
            return
        if self.applied:
            namespace[name] = found[1]
        self._early.append((namespace, name, *found))

    def _keeps(self, module_name: str) -> bool:
        top = module_name.partition(".")[0]
        if top in sys.stdlib_module_names:
            return module_name not in _STDLIB_FOLLOWS
        return self._exempt(module_name)


def _referring(module: object) -> Callable[[], object]:
    """Returns the module as long as it exists; another object may get its address later."""
    try:
        return weakref.ref(module)
    except TypeError:  # an object of another type in ``sys.modules``
        return lambda: module


def _held_by(owner: Any) -> Callable[[str], Any]:
    """The attribute of an owner, None without one. Of a class, only its own attributes count."""
    if isinstance(owner, (type, ModuleType)):
        return vars(owner).get
    return lambda name: getattr(owner, name, None)
