"""Waits for signals: the signal that ends ``sigwait``, ``sigwaitinfo``, ``sigtimedwait`` or ``pause`` is an answer.

Each wait is an event of kind ``input``: the awaited signals are its request, and the signal that came is its answer, in
its turn. A replay waits for that turn and for no signal. The strand is not counted while it waits, and the program's
handlers run during the wait (``pause`` waits only for handlers). The handlers' calls are recorded as in a
``time.sleep``. If a handler raises, the call ends and stays without an answer.
"""

from __future__ import annotations

import functools
import json
import signal
from collections.abc import Callable
from typing import Any, Final

from reenact.abc.session import Frozen, Live
from reenact.facts.call import Call, Effect, End, EndKind, Failure, Kind, Value
from reenact.facts.interruptions import by_signal_handler
from reenact.facts.values import describe_error, restore_error
from reenact.seams import lanes
from reenact.seams.gate import Gate
from reenact.seams.lanes import Lane
from reenact.seams.patching import replace
from reenact.seams.switchboard import begin, listening
from reenact.seams.waits import Rest, rest

SIGNAL_RULE: Final = "signal/1"
"""Key of a wait for a signal: the signals that are waited for, and how long."""

_NAMES: Final = ("sigwait", "sigwaitinfo", "sigtimedwait", "sigpending", "pause")
_REFUSALS = (OSError, ValueError, TypeError, OverflowError)
"""The errors that these functions raise by themselves."""
_take_pending: Callable[..., Any] | None = getattr(signal, "sigtimedwait", None)


def install() -> None:
    """Hook the waits that this system has, once a process."""
    for name in _NAMES:
        if hasattr(signal, name):
            replace(signal, name, functools.partial(_asking, name))


def _asking(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def ask(*args: Any) -> Any:
        lane = listening()
        if lane is None or lanes.is_passive(lane):
            return original(*args)
        if args and not isinstance(args[0], (set, frozenset)):
            try:
                args = (frozenset(args[0]), *args[1:])  # an iterator can be read only once
            except TypeError:
                return original(*args)  # which raises its own error
        try:
            call = _call(name, args)
        except (TypeError, ValueError, OverflowError):  # the function itself raises its error here too
            return original(*args)
        crossing = begin(lane, lambda: call)
        if crossing is None or crossing.mode == "rerun":
            return original(*args)
        if crossing.mode == "frozen":
            told = _recorded(crossing)
            if isinstance(told, Value):
                return _revealed(name, told.body)
            if isinstance(told, Failure):
                raise restore_error(told.error)
            crossing = told
        return _performed(lane, crossing, name, original, args)

    return ask


def _call(name: str, args: tuple[Any, ...]) -> Call:
    """The question: the signals that are waited for, and for how long."""
    asked: dict[str, Any] = {"signals": sorted(int(each) for each in args[0])} if args else {}
    if len(args) > 1:
        asked["seconds"] = float(args[1])
    return Call(Kind.INPUT, f"signal.{name}", Effect.READ, SIGNAL_RULE, {}, json.dumps(asked).encode(), _JSON)


_JSON: Final = "application/json"


def _recorded(crossing: Frozen) -> Any:
    """The answer in its turn. An exception of a handler during the wait ends the call, as in the recording."""
    try:
        return crossing.answer().wait()
    except BaseException:
        crossing.dropped()
        raise


def _performed(lane: Lane, crossing: Live, name: str, original: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Wait for the system, uncounted; then take the turn of the answer."""
    crossing.ready().wait()
    try:
        result = original(*args) if name == "sigpending" else _uncounted(lane, original, args)
    except BaseException as error:
        if isinstance(error, _REFUSALS) and not by_signal_handler(error):
            crossing.settle(Failure(describe_error(error))).wait()
        else:
            crossing.dropped(End(EndKind.CANCELLED))
        raise
    crossing.settle(Value(_sealed(result), _JSON)).wait()
    return result


def _uncounted(lane: Lane, original: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Wait without being counted, if the strand is counted."""
    if not lane.owned or lanes.is_carried():
        return original(*args)
    gate: Gate = lane.gate
    gate.blocked()
    try:
        result = rest(Rest(gate.waiting), original, *args)
    except BaseException:
        with gate.lock:
            gate.goes_on(uncounted=True)
        raise
    gate.unblocked()
    return result


def _sealed(result: Any) -> bytes:
    """The answer as data: nothing, a number, the numbers of ``struct_siginfo``, or those that are pending."""
    if result is None or isinstance(result, int):
        return json.dumps(None if result is None else int(result)).encode()
    return json.dumps(sorted(map(int, result)) if isinstance(result, (set, frozenset)) else list(result)).encode()


def _revealed(name: str, body: bytes) -> Any:
    """A recorded answer in the program's form. A really pending signal (which was sent again) is consumed."""
    seen = json.loads(body)
    if name == "sigpending":
        return {_named(number) for number in seen}
    if seen is None:
        return None
    number = seen[0] if isinstance(seen, list) else seen
    if _take_pending is not None:
        _take_pending({number}, 0)
    return signal.struct_siginfo(seen) if isinstance(seen, list) else _named(number)


def _named(number: int) -> Any:
    """A signal as ``signal`` itself gives it: its name if it has one."""
    try:
        return signal.Signals(number)
    except ValueError:
        return number
