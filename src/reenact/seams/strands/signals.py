"""Signals: each run of a program's handler has a place in the order, and a replay sends the signal there again.

A signal reaches the main thread wherever it is: in a sleep, in a wait for a lock, in a loop with nothing to do, in the
middle of a computation. While recording, the moment at which the program's handler is about to run is noted as a
delivery. In a replay the gate really sends the signal when its turn has come: the main thread is interrupted where it
waits, the program's own handler runs, and its error is raised there. In a replay, signals that the program sends to
itself, and its alarms, do not fire on their own. Where the main thread waits for another strand, the handler takes its
turn like a woken strand, and counts until it has returned.

While recording, the handler of a signal that comes in the middle of our own code runs as soon as this code is left
(``postponed_signals``): a handler may raise, and would leave our counts half done, or a lock of ours held for ever.

Only the handlers of a program that is recorded or replayed as a whole are heard. A handler that raises below a
transport is left alone: its exception already is the outcome of that call.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # typeshed knows only what wraps it
import functools
import math
import operator
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from reenact.errors import Halt
from reenact.facts.order import Tag, call_around
from reenact.seams import lanes
from reenact.seams.ambient import answer
from reenact.seams.gate import Gate
from reenact.seams.lanes import Lane
from reenact.seams.patching import replace
from reenact.seams.process_signals import Alarms, ProcessSignals, timeless
from reenact.seams.strands.handler_lanes import UNKNOWN, agents_lane, exchange, own_lane, place_in
from reenact.seams.strands.handler_scope import HandlerOwners, interrupted, run_in
from reenact.seams.strands.postponed_signals import PostponedSignals
from reenact.seams.turns import moment_us
from reenact.seams.waits import outside, rest

_gate: Gate | None = None
_is_set: Callable[[int], Any] = signal.getsignal
_kill = os.kill
_set_timer: Callable[..., Any] = getattr(signal, "setitimer", timeless)
_timer_left: Callable[..., Any] = getattr(signal, "getitimer", timeless)
_REAL = getattr(signal, "ITIMER_REAL", 0)
_WAITS = frozenset({rest.__code__, outside.__code__})
_LOCKING = frozenset(
    {"__enter__", "__exit__", "_acquire_restore", "_release_save", "_is_owned", "notify", "notify_all"}
)
"""Functions of ``threading`` that call locks and waiters of ours, or are called by us, and never wait by themselves."""
_SEAMS = ("background", "gate", "lanes", "process_signals", "strands.", "switchboard", "turns", "watch")
_COUNTING = (
    *(f"reenact.{room}." for room in ("recording", "privacy", "store", "facts")),
    *(f"reenact.seams.{name}" for name in _SEAMS),
)
"""The modules in which our work can be half done; modules that only pass a call on are not among them."""
_ENTERING = frozenset({"reenact.recording.live_calls", "reenact.seams.lanes"})
"""The code that enters or leaves a lane below a transport."""
_taking = False


class HandlerStandIn:
    """A stand-in for one handler of the program, at the system's side.

    The interpreter looks up its call method and finds the program's own handler. So our frame is off the stack when the
    handler runs, and no traceback shows it.
    """

    __slots__ = ("handler", "number", "owner")

    def __init__(self, number: int, handler: Callable[[int, Any], Any]) -> None:
        self.number = number
        self.handler = handler
        self.owner = _OWNERS.of(number, handler, _path())

    @property
    def __call__(self) -> Callable[[int, Any], Any]:
        """The handler to call now. Runs in the main thread, between two instructions of its code."""
        return self.chosen(sys._getframe(1))

    def chosen(self, frame: FrameType) -> Callable[[int, Any], Any]:
        """The handler to call if the signal comes in ``frame``."""
        gate = _gate
        if gate is None or gate.halted is not None or gate.closed or not lanes.anybody():  # none in a forked child
            return self.handler
        return _chosen(self, gate, frame)


def _chosen(heard: HandlerStandIn, gate: Gate, frame: Any) -> Callable[[int, Any], Any]:
    lane = lanes.current()
    below = lane is not None and lane.below
    if gate.signals.postpones(heard.number) and _comes_amiss(frame):
        _POSTPONED.postpone(heard.number, lambda there: heard.chosen(there)(heard.number, there), frame)
        return _nothing
    raises = heard.handler is signal.default_int_handler  # the handler raises, and no other code runs
    theirs = lane is None or lane.gate is not gate  # the lane is of another run, begun by a server
    call = None if raises or theirs else interrupted(lane, heard.owner)
    around = None if theirs else agents_lane(lane)
    worldly = gate.signals.hears(heard.number)
    if below and worldly and (raises or theirs):
        return _afterwards(heard, gate)
    path, within = "" if around is None else around.path, None
    if call is not None:
        around, path, within = call.lane, call.lane.path, call.event
    elif worldly and not (raises or theirs):
        within = exchange(lane)
    turn = gate.signals.at(heard.number, path, within, place_in(around))
    if below and worldly:
        return _beneath(heard.handler, gate, turn, around, counts=not lanes.is_carried())
    loop = lanes.running_loop()
    idle = loop is not None and gate.loops.is_idle(loop)
    parked = frame.f_code is rest.__code__
    runs = parked and not below and not raises
    if parked and worldly:
        with gate.lock:
            parked = not frame.f_locals["out"].counted()
            runs = runs and parked
            if runs:
                gate.running += 1
        if runs:
            gate.signals.handles_now(turn)
            handler = _in_its_lane(heard.handler, turn, around, call is not None)
            return _counted(handler, gate, gate.signals.turn(turn), frame.f_locals["out"].tags)
    if not gate.signalled(turn, below or parked or idle, runs):
        return _nothing
    handler = heard.handler if raises else _in_its_lane(heard.handler, gate.signals.handling, around, call is not None)
    contained = gate.signals.contained
    if contained is not None and frame.f_code is rest.__code__:  # a body that runs again may rest by itself
        contained = any(tag.kind == "e" for tag in frame.f_locals["out"].tags)
    if contained:
        handler = _containing(handler)
    return _counted(handler, gate, None) if runs else handler


def _in_its_lane(
    handler: Callable[[int, Any], Any], turn: Tag | None, around: Lane | None, other: bool
) -> Callable[[int, Any], Any]:
    """Runs a handler in a lane of its own. If it has none, it runs in the agent's lane, where the main thread is
    elsewhere: a loop that waits for the answer of the interrupted call may be in no task.
    """
    own = own_lane(turn, around) or (around if other else None)
    if own is None and turn is not None and around is not None and call_around(turn) is not None:
        own = around.gate.lane_at(turn.lane)
    return handler if own is None else run_in(own, handler)


def _beneath(
    handler: Callable[[int, Any], Any], gate: Gate, turn: Tag, around: Lane | None, counts: bool
) -> Callable[[int, Any], Any]:
    """Runs a handler of the agent below a transport, in no lane of the transport's. With ``counts`` the gate counts the
    main thread while the handler runs. An error of the handler becomes the recorded outcome of the call.
    """
    gate.signalled(turn, True, counts)
    handler = _in_its_lane(handler, turn, around, True)
    if not counts:
        return handler

    def handle(number: int, frame: Any) -> None:
        try:
            handler(number, frame)
        finally:
            gate.blocked()

    return handle


def _containing(handler: Callable[[int, Any], Any]) -> Callable[[int, Any], Any]:
    """Runs a handler that interrupted a call which is answered as a whole.

    Its exception ended inside that call or came out of it; the recorded answer says which."""

    def handle(number: int, frame: Any) -> None:
        try:
            handler(number, frame)
        except Halt:
            raise
        except BaseException:
            return

    return handle


def _counted(
    handler: Callable[[int, Any], Any], gate: Gate, turn: Tag | None, held: tuple[Tag, ...] = ()
) -> Callable[[int, Any], Any]:
    """Runs a handler in a wait that is not counted. The handler is counted until it has returned, because its strand
    runs. An error of the handler ends the wait, which is counted then.

    Args:
        handler: The handler.
        gate: The gate, which counts the handler already.
        turn: While recording, the handler takes this turn first, like a woken strand; in a replay the turn has come
            already.
        held: The turns of that wait. They come when the handler has returned, for until then no code takes them up."""

    def handle(number: int, frame: Any) -> None:
        before = gate.signals.held
        try:
            gate.signals.held = before + held
            if turn is not None:
                _take(gate, turn)
            handler(number, frame)
        except BaseException:  # however the wait ends, the count passes to the strand
            gate.signals.held = before
            gate.signals.raising += 1
            raise
        gate.signals.held = before
        gate.blocked()

    return handle


def _take(gate: Gate, turn: Tag) -> None:
    """Wait for the turn of a handler. The handlers of later signals run afterwards: the handlers of a frequent signal
    would pile up, each in the wait of the handler before."""
    global _taking
    _taking = True
    try:
        gate.take(turn)
    finally:
        _taking = False


def _comes_amiss(interrupted: FrameType) -> bool:
    """Whether a frame is of our own code, and neither waits for a turn nor performs a live call."""
    gate, lane = _gate, lanes.current()
    if _taking or (gate is not None and gate.lock._is_owned()):  # type: ignore[attr-defined]  # in no stub
        return True
    name = interrupted.f_globals.get("__name__")
    if (lane is not None and lane.below) or interrupted.f_code in _WAITS:
        return name in _ENTERING
    if name == "threading" and interrupted.f_code.co_name in _LOCKING:
        return True
    while str(name).startswith("namedtuple_") and interrupted.f_back is not None:  # a named tuple of ours is made
        interrupted = interrupted.f_back
        name = interrupted.f_globals.get("__name__")
    return str(name).startswith(_COUNTING)


_POSTPONED = PostponedSignals(_comes_amiss)
_OWNERS = HandlerOwners()


def _path() -> str:
    """The interrupted lane; for a transport's lane, the lane that called the transport."""
    lane = agents_lane(lanes.current())
    return "" if lane is None else lane.path


