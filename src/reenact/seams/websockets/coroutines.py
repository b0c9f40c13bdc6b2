"""The asyncio client of ``websockets``."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from types import ModuleType
from typing import Any

from reenact.facts.call import Call
from reenact.seams.http.exchange import place_of
from reenact.seams.lanes import Lane, listening
from reenact.seams.patching import replace
from reenact.seams.switchboard import across, answered, begin, telling
from reenact.seams.websockets import messages, properties
from reenact.seams.websockets.messages import Sealing, WebSocketLine, about


def patch(module: ModuleType) -> None:
    """Hook the connecting class and its connections; of a version that is built otherwise say that it escapes."""
    connection = module.ClientConnection
    if not hasattr(module.connect, "connect"):
        properties.name_as_gap(connection)
        return
    replace(module.connect, "connect", lambda original: _connecting(original, module))
    replace(connection, "recv", _receiving)
    replace(connection, "recv_streaming", _receiving_parts)
    replace(connection, "send", _sending)
    replace(connection, "close", _closing)
    replace(connection, "ping", _pinging)
    for name in ("wait_closed", "pong"):
        replace(connection, name, _simple)
    properties.patch(connection)


def _connecting(original: Any, module: ModuleType) -> Any:
    async def connect(self: Any) -> Any:
        lane = listening()
        url = self.uri
        crossing = begin(lane, lambda: messages.opening(url, None)) if lane is not None else None
        if lane is None or crossing is None or crossing.mode == "rerun":
            return await original(self)
        line = WebSocketLine(crossing.event, place_of(url))
        if crossing.mode == "frozen":
            reopen = telling(lane, functools.partial(messages.reopened, module=module))
            told = reopen(await crossing.outcome())
            line.opens = lambda: original(self)
            line.opening = asyncio.Lock()
            crossing.can_begin()
            with messages.below(lane):
                connection = self.factory(self.ws_uri)
                messages.equip(connection, told, line)
            return connection
        connection = await answered(lane, crossing, lambda: original(self), messages.opened, _unused)
        connection._reenact_line = line
        return connection

    return connect


def _unused(_outcome: object) -> Any:
    raise TypeError("a live crossing has no recorded outcome")


def _known(connection: Any) -> tuple[Lane | None, WebSocketLine | None]:
    """The caller, and what is known of the connection; None where the library works by itself."""
    return listening(), connection.__dict__.get("_reenact_line")


async def _crossed(connection: Any, lane: Lane, call: Callable[[], Call], perform: Callable[[], Awaitable[Any]]) -> Any:
    sealing = Sealing(connection)

    async def performed() -> Any:
        await _open(connection, lane)
        return await perform()

    return await across(lane, call, performed, sealing.seal, telling(lane, sealing.reveal))


async def _open(connection: Any, lane: Lane) -> None:
    """Open a connection of a fork that goes on live through it. In the scope of what is asked first."""
    line: WebSocketLine = connection._reenact_line
    if line.opens is None:
        return
    async with line.opening:
        if line.opens is None:
            return
        then = connection.protocol.subprotocol
        try:
            real = await line.opens()
        except Exception as error:
            raise messages.unopened(lane, line, error) from error
        messages.compare(lane, line, then, real.protocol.subprotocol)
        messages.take_over(connection, real, line, messages.KEPT)


def _receiving(original: Any) -> Any:
    async def recv(self: Any, decode: bool | None = None) -> Any:
        lane, line = _known(self)
        if lane is None or line is None:
            return await original(self, decode)
        known: WebSocketLine = line

        async def perform() -> Any:
            if not known.held:
                message = await original(self, decode)
                known.held.append(message)  # a reader that is cancelled in its turn leaves it to the next one
            return known.held[0]

        asked = None if decode is None else {"decode": decode}
        message = await _crossed(self, lane, lambda: about(known, "receive", asked), perform)
        known.held.clear()
        return message

    return recv


def _receiving_parts(original: Any) -> Any:
    async def recv_streaming(self: Any, decode: bool | None = None) -> AsyncIterator[Any]:
        parts = original(self, decode)

        async def perform() -> Any:
            return [part async for part in _first(parts)]

        while True:
            lane, line = _known(self)
            if lane is None or line is None:
                got = await perform()
            else:
                got = await _crossed(self, lane, functools.partial(about, line, "receive part"), perform)
            if not got:
                return
            yield got[0]

    return recv_streaming


async def _first(parts: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """The next of an iterator, if there is one."""
    try:
        yield await anext(parts)
    except StopAsyncIteration:
        return


def _sending(original: Any) -> Any:
    async def send(self: Any, message: Any, *args: Any, **options: Any) -> None:
        lane, line = _known(self)
        if lane is None or line is None:
            await original(self, message, *args, **options)
        elif not isinstance(message, messages.WHOLE):
            messages.in_parts(lane, line)
            await original(self, message, *args, **options)
        else:
            known: WebSocketLine = line
            await _crossed(
                self,
                lane,
                lambda: messages.sending(known, message, args, options),
                lambda: original(self, message, *args, **options),
            )

    return send


def _closing(original: Any) -> Any:
    async def close(self: Any, code: Any = 1000, reason: str = "") -> None:
        lane, line = _known(self)
        if lane is None or line is None:
            await original(self, code, reason)
            return
        known: WebSocketLine = line
        await _crossed(
            self, lane, lambda: about(known, "close", [int(code), reason]), lambda: original(self, code, reason)
        )

    return close


def _simple(original: Any) -> Any:
    """A method that gives nothing."""
    what = original.__name__.replace("_", " ")

    async def method(self: Any, *args: Any) -> None:
        lane, line = _known(self)
        if lane is None or line is None:
            await original(self, *args)
            return
        known: WebSocketLine = line
        await _crossed(self, lane, lambda: about(known, what), lambda: original(self, *args))

    return method


def _pinging(original: Any) -> Any:
    async def ping(self: Any, *args: Any, **options: Any) -> Any:
        lane, line = _known(self)
        if lane is None or line is None:
            return await original(self, *args, **options)
        known: WebSocketLine = line
        waiting: list[Awaitable[float]] = []

        async def perform() -> None:
            waiting.append(await original(self, *args, **options))

        await _crossed(self, lane, lambda: about(known, "ping"), perform)
        return AwaitablePong(self, known, waiting[0] if waiting else None)

    return ping


class AwaitablePong:
    """The answer to a ping of the agent's own, to be awaited.

    Args:
        connection: Through which it comes.
        line: What is known of it.
        real: What the library gave; None in a replay.
    """

    __slots__ = ("_connection", "_line", "_real")

    def __init__(self, connection: Any, line: WebSocketLine, real: Awaitable[float] | None) -> None:
        self._connection = connection
        self._line = line
        self._real = real

    def __await__(self) -> Generator[Any, Any, float]:
        return self._answer().__await__()

    async def _answer(self) -> float:
        lane, real = listening(), self._real

        async def perform() -> float:
            if real is None:
                return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]
            return await asyncio.shield(real)

        if lane is None:
            return await perform()
        latency: float = await _crossed(self._connection, lane, lambda: about(self._line, "pong"), perform)
        return latency
