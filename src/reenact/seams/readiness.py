"""Readiness: the result, or the time-out, of a program's own ``select`` within its process comes in its turn.

Without this seam no hook sees the wait, and where readiness and time-out race, a replay may have the other result. A
replay gives the recorded result in its turn: by then the pipe is ready again. This covers waits of the agent's own
code, outside of a loop, for pipes, pairs of sockets and standard input. Connections, listening sockets, the selectors
of libraries, and a look that does not wait are left alone.
"""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Callable, Sequence
from typing import Any, Final

from reenact.abc.session import Live
from reenact.facts.call import Call, Effect, End, EndKind, Failure, Kind, Value
from reenact.facts.values import describe_error, restore_error
from reenact.seams.fd_dup import socket_at
from reenact.seams.gate import Gate
from reenact.seams.lanes import Lane
from reenact.seams.source import is_agents
from reenact.seams.switchboard import begin
from reenact.seams.waits import Rest, rest

READY_RULE: Final = "ready/1"
"""Key of a wait for readiness: how many descriptors are waited for.

The time-out is left out, because it is often computed from a clock."""

_JSON: Final = "application/json"


def concerns(lane: Lane, caller: Any, numbers: Sequence[int], timeout: Any) -> bool:
    """Whether a wait is answered here.

    Args:
        lane: The lane that waits.
        caller: The frame that calls ``select``.
        numbers: The descriptors that are waited for.
        timeout: Seconds; None waits for ever.
    """
    if not lane.owned or not is_agents(caller.f_code.co_filename) or (timeout is not None and not timeout > 0):
        return False
    try:
        return bool(numbers) and all(number == 0 or _is_within(number) for number in numbers)
    except OSError:
        return False


def _is_within(number: int) -> bool:
    """Whether a descriptor is a pipe, or one of a pair of sockets."""
    if stat.S_ISFIFO(os.fstat(number).st_mode):
        return True
    with socket_at(number) as found:
        if found is None or found.family != getattr(socket, "AF_UNIX", None):
            return False
        return not found.getsockname() and not found.getpeername()


def ready(lane: Lane, count: int, perform: Callable[[], Any]) -> Any:
    """One wait, with its result as data.

    Args:
        lane: The lane that waits, which is counted.
        count: The number of descriptors.
        perform: Waits.

    Raises:
        OSError: The recorded error.
        Halt: The replay has diverged.
    """
    call = Call(Kind.INPUT, "select", Effect.READ, READY_RULE, {}, json.dumps({"descriptors": count}).encode(), _JSON)
    crossing = begin(lane, lambda: call)
    if crossing is None or crossing.mode == "rerun":
        return perform()
    if crossing.mode == "frozen":
        try:
            told = crossing.answer().wait()
        except BaseException:  # a signal handler has raised it
            crossing.dropped()
            raise
        if isinstance(told, Failure):
            raise restore_error(told.error)
        if isinstance(told, Value):
            return json.loads(told.body)
        crossing = told
    return _performed(lane.gate, crossing, perform)


def _performed(gate: Gate, crossing: Live, perform: Callable[[], Any]) -> Any:
    """Wait without being counted, and take the turn of the answer."""
    crossing.ready().wait()
    gate.blocked()
    try:
        found = rest(Rest(gate.waiting), perform)
    except BaseException as error:
        with gate.lock:
            gate.goes_on(uncounted=True)
        if isinstance(error, OSError):
            crossing.settle(Failure(describe_error(error))).wait()
        else:
            crossing.dropped(End(EndKind.CANCELLED))
        raise
    gate.unblocked()
    crossing.settle(Value(json.dumps(found).encode(), _JSON)).wait()
    return found
