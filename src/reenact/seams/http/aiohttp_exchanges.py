"""The events on one aiohttp connection during one exchange, live and recorded.

When the agent's task needs more bytes, it passes the next segment to aiohttp's own parser. So the task that needs a
turn takes it, and ``iter_any`` gives the same pieces in a replay. aiohttp's timer for a silent peer runs only while
nothing has arrived and a task waits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from reenact.abc.session import Frozen, Live
from reenact.errors import UnreplayableRun
from reenact.facts.call import End, EndKind
from reenact.seams.http import http_exchange
from reenact.seams.http.http_errors import Roles
from reenact.seams.http.http_exchange import CANCELLED, CLOSED, EOF
from reenact.seams.http.response_bytes import ResponsePlayer, ResponseRecorder
from reenact.seams.lanes import Lane, inside
from reenact.seams.turns import rejoin_cancelled

_AHEAD = 1 << 18  # bytes that may wait for the agent before the peer is told to pause
_UPGRADED = 101


class Originals:
    """aiohttp's own methods, before they were replaced."""

    __slots__ = ("arm_timeout", "client_error", "connection_lost", "data_received")

    def __init__(self, handler: Any, client_error: type[Exception]) -> None:
        self.data_received: Callable[[Any, bytes], None] = handler.data_received
        self.connection_lost: Callable[[Any, BaseException | None], None] = handler.connection_lost
        self.arm_timeout: Callable[[Any], None] = handler._reschedule_timeout
        self.client_error = client_error


class Occupant(Protocol):
    """The object that the patched methods find on a connection whose exchange has a session."""

    async def until_message(self) -> None:
        """Go on until aiohttp has a message, or an exception, for the reader of the head."""
        ...

    async def more(self, stream: Any) -> None:
        """Pass the next part on; ``stream`` is the body that wants it."""
        ...

    async def failed(self, error: Exception) -> None:
        """The request could not be sent."""
        ...

    def arrived(self, data: bytes) -> None:
        """The peer sent something."""
        ...

    def lost(self, error: BaseException | None) -> None:
        """The connection is gone."""
        ...

    def stirred(self) -> None:
        """aiohttp has set an exception on the connection."""
        ...

    def released(self) -> AbstractContextManager[None]:
        """The client lets the connection go. Gives the scope for that."""
        ...