def _afterwards(heard: HandlerStandIn, gate: Gate) -> Callable[[int, Any], Any]:
    """Runs a handler of other code below a transport, and notes its return; its exception is the call's outcome."""

    def handle(number: int, frame: Any) -> None:
        gate.signals.handles(number)
        try:
            heard.handler(number, frame)
        except BaseException:
            gate.signals.handles(number, raised=True)
            raise
        gate.signalled(gate.signals.at(number, _path(), None, (0, UNKNOWN)), True)

    return handle


def _nothing(_number: int, _frame: Any) -> None:
    """Runs in place of the handler where the recorded signal has its own place."""


# --- what the program does with signals ----------------------------------------------------------------------------


def install() -> None:
    """Hook the setting and asking for handlers and alarms, once a process."""
    replace(signal, "signal", _setting)
    replace(signal, "getsignal", _getting)
    if hasattr(signal, "siginterrupt"):
        replace(signal, "siginterrupt", _resuming)
    for name in ("alarm", "setitimer", "getitimer"):
        if hasattr(signal, name):
            replace(signal, name, functools.partial(_alarm, name))


def hear(gate: Gate) -> None:
    """The handlers of this process are heard for the run of ``gate`` from now on. Call it in the main thread."""
    global _gate
    if not hasattr(signal, "pthread_kill") or threading.current_thread() is not threading.main_thread():
        return
    _gate = gate
    gate.signals.process = ProcessSignals(_to_main_thread, _to_process, _set_timer, _timer_left)
    if gate.schedule.awaits_signal():
        gate.attend(gate)
    for number in _signal.valid_signals():  # as plain numbers: making enumeration members of all takes 1 ms
        handler = _signal.getsignal(number)
        if callable(handler) and not isinstance(handler, HandlerStandIn):
            signal.signal(number, handler)


