"""The order of our locks, and the proof that it is kept: a lock that is taken inside a later one fails its test."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, Final

ORDER: Final = (
    "seams.rebinding:Rebinding.lock",
    "seams.numpy_random:_lock",
    "recording.recorded_speech:RecordedSpeech._lock",
    "seams.gate:Gate.lock",
    "recording.recording_session:RecordingSession._lock",
    "seams.watch:Watch._lock",
)
"""Each lock of ours inside which another is taken, or that is, the outermost first: ``module:class.attribute``."""


class _Held(threading.local):
    def __init__(self) -> None:
        self.locks: list[OrderedLock] = []


_held = _Held()
broken: list[str] = []
"""Where the order was not kept, since this was last looked at."""


class OrderedLock:
    """A lock that knows its place in the order.

    Args:
        lock: The lock itself.
        place: Its place in ``ORDER``.
    """

    __slots__ = ("_lock", "acquire", "locked", "place", "release")

    def __init__(self, lock: Any, place: int) -> None:
        self._lock = lock
        self.place = place
        self.acquire = lock.acquire
        self.release = lock.release
        self.locked = getattr(lock, "locked", None)

    def __enter__(self) -> Any:
        locks = _held.locks
        if locks and self not in locks:
            latest = max(locks, key=lambda each: each.place)
            if latest.place >= self.place:
                place = "".join(traceback.format_stack(limit=12)[:-1])
                broken.append(f"{ORDER[self.place]} is taken inside {ORDER[latest.place]}:\n{place}")
        self._lock.acquire()
        locks.append(self)
        return True

    def __exit__(self, *exc: object) -> None:
        locks = _held.locks
        del locks[len(locks) - 1 - locks[::-1].index(self)]
        self._lock.release()


def install() -> None:
    """Give every lock of the order its place; once a process."""
    for place, name in enumerate(ORDER):
        module, _, path = name.partition(":")
        owner, _, attribute = path.rpartition(".")
        space: Any = import_module(f"reenact.{module}")
        if owner:
            _on_making(getattr(space, owner), attribute, place)
        else:
            setattr(space, attribute, OrderedLock(getattr(space, attribute), place))


def _on_making(kind: Any, attribute: str, place: int) -> None:
    original: Callable[..., None] = kind.__init__

    @wraps(original)
    def made(self: Any, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        setattr(self, attribute, OrderedLock(getattr(self, attribute), place))

    kind.__init__ = made