class LostConnection:
    """The connection was lost, after everything that had arrived before."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class LiveExchange:
    """A real connection. Arriving data waits until the agent reads it, and is noted then."""

    def __init__(self, lane: Lane, crossing: Live, protocol: Any, method: str, roles: Roles, own: Originals) -> None:
        self._lane = lane
        self._crossing = crossing
        self._protocol = protocol
        self._roles = roles
        self._own = own
        self._recorder = ResponseRecorder(crossing, method)
        self._inbox: deque[bytes | LostConnection] = deque()
        self._waiting = 0
        self._waiter: asyncio.Future[None] | None = None
        self._settled = False

    def arrived(self, data: bytes) -> None:
        self._inbox.append(bytes(data))
        self._waiting += len(data)
        if self._waiting > _AHEAD:
            self._flow("pause_reading")
        self.stirred()

    def lost(self, error: BaseException | None) -> None:
        if self._protocol.transport is None:  # the client has closed it: the rest will not be read
            self._drop(CLOSED)
            self._own.connection_lost(self._protocol, error)
            return
        self._inbox.append(LostConnection(error))
        self.stirred()

    def stirred(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def until_message(self) -> None:
        protocol = self._protocol
        try:
            while not len(protocol) and not protocol.is_eof():
                await self._go_on(protocol)
        except BaseException:
            self._drop(CANCELLED)
            raise
        error = protocol.exception()
        if error is not None and not len(protocol):
            await self.failed(error)

    async def failed(self, error: Exception) -> None:
        if self._settled or self._recorder.began:
            return
        self._settled = True
        outcome = http_exchange.failure(self._lane, error, self._roles, {"phase": "read"})
        if outcome is not None:
            await self._crossing.settle(outcome)

    async def more(self, stream: Any) -> None:
        try:
            await self._go_on(stream)
        except BaseException:
            self._drop(CANCELLED)
            raise
        error = stream.exception()
        if error is not None:
            for turn in self._recorder.over(http_exchange.broken(self._lane, error, self._roles)):
                await turn
            raise error

    async def _go_on(self, wanting: Any) -> None:
        """Hand the next thing that arrives to aiohttp; ``wanting`` may be failed by aiohttp meanwhile."""
        while not self._inbox:
            if wanting.exception() is not None:
                return
            self._waiter = self._protocol._loop.create_future()
            try:
                with self._crossing.enter():
                    self._own.arm_timeout(self._protocol)
                    try:
                        await self._waiter
                    finally:
                        self._waiter = None
                        self._protocol._drop_timeout()
            except asyncio.CancelledError as error:
                await rejoin_cancelled(error)
                raise
        item = self._inbox.popleft()
        if isinstance(item, LostConnection):
            end = EOF if item.error is None else http_exchange.broken(self._lane, item.error, self._roles)
            for turn in self._recorder.over(end):
                await turn
            with self._crossing.enter():
                self._own.connection_lost(self._protocol, item.error)
            return
        for turn in self._recorder.took(item):
            await turn
        self._waiting -= len(item)
        with self._crossing.enter():
            if self._waiting <= _AHEAD and not self._protocol._reading_paused:
                self._flow("resume_reading")
            self._own.data_received(self._protocol, item)
        if self._recorder.status == _UPGRADED:
            self._let_go()

    def _flow(self, name: str) -> None:
        try:
            getattr(self._protocol.transport, name)()
        except (AttributeError, NotImplementedError, RuntimeError):
            pass  # the transport is closed by now, or cannot be paused

    def _let_go(self) -> None:
        """The connection became something else: from now on it is not followed."""
        self._lane.session.gap("upgraded connection", "another protocol over aiohttp")
        self._protocol._reenact_exchange = None
        self._drop(CLOSED)
        self._hand_over()

    def _hand_over(self) -> None:
        while self._inbox:
            item = self._inbox.popleft()
            if isinstance(item, LostConnection):
                self._own.connection_lost(self._protocol, item.error)
            else:
                self._own.data_received(self._protocol, item)

    def released(self) -> AbstractContextManager[None]:
        self._drop(CLOSED)
        if any(isinstance(item, bytes) for item in self._inbox):
            self._protocol.force_close()  # data is unread: this connection cannot be used again
        elif self._inbox:
            self._hand_over()
        return self._crossing.enter()

    def _drop(self, end: End) -> None:
        if not self._settled:
            self._recorder.dropped(end)

    def __del__(self) -> None:
        self._drop(CLOSED)


class FrozenExchange:
    """A recorded connection: the bytes come from the session when the agent asks for them."""

    def __init__(
        self, lane: Lane, crossing: Frozen, protocol: Any, method: str, own: Originals, error: BaseException | None
    ) -> None:
        self._lane = lane
        self._crossing = crossing
        self._protocol = protocol
        self._own = own
        self._error = error
        self._player = ResponsePlayer(crossing, method)
        self._headed = False

    def arrived(self, data: bytes) -> None:
        """Nothing arrives on a recorded connection."""

    def lost(self, error: BaseException | None) -> None:
        with self.beneath():
            self._own.connection_lost(self._protocol, error)

    def stirred(self) -> None:
        """The connection has no waiter."""

    async def failed(self, error: Exception) -> None:
        """Nothing is sent on a recorded connection."""

    async def until_message(self) -> None:
        if self._error is not None:
            raise self._error
        protocol = self._protocol
        if not self._headed:
            stream = await self._crossing.head()
            self._headed = True
            self._player.headed(stream.head)
            if stream.head["status"] == _UPGRADED:
                fault = UnreplayableRun(
                    "an HTTP connection that became something else cannot be replayed",
                    cause="the server switched to another protocol, which is recorded up to its handshake only",
                    next_command="reenact replay @ --events",
                    missing=("upgraded connection",),
                )
                self._lane.session.fault(fault)
                raise fault
        while not len(protocol) and not protocol.is_eof():
            await self._go_on(None)

    async def more(self, stream: Any) -> None:
        await self._go_on(stream)
        error = stream.exception()
        if error is not None:
            raise error

    async def _go_on(self, stream: Any) -> None:
        player = self._player
        for turn in player.turns():
            player.took(await turn)
        if player.given:
            with self.beneath():
                self._own.data_received(self._protocol, player.given)
            return
        end = player.end
        error = None if end is None or end.kind is EndKind.EOF else http_exchange.revive(self._lane, end)
        if isinstance(error, self._own.client_error) and stream is not None:
            self._protocol.set_exception(error)
            stream.set_exception(error)
            return
        self.lost(error)

    def beneath(self) -> AbstractContextManager[None]:
        """The scope of what a live exchange does below its seam."""
        lane = self._lane
        return inside(Lane(lane.path, lane.session, lane.gate, parent=lane.parent, below=True))

    def released(self) -> AbstractContextManager[None]:
        self._player.dropped()
        return self.beneath()


class PlayedTransport(asyncio.Transport):
    """The transport of a recorded connection: it sends nowhere."""

    def __init__(self, protocol: Any) -> None:
        super().__init__()
        self._protocol = protocol
        self._closing = False

    def write(self, data: Any) -> None:
        """Send nothing: the request has been compared already."""

    def writelines(self, list_of_data: Any) -> None:
        """Send nothing."""

    def is_closing(self) -> bool:
        """Whether the client has closed it."""
        return self._closing

    def close(self) -> None:
        """Close the connection. The protocol hears of the close a moment later, as with a real connection."""
        if not self._closing:
            self._closing = True
            self._protocol._loop.call_soon(self._protocol.connection_lost, None)

    abort = close

    def pause_reading(self) -> None:
        """Do nothing: bytes come only when the client asks for them."""

    def resume_reading(self) -> None:
        """Do nothing."""
