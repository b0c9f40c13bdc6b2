"""httpx and httpx2, synchronous and asynchronous, over any transport.

The seam is the transport that a client chose for a request: real, custom, mounted, a proxy, an in-process
application, a bridge to another library. Segments are the body before content decoding (framing ``payload``). On replay
the client gets a response with the recorded head and a stream that plays the segments; redirects, cookies,
authentication, decoding and elapsed time stay the client's own work.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from reenact.abc.session import Frozen, Live
from reenact.facts.call import Call, EndKind, Json, Stream
from reenact.seams import patching
from reenact.seams.async_backends import cancelled
from reenact.seams.http import exchange
from reenact.seams.http.exchange import CANCELLED, CLOSED, EOF
from reenact.seams.http.outgoing import going_out
from reenact.seams.lanes import Lane, inside, listening
from reenact.seams.suspension import Suspension
from reenact.seams.turns import closed, closed_again, rejoin_cancelled


def patch(module: ModuleType) -> None:
    """Intercept the clients of one httpx-like module. Does nothing twice: ``httpx2.alias_httpx`` gives one module
    two names."""
    family = Family(module)
    for client, crossed in ((module.Client, _Crossed), (module.AsyncClient, _AsyncCrossed)):
        patching.replace(client, "_transport_for_url", _choosing(family, crossed))
    for name in ("close", "__exit__"):
        patching.replace(module.HTTPTransport, name, _closing)
    for name in ("aclose", "__aexit__"):
        patching.replace(module.AsyncHTTPTransport, name, _closing_async)


def _closing(original: Any) -> Any:
    """Closing connections is the transport's own doing: a replay has none, and what it logs is said for it."""

    def close(self: Any, *failure: Any) -> Any:
        lane = listening()
        if lane is None:
            return original(self, *failure)
        with inside(lane.beneath()):
            return original(self, *failure)

    return close


def _closing_async(original: Any) -> Any:
    """``_closing`` for coroutines, which go on in their turn: closing a live connection takes turns of the loop."""

    async def close(self: Any, *failure: Any) -> Any:
        lane = listening()
        if lane is None:
            return await original(self, *failure)
        closing = Suspension(original(self, *failure))
        try:
            with inside(lane.beneath()):
                result = await closing
        except cancelled() as error:
            await closed(closing, error)
            raise
        await (closed_again() if lane.gate.virtual and not closing.rested else closed(closing))
        return result

    return close


def _choosing(family: Family, crossed: Callable[[Family, Lane, Any], Any]) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def _transport_for_url(self: Any, url: Any) -> Any:
            transport = original(self, url)
            lane = listening()
            return transport if lane is None else crossed(family, lane, transport)

        return _transport_for_url

    return make


class Family:
    """The classes of one httpx-like module that a response is made of."""

    __slots__ = ("bytes_stream", "name", "played", "played_async", "recorded", "recorded_async", "response")

    def __init__(self, module: ModuleType) -> None:
        self.name = module.__name__
        self.response: Any = module.Response
        self.bytes_stream: Any = module.ByteStream
        sync, unsync = module.SyncByteStream, module.AsyncByteStream
        self.recorded: Any = type("RecordedStream", (_Recorded, sync), {})
        self.recorded_async: Any = type("RecordedAsyncStream", (_RecordedAsync, unsync), {})
        self.played: Any = type("PlayedStream", (_Played, sync), {})
        self.played_async: Any = type("PlayedAsyncStream", (_PlayedAsync, unsync), {})

    def describe(self, request: Any, body: bytes) -> Call:
        """The request as a call."""
        return exchange.describe(request.method, str(request.url), exchange.pairs(request.headers.raw), body, self.name)

    def answered(self, stream: Stream, body: Any) -> Any:
        """A response of the client's own class with the recorded head, its body not read yet."""
        head = stream.head
        extensions = {name: text.encode("latin-1") for name, text in head.get("extensions", {}).items()}
        if head.get("version") is not None:
            extensions["http_version"] = head["version"].encode("latin-1")
        if head.get("reason") is not None:
            extensions["reason_phrase"] = head["reason"].encode("latin-1")
        return self.response(head["status"], headers=exchange.raw(head["headers"]), stream=body, extensions=extensions)


