"""The line to an MCP server: its opening, loss and closing; below it the real transport runs, or, in a replay, nothing.

It goes live when a message must pass through it: then the real transport is opened, with the arguments of the agent's
own code. It is closed with the line. A real transport lives in a task of its own, so that its failure reaches the agent
in turn. As without us, the failure cancels the agent's work inside the block, and its error leaves the block in an
exception group.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from reenact.abc.session import Crossing, Frozen, Live
from reenact.errors import UnreplayableRun
from reenact.facts.call import Call, Failure, Value
from reenact.seams.http import http_errors
from reenact.seams.lanes import Lane, backend, listening
from reenact.seams.mcp import mcp_messages
from reenact.seams.switchboard import answered, begin, telling
from reenact.seams.turns import rejoin
from reenact.seams.unfollowed_actions import refuse


@asynccontextmanager
async def connected(
    anyio: Any,
    describe: Callable[[], Call],
    real: Callable[[], AbstractAsyncContextManager[Any]],
    pretended: Callable[[], tuple[Any, tuple[Any, ...]]],
    load: Callable[[], object] = object,
) -> AsyncIterator[Any]:
    """A transport whose opening, failure and closing are crossings.

    Args:
        anyio: The module that ``mcp`` uses.
        describe: The call that opens it.
        real: Opens it.
        pretended: The streams that the agent gets in a replay, and the streams among them that have to be closed.
        load: Makes the objects that a live transport makes first, so that the classes of its exceptions are loaded in a
            replay.
    """
    lane = listening()
    if lane is not None and backend() is not None:
        refuse(lane, "MCP sessions are not recorded under trio", "this version follows them under asyncio")
        lane = None
    crossing = begin(lane, describe) if lane is not None else None
    if lane is None or crossing is None or crossing.mode == "rerun":
        async with real() as given:
            yield given
        return
    line = Line(lane, crossing, real, load)
    refused: Exception | None = None
    rest: tuple[Any, ...] = ()
    watching = anyio.CancelScope()
    try:
        async with anyio.create_task_group() as group:
            try:
                given = await line.open(group)
                if crossing.mode == "frozen":
                    given, rest = pretended()
                    line.feeds(given)
            except Exception as error:
                refused = error  # it is raised outside the group, which would wrap it
            else:
                group.start_soon(line.watch, watching, group.cancel_scope)
                try:
                    yield given
                    await line.close()
                except Exception:
                    await line.close()
                    raise
                finally:
                    watching.cancel()
    finally:
        line.forget()
        for each in rest:
            each.close()
        await rejoin()  # a live transport takes time to end
    if refused is not None:
        raise refused


class Line:
    """One transport of a session.

    Attributes:
        live: Whether the real one has been opened.

    Args:
        lane: The lane that opened it.
        crossing: The crossing of its opening.
        real: Opens it.
        load: Loads the classes of its exceptions.
    """

    def __init__(
        self,
        lane: Lane,
        crossing: Live | Frozen,
        real: Callable[[], AbstractAsyncContextManager[Any]],
        load: Callable[[], object],
    ) -> None:
        loop = asyncio.get_running_loop()
        self._lane = lane
        self._crossing = crossing
        self._real = real
        self.load = load
        self._ready: asyncio.Future[Any] = loop.create_future()
        self._closing: asyncio.Future[None] = loop.create_future()
        self._ended: asyncio.Future[Exception | None] = loop.create_future()
        self._failing: asyncio.Future[None] = loop.create_future()
        self._closed = False
        self._group: Any = None
        self._fed: list[Any] = []
        self._waits: dict[str, Crossing] = {}
        self.live = False

    @property
    def event(self) -> int:
        """The event that opened the line."""
        return self._crossing.event

    async def open(self, group: Any) -> Any:
        """Open the line. Gives what the real transport gives; None in a replay."""
        self._group = group
        return await answered(self._lane, self._crossing, self.go_live, _sealed, telling(self._lane, self._revealed))

    async def go_live(self) -> Any:
        """Open the real transport, unless it is open, and return its streams. Called while a call goes live."""
        if not self.live:
            self.live = True
            self._group.start_soon(self._host)
            for crossing in self._waits.values():
                go_live(crossing)
        return await asyncio.shield(self._ready)

    def feeds(self, given: Any) -> None:
        """Remember the receiver of messages: a stream, or a dispatcher that needs no stream."""
        fed = given[0] if isinstance(given, tuple) else given
        self._fed.append(fed)
        _open[id(fed)] = self

    def forget(self) -> None:
        """The transport feeds no stream any more."""
        for fed in self._fed:
            _open.pop(id(fed), None)

    async def _host(self) -> None:
        """The real transport, in a task below the session."""
        failed: Exception | None = None
        parting = 0
        try:
            async with self._real() as given:
                self.feeds(given)
                self._ready.set_result(given)
                try:
                    await self._closing
                except asyncio.CancelledError:  # without us, this would cancel the agent's own task
                    self._failing.set_result(None)
                    raise
                finally:
                    parting = 1
                    self._lane.gate.parts(1)
        except Exception as error:
            failed = error
        finally:
            self._lane.gate.parts(-parting)
            if failed is not None and not self._ready.done():
                self._ready.set_exception(failed)
                self._ready.exception()  # its waiter may be gone
            self._ready.cancel()
            if not self._ended.done():
                self._ended.set_result(failed)

    def _revealed(self, outcome: Value | Failure) -> Any:
        if isinstance(outcome, Failure):
            try:
                error = http_errors.rebuild(outcome.error)
            except UnreplayableRun:
                self.load()
                error = http_errors.rebuild(outcome.error)
            raise error

    async def watch(self, scope: Any, body: Any) -> None:
        """Cancel the block when the transport fails before it is closed, then raise the transport's error.

        Args:
            scope: Ends the watch.
            body: The scope of the block.
        """
        lane = listening() or self._lane
        with scope:
            await self._about(lane, "lost", self._lost)
            body.cancel()
            with type(scope)(shield=True):
                await self._about(lane, "failure", self._failure)

    async def _lost(self) -> None:
        await asyncio.shield(self._failing)

    async def _failure(self) -> None:
        failed = await asyncio.shield(self._ended)
        if failed is not None:
            raise _unwrapped(failed)

    async def close(self) -> None:
        """Close the transport, once."""
        if not self._closed:
            self._closed = True
            await self._about(self._lane, "disconnect", self._close)

    async def _close(self) -> None:
        if not self.live:
            return
        await self.settled()
        self._closing.set_result(None)
        await self._failure()

    async def settled(self) -> None:
        """Returns at once while the transport works; never if it fails, because the block is being cancelled then."""
        if self._failing.done():
            await asyncio.get_running_loop().create_future()

    async def _about(self, lane: Lane, what: str, perform: Callable[[], Awaitable[None]]) -> None:
        event = self._crossing.event
        crossing = begin(lane, lambda: mcp_messages.about_line(what, event))
        if crossing is None:
            await perform()
            return
        self._waits[what] = crossing
        if self.live:
            go_live(crossing)
        try:
            await answered(lane, crossing, perform, _sealed, telling(lane, self._revealed))
        finally:
            del self._waits[what]


def go_live(crossing: Crossing) -> None:
    """Perform a call that has not been answered yet."""
    if crossing.mode == "frozen":
        crossing.go_live()


_open: dict[int, Line] = {}
"""Open transports, by the identity of what they feed."""


def line_of(dispatcher: Any) -> Line | None:
    """The transport below a dispatcher, if it is one of these."""
    return _open.get(id(getattr(dispatcher, "_read_stream", dispatcher)))


def load(dispatcher: Any) -> None:
    """Load the classes of exceptions of the transport below a dispatcher, if it is one of these."""
    line = line_of(dispatcher)
    if line is not None:
        line.load()


async def settled(dispatcher: Any) -> None:
    """``Line.settled`` of the transport below a dispatcher, if it is one of these."""
    line = line_of(dispatcher)
    if line is not None:
        await line.settled()


def _sealed(_result: object, error: BaseException | None) -> Value | Failure:
    return Value(b"null") if error is None else Failure(http_errors.describe(error))


def _unwrapped(error: Exception) -> Exception:
    """The error inside the transport's own task group, because ours wraps it again."""
    if isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        return error.exceptions[0]
    return error
