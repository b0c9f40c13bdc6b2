"""Lanes, the sequential strands of an agent that make its calls, and the scopes inside them.

A lane belongs to the executing unit (a task, a thread, a job in a pool). The unit outranks any context variable,
because frameworks copy contexts freely; a copied context only says which lane was the parent. A lane's path is given at
creation: ``root/search#2`` is the second child of that name that *root* started, ``root>fetch#1`` the scope of its
first call of ``fetch``. Paths are the same in a recording and its replay.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable, Collection
from contextvars import ContextVar
from types import ModuleType
from typing import TYPE_CHECKING, Any

from reenact.facts import weaving
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.order import Tag

if TYPE_CHECKING:
    from reenact.abc.session import Session
    from reenact.seams.async_backends import AsyncBackend

UNOWNED = "~unowned"
running_loop: Callable[[], Any] = type(None)
current_task: Callable[[Any], Any]
"""The loop and the task that are executing; neither exists before the program has imported asyncio (``follow``)."""


def follow(asyncio: ModuleType) -> None:
    """Ask asyncio for the running loop and task from now on."""
    global running_loop, current_task
    running_loop, current_task = asyncio._get_running_loop, asyncio.current_task


def scope_path(path: str, name: str, ordinal: int) -> str:
    """The path of the scope of the ``ordinal``-th call of ``name`` in the lane at a path."""
    return f"{path}>{_plain(name)}#{ordinal}"


class Lane:
    """One sequential strand, or a scope inside one.

    Attributes:
        path: Stable address.
        session: The session that answers its calls.
        gate: The gate that hands out its turns.
        parent: Event this lane is inside, or None.
        position: How many calls it has issued.
        below: True below a transport: nothing here is recorded, ordered or numbered.
        call: The exchange that it performs, or inside which it runs below the transport: an error here is the outcome
            of that exchange. None where there is none.
        number: Number in the log, given by the session when first needed; -1 before.
        ended: Whether its thread or job has finished; ``unit`` refers to its task, if it has one (``finished``).
        expected: The next task created in this context is to have this very lane.
        origin: The lane it was started by.
        owned: False for a unit whose start no hook saw: its calls are matched by key alone, and no hook counts it.
        in_tool: Whether it is inside a call of a tool, or was started there: its calls are the tool's own.
        quiet: Its output belongs to a call that is answered frozen, and is not compared.
        told: How many pieces of text it has printed since its last call.
        data: Data that the session keeps with the lane.
    """

    __slots__ = (
        "_children",
        "_n",
        "below",
        "call",
        "data",
        "ended",
        "expected",
        "gate",
        "in_tool",
        "number",
        "origin",
        "owned",
        "parent",
        "path",
        "position",
        "quiet",
        "session",
        "told",
        "unit",
    )

    def __init__(
        self,
        path: str,
        session: Session,
        gate: Any,
        *,
        parent: int | None = None,
        below: bool = False,
        origin: Lane | None = None,
    ) -> None:
        self.path = path
        self.session = session
        self.gate = gate
        self.parent = parent
        self.position = 0
        self.told = 0
        self.below = below
        self.call: int | None = None
        self.number = -1
        self.ended = False
        self.expected = False
        self.owned = True
        self.quiet: bool = origin is not None and origin.quiet
        self.in_tool: bool = origin is not None and origin.in_tool
        self.unit: weakref.ref[Any] | None = None
        self.origin = origin
        self.data: Any = None
        self._children: dict[str, int] = {}
        self._n = 0

    def _ordinal(self, name: str) -> int:
        count = self._children.get(name, 0) + 1
        self._children[name] = count
        return count

    def child(self, name: str) -> Lane:
        """A new strand started by this one: a task, a thread, a job."""
        name = _plain(name)
        path = f"{self.path}/{name}#{self._ordinal('/' + name)}"
        return Lane(path, self.session, self.gate, parent=self.parent, origin=self)

    def children(self) -> Collection[str]:
        """The names of the lane's children so far. A strand's name begins with ``/``, a call's with ``>``."""
        return self._children

    def scope(self, name: str, event: int, *, path: str = "") -> Lane:
        """The inside of a call of this lane. A replay passes the recorded ``path``."""
        ordinal = self._ordinal(">" + _plain(name))
        return Lane(path or scope_path(self.path, name, ordinal), self.session, self.gate, parent=event, origin=self)

    def skip_scope(self, name: str) -> str:
        """The path of the inside of a call of this lane in which no code will run, because the answer is frozen."""
        name = ">" + _plain(name)
        count = self._children.get(name, 0) + 1
        self._children[name] = count
        return f"{self.path}{name}#{count}"  # as ``scope_path``: a replay passes here at each frozen step

    def beneath(self) -> Lane:
        """Below a transport of this lane, outside of any call of it: nothing here is recorded, ordered or numbered."""
        return Lane(self.path, self.session, self.gate, parent=self.parent, below=True, origin=self)

    def finished(self) -> bool:
        """Whether the task, thread or job of this lane has ended."""
        if self.ended or self.unit is None:
            return self.ended
        task = self.unit()
        return task is None or bool(task.done())

    def issued(self) -> int:
        """Count one call of this lane, and return its position."""
        position = self.position
        self.position = position + 1
        self.told = 0
        self._n = 0
        return position

    def tag(self, kind: str) -> Tag:
        """The identity of the next timer, wake-up, callback or join of this lane."""
        self._n += 1
        return Tag(kind, self.path, self.position, self._n)

    def __repr__(self) -> str:
        return f"<Lane {self.path} at {self.position}{' below' if self.below else ''}>"


