"""The threading client of ``websockets``."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from types import ModuleType
from typing import Any

from reenact.facts.call import Call
from reenact.seams.http.exchange import place_of
from reenact.seams.lanes import Lane, listening
from reenact.seams.patching import replace
from reenact.seams.switchboard import begin, cross, crossed, telling
from reenact.seams.websockets import messages, properties
from reenact.seams.websockets.messages import Sealing, WebSocketLine, about


def patch(module: ModuleType) -> None:
    """Hook the connecting class and its connections; of a version that is built otherwise say that it escapes."""
    connection = module.ClientConnection
    connecting = getattr(module, "reconnect", None)
    if not hasattr(connecting, "connect"):
        properties.name_as_gap(connection)
        return
    replace(connecting, "connect", lambda original: _connecting(original, module))
    replace(connection, "recv", _receiving)
    replace(connection, "recv_streaming", _receiving_parts)
    replace(connection, "send", _sending)
    replace(connection, "close", _closing)
    replace(connection, "ping", _pinging)
    for name in ("wait_closed", "pong"):
        replace(connection, name, _simple)
    properties.patch(connection)


def _connecting(original: Any, module: ModuleType) -> Any:
    def connect(self: Any) -> Any:
        lane = listening()
        url = self.uri
        offered = self.protocol_kwargs.get("subprotocols")
        crossing = begin(lane, lambda: messages.opening(url, offered)) if lane is not None else None
        if lane is None or crossing is None or crossing.mode == "rerun":
            return original(self)
        line = WebSocketLine(crossing.event, place_of(url))
        if crossing.mode == "frozen":
            reopen = telling(lane, functools.partial(messages.reopened, module=module))
            told = reopen(crossing.outcome().wait())
            line.opens = lambda: original(self)
            crossing.can_begin()
            with messages.below(lane):
                return _pretended(self, module, told, line)
        connection = crossed(lane, crossing, lambda: original(self), messages.opened, _unused)
        connection._reenact_line = line
        return connection

    return connect


def _unused(_outcome: object) -> Any:
    raise TypeError("a live crossing has no recorded outcome")


def _pretended(connecter: Any, module: ModuleType, told: dict[str, Any], line: WebSocketLine) -> Any:
    """A connection object without a socket, and without the thread that reads from it."""
    names: Any = module
    protocol = names.ClientProtocol(connecter.ws_uri, **connecter.protocol_kwargs)
    connection = connecter.create_connection.__new__(connecter.create_connection)
    connection.protocol = protocol
    connection.logger = protocol.logger
    connection.debug = protocol.debug
    connection.latency = 0.0
    connection.pending_legacy_warning = True
    connection.connection_exc = None
    messages.equip(connection, told, line)
    return connection


def _known(connection: Any) -> tuple[Lane | None, WebSocketLine | None]:
    """The caller, and what is known of the connection; None where the library works by itself."""
    lane, line = listening(), connection.__dict__.get("_reenact_line")
    if lane is not None and line is not None and hasattr(connection, "maybe_raise_legacy_warning"):
        connection.maybe_raise_legacy_warning()
    return lane, line


def _crossed(connection: Any, lane: Lane, call: Callable[[], Call], perform: Callable[[], Any]) -> Any:
    sealing = Sealing(connection)

    def performed() -> Any:
        _open(connection, lane)
        return perform()

    return cross(lane, call, performed, sealing.seal, telling(lane, sealing.reveal))


def _open(connection: Any, lane: Lane) -> None:
    """Open a connection of a fork that goes on live through it. In the scope of what is asked first."""
    line: WebSocketLine = connection._reenact_line
    with line.opening:
        if line.opens is None:
            return
        then = connection.protocol.subprotocol
        try:
            real = line.opens()
        except Exception as error:
            raise messages.unopened(lane, line, error) from error
        messages.compare(lane, line, then, real.protocol.subprotocol)
        messages.take_over(connection, real, line, messages.KEPT)


def _receiving(original: Any) -> Any:
    def recv(self: Any, timeout: float | None = None, decode: bool | None = None) -> Any:
        lane, line = _known(self)
        if lane is None or line is None:
            return original(self, timeout, decode)
        known: WebSocketLine = line
        asked = {name: value for name, value in (("timeout", timeout), ("decode", decode)) if value is not None}
        return _crossed(
            self, lane, lambda: about(known, "receive", asked or None), lambda: original(self, timeout, decode)
        )

    return recv


def _receiving_parts(original: Any) -> Any:
    def recv_streaming(self: Any, decode: bool | None = None) -> Iterator[Any]:
        parts = original(self, decode)
        while True:
            lane, line = _known(self)
            if lane is None or line is None:
                got = list(islice(parts, 1))
            else:
                describe = functools.partial(about, line, "receive part")
                got = _crossed(self, lane, describe, lambda: list(islice(parts, 1)))
            if not got:
                return
            yield got[0]

    return recv_streaming


def _sending(original: Any) -> Any:
    def send(self: Any, message: Any, *args: Any, **options: Any) -> None:
        lane, line = _known(self)
        if lane is None or line is None:
            original(self, message, *args, **options)
        elif not isinstance(message, messages.WHOLE):
            messages.in_parts(lane, line)
            original(self, message, *args, **options)
        else:
            known: WebSocketLine = line
            _crossed(
                self,
                lane,
                lambda: messages.sending(known, message, args, options),
                lambda: original(self, message, *args, **options),
            )

    return send


def _closing(original: Any) -> Any:
    def close(self: Any, code: Any = 1000, reason: str = "") -> None:
        lane, line = _known(self)
        if lane is None or line is None:
            original(self, code, reason)
            return
        known: WebSocketLine = line
        _crossed(self, lane, lambda: about(known, "close", [int(code), reason]), lambda: original(self, code, reason))

    return close


def _simple(original: Any) -> Any:
    """A method that gives at most a truth value."""
    what = original.__name__.replace("_", " ")

    def method(self: Any, *args: Any, **options: Any) -> Any:
        lane, line = _known(self)
        if lane is None or line is None:
            return original(self, *args, **options)
        known: WebSocketLine = line
        return _crossed(self, lane, lambda: about(known, what), lambda: original(self, *args, **options))

    return method


def _pinging(original: Any) -> Any:
    def ping(self: Any, *args: Any, **options: Any) -> Any:
        lane, line = _known(self)
        if lane is None or line is None:
            return original(self, *args, **options)
        known: WebSocketLine = line
        waiting: list[threading.Event] = []
        perform = functools.partial(original, self, *args, **options)
        _crossed(self, lane, lambda: about(known, "ping"), lambda: waiting.append(perform()))
        return ThreadPong(self, known, waiting[0] if waiting else None)

    return ping


class ThreadPong:
    """The answer to a ping of the agent's own: an event that is set when it has come.

    Args:
        connection: Through which it comes.
        line: What is known of it.
        real: What the library gave; None in a replay.
    """

    __slots__ = ("_connection", "_line", "_real")

    def __init__(self, connection: Any, line: WebSocketLine, real: threading.Event | None) -> None:
        self._connection = connection
        self._line = line
        self._real = real

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for it."""
        return self._asked("pong", lambda event: event.wait(timeout))

    def is_set(self) -> bool:
        """Whether it has come."""
        return self._asked("pong state", lambda event: event.is_set())

    def _asked(self, what: str, ask: Callable[[threading.Event], bool]) -> bool:
        lane, real = listening(), self._real
        if lane is None:
            return real is not None and ask(real)
        perform: Callable[[], bool] = lambda: real is not None and ask(real)  # noqa: E731
        return bool(_crossed(self._connection, lane, lambda: about(self._line, what), perform))
