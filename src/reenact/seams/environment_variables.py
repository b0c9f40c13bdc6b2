"""Environment variables: each variable that the agent or its libraries read is an ambient read, by name and value.

A value from ``os.environ``, ``os.getenv`` or ``expandvars`` is noted for the lane that reads it; the write gate removes
credentials. A replay gives the recorded value. Of a variable that is named like a credential only the name is recorded:
the replay gives its present value, or a placeholder. A variable that was unset in the run and is set now was set for a
trial (of another version of the code): the replay uses it and says so.

The standard library reads the real environment, and so does code that reads all of it (``dict(os.environ)``): variables
without a single read stay out of the recording.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import MutableMapping
from functools import partial
from typing import Any, Final

from reenact.facts import texts
from reenact.facts.variables import is_ours, is_secret
from reenact.seams.ambient import answer
from reenact.seams.callers import module_of, whose
from reenact.seams.lanes import Lane, listening
from reenact.seams.rebinding import Rebinding
from reenact.seams.switchboard import guarded

__all__ = ["NOTE", "rebinding"]

NOTE: Final = "variable."
"""The beginning of the name of a note that a replay makes of a variable which was not set when the run was recorded."""

_Environ: Any = type(os.environ)
_get = _Environ.__getitem__
_iterate = _Environ.__iter__
_ABSTRACT: Final[str] = MutableMapping.__module__
"""The module that gives ``os.environ`` its ``get`` and siblings; it sets its own name to the public one."""
_WAYS: Final = {
    "os": frozenset({"getenv", "getenvb", "setdefault", "__contains__"}),
    _ABSTRACT: frozenset({"get", "__contains__", "setdefault", "pop"}),
    "posixpath": frozenset({"expandvars"}),
    "ntpath": frozenset({"expandvars"}),
}
"""Functions of the standard library through which one variable is read, by module."""
_DEPTH: Final = 8


_NOWHERE: Final = (0, 0)


class _Walk(threading.local):
    """The code that iterates over the whole environment: a frame, and the position in its code."""

    place: tuple[int, int] = _NOWHERE


_walk = _Walk()


def _is_read(frame: Any) -> bool:
    """Whether this frame reads one variable, on behalf of the agent or of one of its libraries."""
    for _ in range(_DEPTH):
        if frame is None:
            return False
        module = module_of(frame)
        kind = whose(module)
        if kind in ("agent", "carrier"):
            return True
        if kind == "ours" or (kind == "library" and frame.f_code.co_name not in _WAYS.get(module, ())):
            return False
        frame = frame.f_back
    return False


def _getitem(self: Any, key: Any) -> Any:
    """``os._Environ.__getitem__``."""
    lane = listening()
    if lane is None or not isinstance(key, (str, bytes)):
        return _get(self, key)
    name = guarded(lane, partial(_asked, sys._getframe(1), key))
    return _get(self, key) if name is None else _seen(lane, self, key, name)


def _asked(frame: Any, key: Any) -> str | None:
    """The name of a variable that is read by the agent; None for any other read."""
    if _walk.place == (id(frame), frame.f_lasti):
        return None
    _walk.place = _NOWHERE
    name = os.fsdecode(key)
    return None if not _is_read(frame) or is_ours(name) else name


def _seen(lane: Lane, environ: Any, key: Any, name: str) -> Any:
    """One variable as this lane sees it."""
    try:
        real: Any = _get(environ, key)
    except KeyError:
        real = None
    try:
        told = texts.absent() if real is None else texts.known("" if is_secret(name) else os.fsdecode(real))
        seen = answer(lane, f"env/{name}", told)
        if seen == texts.ABSENT and real is not None:
            lane.session.note(lane, NOTE + name, True)
        elif seen != told:
            real = _recorded(seen, real, secret=is_secret(name), as_bytes=isinstance(key, bytes))
    except Exception as fault:
        if lane.session.fault(fault):
            raise
    if real is None:
        raise KeyError(key) from None
    return real


def _recorded(seen: bytes, real: Any, *, secret: bool, as_bytes: bool) -> Any:
    """The value in a replay: the recorded one; for a credential the present one, if it was set then."""
    if seen == texts.UNKNOWN or (real is not None and (secret or seen[:1] == texts.ERASED)):
        return real
    if seen == texts.ABSENT:
        return None
    text = texts.text_of(seen)
    return os.fsencode(text) if as_bytes else text


def _iter(self: Any) -> Any:
    """``os._Environ.__iter__``: the program reads the whole environment."""
    if listening() is not None:
        frame: Any = sys._getframe(1)
        while frame is not None and module_of(frame) == _ABSTRACT:
            frame = frame.f_back
        _walk.place = _NOWHERE if frame is None else (id(frame), frame.f_lasti)
    return _iterate(self)


rebinding = Rebinding(exempt=lambda name: True)
rebinding.add(_Environ, "__getitem__", _get, _getitem, early=False)
rebinding.add(_Environ, "__iter__", _iterate, _iter, early=False)
