"""The websocket client of ``aiohttp``: ``ClientSession.ws_connect``.

Opening, each message in either direction and closing are calls, as with the ``websockets`` library. The handshake
is part of opening. In a replay the connection is the library's own object without a network; whether it is closed, and
how, comes with each answer.
"""

from __future__ import annotations

import asyncio
import functools
import operator
import sys
from collections.abc import Awaitable, Callable, Mapping
from types import ModuleType
from typing import Any

from reenact.facts import lazy_dataclass
from reenact.facts.call import Call, Effect, Failure, Json, Value
from reenact.facts.values import decode, encode
from reenact.seams.colours import in_coroutine
from reenact.seams.http import http_errors
from reenact.seams.http.http_exchange import place_of
from reenact.seams.lanes import Lane, listening
from reenact.seams.patching import replace
from reenact.seams.switchboard import across, answered, begin, cross, telling
from reenact.seams.websockets import websocket_messages
from reenact.seams.websockets.websocket_messages import WebSocketLine, about, opening

_LINE = "_reenact_line"
_CANCELLED = 1006


def patch(module: ModuleType) -> None:
    """Hook ``aiohttp.client``: how a session connects, and what its connections do."""
    replace(module.ClientSession, "_ws_connect", functools.partial(_connecting, module))
    connection = module.ClientWebSocketResponse
    replace(connection, "receive", _receiving)
    for name in ("send_str", "send_bytes"):
        replace(connection, name, _sending)
    for name in ("ping", "pong"):
        replace(connection, name, _framing)
    replace(connection, "send_frame", _framing)
    replace(connection, "close", _closing)
    for name in ("closed", "close_code"):
        replace(connection, name, lambda original: property(_looking(original.fget)))
    replace(connection, "exception", _looking)
    replace(connection, "get_extra_info", _informing)


# --- opening ----------------------------------------------------------------------------------------------------------


def _connecting(module: Any, original: Any) -> Any:
    async def _ws_connect(self: Any, url: Any, **options: Any) -> Any:
        lane = listening()
        if lane is None:
            return await original(self, url, **options)
        target = _target(self, url, options.get("params"))
        crossing = begin(lane, lambda: opening(target, tuple(options.get("protocols") or ()) or None))
        if crossing is None or crossing.mode == "rerun":
            return await original(self, url, **options)
        line = WebSocketLine(crossing.event, place_of(target))
        if crossing.mode == "frozen":
            reopen = telling(lane, functools.partial(_reopened, target=target))
            told = reopen(await crossing.outcome())
            connection = _played(module, self, line, told, options)
            agreed = operator.attrgetter("protocol")
            reopen = functools.partial(original, self, url, **options)
            websocket_messages.opens_later(
                connection, line, crossing, reopen, agreed, kept=(_LINE,), lock=asyncio.Lock()
            )
            return connection
        connection = await answered(lane, crossing, lambda: original(self, url, **options), _opened, _unused)
        connection.__dict__[_LINE] = line
        return connection

    return _ws_connect


def _target(session: Any, url: Any, params: Any) -> str:
    """The address of a connection, with its query."""
    built = session._build_url(url)
    if params:
        built = built.extend_query(params) if hasattr(built, "extend_query") else built.update_query(params)
    return str(built)


def _unused(_outcome: object) -> Any:
    raise TypeError("a live crossing has no recorded outcome")


def _opened(connection: Any, error: BaseException | None) -> Value | Failure:
    """The outcome of opening: the agreed protocol and compression, and the head of the answer."""
    if error is not None:
        headers = getattr(error, "headers", None)
        given = {"request_info": getattr(error, "request_info", None), "headers": headers}
        key = getattr(error, "_conn_key", None)
        roles = {name: value for name, value in {**given, "connection_key": key}.items() if value is not None}
        told = None if headers is None else _plain(headers)
        return Failure(http_errors.describe(error, roles), head={"headers": told, "key": _key_of(key)})
    response = connection._response
    agreed = {
        "protocol": connection.protocol,
        "compress": connection.compress,
        "client_notakeover": connection.client_notakeover,
        "status": response.status,
        "headers": _plain(response.headers),
    }
    return Value(encode(agreed).body, head={"line": _state(connection)})