def leave(gate: Gate) -> None:
    """The run of ``gate`` has ended: its handlers stay, and are no longer followed."""
    global _gate
    if _gate is gate:
        _gate = None


def _to_main_thread(number: int) -> bool:
    """Send a signal to the main thread; False where the program has no handler for it."""
    main = threading.main_thread().ident
    if main is None or not isinstance(_is_set(number), HandlerStandIn):
        return False
    signal.pthread_kill(main, number)
    return True


def _plain(handler: Any) -> Any:
    return handler.handler if isinstance(handler, HandlerStandIn) else handler


def _setting(original: Callable[..., Any]) -> Callable[..., Any]:
    def set_handler(signalnum: int, handler: Any) -> Any:
        if _gate is not None and callable(handler) and not isinstance(handler, HandlerStandIn):
            handler = HandlerStandIn(int(signalnum), handler)
        return _plain(original(signalnum, handler))

    return set_handler


def _getting(original: Callable[..., Any]) -> Callable[..., Any]:
    def getsignal(signalnum: int) -> Any:
        return _plain(original(signalnum))

    return getsignal


def _resuming(original: Callable[..., Any]) -> Callable[..., Any]:
    """``siginterrupt``: where the main thread was at work in the world, it waits for a lock of ours in a replay. A
    signal that does not interrupt this wait would not reach its handler."""

    def siginterrupt(signalnum: int, flag: Any) -> None:
        original(signalnum, flag if _gate is None or not _gate.schedule.follows else True)

    return siginterrupt


