"""aiohttp, used directly or by httpx-aiohttp, LiteLLM and aiobotocore.

The seam is one attempt on one connection (``BaseConnector.connect`` and its protocol): below redirects, middlewares and
retries. Segments are the bytes of the connection (framing ``wire``). On replay aiohttp's own parser reads them from a
connection that belongs to no socket and that no pool keeps.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from types import ModuleType
from typing import Any

from reenact.abc.session import Frozen, Live
from reenact.facts.call import Call, Failure
from reenact.seams import patching
from reenact.seams.colours import in_coroutine
from reenact.seams.http import http_exchange
from reenact.seams.http.aiohttp_exchanges import FrozenExchange, LiveExchange, Occupant, Originals, PlayedTransport
from reenact.seams.http.http_errors import Roles
from reenact.seams.http.http_exchange import CANCELLED
from reenact.seams.http.outgoing_request import OutgoingRequest, going_out
from reenact.seams.lanes import Lane, listening
from reenact.seams.turns import rejoin_cancelled

_ASKED = "_reenact_asked"
"""The agent's own request, if another is sent in its place; without the body if both have the same body."""


def patch(module: ModuleType) -> None:
    """Intercept the connectors of aiohttp, and the methods through which a response asks its connection for more."""
    handler: Any = module.ResponseHandler
    own = Originals(handler, sys.modules["aiohttp.client_exceptions"].ClientError)
    handler._reenact_exchange = None
    patching.replace(module.BaseConnector, "connect", lambda original: _connecting(module, own, original))
    patching.replace(module.BaseConnector, "_release", _releasing)
    patching.replace(module.ClientRequest, "send", _sending)
    for name, make in (
        ("data_received", _receiving),
        ("connection_lost", _losing),
        ("set_exception", _failing),
        ("_reschedule_timeout", _arming),
        ("read", _reading),
    ):
        patching.replace(handler, name, make)
    stream = sys.modules["aiohttp.streams"].StreamReader
    patching.replace(stream, "_wait", _waiting)
    patching.replace(stream, "wait_eof", _waiting_for_eof)


# --- the connector -----------------------------------------------------------------------------------------------


def _connecting(module: Any, own: Originals, original: Any) -> Any:
    async def connect(self: Any, req: Any, *args: Any, **kwargs: Any) -> Any:
        lane = listening()
        if lane is None:
            return await original(self, req, *args, **kwargs)
        body = await _asked_again(req)
        if body is None:
            body = await body_of(lane, req)
        crossing = http_exchange.begin(lane, lambda: describe(req, body))
        if crossing is None:
            return await original(self, req, *args, **kwargs)
        roles = {"connection_key": req.connection_key, "request_info": req.request_info, "url": req.url}
        if crossing.mode == "frozen" and crossing.form == "open":
            crossing = await in_coroutine(http_exchange.unanswered(lane, crossing, roles))
        if crossing.mode == "frozen":
            return await _answer(module, own, self, req, lane, crossing, roles)
        url = str(req.url)
        out = going_out(crossing, url, req.headers, body)
        if out is not None:
            await _replace(req, out, url, body)
        conn = await _perform(lane, crossing, roles, lambda: original(self, req, *args, **kwargs))
        conn.protocol._reenact_exchange = LiveExchange(lane, crossing, conn.protocol, req.method, roles, own)
        return conn

    return connect


def describe(req: Any, body: bytes) -> Call:
    """One attempt as a call."""
    headers = [[str(name), str(value)] for name, value in req.headers.items()]
    return http_exchange.describe(req.method, str(req.url), headers, body, "aiohttp")


async def _replace(req: Any, out: OutgoingRequest, url: str, body: bytes) -> None:
    """Change a request into the one that is sent in its place, and keep the original."""
    req.__dict__[_ASKED] = (req.url, req.headers.copy(), None if out.body is body else body)
    if out.body is not body:
        await req.update_body(out.body)
    if out.url is not url:
        req.url = type(req.url)(out.url, encoded=True)
    req.headers = out.headers(req.headers)


async def _asked_again(req: Any) -> bytes | None:
    """The body from before a request was replaced, if a middleware sends it once more; None if it is unchanged."""
    url, headers, body = req.__dict__.pop(_ASKED, (None, None, None))
    if url is None:
        return None
    req.url, req.headers = url, headers
    if body is not None:
        await req.update_body(body)
    asked: bytes | None = body
    return asked


