"""Notes, in the run, contacts that no seam answers: each kind once for each place of the code.

The audit hook reports contacts. A call that a seam records runs below a transport, without a session, and contacts of a
tool are answered with the tool; neither is noted. Everything else that opens a connection, looks up a name or starts a
process while a run is recorded is a gap of the run. The contact goes through untouched; in a replay the guard refuses
it.

No hook sees connections that C libraries open. Known libraries are watched at their functions.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from reenact.seams import accepted_connections, audit_hook, file_changes, file_reads, machine_actions, patching
from reenact.seams.contacts import CONTACTS, native, ours, place_of, sets_the_system, target_of, word_of
from reenact.seams.lanes import listening
from reenact.seams.source import is_agents

_LIBRARY = "ctypes.dlopen"
_OPENING = "open"
_HEARD = frozenset((*CONTACTS, _LIBRARY, *file_changes.CHANGES))
"""Audit events that are looked at."""
_MOST_NAMED = 500
"""Places named in one run: a program that connects from ever new places must not fill its recording with them."""

_named: weakref.WeakKeyDictionary[Any, set[tuple[str, str]]] = weakref.WeakKeyDictionary()
_leaving: Callable[[], object] | None = None


def before_exec(leaving: Callable[[], object] | None) -> None:
    """Set the function to call when this process is about to become another program, after that was noted."""
    global _leaving
    _leaving = leaving


def install() -> None:
    """Listen, and watch each client as soon as the program imports it; imports none of them itself. Idempotent."""
    audit_hook.subscribe(_HEARD, _heard)
    accepted_connections.install(_name, _is_named)
    machine_actions.install()
    for name, watch in _WATCHED:
        patching.when_imported(name, watch, answers=False)


def _heard(event: str, args: tuple[Any, ...], frame: FrameType | None) -> None:
    """Name a contact that counts. Takes about 0.1 µs without a listening session."""
    lane = listening()
    if lane is None:
        return
    try:
        if event in file_changes.CHANGES:
            if event == _OPENING:
                file_reads.opened(lane, args, frame)
            file_changes.changing(lane, event, args, frame)
            if event != _OPENING or not sets_the_system(args):
                return
        if lane.quiet or not (lane.session.reaches_world or event == _LIBRARY):
            return
        if event == _LIBRARY:
            named = _library(args, frame)
        else:
            named = None if ours(event, args, frame) else (word_of(event, args), place_of(), target_of(event, args))
        if named is not None:
            _name(lane.session, *named)
        if event == "os.exec" and _leaving is not None:
            _leaving()
    except Exception as fault:
        if lane.session.fault(fault):
            raise


def _name(session: Any, what: str, place: str, target: str) -> None:
    """Note a gap, the first time for this session: ``what`` at ``place``, with what was contacted first."""
    if _is_named(session, what, place):
        return
    _named[session].add((what, place))
    session.gap(what, f"{place} ({target})" if target else place)


def _is_named(session: Any, what: str, place: str) -> bool:
    """Whether a gap was noted for this session, or so many gaps that no more are noted."""
    seen = _named.setdefault(session, set())
    return (what, place) in seen or len(seen) >= _MOST_NAMED


def _library(args: tuple[Any, ...], frame: FrameType | None) -> tuple[str, str, str] | None:
    """A C library that the agent's own code loads with ``ctypes``. Libraries that other libraries load do not count."""
    while frame is not None and frame.f_globals.get("__name__") == "ctypes":
        frame = frame.f_back
    if frame is None or not is_agents(frame.f_code.co_filename) or not args[0]:
        return None
    name = os.path.basename(os.fsdecode(args[0])) if isinstance(args[0], (str, bytes)) else str(args[0])
    return "native library", place_of(), f"{name}, what it does is not visible"


def _watch_curl(module: ModuleType) -> None:
    patching.replace(module.Curl, "perform", _telling("curl_cffi"), answers=False)


def _telling(library: str) -> Any:
    """A replacement that reports the contact, which no hook can see, and calls the original."""

    def make(original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if listening() is not None:
                native(library)
            return original(*args, **kwargs)

        return call

    return make


_WATCHED: tuple[tuple[str, Callable[[ModuleType], None]], ...] = (("curl_cffi.curl", _watch_curl),)
