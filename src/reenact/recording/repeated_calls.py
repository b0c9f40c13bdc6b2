"""Repeats: a second call of a tool under the same key gets the result of the first one, and does not act again."""

from __future__ import annotations

import _thread
from collections.abc import Generator
from typing import Any, Literal

from reenact.abc.session import NeverLive
from reenact.facts.call import Call, ErrorFact, Failure, Value
from reenact.recording.live_calls import LiveCall
from reenact.recording.writer import Receipt

_GONE = Failure(ErrorFact("builtins.RuntimeError", "the first call under this key was given up"))


class First:
    """The first call under a key, which is under way or has a result."""

    __slots__ = ("came", "event", "outcome")

    def __init__(self, event: int) -> None:
        self.event = event
        self.outcome: Value | Failure = _GONE
        self.came = Receipt(durable=False)


class Repeats:
    """The first calls under each key, in one run."""

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._firsts: dict[tuple[str, str], First] = {}

    def first(self, call: Call, event: int) -> First | None:
        """The first call under the key of ``call``; None where ``event`` itself is the first."""
        address = (call.name, str(call.head["key"]))
        with self._lock:
            first = self._firsts.get(address)
            if first is None:
                self._firsts[address] = First(event)
            return first

    def came(self, call: Call, event: int, outcome: Value | Failure) -> bool:
        """Keep the result of the first call. False where the result cannot be given to another call.

        An error goes to all waiters, and is then forgotten: the next call may act."""
        address = (call.name, str(call.head["key"]))
        first = self._firsts.get(address)
        if first is None or first.event != event:
            return True
        can = isinstance(outcome, Value) and not ({"opaque", "undeclared"} & set(outcome.head))
        if not can:
            with self._lock:
                self._firsts.pop(address, None)
        first.outcome = Value(outcome.body, outcome.media) if isinstance(outcome, Value) else outcome
        first.came.settle(True)
        return can or isinstance(outcome, Failure)


class RepeatedCall(NeverLive):
    """A call that is answered with the result of the first call with the same key (``abc.session.Frozen``), and noted
    like any other call.

    Args:
        noted: The same call as a live one, which notes the result.
        first: The first call under its key.
    """

    __slots__ = ("_first", "_noted", "event")
    form: Literal["value"] = "value"

    def __init__(self, noted: LiveCall, first: First) -> None:
        self._noted = noted
        self._first = first
        self.event = noted.event

    def outcome(self) -> RepeatTurn:
        """The result of the first call, once there is one."""
        return RepeatTurn(self._noted, self._first)


class RepeatTurn:
    """A turn that comes when the first call has its result."""

    __slots__ = ("_call", "_first")

    def __init__(self, call: LiveCall, first: First) -> None:
        self._call = call
        self._first = first

    def wait(self) -> Value | Failure:
        """Wait in a thread, which the gate does not count as running meanwhile."""
        gate, counted = self._call.session.gate, self._call.owned and not self._first.came.done
        if counted:
            gate.blocked()
        try:
            self._first.came.wait()
        finally:
            if counted:
                gate.unblocked()
        self._call.settle(self._first.outcome).wait()
        return self._first.outcome

    def __await__(self) -> Generator[Any, Any, Value | Failure]:
        if not self._first.came.done:
            yield from self._first.came.__await__()
        yield from self._call.settle(self._first.outcome).__await__()
        return self._first.outcome
