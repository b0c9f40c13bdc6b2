"""Messages that a server begins, in order: put in by the live dispatcher, taken out by the agent's own strand."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from reenact.facts.call import Failure, Json, Value
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.values import decode, revealed
from reenact.seams.mcp.mcp_messages import sealed

Sort = Literal["request", "withdrawn", "notification", "progress", "fault", "closed", "failed"]
Progress = Callable[[float, float | None, str | None], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class InboxMessage:
    """One message that the server began.

    Attributes:
        sort: The sort: a ``request`` to the agent, a request that was ``withdrawn``, a ``notification``, ``progress``
            of a call, a ``fault`` of the transport, the connection being ``closed``, or the dispatcher having
            ``failed``.
        method: The method of a request or notification.
        params: Its parameters; for progress the callback's arguments; for a fault or failure the exception.
        id: The id of a request; for progress the event of the call.
        reply: The future on which the live dispatcher waits for the answer; None in a replay.
    """

    sort: Sort
    method: str = ""
    params: Any = None
    id: Json = None
    reply: asyncio.Future[tuple[bool, Any]] | None = None


def item_sealed(item: InboxMessage | None, error: BaseException | None) -> Value | Failure:
    """A message as an outcome."""
    if item is None or error is not None:
        return sealed(None, error)
    return sealed({"sort": item.sort, "method": item.method, "params": item.params, "id": item.id}, None)


def item_revealed(outcome: Value | Failure) -> InboxMessage:
    """A recorded message."""
    data: Any = decode(outcome.body) if isinstance(outcome, Value) else revealed(outcome)
    return InboxMessage(data["sort"], data["method"], data["params"], data["id"])


class Inbox:
    """Messages of one live session on their way to the agent; everything here runs in the session's own loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._items: deque[InboxMessage] = deque()
        self._wake: asyncio.Future[None] | None = None
        self._put = 0
        self._taken = 0
        self._in_hand = False
        self._draining: list[tuple[int, asyncio.Future[None]]] = []
        self.started: asyncio.Future[None] = self._loop.create_future()
        self.closed = False

    def put(self, item: InboxMessage) -> None:
        """Add a message."""
        self._items.append(item)
        self._put += 1
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def take(self) -> InboxMessage:
        """The next message, as soon as there is one."""
        while not self._items:
            self._wake = self._loop.create_future()
            await self._wake
        self._in_hand = True
        return self._items.popleft()

    def handed_over(self) -> None:
        """The message taken last has reached the agent's code. Does nothing for a recorded message."""
        if not self._in_hand:
            return
        self._in_hand = False
        self._taken += 1
        while self._draining and self._draining[0][0] <= self._taken:
            waiter = self._draining.pop(0)[1]
            if not waiter.done():
                waiter.set_result(None)

    async def drained(self) -> None:
        """Wait until everything that came so far has been handed over, as it would be on the wire."""
        if self._taken < self._put and not self.closed:
            waiter = self._loop.create_future()
            self._draining.append((self._put, waiter))
            await waiter

    def close(self) -> None:
        """Nothing is taken any more."""
        self.closed = True
        for _, waiter in self._draining:
            if not waiter.done():
                waiter.set_result(None)
        self._draining.clear()

    # --- what the live dispatcher calls, below the session -------------------------------------------------------

    async def request(self, context: Any, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """The dispatcher's ``on_request``: the agent answers, in a strand of its own."""
        reply: asyncio.Future[tuple[bool, Any]] = self._loop.create_future()
        self.put(InboxMessage("request", method, params, context.request_id, reply))
        try:
            well, answer = await reply
        except asyncio.CancelledError:
            self.put(InboxMessage("withdrawn", id=context.request_id))
            raise
        if not well:
            raise answer
        return answer  # type: ignore[no-any-return]

    def notification(self, method: str, params: Mapping[str, Any] | None) -> bool:
        """The dispatcher's ``on_notify_intercept``: takes every notification, in the order of the wire.

        A progress notification comes after the call of the progress callback, as it does without us."""
        item = InboxMessage("notification", method, params)
        if method == "notifications/progress":
            self._loop.call_soon(self.put, item)
        else:
            self.put(item)
        return True

    def progress_of(self, event: int) -> Progress:
        """A progress callback for the live dispatcher, for the call of this event."""

        async def progress(done: float, total: float | None, message: str | None) -> None:
            self.put(InboxMessage("progress", params=[done, total, message], id=event))

        return progress

    async def fault(self, error: Exception) -> None:
        """The dispatcher's ``on_stream_exception``."""
        self.put(InboxMessage("fault", params=error))


class StartingTask:
    """Stands for the task status of a live dispatcher."""

    __slots__ = ("_inbox",)

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    def started(self, _value: object = None) -> None:
        """The task accepts requests from now on."""
        if not self._inbox.started.done():
            self._inbox.started.set_result(None)
