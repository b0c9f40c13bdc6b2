"""The core of one call in gRPC's asyncio API, with the methods and attributes of the library's core in C.

Decisions of the agent's side (cancelling, its callbacks) take effect here as they do in that core. All data from the
world arrives through the session: the answer, each message, the status, and the notice that the request's metadata or a
message was sent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from reenact.abc.session import Frozen, Live
from reenact.facts.call import Call, End
from reenact.seams.http import http_exchange
from reenact.seams.http.http_exchange import CANCELLED, CLOSED, EOF
from reenact.seams.lanes import listening
from reenact.seams.rpc.rpc_calls import (
    Pairs,
    address,
    ask_async,
    beneath,
    framed,
    further,
    pairs,
    raw,
    start,
    traced,
    unframed,
)
from reenact.seams.rpc.status import RpcStatus, answer, initial_of, opening, status_from, status_in, status_of
from reenact.seams.turns import rejoin_cancelled


class CallCore:
    """A call that is being made, live or recorded.

    Args:
        cygrpc: The library's C module.
        make: Makes the library's own core of this call.
        loop: The channel's loop.
        deadline: In seconds of the agent's clock; None without one.
        target: The target of the channel.
        method: The method of the call.
    """

    def __init__(
        self, cygrpc: Any, make: Callable[[], Any], loop: Any, deadline: float | None, target: Any, method: bytes
    ) -> None:
        self._cygrpc = cygrpc
        self._make = make
        self._real: Any = None
        self._loop = loop
        self._deadline = deadline
        self._url = address(target, method)
        self._crossing: Live | Frozen | None = None
        self._over = False
        self._watch: asyncio.Task[None] | None = None
        self._status: Any = None
        self._initial_metadata: Any = None
        self._cancelled_here = False
        self._callbacks: list[Callable[[], None]] = []
        self._status_waiters: list[asyncio.Future[None]] = []
        self._initial_waiters: list[asyncio.Future[None]] = []

    def __del__(self) -> None:
        crossing = self._crossing
        if crossing is None or self._over:
            return
        if crossing.mode == "live":
            crossing.dropped(CANCELLED if self._cancelled_here else CLOSED)
        else:
            crossing.dropped()

    def __repr__(self) -> str:
        if self._status is None:
            return "<_AioCall object>"
        status = self._status
        named = f"StatusCode.{self._cygrpc.StatusCode(status.code()).name.upper()}"
        # the library's own text, in which code and details are swapped
        return (
            f"<_AioCall of RPC that terminated with:\n\tstatus = {status.details()}\n"
            f'\tdetails = "{named}"\n\tdebug_error_string = "{status.debug_error_string()}"\n>'
        )

    # --- what the agent's side knows and decides ---------------------------------------------------------------

    def done(self) -> bool:
        """Whether the status is known."""
        return self._status is not None

    def cancelled(self) -> bool:
        """Whether the status is that of a cancelled call."""
        return self._status is not None and self._status.code() == self._cygrpc.StatusCode.cancelled

    def is_ok(self) -> bool:
        """Whether the call ended well."""
        return self._status is not None and self._status.code() == self._cygrpc.StatusCode.ok

    def is_locally_cancelled(self) -> bool:
        """Whether the agent cancelled the call."""
        return self._cancelled_here

    def time_remaining(self) -> float | None:
        """Seconds until the deadline, by the agent's clock."""
        return None if self._deadline is None else max(0, self._deadline - time.time())

    def add_done_callback(self, callback: Callable[[], None]) -> None:
        """Call a function when the status is known."""
        if self.done():
            callback()
        else:
            self._callbacks.append(callback)

    def cancel(self, details: str) -> None:
        """Cancel the call, on the agent's side."""
        self._cancelled_here = True
        self._set_status(self._cygrpc.AioRpcStatus(self._cygrpc.StatusCode.cancelled, details, None, None))
        if self._watch is not None:
            self._watch.cancel()
        if self._real is not None:
            lane = listening()
            if lane is None:
                self._real.cancel(details)
            else:
                with beneath(lane):
                    self._real.cancel(details)

    def set_internal_error(self, words: str) -> None:
        """The library found an error of its core."""
        internal = self._cygrpc.StatusCode.internal
        self._set_status(self._cygrpc.AioRpcStatus(internal, "Internal error from Core", (), words))

    async def status(self) -> Any:
        """The status, once it is known."""
        if self._status is None:
            waiter = self._loop.create_future()
            self._status_waiters.append(waiter)
            await waiter
        return self._status

    async def initial_metadata(self) -> Any:
        """The initial metadata, once it is known."""
        if self._initial_metadata is None:
            waiter = self._loop.create_future()
            self._initial_waiters.append(waiter)
            await waiter
        return self._initial_metadata

    def _set_status(self, status: Any) -> None:
        self._status = status
        if self._initial_metadata is None:
            self._set_initial([])
        waiters, self._status_waiters = self._status_waiters, []
        _wake(waiters)
        for callback in self._callbacks:
            callback()

    def _set_initial(self, metadata: Pairs) -> None:
        if self._initial_metadata is None:
            self._initial_metadata = raw(metadata)
            waiters, self._initial_waiters = self._initial_waiters, []
            _wake(waiters)

    def _know(self, status: RpcStatus) -> None:
        """Note the status from the world, unless the agent has cancelled the RPC."""
        if self._cancelled_here:
            return
        code = getattr(self._cygrpc.StatusCode, status.code.lower())
        trailing = None if status.trailing is None else raw(status.trailing)
        self._set_status(self._cygrpc.AioRpcStatus(code, status.details, trailing, status.debug))

    # --- a single answer ---------------------------------------------------------------------------------------

    async def unary_unary(self, request: bytes, metadata: Any, context: Any = None) -> bytes | None:
        """The whole call."""
        crossing = self._begin(lambda: start(self._url, "unary_unary", metadata, request))
        if crossing is not None and crossing.mode == "frozen":
            return await self._answered(crossing)
        real = await self._begun(crossing)
        metadata = traced(crossing, metadata)
        return await self._performed(crossing, real, lambda: real.unary_unary(request, metadata, context))

    async def stream_unary(self, metadata: Any, sent: Callable[[], None], context: Any = None) -> bytes | None:
        """The call without its requests; ``sent`` is called once they may be sent."""
        crossing = self._begin(lambda: start(self._url, "stream_unary", metadata, b""))
        if crossing is not None and crossing.mode == "frozen":
            await self._opened(None)
            sent()
            return await self._answered(crossing)
        real = await self._begun(crossing)
        metadata = traced(crossing, metadata)
        under_way = _UnderWay(self._loop, lambda open_: real.stream_unary(metadata, open_, context))
        await self._opened(under_way)
        sent()
        return await self._performed(crossing, real, under_way.ended)

    async def _performed(self, crossing: Live | None, real: Any, perform: Callable[[], Any]) -> bytes | None:
        try:
            if crossing is None:
                message = await perform()
                initial, status = await _ended(self._cygrpc, real)
            else:
                with crossing.enter():
                    message = await perform()
                    initial, status = await _ended(self._cygrpc, real)
        except BaseException as error:
            await self._failed(crossing, error)
            raise
        if crossing is not None:
            await crossing.head(answer(initial, status))
            if message is not None:
                await crossing.segment(framed(message))
            await crossing.end(EOF)
        self._over = True
        self._set_initial(initial)
        self._know(status)
        return message  # type: ignore[no-any-return]

    async def _answered(self, crossing: Frozen) -> bytes | None:
        if crossing.form == "failure":
            raise await self._refusal(crossing)
        head = (await crossing.head()).head
        part = await crossing.part()
        message = None if isinstance(part, End) else unframed(part)
        if message is not None:
            await crossing.part()
        self._over = True
        self._set_initial(initial_of(head))
        self._know(status_in(head))
        return message

    # --- a stream of answers -----------------------------------------------------------------------------------

    async def initiate_unary_stream(self, request: bytes, metadata: Any, context: Any = None) -> None:
        """Send the request; returns when the initial metadata has come."""
        crossing = self._begin(lambda: start(self._url, "unary_stream", metadata, request))
        if crossing is not None and crossing.mode == "frozen":
            self._watch_status()
            await self._head_played(crossing)
            return
        real = await self._begun(crossing)
        metadata = traced(crossing, metadata)
        self._watch_status()
        await self._initiated(crossing, real, lambda: real.initiate_unary_stream(request, metadata, context))

    async def initiate_stream_stream(self, metadata: Any, sent: Callable[[], None], context: Any = None) -> None:
        """Open both streams; ``sent`` is called once requests may be sent."""
        crossing = self._begin(lambda: start(self._url, "stream_stream", metadata, b""))
        if crossing is not None and crossing.mode == "frozen":
            self._watch_status()
            await self._opened(None)
            sent()
            await self._head_played(crossing)
            return
        real = await self._begun(crossing)
        metadata = traced(crossing, metadata)
        under_way = _UnderWay(self._loop, lambda open_: real.initiate_stream_stream(metadata, open_, context))
        self._watch_status()
        await self._opened(under_way)
        sent()
        await self._initiated(crossing, real, under_way.ended)

    async def _initiated(self, crossing: Live | None, real: Any, perform: Callable[[], Any]) -> None:
        try:
            if crossing is None:
                await perform()
                initial = await real.initial_metadata()
            else:
                with crossing.enter():
                    await perform()
                    initial = await real.initial_metadata()
        except BaseException as error:
            await self._failed(crossing, error)
            raise
        initial = pairs(initial)
        if crossing is not None:
            await crossing.head(opening(initial))
        self._set_initial(initial)

    async def _head_played(self, crossing: Frozen) -> None:
        if crossing.form == "failure":
            raise await self._refusal(crossing)
        self._set_initial(initial_of((await crossing.head()).head))

    async def receive_serialized_message(self) -> Any:
        """The next message, or the library's mark of the end."""
        crossing = self._crossing
        if crossing is None:
            return await self._real.receive_serialized_message()
        if self._over:
            return self._cygrpc.EOF
        if crossing.mode == "frozen":
            part = await crossing.part()
            if not isinstance(part, End):
                return unframed(part)
        else:
            try:
                with crossing.enter():
                    message = await self._real.receive_serialized_message()
            except BaseException as error:
                await self._failed(crossing, error)
                raise
            if message is not self._cygrpc.EOF:
                await crossing.segment(framed(message))
                return message
            await crossing.end(EOF)
        self._over = True
        return self._cygrpc.EOF

    def _watch_status(self) -> None:
        """Watch for the status in a task of the agent's. The library itself does it in a task of its own."""
        self._watch = self._loop.create_task(self._grpc_status())

    async def _grpc_status(self) -> None:
        real = self._real

        async def perform() -> Any:
            return (await _ended(self._cygrpc, real))[1].facts()

        self._know(status_from(await self._ask("status", perform)))

    # --- requests ----------------------------------------------------------------------------------------------

    async def send_serialized_message(self, message: bytes) -> None:
        """Send one message of a stream of requests."""
        real = self._real
        await self._ask("send", lambda: real.send_serialized_message(message), message)

    async def send_receive_close(self) -> None:
        """Say that no request follows."""
        await self._ask("close", self._close)

    async def _close(self) -> None:
        await self._real.send_receive_close()

    async def _opened(self, under_way: _UnderWay | None) -> None:
        """Wait until requests may be sent."""
        try:
            await self._ask("open", lambda: under_way.opened() if under_way is not None else None)
        except BaseException as error:
            if under_way is not None:
                under_way.cancel()
            crossing = self._crossing
            if crossing is not None and crossing.mode == "live":
                await self._failed(crossing, error)
            raise

    # --- crossings ---------------------------------------------------------------------------------------------

    def _begin(self, describe: Callable[[], Call]) -> Live | Frozen | None:
        lane = listening()
        self._crossing = None if lane is None else http_exchange.begin(lane, describe)
        return self._crossing

    async def _begun(self, crossing: Live | None) -> Any:
        """The library's own core, made when the call may be performed."""
        if crossing is None:
            self._real = self._make()
        else:
            await crossing.ready()
            with crossing.enter():
                self._real = self._make()
        return self._real

    async def _failed(self, crossing: Live | None, error: BaseException) -> None:
        """Keep the exception that performing the call raised, as the outcome of the call."""
        if crossing is None:
            return
        self._over = True
        lane = listening()
        outcome = http_exchange.failure(lane, error) if lane is not None and isinstance(error, Exception) else None
        if outcome is not None:
            await crossing.settle(outcome)
            return
        crossing.dropped(CANCELLED)
        await rejoin_cancelled(error)

    async def _refusal(self, crossing: Frozen) -> BaseException:
        """The exception that the library raised in place of an answer."""
        self._over = True
        outcome = await crossing.outcome()
        lane = listening()
        assert lane is not None  # a call with a recorded answer belongs to a session
        return http_exchange.revive(lane, outcome)

    async def _ask(self, what: str, perform: Callable[[], Any], message: bytes | None = None) -> Any:
        crossing = self._crossing
        if crossing is None:
            return await perform()
        event = crossing.event
        return await ask_async(lambda: further(self._url, what, event, message), perform)


