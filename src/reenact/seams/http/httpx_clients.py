"""httpx and httpx2, synchronous and asynchronous, over any transport.

The seam is the transport that a client chose for a request: real, custom, mounted, a proxy, an in-process
application, a bridge to another library. Segments are the body before content decoding (framing ``payload``). On replay
the client gets a response with the recorded head and a stream that plays the segments; redirects, cookies,
authentication, decoding and elapsed time stay the client's own work.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any

from reenact.abc.session import Frozen, Live
from reenact.facts.call import Call, End, EndKind, Json, Stream
from reenact.seams import patching
from reenact.seams.async_backends import cancelled
from reenact.seams.colours import Steps, Work, in_coroutine, in_thread, rejoined
from reenact.seams.http import http_exchange
from reenact.seams.http.http_exchange import CANCELLED, CLOSED, EOF, pairs, raw
from reenact.seams.http.outgoing_request import going_out
from reenact.seams.lanes import Lane, inside, listening
from reenact.seams.suspension import Suspension
from reenact.seams.switchboard import guarded
from reenact.seams.turns import closed, closed_again


def patch(module: ModuleType) -> None:
    """Intercept the clients of one httpx-like module, once: ``httpx2.alias_httpx`` gives one module two names."""
    for client, crossed, prefix in ((module.Client, _SyncTransport, ""), (module.AsyncClient, _AsyncTransport, "a")):
        patching.replace(client, "_transport_for_url", _choosing(Family(module, prefix), crossed))
    for name in ("close", "__exit__"):
        patching.replace(module.HTTPTransport, name, _closing)
    for name in ("aclose", "__aexit__"):
        patching.replace(module.AsyncHTTPTransport, name, _closing_async)


def _closing(original: Any) -> Any:
    """The transport closes connections by itself. A replay has none, and logs the transport's messages in its place."""

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
        await closed(closing)
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
    """The classes of one httpx-like module that a response is made of, and the names of its methods, in one colour."""

    __slots__ = ("bytes_stream", "close", "handle", "name", "played", "raised", "read", "recorded", "response")

    def __init__(self, module: ModuleType, prefix: str = "") -> None:
        self.name = module.__name__
        self.response: Any = module.Response
        self.bytes_stream: Any = module.ByteStream
        self.close, self.read = f"{prefix}close", f"{prefix}read"
        self.handle = "handle_async_request" if prefix else "handle_request"
        self.raised: tuple[type[BaseException], ...] = (Exception,) if prefix else http_exchange.RAISED
        base = module.AsyncByteStream if prefix else module.SyncByteStream
        self.recorded: Any = type("RecordedStream", (_RecordedAsync if prefix else _RecordedBody, base), {})
        self.played: Any = type("PlayedStream", (_PlayedAsync if prefix else _PlayedBody, base), {})

    def describe(self, request: Any, body: bytes) -> Call:
        """The request as a call."""
        return http_exchange.describe(request.method, str(request.url), pairs(request.headers.raw), body, self.name)

    def answered(self, stream: Stream, body: Any) -> Any:
        """A response of the client's own class with the recorded head, its body not read yet."""
        head = stream.head
        extensions = {name: text.encode("latin-1") for name, text in head.get("extensions", {}).items()}
        if head.get("version") is not None:
            extensions["http_version"] = head["version"].encode("latin-1")
        if head.get("reason") is not None:
            extensions["reason_phrase"] = head["reason"].encode("latin-1")
        return self.response(head["status"], headers=raw(head["headers"]), stream=body, extensions=extensions)


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
        "headers": pairs(response.headers.raw),
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


class _CrossingTransport:
    """A transport whose exchanges are answered by a session, in either colour."""

    __slots__ = ("family", "inner", "lane")

    def __init__(self, family: Family, lane: Lane, inner: Any) -> None:
        self.family = family
        self.lane = lane
        self.inner = inner

    def _exchange(self, request: Any, body: bytes) -> Steps[Any]:
        stream = request.stream
        if not isinstance(stream, self.family.bytes_stream):
            request.stream = self.family.bytes_stream(body)
        try:
            crossing = http_exchange.begin(self.lane, lambda: self.family.describe(request, body))
            if crossing is None:
                return (yield Work(partial(getattr(self.inner, self.family.handle), request)))
            if crossing.mode == "frozen" and crossing.form == "open":
                crossing = yield from http_exchange.unanswered(self.lane, crossing)
            if crossing.mode == "live":
                with self._outgoing(crossing, request, body):
                    return (yield from self._perform(crossing, request))
        finally:
            request.stream = stream  # a consumed generator stays consumed, for redirects that would send it again
        return (yield from self._answer(crossing))

    def _perform(self, crossing: Live, request: Any) -> Steps[Any]:
        yield crossing.ready()
        try:
            response = yield Work(partial(getattr(self.inner, self.family.handle), request), crossing.enter())
        except self.family.raised as error:
            outcome = http_exchange.failure(self.lane, error, {"request": request})
            if outcome is not None:
                yield crossing.settle(outcome)
            raise
        except BaseException as error:
            crossing.dropped(CANCELLED)
            yield from rejoined(error)
            raise
        noted = self._noted(response)
        if noted is None:
            crossing.dropped(CANCELLED)
            return response
        head, body = noted
        source = response.stream
        if body is None:
            response.stream = self.family.recorded(self.lane, crossing, source)
        try:
            yield crossing.head(head)
            if body is not None:
                if body:
                    yield crossing.segment(body)
                yield crossing.end(EOF)
        except BaseException as error:
            crossing.dropped(CANCELLED)
            if not isinstance(error, GeneratorExit):  # a coroutine that was cancelled in its turn has taken another one
                yield Work(getattr(source, self.family.close), crossing.enter())
            raise
        return response

    def _answer(self, crossing: Frozen) -> Steps[Any]:
        try:
            if crossing.form != "stream":
                raise http_exchange.revive(self.lane, (yield crossing.outcome()))
            stream = yield crossing.head()
        except BaseException:
            crossing.dropped()
            raise
        response = self.family.answered(stream, self.family.played(self.lane, crossing))
        if "read" in stream.head:
            with as_read(response, stream.head["read"]):
                yield Work(getattr(response, self.family.read))
        return response

    @contextmanager
    def _outgoing(self, crossing: Live, request: Any, body: bytes) -> Iterator[None]:
        """The request as it goes out: perhaps rewritten, or with the headers of the run's trace."""
        asked = str(request.url)
        out = going_out(crossing, asked, request.headers, body)
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
        content = request.__dict__.pop("_content", None)  # the body, once read: other libraries' transports send it
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
        noted = guarded(lane, lambda: (head_of(response), body_at_hand(family, response)))
        if noted is None:
            return None
        head, at_hand = noted
        if head["status"] == 101:
            lane.session.gap("upgraded connection", "a websocket or another protocol over httpx")
        if at_hand is None:
            return head, None
        head["read"] = at_hand[0]
        return head, at_hand[1]


