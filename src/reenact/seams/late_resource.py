"""A resource (a process, a connection) whose beginning was recorded, and which is begun at its first live use."""

from __future__ import annotations

import _thread
from collections.abc import Callable
from typing import Any

from reenact.abc.session import Frozen
from reenact.errors import UnreplayableRun
from reenact.seams import lanes
from reenact.seams.colours import Steps, Work, in_coroutine
from reenact.seams.gate import Gate


class LateResource:
    """A resource that is begun later.

    Attributes:
        real: The live resource; None before it is begun.

    Args:
        crossing: The call that was answered.
        what: The action, worded so that *because* can follow.
        begin: Begins the resource with the agent's arguments. Returns it, or an awaitable of it.
        adopt: Puts the live resource into the agent's hands.
        missing: The word for the missing part, where it cannot be begun.
        cause: The likely cause of that.
        lock: The lock around the beginning; a lock of asyncio where ``begin`` is awaited.
    """

    def __init__(
        self,
        crossing: Frozen,
        what: str,
        begin: Callable[[], Any],
        adopt: Callable[[Any], object],
        *,
        missing: str,
        cause: str,
        lock: Any = None,
    ) -> None:
        self._what = what
        self._begin = begin
        self._adopt = adopt
        self._missing = missing
        self._cause = cause
        self._lock: Any = _thread.allocate_lock() if lock is None else lock
        self.real: Any = None
        self._soon: Any = None
        crossing.can_begin()

    def begin(self) -> Steps[None]:
        """Begin the resource, unless it runs; in the scope of its first live call."""
        yield Work(self._lock.acquire)
        try:
            if self.real is None:
                try:
                    real = yield Work(self._begin)
                except Exception as error:
                    raise self.failed(error) from error
                self._adopt(real)
                self.real = real
        finally:
            self._lock.release()

    def soon(self) -> None:
        """Begin the resource for a caller that cannot wait for it.

        The strand counts as waiting for the world until then."""
        lane = lanes.current()
        if self._soon is None and lane is not None:
            lane.gate.parts(1)
            self._soon = lanes.running_loop().create_task(self._at_once(lane.gate))

    async def _at_once(self, gate: Gate) -> None:
        try:
            await in_coroutine(self.begin())
        except UnreplayableRun:
            pass  # the session has stopped
        finally:
            gate.parts(-1)

    def failed(self, error: Exception) -> UnreplayableRun:
        """The error for a resource that cannot be begun: the session stops, even if the agent catches the error."""
        fault = UnreplayableRun(
            f"{self._what}, because the run goes on live with it, and was not: {type(error).__name__}: {error}",
            cause=self._cause,
            next_command="reenact show @",
            missing=(self._missing,),
        )
        lane = lanes.current()
        if lane is not None:
            lane.session.fault(fault)
        return fault