class _UnderWay:
    """A coroutine of the library's core, below the seam. It reports when requests may be sent, before it ends.

    Args:
        loop: The loop it runs in.
        perform: Makes the coroutine, with the function that it calls when requests may be sent.
    """

    def __init__(self, loop: Any, perform: Callable[[Callable[[], None]], Any]) -> None:
        self._open = loop.create_future()
        self._perform = perform
        self._loop = loop
        self._task: asyncio.Task[Any] | None = None

    async def opened(self) -> None:
        """Begin the coroutine, and wait until requests may be sent."""
        self._task = self._loop.create_task(self._run())
        await self._open

    async def _run(self) -> Any:
        try:
            return await self._perform(self._middle)
        finally:
            self._middle()

    def _middle(self) -> None:
        if not self._open.done():
            self._open.set_result(None)

    async def ended(self) -> Any:
        """Wait for the end of the coroutine."""
        assert self._task is not None
        return await self._task

    def cancel(self) -> None:
        """Cancel the coroutine, which has no waiter any more."""
        if self._task is not None:
            self._task.cancel()


def _wake(waiters: list[asyncio.Future[None]]) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)


async def _ended(cygrpc: Any, real: Any) -> tuple[Pairs, RpcStatus]:
    """The initial metadata and the status of a call of the library's, once it has ended."""
    status = await real.status()
    code = cygrpc.StatusCode(status.code()).name.upper()
    found = status_of(code, status.details(), status.trailing_metadata(), status.debug_error_string())
    return pairs(await real.initial_metadata()), found