def _to_process(number: int) -> bool:
    """Send a signal to the thread that runs handlers, because the system may choose one that does nothing. Without a
    handler the system acts as always: it ends the process, or keeps a blocked signal."""
    if _to_main_thread(number):
        return True
    _kill(os.getpid(), number)
    return False


def _alarm(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """``alarm`` and the interval timers: in a replay no alarm is set, because the recorded signals are sent, or the
    gate knows by its own time when one is due.

    Their answer is the remaining time of the former alarm: one number of seconds, or a pair."""
    width = 1 if name == "alarm" else 2

    def set_alarm(*args: Any) -> Any:
        lane, gate = lanes.listening(), _gate
        if gate is None or not lanes.anybody() or gate.closed:
            return original(*args)
        now_us = moment_us(lane) if lane is not None and name != "getitimer" else 0
        if gate.signals.alarms is not None:
            left: Any = _kept(gate.signals.alarms, name, original, args)
        elif lane is None:
            return original(*args)
        elif gate.schedule.follows:
            left = (0.0,) * width
        else:
            left = original(*args)
            if name != "getitimer":
                which, seconds, every = (*(args if width == 2 else (_REAL, *args)), 0.0)[:3]
                if which == _REAL:
                    gate.schedule.alarm_set(now_us, math.ceil(float(seconds) * 1e6), math.ceil(float(every) * 1e6))
        if lane is not None:
            left = answer(lane, f"times/{width}", left if isinstance(left, tuple) else (float(left),))
        return int(left[0]) if width == 1 else left

    return set_alarm


def _kept(alarms: Alarms, name: str, original: Callable[..., Any], args: tuple[Any, ...]) -> tuple[float, ...]:
    """Set or read an alarm where a gate keeps the timers. An error of the system for these arguments is raised here."""
    if name == "getitimer":
        original(*args)
        return alarms.alarm_left(args[0])
    if name == "alarm":
        (whole,) = (operator.index(each) for each in args)
        left, _ = alarms.set_alarm(signal.ITIMER_REAL, float(whole), 0.0)
        return (float(max(1, math.floor(left + 0.5)) if left else 0),)
    try:
        which, seconds, every = args[0], *(float(each) for each in (*args[1:], 0.0)[:2])
        sound = len(args) in (2, 3) and min(seconds, every) >= 0
    except (TypeError, ValueError, LookupError):
        sound = False
    if not sound:
        original(*args)
    _timer_left(which)
    return alarms.set_alarm(which, seconds, every)