def head_of(response: Any) -> dict[str, Json]:
    """The head of a response as JSON. ``read`` is set when the transport itself had read the body already: ``raw``
    when its bytes before decoding are still at hand, ``decoded`` when not."""
    extensions = {
        name: value.decode("latin-1") for name, value in response.extensions.items() if isinstance(value, bytes)
    }
    head: dict[str, Json] = {
        "status": response.status_code,
        "reason": extensions.pop("reason_phrase", None),
        "version": extensions.pop("http_version", None),
        "headers": exchange.pairs(response.headers.raw),
        "framing": "payload",
        "extensions": extensions,
    }
    return head


def body_at_hand(family: Family, response: Any) -> tuple[str, bytes] | None:
    """The body of a response that the transport has read itself; None for a stream."""
    if not response.is_stream_consumed:
        return None
    if isinstance(response.stream, family.bytes_stream):
        return "raw", b"".join(response.stream)
    return "decoded", response.content


class _Crossing:
    """A transport whose exchanges are answered by a session: what both colours share."""

    __slots__ = ("family", "inner", "lane")

    def __init__(self, family: Family, lane: Lane, inner: Any) -> None:
        self.family = family
        self.lane = lane
        self.inner = inner

    def _begin(self, request: Any, body: bytes) -> Live | Frozen | None:
        return exchange.begin(self.lane, lambda: self.family.describe(request, body))

    @contextmanager
    def _outgoing(self, crossing: Live, request: Any, body: bytes) -> Iterator[None]:
        """The request as it goes out, which a fork may have changed, or which carries its trace on."""
        asked = str(request.url)
        out = going_out(self.lane, crossing, asked, request.headers, body)
        if out is None:
            yield
            return
        url, stream, headers = request.url, request.stream, request.headers
        request.headers = out.headers(headers)
        if out.url is asked and out.body is body:
            try:
                yield
            finally:
                request.headers = headers
            return
        content = request.__dict__.pop("_content", None)  # what a transport of another library sends, where it was read
        request.url = type(url)(out.url)
        request.stream = self.family.bytes_stream(out.body)
        if content is not None:
            request._content = out.body
        try:
            yield
        finally:
            request.url, request.stream, request.headers = url, stream, headers
            if content is not None:
                request._content = content

    def _noted(self, response: Any) -> tuple[dict[str, Json], bytes | None] | None:
        """Head, and the body if the transport has read it; None when our own code failed."""
        lane, family = self.lane, self.family
        noted = exchange.guarded(lane, lambda: (head_of(response), body_at_hand(family, response)))
        if noted is None:
            return None
        head, at_hand = noted
        if head["status"] == 101:
            lane.session.gap("upgraded connection", "a websocket or another protocol over httpx")
        if at_hand is None:
            return head, None
        head["read"] = at_hand[0]
        return head, at_hand[1]


