"""File descriptors that lead to a process: reading, writing and waiting on them directly are crossings too.

Programs that drive a shell often leave the file objects aside: ``os.read`` on ``process.stdout.fileno()``, ``select``
on both outputs, the master side of a pseudo-terminal. A descriptor is known here from the moment when the agent reads
its number until it is closed.
"""

from __future__ import annotations

import os
import selectors
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Protocol

from reenact.seams import readiness
from reenact.seams.lanes import Lane, is_carried, listening
from reenact.seams.patching import replace, when_imported


class Channel(Protocol):
    """The target of a known descriptor."""

    def read(self, lane: Lane, perform: Callable[[], bytes]) -> bytes:
        """One ``os.read``."""

    def write(self, lane: Lane, data: bytes, perform: Callable[[], int]) -> int:
        """One ``os.write``."""

    def ready(self, lane: Lane, perform: Callable[[], Any]) -> Any:
        """One wait for several descriptors, this one among them; the answer is data."""


_known: dict[int, tuple[Channel, tuple[int, int]]] = {}


def know(fd: int, channel: Channel) -> None:
    """From now on this descriptor leads to ``channel``."""
    if fd not in _known:
        _known[fd] = channel, _identity(fd)


def forget(fd: int) -> None:
    """Forget a descriptor that was closed."""
    _known.pop(fd, None)


def renew(fd: int) -> None:
    """A known descriptor means another file now, but leads to the same channel as before."""
    found = _known.get(fd)
    if found is not None:
        _known[fd] = found[0], _identity(fd)


def _identity(fd: int) -> tuple[int, int]:
    facts = os.fstat(fd)
    return facts.st_dev, facts.st_ino


def channel_of(fd: Any) -> Channel | None:
    """The target of a descriptor; None for others, and for a number that now belongs to another file."""
    found = _known.get(fd) if type(fd) is int else None
    if found is None:
        return None
    try:
        if _identity(fd) == found[1]:
            return found[0]
    except OSError:
        pass
    forget(fd)
    return None


def _asking(fd: Any) -> tuple[Lane, Channel] | None:
    if not _known or fd not in _known or is_carried():
        return None
    lane = listening()
    channel = channel_of(fd) if lane is not None else None
    return None if lane is None or channel is None else (lane, channel)


def read(fd: int, perform: Callable[[], bytes]) -> bytes:
    """``os.read``: a crossing where the descriptor is known."""
    found = _asking(fd)
    return perform() if found is None else found[1].read(found[0], perform)


def write(fd: int, data: Any, perform: Callable[[], int]) -> int:
    """``os.write``: a crossing where the descriptor is known."""
    found = _asking(fd)
    return perform() if found is None else found[1].write(found[0], bytes(data), perform)


def install() -> None:
    """Hook the functions that close descriptors, and those that wait for several at once."""
    replace(os, "close", _closing)
    when_imported("select", lambda module: replace(module, "select", _selecting))
    when_imported("selectors", _patch_selectors)


def _closing(original: Any) -> Any:
    def close(fd: int) -> None:
        _known.pop(fd, None)
        original(fd)

    return close


def _number(item: Any) -> int:
    return item if isinstance(item, int) else int(item.fileno())


def _selecting(original: Any) -> Any:
    def select(rlist: Any, wlist: Any, xlist: Any, timeout: Any = None, /) -> Any:
        lane = listening()
        if lane is None or is_carried():
            return original(rlist, wlist, xlist, timeout)
        asked = [list(items) for items in (rlist, wlist, xlist)]
        numbers = [_number(item) for items in asked for item in items]
        channel = next((each for number in numbers if (each := channel_of(number)) is not None), None)
        if channel is None and not readiness.concerns(lane, sys._getframe(1), numbers, timeout):
            return original(*asked, timeout)

        def perform() -> list[list[int]]:
            found = original(*asked, timeout)
            return [[_place(items, item) for item in some] for items, some in zip(asked, found, strict=True)]

        places = channel.ready(lane, perform) if channel else readiness.ready(lane, len(numbers), perform)
        return tuple([items[place] for place in some] for items, some in zip(asked, places, strict=True))

    return select


def _place(items: list[Any], item: Any) -> int:
    return next(place for place, each in enumerate(items) if each is item)


def _patch_selectors(module: ModuleType) -> None:
    for name in ("SelectSelector", "PollSelector", "EpollSelector", "DevpollSelector", "KqueueSelector"):
        if hasattr(module, name):
            replace(getattr(module, name), "select", _choosing)


def _choosing(original: Any) -> Any:
    def select(self: Any, timeout: Any = None) -> Any:
        lane = listening()
        if lane is None or is_carried():
            return original(self, timeout)
        known = self.get_map()
        if known is None:  # closed: the original raises the error
            return original(self, timeout)
        keys: list[selectors.SelectorKey] = list(known.values())
        channel = next((each for key in keys if (each := channel_of(key.fd)) is not None), None)
        numbers = [key.fd for key in keys]
        if channel is None and not readiness.concerns(lane, sys._getframe(1), numbers, timeout):
            return original(self, timeout)

        def perform() -> list[list[int]]:
            return [[numbers.index(key.fd), mask] for key, mask in original(self, timeout)]

        found = channel.ready(lane, perform) if channel else readiness.ready(lane, len(numbers), perform)
        return [(keys[place], mask) for place, mask in found]

    return select
