"""A client session's dispatcher: each request is a crossing, and so is each message that the server begins.

``SeamDispatcher`` stands between the agent's ``ClientSession`` and its real dispatcher. While recording, the real
dispatcher works below the session, and its messages are passed to the agent in turn. In a replay no real dispatcher
works.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable, Mapping
from types import ModuleType
from typing import Any

from reenact.abc.session import Crossing, Session
from reenact.errors import UnreplayableRun
from reenact.facts.call import Call, Failure, Value
from reenact.facts.ids import tail
from reenact.facts.values import revealed
from reenact.seams.lanes import Lane, backend, listening
from reenact.seams.mcp import mcp_messages, server_line
from reenact.seams.mcp.going_live import GoingLive, SessionClosed
from reenact.seams.mcp.handshakes import Handshake
from reenact.seams.mcp.inbox import Inbox, InboxMessage, Progress, StartingTask, item_revealed, item_sealed
from reenact.seams.patching import replace
from reenact.seams.switchboard import across, answered, begin, guarded, telling
from reenact.seams.turns import rejoin

_log = logging.getLogger("mcp.shared.jsonrpc_dispatcher")
"""Where the real dispatcher reports what the agent's callbacks raise."""


def patch(module: ModuleType) -> None:
    """Hook ``ClientSession``; for a version without dispatchers, report that its sessions escape."""
    session = module.ClientSession
    names: Any = module
    if not hasattr(module, "JSONRPCDispatcher"):
        replace(session, "__init__", _naming)
        return

    def dispatcher(self: Any) -> SeamDispatcher:
        held = self.__dict__
        known = held.get("_reenact_dispatcher")
        if known is None and backend() is not None:  # another backend, whose line is not followed: unrecorded
            known = held["_reenact_dispatcher"] = held["_dispatcher"]
        if known is None:
            known = held["_reenact_dispatcher"] = SeamDispatcher(self, held["_dispatcher"], names)
        return known  # type: ignore[no-any-return]

    def give(self: Any, real: Any) -> None:
        self.__dict__["_dispatcher"] = real
        self.__dict__.pop("_reenact_dispatcher", None)

    def leaving(original: Any) -> Any:
        async def leave(self: Any, *exc: Any) -> Any:
            try:
                return await original(self, *exc)
            finally:
                await rejoin()  # how long a live dispatcher takes to end must not matter

        return leave

    session._dispatcher = property(dispatcher, give)  # on the class, so that sessions made earlier have it too
    replace(session, "__aexit__", leaving)


def _naming(original: Any) -> Any:
    def init(self: Any, *args: Any, **options: Any) -> None:
        lane = listening()
        if lane is not None:
            _gap(lane, "MCP session", "a client before version 2")
        original(self, *args, **options)

    return init


def _gap(lane: Lane, what: str, place: str) -> None:
    guarded(lane, lambda: lane.session.gap(what, place))


class Context:
    """The facts of a message for a callback of the session, beside its method and parameters.

    Args:
        request_id: The server's number of a request; None for a notification.
    """

    __slots__ = ("request_id",)

    can_send_request = False
    message_metadata = None
    transport = None

    def __init__(self, request_id: Any = None) -> None:
        self.request_id = request_id