def _plain(headers: Mapping[str, str]) -> list[list[str]]:
    """Headers as plain strings; the library's names are of a subclass."""
    return [[name.encode().decode(), value.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")]
            for name, value in headers.items()]  # fmt: skip


def _key_of(key: Any) -> Json:
    return None if key is None else [key.host, key.port, bool(key.is_ssl)]


def _reopened(outcome: Value | Failure, target: str) -> dict[str, Any]:
    """The result of a recorded opening; raises its exception."""
    if not isinstance(outcome, Failure):
        return {**decode(outcome.body), "line": outcome.head["line"]}
    reqrep: Any = sys.modules["aiohttp.client_reqrep"]
    multidict: Any = sys.modules["multidict"]
    url = sys.modules["yarl"].URL(target)
    headers = multidict.CIMultiDict([tuple(pair) for pair in outcome.head.get("headers") or ()])
    none: Any = multidict.CIMultiDictProxy(multidict.CIMultiDict())
    roles = {"request_info": reqrep.RequestInfo(url, "GET", none, url), "headers": multidict.CIMultiDictProxy(headers)}
    key = outcome.head.get("key")
    if key is not None:
        fields = dict.fromkeys(reqrep.ConnectionKey._fields)
        known = dict(zip(("host", "port", "is_ssl"), key, strict=True))
        roles["connection_key"] = reqrep.ConnectionKey(**{**fields, "ssl": True, **known})
    raise http_errors.rebuild(outcome.error, roles)


class _Answer:
    """The answer to the handshake of a connection without a network."""

    connection = None

    def __init__(self, told: Mapping[str, Any]) -> None:
        multidict: Any = sys.modules["multidict"]
        self.status = told["status"]
        self.headers = multidict.CIMultiDictProxy(multidict.CIMultiDict([tuple(pair) for pair in told["headers"]]))

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def _played(module: Any, session: Any, line: WebSocketLine, told: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
    """A connection without a network, in the state that the recorded connection had just after its opening."""
    kind = getattr(session, "_ws_response_class", module.ClientWebSocketResponse)
    own = {name: options.get(name, True) for name in ("autoclose", "autoping")}
    agreed = {name: told[name] for name in ("compress", "client_notakeover")}
    connection = kind(
        None, None, told["protocol"], _Answer(told), None, own["autoclose"], own["autoping"], session._loop, **agreed
    )
    connection._heartbeat = options.get("heartbeat")
    line.addresses = (None, None)
    connection.__dict__[_LINE] = line
    _set_state(connection, told["line"])
    return connection


# --- the state of a connection ----------------------------------------------------------------------------------------


def _state(connection: Any) -> dict[str, Json]:
    """The state of a connection."""
    code = connection._close_code
    return {
        "closed": connection._closed,
        "closing": connection._closing,
        "code": None if code is None else int(code),
        "failed": None if connection._exception is None else http_errors.describe(connection._exception).type,
    }


def _set_state(connection: Any, told: Mapping[str, Json]) -> None:
    connection._closed, connection._closing = told["closed"], told["closing"]
    connection._close_code = told["code"]


class _Outcomes:
    """Outcomes of one connection's calls.

    Args:
        connection: The library's own object.
    """

    __slots__ = ("_connection",)

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def seal(self, result: Any, error: BaseException | None) -> Value | Failure:
        """The result or error, with the state of the connection at that time."""
        head = {"line": _state(self._connection)}
        if error is not None:
            return Failure(http_errors.describe(error), head=head)
        return Value(encode(result).body, head=head)

    def reveal(self, outcome: Value | Failure) -> Any:
        """A recorded outcome."""
        _set_state(self._connection, outcome.head["line"])
        if isinstance(outcome, Failure):
            raise http_errors.rebuild(outcome.error)
        return decode(outcome.body)


class _Message(_Outcomes):
    """Outcomes of receiving: the library's own message, whose data may be an exception."""

    __slots__ = ()

    def seal(self, result: Any, error: BaseException | None) -> Value | Failure:
        """See ``_Outcomes``."""
        if error is not None:
            return super().seal(result, error)
        head: dict[str, Json] = {"line": _state(self._connection), "class": type(result).__name__}
        if isinstance(result.data, BaseException):  # the library passes the exception on without raising it
            told = {**head, "handed": [int(result.type), result.extra]}
            return Failure(http_errors.describe(result.data), head=told)
        data = int(result.data) if isinstance(result.data, int) else result.data  # a close code may be an ``IntEnum``
        return Value(encode([int(result.type), data, result.extra]).body, head=head)

    def reveal(self, outcome: Value | Failure) -> Any:
        """See ``_Outcomes``."""
        models: Any = sys.modules["aiohttp.http"]
        if isinstance(outcome, Failure):
            handed = outcome.head.get("handed")
            if handed is None:
                return super().reveal(outcome)
            _set_state(self._connection, outcome.head["line"])
            failure = self._connection._exception = http_errors.rebuild(outcome.error)
            return models.WSMessage(models.WSMsgType(handed[0]), failure, handed[1])
        kind, data, extra = super().reveal(outcome)
        made = models.WSMessage
        if outcome.head["class"] != made.__name__:
            made = getattr(sys.modules["aiohttp._websocket.models"], outcome.head["class"], made)
        return made(models.WSMsgType(kind), data, extra)


# --- what passes through it -------------------------------------------------------------------------------------------


def _known(connection: Any) -> tuple[Lane | None, WebSocketLine | None]:
    """The calling lane, and the facts about the connection; None where the library works by itself."""
    return listening(), connection.__dict__.get(_LINE)


async def _crossed(
    connection: Any, lane: Lane, sealing: _Outcomes, call: Callable[[], Call], perform: Callable[[], Awaitable[Any]]
) -> Any:
    line = connection.__dict__[_LINE]

    async def performed() -> Any:
        if line.later is not None:
            await in_coroutine(line.later.begin())
        return await perform()

    return await across(lane, call, performed, sealing.seal, telling(lane, sealing.reveal))


def _receiving(original: Any) -> Any:
    async def receive(self: Any, timeout: float | None = None) -> Any:
        lane, line = _known(self)
        if lane is None or line is None:
            return await original(self, timeout)
        known: WebSocketLine = line

        async def perform() -> Any:
            if not known.held:
                message = await original(self, timeout)
                known.held.append(message)  # a reader cancelled during its turn leaves the message
            return known.held[0]

        asked = None if timeout is None else {"timeout": timeout}
        try:
            message = await _crossed(self, lane, _Message(self), lambda: about(known, "receive", asked), perform)
        except asyncio.CancelledError:
            if known.played:
                self._close_code = _CANCELLED  # as the library does when a read is cancelled
            raise
        known.held.clear()
        return message

    return receive


def _sending(original: Any) -> Any:
    async def send(self: Any, data: Any, *args: Any, **options: Any) -> None:
        lane, line = _known(self)
        wanted = str if original.__name__ == "send_str" else (bytes, bytearray, memoryview)
        if lane is None or line is None or not isinstance(data, wanted):
            await original(self, data, *args, **options)
            return
        known: WebSocketLine = line
        call = functools.partial(websocket_messages.sending, known, data, (), {})
        await _crossed(self, lane, _Outcomes(self), call, lambda: original(self, data, *args, **options))

    return send


def _framing(original: Any) -> Any:
    """Hook ``ping``, ``pong`` and ``send_frame``, which send frames of the agent's own."""
    what = original.__name__

    async def frame(self: Any, message: Any = b"", *args: Any, **options: Any) -> None:
        lane, line = _known(self)
        if lane is None or line is None:
            await original(self, message, *args, **options)
            return
        known: WebSocketLine = line

        def call() -> Call:
            asked = about(known, what.replace("_", " "), [int(each) for each in args[:1]])
            effect = Effect.WRITE if what == "send_frame" else Effect.READ
            sent = message.encode() if isinstance(message, str) else bytes(message)
            return lazy_dataclass.replace(asked, effect=effect, body=asked.body + b"\n" + sent, media="")

        await _crossed(self, lane, _Outcomes(self), call, lambda: original(self, message, *args, **options))

    return frame


def _closing(original: Any) -> Any:
    async def close(self: Any, **options: Any) -> Any:
        lane, line = _known(self)
        if lane is None or line is None:
            return await original(self, **options)
        known: WebSocketLine = line

        def call() -> Call:
            reason = options.get("message", b"")
            text = reason.decode("latin-1") if isinstance(reason, (bytes, bytearray)) else str(reason)
            return about(known, "close", [int(options.get("code", 1000)), text])

        return await _crossed(self, lane, _Outcomes(self), call, lambda: original(self, **options))

    return close


def _looking(original: Any) -> Any:
    """Hook a look at the state, which changes by itself only where a heartbeat may find the other side gone."""

    def look(self: Any) -> Any:
        lane, line = _known(self)
        if lane is None or line is None or self._heartbeat is None:
            return original(self)
        known: WebSocketLine = line
        sealing = _Outcomes(self)

        def reveal(outcome: Any) -> Any:
            sealing.reveal(outcome)
            return original(self)

        return cross(
            lane,
            lambda: about(known, "state"),
            lambda: original(self),
            lambda _value, error: sealing.seal(None, error),
            reveal,
        )

    return look


def _informing(original: Any) -> Any:
    def get_extra_info(self: Any, name: str, default: Any = None) -> Any:
        lane, line = _known(self)
        if lane is None or line is None:
            return original(self, name, default)
        known: WebSocketLine = line
        sealing = _Outcomes(self)
        return cross(
            lane,
            lambda: about(known, "information", name),
            lambda: original(self, name, default),
            sealing.seal,
            telling(lane, sealing.reveal),
        )

    return get_extra_info