def steps_of(lane: Lane) -> int:
    """The number of ambient reads and printed texts of a lane since its last call; -1 where it is unknown."""
    window = lane.data
    if window is None or window.position != lane.position:
        return lane.told
    count: int = window.count()
    return count if count < 0 else count + lane.told


_SEPARATORS = str.maketrans("/>#", "___")


_WORDS = lazy_regex(r"[A-Za-z_.<]{0,28}+")
"""Names that need no cleaning: a credential is longer, or has digits, or stands after a name and a sign."""
_clean: Callable[[str], str] = str
_fault: weakref.WeakMethod[Callable[[Exception], bool]] | None = None


def call_by(clean: Callable[[str], str], fault: Callable[[Exception], bool]) -> None:
    """Give lanes names as ``clean`` gives them: without credentials, the same in a recording and its replay.

    Args:
        clean: Cleans a name.
        fault: The method that is told of a name that cannot be cleaned (``abc.session.Session.fault``). Unless it
            returns True, the lane is ``unnamed``. The session is not kept alive by this."""
    global _clean, _fault
    _clean, _fault = clean, weakref.WeakMethod(fault)
    _plain.cache_clear()


@functools.lru_cache(4096)
def _plain(name: str) -> str:
    """A name without credentials, and without the characters that separate the parts of a path.

    Credentials are taken out a second time afterwards: the cleaning of a path keeps the names in it."""
    if _WORDS.fullmatch(name):
        return name
    try:
        cleaned = _clean(name)
        plain = cleaned.translate(_SEPARATORS)
        return plain if plain == cleaned else _clean(plain)
    except Exception as error:
        told = _fault() if _fault is not None else None
        if told is not None and told(error):
            raise
        return "unnamed"


class Cell:
    """Holds the current lane of an executing unit, and the library that runs the unit if that is not asyncio."""

    __slots__ = ("backend", "lane")

    def __init__(self, lane: Lane | None, backend: AsyncBackend[Any] | None = None) -> None:
        self.lane = lane
        self.backend = backend


class _Thread(threading.local):
    cell: Cell | None = None


_thread = _Thread()
_context: ContextVar[Lane | None] = ContextVar("reenact_lane", default=None)
_sessions = 0


def current() -> Lane | None:
    """The lane of the unit that is executing now; None when no session listens to it. About 0.1 µs when idle."""
    if not _sessions:
        return None
    loop = running_loop()
    if loop is not None:
        task = current_task(loop)
        if task is None:
            return _context.get()
        cell = getattr(task, "_reenact_cell", None)
        if cell is not None:
            return cell.lane  # type: ignore[no-any-return]
        return unseen(task)
    cell = _thread.cell
    return cell.lane if cell is not None else _fallback


def listening() -> Lane | None:
    """The current lane if its crossings are to be answered; None when idle or below a transport."""
    if not _sessions:
        return None
    lane: Lane | None
    if running_loop() is None:  # a copy of ``current`` that makes no call, because it runs at every read of a clock
        cell = _thread.cell
        lane = cell.lane if cell is not None else _fallback
    else:
        lane = current()
    return None if lane is None or lane.below else lane


def counted() -> Lane | None:
    """The current lane if its unit is counted at the gate, for the hooks of ``seams.strands``."""
    if not _sessions:
        return None
    lane = current()
    return None if lane is None or lane.below or not lane.owned else lane


_fallback: Lane | None = None