class _SyncTransport(_CrossingTransport):
    """A crossing transport in synchronous colour."""

    __slots__ = ()

    def handle_request(self, request: Any) -> Any:
        return in_thread(self._exchange(request, b"".join(request.stream)))


class _AsyncTransport(_CrossingTransport):
    """A crossing transport in asynchronous colour."""

    __slots__ = ()

    async def handle_async_request(self, request: Any) -> Any:
        stream = request.stream
        at_hand = isinstance(stream, self.family.bytes_stream)
        body = b"".join(stream) if at_hand else b"".join([part async for part in stream])
        return await in_coroutine(self._exchange(request, body))


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


class _RecordedBody:
    """The body of a live response: each part is noted, then handed on."""

    raised: tuple[type[BaseException], ...] = http_exchange.RAISED

    def __init__(self, lane: Lane, crossing: Live, inner: Any) -> None:
        self._lane = lane
        self._crossing = crossing
        self._inner = inner

    def _part(self, source: Any, following: Callable[[], Any]) -> Steps[bytes | None]:
        """The next part in its turn; None at the end."""
        crossing = self._crossing
        try:
            part: bytes = yield Work(following, crossing.enter())
        except (StopIteration, StopAsyncIteration):
            yield crossing.end(EOF)
            return None
        except cancelled() as error:
            crossing.dropped(CANCELLED)
            yield Work(partial(self._leave, source))
            yield from rejoined(error)
            raise
        except self.raised as error:
            yield crossing.end(http_exchange.broken(self._lane, error))
            raise
        if part:
            yield crossing.segment(part)
        return part

    def _leave(self, source: Any) -> Any:
        """A source in a thread is left by ``close`` alone."""

    def __iter__(self) -> Iterator[bytes]:
        source = iter(self._inner)
        following = partial(next, source)
        try:
            while (part := in_thread(self._part(source, following))) is not None:
                yield part
        except GeneratorExit:
            self._crossing.dropped(CLOSED)
            raise
        except BaseException:
            self._crossing.dropped(CANCELLED)
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


class _RecordedAsync(_RecordedBody):
    """``_RecordedBody`` for coroutines."""

    raised = (Exception,)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        source = self._inner.__aiter__()
        try:
            while (part := await in_coroutine(self._part(source, source.__anext__))) is not None:
                yield part
        except GeneratorExit:
            self._crossing.dropped(CLOSED)
            await self._close(source)
            raise
        except BaseException:
            self._crossing.dropped(CANCELLED)
            raise
        await self._leave(source)

    async def _leave(self, source: Any) -> None:
        with self._crossing.enter():
            await _closing_of(source)

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


class _PlayedBody:
    """The body of a recorded response: the same parts, then the same end."""

    def __init__(self, lane: Lane, crossing: Frozen) -> None:
        self._lane = lane
        self._crossing = crossing

    def _given(self, part: bytes | End) -> bytes | None:
        if isinstance(part, bytes):
            return part
        if part.kind is EndKind.EOF:
            return None
        raise http_exchange.revive(self._lane, part)

    def __iter__(self) -> Iterator[bytes]:
        while (part := self._given(self._crossing.part().wait())) is not None:
            yield part

    def close(self) -> None:
        self._crossing.dropped()

    def __del__(self) -> None:
        self._crossing.dropped()


class _PlayedAsync(_PlayedBody):
    """``_PlayedBody`` for coroutines."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (part := self._given(await self._crossing.part())) is not None:
            try:
                yield part
            except GeneratorExit:
                await closed_again()
                raise

    async def aclose(self) -> None:
        self._crossing.dropped()
        await closed_again()