class _Crossed(_Crossing):
    """In synchronous colour."""

    __slots__ = ()

    def handle_request(self, request: Any) -> Any:
        stream = request.stream
        body = b"".join(stream)
        if not isinstance(stream, self.family.bytes_stream):
            request.stream = self.family.bytes_stream(body)
        try:
            crossing = self._begin(request, body)
            if crossing is None:
                return self.inner.handle_request(request)
            if crossing.mode == "live":
                with self._outgoing(crossing, request, body):
                    return self._perform(crossing, request)
        finally:
            request.stream = stream  # a consumed generator stays consumed, for redirects that would send it again
        return self._answer(crossing)

    def _perform(self, crossing: Live, request: Any) -> Any:
        crossing.ready().wait()
        try:
            with crossing.enter():
                response = self.inner.handle_request(request)
        except exchange.RAISED as error:
            outcome = exchange.failure(self.lane, error, {"request": request})
            if outcome is not None:
                crossing.settle(outcome).wait()
            raise
        except BaseException:
            crossing.dropped(CANCELLED)
            raise
        noted = self._noted(response)
        if noted is None:
            crossing.dropped(CANCELLED)
            return response
        head, body = noted
        if body is None:
            response.stream = self.family.recorded(self.lane, crossing, response.stream)
        try:
            crossing.head(head).wait()
            if body is not None:
                if body:
                    crossing.segment(body).wait()
                crossing.end(EOF).wait()
        except BaseException:
            crossing.dropped(CANCELLED)
            response.close()
            raise
        return response

    def _answer(self, crossing: Frozen) -> Any:
        try:
            if crossing.form != "stream":
                raise exchange.revive(self.lane, crossing.outcome().wait())
            stream = crossing.head().wait()
        except BaseException:
            crossing.dropped()
            raise
        response = self.family.answered(stream, self.family.played(self.lane, crossing))
        if "read" in stream.head:
            with as_read(response, stream.head["read"]):
                response.read()
        return response


class _AsyncCrossed(_Crossing):
    """In asynchronous colour."""

    __slots__ = ()

    async def handle_async_request(self, request: Any) -> Any:
        stream = request.stream
        if isinstance(stream, self.family.bytes_stream):
            body = b"".join(stream)
        else:
            body = b"".join([part async for part in stream])
            request.stream = self.family.bytes_stream(body)
        try:
            crossing = self._begin(request, body)
            if crossing is None:
                return await self.inner.handle_async_request(request)
            if crossing.mode == "frozen" and crossing.form == "open":
                crossing = await exchange.unanswered(self.lane, crossing)
            if crossing.mode == "live":
                with self._outgoing(crossing, request, body):
                    return await self._perform(crossing, request)
        finally:
            request.stream = stream
        return await self._answer(crossing)

    async def _perform(self, crossing: Live, request: Any) -> Any:
        await crossing.ready()
        try:
            with crossing.enter():
                response = await self.inner.handle_async_request(request)
        except Exception as error:
            outcome = exchange.failure(self.lane, error, {"request": request})
            if outcome is not None:
                await crossing.settle(outcome)
            raise
        except BaseException as error:
            crossing.dropped(CANCELLED)
            await rejoin_cancelled(error)
            raise
        noted = self._noted(response)
        if noted is None:
            crossing.dropped(CANCELLED)
            return response
        head, body = noted
        source = response.stream
        if body is None:
            response.stream = self.family.recorded_async(self.lane, crossing, source)
        try:
            await crossing.head(head)
            if body is not None:
                if body:
                    await crossing.segment(body)
                await crossing.end(EOF)
        except BaseException:
            crossing.dropped(CANCELLED)
            with crossing.enter():
                await source.aclose()  # below: who was cancelled waiting for a turn has taken another already
            raise
        return response

    async def _answer(self, crossing: Frozen) -> Any:
        try:
            if crossing.form != "stream":
                raise exchange.revive(self.lane, await crossing.outcome())
            stream = await crossing.head()
        except BaseException:
            crossing.dropped()
            raise
        response = self.family.answered(stream, self.family.played_async(self.lane, crossing))
        if "read" in stream.head:
            with as_read(response, stream.head["read"]):
                await response.aread()
        return response


@contextmanager
def as_read(response: Any, read: str) -> Iterator[None]:
    """Read a response as its transport had: a body kept ``decoded`` is not decoded again."""
    headers = response.headers
    if read == "decoded":
        response.headers = type(headers)([pair for pair in headers.raw if pair[0].lower() != b"content-encoding"])
    try:
        yield
    finally:
        response.headers = headers