async def body_of(lane: Lane, req: Any) -> bytes:
    """The whole body of a request, read once; the client will still send the same pieces.

    An error of the agent's own upload while it is read is raised again where the client would have met it."""
    payload = req.body
    if not payload:
        return b""
    at_hand = getattr(payload, "_value", payload)
    if isinstance(at_hand, (bytes, bytearray)):
        return bytes(at_hand)
    source = getattr(payload, "_iter", None)
    if source is None:
        try:
            whole: bytes = await payload.as_bytes()
        except Exception as fault:
            if lane.session.fault(fault):
                raise
            return b""
        return whole
    pieces: list[bytes] = []
    failed: Exception | None = None
    try:
        async for piece in source:
            pieces.append(piece)
    except Exception as error:
        failed = error
    payload._iter = _again(pieces, failed)
    return b"".join(pieces)


async def _again(pieces: list[bytes], failed: Exception | None) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
    if failed is not None:
        raise failed


async def _perform(lane: Lane, crossing: Live, roles: Roles, connect: Any) -> Any:
    await crossing.ready()
    try:
        with crossing.enter():
            return await connect()
    except Exception as error:
        outcome = http_exchange.failure(lane, error, roles, {"phase": "connect"})
        if outcome is not None:
            await crossing.settle(outcome)
        raise
    except BaseException as error:
        crossing.dropped(CANCELLED)
        await rejoin_cancelled(error)
        raise


async def _answer(
    module: Any, own: Originals, connector: Any, req: Any, lane: Lane, crossing: Frozen, roles: Roles
) -> Any:
    error: BaseException | None = None
    if crossing.form != "stream":
        try:
            outcome = await crossing.outcome()
        except BaseException:
            crossing.dropped()
            raise
        error = http_exchange.revive(lane, outcome, roles)
        if isinstance(outcome, Failure) and outcome.head.get("phase") != "read":
            raise error
    protocol = module.ResponseHandler(connector._loop)
    protocol.connection_made(PlayedTransport(protocol))
    protocol.force_close()
    protocol._reenact_exchange = FrozenExchange(lane, crossing, protocol, req.method, own, error)
    connector._acquired.add(protocol)
    return module.Connection(connector, req.connection_key, protocol, connector._loop)


def _releasing(original: Any) -> Any:
    def _release(self: Any, key: Any, protocol: Any, **kwargs: Any) -> None:
        held: Occupant | None = protocol._reenact_exchange
        if held is None:
            original(self, key, protocol, **kwargs)
            return
        protocol._reenact_exchange = None
        with held.released():
            original(self, key, protocol, **kwargs)

    return _release


def _sending(original: Any) -> Any:
    async def send(self: Any, conn: Any) -> Any:
        held: Occupant | None = getattr(conn.protocol, "_reenact_exchange", None)
        try:
            return await original(self, conn)
        except Exception as error:
            if held is not None:
                await held.failed(error)
            raise

    return send


# --- the connection ----------------------------------------------------------------------------------------------


def _receiving(original: Any) -> Any:
    def data_received(self: Any, data: bytes) -> None:
        held: Occupant | None = self._reenact_exchange
        if held is None or not data:  # without data, aiohttp goes on with the rest in its parser
            original(self, data)
        else:
            held.arrived(data)

    return data_received


def _losing(original: Any) -> Any:
    def connection_lost(self: Any, exc: BaseException | None) -> None:
        held: Occupant | None = self._reenact_exchange
        if held is None:
            original(self, exc)
        else:
            held.lost(exc)

    return connection_lost


def _failing(original: Any) -> Any:
    no_cause = getattr(sys.modules["aiohttp.helpers"], "_EXC_SENTINEL", None)

    def set_exception(self: Any, exc: BaseException, *cause: Any) -> None:
        held: Occupant | None = self._reenact_exchange
        if held is not None and cause and cause[0] is not no_cause and cause[0] is not exc:
            exc.__cause__ = cause[0]  # as aiohttp does for a waiter
        original(self, exc, *cause)
        if held is not None:
            held.stirred()

    return set_exception


def _arming(original: Any) -> Any:
    def _reschedule_timeout(self: Any) -> None:
        if self._reenact_exchange is None:
            original(self)

    return _reschedule_timeout


def _reading(original: Any) -> Any:
    async def read(self: Any) -> Any:
        held: Occupant | None = self._reenact_exchange
        if held is not None:
            await held.until_message()
        return await original(self)

    return read


# --- the body ----------------------------------------------------------------------------------------------------


def _waiting(original: Any) -> Any:
    async def _wait(self: Any, func_name: str) -> None:
        held: Occupant | None = getattr(self._protocol, "_reenact_exchange", None)
        if held is None or self._waiter is not None or not self._protocol.connected:
            await original(self, func_name)
            return
        with self._timer:
            await held.more(self)

    return _wait


def _waiting_for_eof(original: Any) -> Any:
    async def wait_eof(self: Any) -> None:
        if getattr(self._protocol, "_reenact_exchange", None) is None:
            await original(self)
            return
        while not self.is_eof():
            await self._wait("wait_eof")

    return wait_eof