def unseen(task: Any) -> Lane | None:
    """The lane of a task whose start no hook saw. The lane is unowned if the task's context belongs to a session."""
    near = _context.get()
    if near is None:
        return _fallback
    if near.below:
        return near
    if near.expected:  # an eager task, running its first step before its creator holds it
        near.expected = False
        adopt_task(task, near)
        return near
    lane = unowned(near.session, near.gate)
    task._reenact_cell = Cell(lane)
    near.session.gap("unowned task", getattr(task.get_coro(), "__qualname__", "task"))
    return lane


def unowned(session: Session, gate: Any) -> Lane:
    """A lane for a unit whose start no hook saw."""
    lane = Lane(UNOWNED, session, gate)
    lane.owned = False
    return lane


def is_passive(lane: Lane) -> bool:
    """Whether the session of a lane answers only ambient reads: then there is no run, and nothing is counted."""
    return bool(getattr(lane.session, "passive", False))


def adopt_task(task: Any, lane: Lane | None) -> None:
    """Give a task its lane."""
    task._reenact_cell = Cell(lane)
    if lane is not None and lane.unit is None and not lane.below:
        lane.unit = weakref.ref(task)


def adopt_thread(lane: Lane | None) -> Cell | None:
    """Give the calling thread a lane. Returns its former one, for ``restore_thread``."""
    before = _thread.cell
    _thread.cell = Cell(lane)
    return before


def restore_thread(before: Cell | None) -> None:
    """Undo ``adopt_thread``; or go on as the unit whose cell this is."""
    _thread.cell = before


def backend() -> AsyncBackend[Any] | None:
    """The async backend of the unit that is executing; None for threads and for tasks of asyncio."""
    cell = _thread.cell
    return None if cell is None else cell.backend


def is_carried() -> bool:
    """Whether the executing unit is a coroutine or is called by one: others go on while it waits."""
    return running_loop() is not None or backend() is not None


class Inside:
    """Runs a block in a lane: the unit's cell and the context both say so, and are put back afterwards.

    A class and no generator, because a recorded stream enters one for each of its segments.

    Args:
        lane: The lane; None for a block to which no session listens.
    """

    __slots__ = ("_before", "_cell", "_lane", "_token", "_unseen_thread")

    def __init__(self, lane: Lane | None) -> None:
        self._lane = lane

    def __enter__(self) -> None:
        cell: Cell | None
        loop = running_loop()
        if loop is None:
            cell = _thread.cell
            self._unseen_thread = cell is None
            if cell is None:
                cell = _thread.cell = Cell(None)
        else:
            self._unseen_thread = False
            task = current_task(loop)
            cell = None if task is None else getattr(task, "_reenact_cell", None)
            if cell is None and task is not None:
                cell = task._reenact_cell = Cell(None)
        self._cell = cell
        self._before: Lane | None = None
        if cell is not None:
            self._before = cell.lane
            cell.lane = self._lane
        self._token = _context.set(self._lane)

    def __exit__(self, *exc: object) -> None:
        if self._unseen_thread:  # the thread had no cell, and must find the fallback lane again
            _thread.cell = None
        elif self._cell is not None:
            self._cell.lane = self._before
        try:
            _context.reset(self._token)
        except ValueError:  # the block was left in another context (a generator finalised elsewhere)
            _context.set(self._before)


inside = Inside


def whole_process() -> bool:
    """Whether the whole process belongs to one run: it is a recorded program, or it has only one recorded block."""
    return _sessions == 1 or _fallback is not None


def anybody() -> bool:
    """Whether any session listens in this process."""
    return _sessions > 0


def session_began(fallback: Lane | None = None) -> None:
    """A session listens from now on. ``fallback`` is the lane of threads whose start no hook saw (a recorded
    process has one; a recorded block has none, because a session belongs to a context, never to the process)."""
    global _sessions, _fallback
    _sessions += 1
    if fallback is not None:
        _fallback = fallback


def session_ended(fallback: Lane | None = None) -> None:
    """The counterpart of ``session_began``."""
    global _sessions, _fallback
    _sessions = max(0, _sessions - 1)  # the count may be 0 already, if the session began in a parent process
    if fallback is not None and _fallback is fallback:
        _fallback = None
    if not _sessions:
        weaving.forget()


def forget_fallback() -> None:
    """Threads whose start no hook saw belong to no run from now on: a server has taken over."""
    global _fallback
    _fallback = None


def _forked() -> None:
    """In a forked child no session listens: the threads that would write its parent's run stayed with the parent."""
    global _sessions, _fallback
    _sessions = 0
    _fallback = None
    _thread.cell = None
    _context.set(None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