class SeamDispatcher:
    """A dispatcher whose traffic is crossings.

    Args:
        session: The ``ClientSession`` it works for.
        real: The session's own dispatcher.
        names: The module of the session.
    """

    def __init__(self, session: Any, real: Any, names: Any) -> None:
        self._session = session
        self.real = real
        self._names = names
        self._anyio = names.anyio
        self._reveal = functools.partial(mcp_messages.revealed_to, names.MCPError)
        self._opened: tuple[Session, int] | None = None
        self._reads: set[str] = set()
        self._inbox: Inbox | None = None
        self._going: GoingLive | None = None
        self._over = False
        self.handshake = Handshake()
        self.receiving: Crossing | None = None
        self.progress: dict[int, Progress] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    @property
    def server(self) -> str:
        """The server's own name; empty before the server has given it."""
        result = getattr(self._session, "_initialize_result", None)
        told = getattr(self._session, "_discover_server_info", None) if result is None else result.server_info
        return "" if told is None else str(told.name)

    @property
    def is_live(self) -> bool:
        """Whether messages that the server begins come from the world."""
        return self._going is not None and self._going.is_live

    def _begun_at(self, lane: Lane) -> int:
        """The event that this session began with in the run of a lane; -1 where it began outside the run."""
        return self._opened[1] if self._opened is not None and self._opened[0] is lane.session else -1

    def _request(self, lane: Lane, method: str, params: Mapping[str, Any] | None) -> Call:
        return mcp_messages.request(method, params, self._begun_at(lane), self.server, self._reads)

    # --- what the client begins --------------------------------------------------------------------------------

    async def send_raw_request(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> dict[str, Any]:
        """Send a request and wait for its result."""
        lane = listening()
        crossing = begin(lane, lambda: self._request(lane, method, params)) if lane is not None else None
        if lane is None or crossing is None or crossing.mode == "rerun":
            return await self.real.send_raw_request(method, params, opts)  # type: ignore[no-any-return]
        if crossing.mode == "live" and self._going is not None:
            self._going.announce()
        event = crossing.event
        progress = (opts or {}).get("on_progress")
        if progress is not None:
            self.progress[event] = progress
        try:
            perform = functools.partial(self._sent, lane, event, method, params, opts)
            result: dict[str, Any] = await answered(
                lane, crossing, perform, mcp_messages.sealed, telling(lane, self._reveal)
            )
        finally:
            self.progress.pop(event, None)
        self.handshake.keep(method, params, opts, result)
        if method == mcp_messages.LIST:
            self._reads |= mcp_messages.reading_tools(result)
        return result

    async def _sent(self, lane: Lane, event: int, method: str, params: Any, opts: Any) -> dict[str, Any]:
        """Make the live request. Messages that the server began before its answer reach the agent before the answer."""
        inbox = self._inbox if self._begun_at(lane) >= 0 else None
        if opts and opts.get("on_progress") is not None:
            if inbox is None:
                _gap(lane, "MCP progress callback", "a session that began outside the run")
            else:
                opts = {**opts, "on_progress": inbox.progress_of(event)}
        if opts and opts.get("on_resumption_token") is not None:
            _gap(lane, "MCP resumption token callback", method)
        await self._require_live(lane)
        try:
            result: dict[str, Any] = await self.real.send_raw_request(method, params, opts)
        except Exception:
            await server_line.settled(self.real)
            if inbox is not None:
                await inbox.drained()
            raise
        if inbox is not None:
            await inbox.drained()
        return result

    async def _require_live(self, lane: Lane) -> None:
        """Go live before a message passes through this session: its server may not run yet."""
        if self._going is None or self._going.done:
            return
        try:
            if self._over:
                raise SessionClosed
            if self._begun_at(lane) < 0:
                raise ConnectionError("it began in another run, such as that of the process that serves a request")
            await self._going.require(lane)
        except SessionClosed:
            raise self._names.MCPError(code=mcp_messages.CLOSED, message="Connection closed") from None
        except Exception as error:
            name = self.server or "the MCP server"
            raise lane.session.cannot_go_on(
                f"the session with {name} cannot go on live: {type(error).__name__}: {error}",
                cause="the recording has answered it so far, and its server is not there, or takes no client",
                next_command=f"reenact show {tail(lane.session.run.id)}",
            ) from error

    def speaks_through(self, given: Any) -> None:
        """Give the dispatcher, which has not worked yet, the transport that was opened for it."""
        if isinstance(given, tuple):
            self.real._read_stream, self.real._write_stream = given[:2]
        else:
            self.real = given

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None:
        """Send a notification."""
        lane = listening()
        if lane is None:
            await self.real.notify(method, params, opts)
            return
        known: Lane = lane

        async def perform() -> None:
            await self._require_live(known)
            await self.real.notify(method, params, opts)

        crossing = begin(lane, lambda: self._request(known, method, params))
        if crossing is None:
            await self.real.notify(method, params, opts)
            return
        if crossing.mode == "live" and self._going is not None:
            self._going.announce()
        elif self.is_live:  # a notification has no answer, and a live server must get it
            server_line.go_live(crossing)
        await answered(lane, crossing, perform, mcp_messages.sealed, revealed)
        self.handshake.keep(method, params, opts)

    # --- what the server begins --------------------------------------------------------------------------------

    async def run(
        self, on_request: Any, on_notify: Any, on_notify_intercept: Any = None, *, task_status: Any = None
    ) -> None:
        """Carry messages until the connection closes."""
        status = task_status if task_status is not None else self._anyio.TASK_STATUS_IGNORED
        lane = listening()
        line = server_line.line_of(self.real)
        over = line.event if line is not None else None
        crossing = begin(lane, lambda: mcp_messages.begun(over)) if lane is not None else None
        if lane is None or crossing is None or crossing.mode == "rerun":
            await self.real.run(on_request, on_notify, on_notify_intercept, task_status=status)
            return
        inbox = Inbox()
        carrier = _Carrier(lane, crossing.event, self, (on_request, on_notify, on_notify_intercept))
        try:
            async with self._anyio.create_task_group() as group:
                self._going = going = GoingLive(self, group, inbox, line)
                if line is not None and line.live:
                    server_line.go_live(crossing)
                await answered(lane, crossing, going.begin, mcp_messages.nothing_sealed, revealed)
                self._opened = (lane.session, crossing.event)
                self._inbox = inbox
                status.started()
                await carrier.carry(inbox, group)
                group.cancel_scope.cancel()
        finally:
            self._over = True
            inbox.close()

    async def work(self, inbox: Inbox) -> None:
        """The real dispatcher, below the session."""
        if getattr(self.real, "on_stream_exception", None) is not None:
            self.real.on_stream_exception = inbox.fault
        try:
            await self.real.run(inbox.request, _nothing, inbox.notification, task_status=StartingTask(inbox))
        except Exception as error:
            if inbox.started.done():
                inbox.put(InboxMessage("failed", params=error))
            else:
                inbox.started.set_exception(error)
        else:
            await server_line.settled(self.real)
            inbox.put(InboxMessage("closed"))


async def _nothing(*_: Any) -> None:
    """Do nothing: every notification has been taken before."""


class _Carrier:
    """Hands the messages that the server begins to the agent's code, one message a turn.

    Args:
        lane: The strand that carries.
        of: Event the session began with.
        session: Knows the waiters for progress and the name of the server.
        callbacks: The session's ``on_request``, ``on_notify`` and ``on_notify_intercept``.
    """

    def __init__(self, lane: Lane, of: int, session: SeamDispatcher, callbacks: tuple[Any, Any, Any]) -> None:
        self._lane = lane
        self._of = of
        self._session = session
        self._answering: dict[Any, Any] = {}
        self._on_request, self._on_notify, self._intercept = callbacks
        self._on_fault: Callable[[Exception], Awaitable[None]] | None = getattr(
            session.real, "on_stream_exception", None
        )

    async def carry(self, inbox: Inbox, group: Any) -> None:
        """Hand over messages until the connection closes."""
        while True:
            item = await self._next(inbox)
            if item.sort == "closed":
                return
            if item.sort == "failed":
                raise item.params
            await self._hand_over(item, group)
            inbox.handed_over()

    async def _next(self, inbox: Inbox) -> InboxMessage:
        """The next message: from the recording, as long as nothing of the session is live."""
        lane = self._lane
        crossing = begin(lane, functools.partial(mcp_messages.next_message, self._of))
        if crossing is None:
            return await inbox.take()
        self._session.receiving = crossing
        if self._session.is_live:
            server_line.go_live(crossing)
        return await answered(lane, crossing, inbox.take, item_sealed, telling(lane, self._revealed))

    def _revealed(self, outcome: Value | Failure) -> InboxMessage:
        try:
            return item_revealed(outcome)
        except UnreplayableRun:  # an error class that is not loaded, because no transport was opened
            server_line.load(self._session.real)
            return item_revealed(outcome)

    async def _hand_over(self, item: InboxMessage, group: Any) -> None:
        session = self._session
        if item.sort == "request":
            scope = session._anyio.CancelScope()
            self._answering[item.id] = scope
            group.start_soon(self._answer, item, scope)
        elif item.sort == "withdrawn":
            scope = self._answering.pop(item.id, None)
            if scope is not None:
                scope.cancel()
        elif item.sort == "progress":
            told = session.progress.get(item.id)
            if told is not None:
                group.start_soon(self._contained, "progress callback raised", told, *item.params)
        elif item.sort == "fault":
            if self._on_fault is not None:
                await self._contained("on_stream_exception observer raised", self._on_fault, item.params)
        elif not self._intercepted(item):
            words = f"notification handler for {item.method!r} raised"
            group.start_soon(self._contained, words, self._on_notify, Context(), item.method, item.params)

    def _intercepted(self, item: InboxMessage) -> bool:
        if self._intercept is None:
            return False
        try:
            return bool(self._intercept(item.method, item.params))
        except Exception:
            _log.exception("notification intercept raised; passing %r through", item.method)
            return False

    @staticmethod
    async def _contained(words: str, callback: Callable[..., Awaitable[Any]], *args: Any) -> None:
        """Calls a callback of the agent. An exception is logged, as the real dispatcher does it."""
        try:
            await callback(*args)
        except Exception:
            _log.exception(words)

    async def _answer(self, item: InboxMessage, scope: Any) -> None:
        """Let the agent answer a request; the answer goes to the live dispatcher, or is compared."""
        reply: tuple[bool, Any] | None = None
        try:
            with scope:
                reply = await self._answered(item)
        finally:
            if self._answering.get(item.id) is scope:
                del self._answering[item.id]
            if item.reply is not None and not item.reply.done():
                if reply is None:
                    item.reply.cancel()
                else:
                    item.reply.set_result(reply)

    async def _answered(self, item: InboxMessage) -> tuple[bool, Any]:
        lane = listening()
        context = Context(item.id)

        async def perform() -> Any:
            return await self._on_request(context, item.method, item.params)

        try:
            if lane is None:
                return True, await perform()
            describe = functools.partial(
                mcp_messages.asked_by_server, item.method, item.params, self._of, self._session.server
            )
            return True, await across(lane, describe, perform, mcp_messages.sealed, revealed)
        except Exception as error:
            return False, error
