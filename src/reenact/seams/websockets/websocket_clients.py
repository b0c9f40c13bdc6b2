"""The clients of ``websockets``, threading and asyncio: each method is written once, and runs in its own colour."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from functools import partial
from inspect import isasyncgenfunction, iscoroutinefunction, signature
from itertools import islice
from types import ModuleType
from typing import Any

from reenact.facts.call import Call
from reenact.seams.async_backends import cancelled
from reenact.seams.colours import Steps, Work, coloured, in_coroutine, in_thread
from reenact.seams.http.http_exchange import place_of
from reenact.seams.lanes import listening
from reenact.seams.patching import replace
from reenact.seams.switchboard import begin, crossed, telling
from reenact.seams.websockets import properties, websocket_messages
from reenact.seams.websockets.websocket_messages import ConnectionOutcomes, WebSocketLine, about


def patch(module: ModuleType) -> None:
    """Hook the connecting class and its connections. An unknown version is reported as an escape."""
    connection = module.ClientConnection
    connecting = getattr(module, "reconnect", module.connect)  # the connecting class of this client
    if not hasattr(connecting, "connect"):
        properties.name_as_gap(connection)
        return
    replace(connecting, "connect", lambda original: _connecting(original, module))
    for name, make in (
        ("recv", _receiving),
        ("recv_streaming", _receiving_parts),
        ("send", _sending),
        ("close", _closing),
        ("ping", _pinging),
        ("wait_closed", _simple),
        ("pong", _simple),
    ):
        replace(connection, name, make)
    properties.patch(connection)


def _connecting(original: Any, module: ModuleType) -> Any:
    awaits = iscoroutinefunction(original)

    def connect(self: Any) -> Steps[Any]:
        lane = listening()
        url = self.uri
        offered = None if awaits else self.protocol_kwargs.get("subprotocols")
        crossing = begin(lane, lambda: websocket_messages.opening(url, offered)) if lane is not None else None
        perform = partial(original, self)
        if lane is None or crossing is None or crossing.mode == "rerun":
            return (yield Work(perform))
        line = WebSocketLine(crossing.event, place_of(url))
        if crossing.mode == "frozen":
            reopen = telling(lane, partial(websocket_messages.reopened, module=module))
            told = reopen((yield crossing.outcome()))
            with websocket_messages.below(lane):
                connection = self.factory(self.ws_uri) if awaits else _without_thread(self, module)
                websocket_messages.equip(connection, told, line)
            websocket_messages.opens_later(connection, line, crossing, perform, lock=asyncio.Lock() if awaits else None)
            return connection
        connection = yield from crossed(lane, crossing, perform, websocket_messages.opened, _unused, cancelled)
        connection._reenact_line = line
        return connection

    return coloured(original, connect)


def _unused(_outcome: object) -> Any:
    raise TypeError("a live crossing has no recorded outcome")


def _without_thread(connecter: Any, module: Any) -> Any:
    """A connection of the threading client without a socket, and without the thread that reads from it."""
    protocol = module.ClientProtocol(connecter.ws_uri, **connecter.protocol_kwargs)
    connection = connecter.create_connection.__new__(connecter.create_connection)
    connection.protocol = protocol
    connection.logger = protocol.logger
    connection.debug = protocol.debug
    connection.latency = 0.0
    connection.pending_legacy_warning = True
    connection.connection_exc = None
    return connection


def _asked(connection: Any, describe: Callable[[WebSocketLine], Call], perform: Callable[[], Any]) -> Steps[Any]:
    """Perform an operation on a connection. A connection that was opened without a session works by itself."""
    lane, line = listening(), connection.__dict__.get("_reenact_line")
    if lane is None or line is None:
        return (yield Work(perform))
    if hasattr(connection, "maybe_raise_legacy_warning"):
        connection.maybe_raise_legacy_warning()
    crossing = begin(lane, lambda: describe(line))
    if crossing is None:
        return (yield Work(perform))
    sealing = ConnectionOutcomes(connection)
    performed = partial(coloured(perform, _performed), line, perform)
    return (yield from crossed(lane, crossing, performed, sealing.seal, telling(lane, sealing.reveal), cancelled))


def _performed(line: WebSocketLine, perform: Callable[[], Any]) -> Steps[Any]:
    """Ask the server; a connection whose opening was answered from the recording is opened for this."""
    if line.later is not None:
        yield from line.later.begin()
    return (yield Work(perform))


def _receiving(original: Any) -> Any:
    _, *names = signature(original).parameters
    awaits = iscoroutinefunction(original)

    def recv(self: Any, *args: Any, **options: Any) -> Steps[Any]:
        given = dict(zip(names, args, strict=False)) | options
        asked = {name: given[name] for name in names if given.get(name) is not None}
        held: list[Any] = []

        async def perform() -> Any:
            if not held:
                held.append(await original(self, *args, **options))
            return held[0]

        def described(line: WebSocketLine) -> Call:
            nonlocal held
            held = line.held  # a reader cancelled during its turn leaves the message
            return about(line, "receive", asked or None)

        message = yield from _asked(self, described, perform if awaits else partial(original, self, *args, **options))
        held.clear()
        return message

    return coloured(original, recv)


def _receiving_parts(original: Any) -> Any:
    describe = partial(about, what="receive part")

    def recv_streaming(self: Any, decode: bool | None = None) -> Iterator[Any]:
        parts = original(self, decode)
        while got := in_thread(_asked(self, describe, lambda: list(islice(parts, 1)))):
            yield got[0]

    async def recv_streaming_async(self: Any, decode: bool | None = None) -> AsyncIterator[Any]:
        parts = original(self, decode)
        while got := await in_coroutine(_asked(self, describe, partial(_first, parts))):
            yield got[0]

    return recv_streaming_async if isasyncgenfunction(original) else recv_streaming


async def _first(parts: AsyncIterator[Any]) -> list[Any]:
    """The next item of an iterator, in a list; an empty list at its end."""
    try:
        return [await anext(parts)]
    except StopAsyncIteration:
        return []


def _sending(original: Any) -> Any:
    def send(self: Any, message: Any, *args: Any, **options: Any) -> Steps[Any]:
        perform = partial(original, self, message, *args, **options)
        if isinstance(message, websocket_messages.WHOLE):
            describe = lambda line: websocket_messages.sending(line, message, args, options)  # noqa: E731
            return (yield from _asked(self, describe, perform))
        lane, line = listening(), self.__dict__.get("_reenact_line")
        if lane is not None and line is not None:
            websocket_messages.in_parts(lane, line)
        return (yield Work(perform))

    return coloured(original, send)


def _closing(original: Any) -> Any:
    def close(self: Any, code: Any = 1000, reason: str = "") -> Steps[Any]:
        describe = partial(about, what="close", asked=[int(code), reason])
        return (yield from _asked(self, describe, partial(original, self, code, reason)))

    return coloured(original, close)


def _simple(original: Any) -> Any:
    """Hook a method that returns None or a truth value."""
    describe = partial(about, what=original.__name__.replace("_", " "))

    def method(self: Any, *args: Any, **options: Any) -> Steps[Any]:
        return (yield from _asked(self, describe, partial(original, self, *args, **options)))

    return coloured(original, method)


def _pinging(original: Any) -> Any:
    def ping(self: Any, *args: Any, **options: Any) -> Steps[Any]:
        perform = partial(original, self, *args, **options)
        if listening() is None or "_reenact_line" not in self.__dict__:
            return (yield Work(perform))
        waiting: list[Any] = []

        def pinged() -> Steps[None]:
            waiting.append((yield Work(perform)))

        yield from _asked(self, partial(about, what="ping"), coloured(original, pinged))
        return pong(self, waiting[0] if waiting else None)

    pong = AwaitablePong if iscoroutinefunction(original) else ThreadPong
    return coloured(original, ping)


class _Pong:
    """The answer to a ping of the agent's own.

    Args:
        connection: The connection that brings the answer.
        real: The event, or the awaitable, that the library gave; None in a replay.
    """

    __slots__ = ("_connection", "_real")

    def __init__(self, connection: Any, real: Any) -> None:
        self._connection = connection
        self._real = real

    def _asked(self, what: str, perform: Callable[[], Any]) -> Steps[Any]:
        return _asked(self._connection, partial(about, what=what), perform)


class ThreadPong(_Pong):
    """An event that is set when the answer to a ping has come."""

    __slots__ = ()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the answer."""
        return bool(in_thread(self._asked("pong", lambda: self._real is not None and self._real.wait(timeout))))

    def is_set(self) -> bool:
        """Whether the answer has come."""
        return bool(in_thread(self._asked("pong state", lambda: self._real is not None and self._real.is_set())))


class AwaitablePong(_Pong):
    """An awaitable for the round trip of a ping, in seconds."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, Any, float]:
        answer: Steps[float] = self._asked("pong", self._answer)
        return in_coroutine(answer).__await__()

    async def _answer(self) -> Any:
        return await (asyncio.get_running_loop().create_future() if self._real is None else asyncio.shield(self._real))
