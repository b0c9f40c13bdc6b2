"""The order of our locks, kept by every test: a lock taken inside one of its own rank, or of a later one, is told of.

It holds for what runs in the process of the tests. What a lock guards is short, so most locks are of the last rank:
none of ours is taken inside them. A finaliser is left out: the collector runs it in the middle of anything.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from types import FunctionType
from typing import Any, Final

ORDER: Final = (
    (
        "facts.growth:Growth._lock",
        "seams.stdout:_lock",
    ),
    (
        "seams.numpy_random:_lock",
        "seams.rebinding:_Modules.lock",
        "seams.rpc.rendezvous:Rpc.lock",
        "seams.boot.fork_server_client:ForkServerClient._lock",
    ),
    ("seams.gate:Gate.lock",),
    ("store.store_file:StoreFile._lock",),
    ("store.connection:WriteConnection._lock",),
    (
        "recording.recorded_speech:StreamListener._lock",
        "recording.recording_session:RecordingSession._lock",
        "recording.repeated_calls:Repeats._lock",
        "recording.writer:Receipt._lock",
        "recording.writer:Writer._bytes_lock",
        "replaying.scratch_copy:Copy.lock",
        "replaying.speech_echo:Echo._lock",
        "seams.arrivals:_lock",
        "seams.audit_hook:_lock",
        "seams.boot.bound_children:_lock",
        "seams.boot.folders:_lock",
        "seams.boot.fork_server_client:_Interpreter._lock",
        "seams.http.outgoing_request:_Memory._lock",
        "seams.strands.main_thread_end:_lock",
        "seams.watch:Watch._lock",
        "seams.wiring:_lock",
        "store.connection:ReadConnection._lock",
        "store.open_stores:_lock",
        "timetravel.forks.fork_speech:ForkSpeech._lock",
    ),
)
"""Our locks by rank, the outermost first: each as ``module:class.attribute`` or ``module:name``."""


class _HeldLocks(threading.local):
    def __init__(self) -> None:
        self.locks: list[OrderedLock] = []


_held = _HeldLocks()
_watches = True
broken: list[str] = []
"""Where the order was not kept, since this was last emptied."""


class OrderedLock:
    """A lock that knows its rank.

    Args:
        lock: The lock itself.
        rank: Its rank in ``ORDER``.
        name: Its name there.
    """

    __slots__ = ("_is_owned", "_lock", "acquire", "name", "rank", "release")

    def __init__(self, lock: Any, rank: int, name: str) -> None:
        self._lock = lock
        self.rank = rank
        self.name = name
        self._is_owned = lock._is_owned if hasattr(lock, "_is_owned") else lock.locked
        self.acquire = lock.acquire
        self.release = lock.release

    def locked(self) -> bool:
        """Whether it is held: by this thread, if it is one that knows."""
        return bool(self._is_owned())

    def __enter__(self) -> None:
        locks = _held.locks
        if _watches and locks and self not in locks:
            outer = max(locks, key=lambda each: each.rank)
            if outer.rank >= self.rank and outer.locked():  # an interrupt may have left one behind
                stack = traceback.extract_stack()[:-1]
                if not any(frame.name == "__del__" for frame in stack):
                    place = "".join(traceback.format_list(stack[-12:]))
                    broken.append(f"{self.name} is taken inside {outer.name}:\n{place}")
        self._lock.acquire()
        locks.append(self)

    def __exit__(self, *exc: object) -> None:
        locks = _held.locks
        del locks[len(locks) - 1 - locks[::-1].index(self)]
        self._lock.release()


def _as_ours() -> None:
    """A handler of a signal that interrupts these finds code of ours, as it does where the lock is written in C."""
    ours = {**globals(), "__name__": "reenact.seams.gate"}
    for name in ("__enter__", "__exit__", "locked"):
        method: Any = vars(OrderedLock)[name]
        setattr(OrderedLock, name, FunctionType(method.__code__, ours, name))


def install() -> None:
    """Give each lock its rank. One that is not there any more is for ``tests/order/test_lock_order.py`` to tell."""
    _as_ours()
    for rank, names in enumerate(ORDER):
        for name in names:
            module, _, path = name.partition(":")
            owner, _, attribute = path.rpartition(".")
            if find_spec(f"reenact.{module}") is None:
                continue
            space: Any = import_module(f"reenact.{module}")
            made: list[Any] = [space]
            if not hasattr(space, owner or attribute):
                continue
            if owner:
                kind = getattr(space, owner)
                made = [each for each in vars(space).values() if isinstance(each, kind)]
                _on_making(kind, attribute, rank, name)
            for each in made:
                setattr(each, attribute, OrderedLock(getattr(each, attribute), rank, name))


def _on_making(kind: Any, attribute: str, rank: int, name: str) -> None:
    original: Callable[..., None] = kind.__init__

    @wraps(original)
    def made(self: Any, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        if _watches:
            setattr(self, attribute, OrderedLock(getattr(self, attribute), rank, name))

    kind.__init__ = made


def begin() -> None:
    """Forget what this thread holds by our count: what an interrupted test has left behind is not the next one's."""
    _held.locks.clear()
    broken.clear()


@contextmanager
def unwatched() -> Iterator[None]:
    """Nothing is told of in the block, and the locks of what is made in it are plain: for a test that counts every call
    of a function, or interrupts our code wherever it is."""
    global _watches
    _watches = False
    try:
        yield
    finally:
        _watches = True