class _Recorded:
    """The body of a live response: each part is noted, then handed on."""

    def __init__(self, lane: Lane, crossing: Live, inner: Any) -> None:
        self._lane = lane
        self._crossing = crossing
        self._inner = inner

    def __iter__(self) -> Iterator[bytes]:
        crossing, enter = self._crossing, self._crossing.enter
        source = iter(self._inner)
        try:
            while True:
                try:
                    with enter():
                        part = next(source)
                except StopIteration:
                    break
                except exchange.RAISED as error:
                    crossing.end(exchange.broken(self._lane, error)).wait()
                    raise
                if part:
                    crossing.segment(part).wait()
                yield part
            crossing.end(EOF).wait()
        except GeneratorExit:
            crossing.dropped(CLOSED)
            raise
        except BaseException:
            crossing.dropped(CANCELLED)
            raise

    def close(self) -> None:
        self._crossing.dropped(CLOSED)
        with self._crossing.enter():
            self._inner.close()

    def __del__(self) -> None:
        self._crossing.dropped(CLOSED)


async def _closing_of(what: Any) -> None:
    aclose = getattr(what, "aclose", None)
    if aclose is not None:
        await aclose()


class _RecordedAsync:
    """``_Recorded`` for coroutines."""

    def __init__(self, lane: Lane, crossing: Live, inner: Any) -> None:
        self._lane = lane
        self._crossing = crossing
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        crossing, enter = self._crossing, self._crossing.enter
        source = self._inner.__aiter__()
        try:
            while True:
                try:
                    with enter():
                        part = await source.__anext__()
                except StopAsyncIteration:
                    break
                except cancelled() as error:
                    crossing.dropped(CANCELLED)
                    await self._leave(source)
                    await rejoin_cancelled(error)
                    raise
                except Exception as error:
                    await crossing.end(exchange.broken(self._lane, error))
                    raise
                if part:
                    await crossing.segment(part)
                yield part
            await crossing.end(EOF)
        except GeneratorExit:
            crossing.dropped(CLOSED)
            await self._close(source)
            raise
        except BaseException:
            crossing.dropped(CANCELLED)
            raise
        await self._leave(source)

    async def _leave(self, source: Any) -> None:
        aclose = getattr(source, "aclose", None)
        if aclose is not None:
            with self._crossing.enter():
                await aclose()

    async def aclose(self) -> None:
        self._crossing.dropped(CLOSED)
        await self._close(self._inner)

    async def _close(self, what: Any) -> None:
        closing = Suspension(_closing_of(what))
        try:
            with self._crossing.enter():
                await closing
        except cancelled() as error:
            await closed(closing, error)
            raise
        await closed(closing)

    def __del__(self) -> None:
        self._crossing.dropped(CLOSED)


class _Played:
    """The body of a recorded response: the same parts, then the same end."""

    def __init__(self, lane: Lane, crossing: Frozen) -> None:
        self._lane = lane
        self._crossing = crossing

    def __iter__(self) -> Iterator[bytes]:
        crossing = self._crossing
        while True:
            part = crossing.part().wait()
            if isinstance(part, bytes):
                yield part
            elif part.kind is EndKind.EOF:
                return
            else:
                raise exchange.revive(self._lane, part)

    def close(self) -> None:
        self._crossing.dropped()

    def __del__(self) -> None:
        self._crossing.dropped()


class _PlayedAsync:
    """``_Played`` for coroutines."""

    def __init__(self, lane: Lane, crossing: Frozen) -> None:
        self._lane = lane
        self._crossing = crossing

    async def __aiter__(self) -> AsyncIterator[bytes]:
        crossing = self._crossing
        while True:
            part = await crossing.part()
            if isinstance(part, bytes):
                try:
                    yield part
                except GeneratorExit:
                    await closed_again()
                    raise
            elif part.kind is EndKind.EOF:
                return
            else:
                raise exchange.revive(self._lane, part)

    async def aclose(self) -> None:
        self._crossing.dropped()
        await closed_again()

    def __del__(self) -> None:
        self._crossing.dropped()
