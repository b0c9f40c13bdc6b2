"""An ASGI application whose requests are runs; its start-up belongs to the run of the process."""

from __future__ import annotations

import asyncio
import json
import weakref
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from reenact.facts.call import Call, Effect, Failure, Kind, Value
from reenact.facts.served_requests import LIFESPAN, REQUEST_RULE, request_call
from reenact.seams import lanes
from reenact.seams.servers.hosting import Application, Host, Receive, RequestRun, Scope, Send, host
from reenact.seams.servers.served_exchange import Exchange
from reenact.seams.switchboard import across, guarded


class AsgiWrapper:
    """Wraps an application as a server calls it.

    Attributes:
        application: The application, with the server's own middleware.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["application"], name)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI 3."""
        serving = host()
        kind = scope.get("type")
        if serving is None:
            await self.application(scope, receive, send)
        elif kind != LIFESPAN and serving.ignores(str(scope.get("method", "GET")), str(scope.get("path", "/"))):
            with lanes.inside(None):
                await self.application(scope, receive, send)
        elif kind == "http":
            await self._http(serving, scope, receive, send)
        else:
            with _strand(serving, str(kind)):
                if kind == LIFESPAN:
                    receive = _told(receive)
                else:
                    serving.preamble.session.gap("connections served that are no runs of their own", str(kind))
                await self.application(scope, receive, send)

    async def _http(self, serving: Host, scope: Scope, receive: Receive, send: Send) -> None:
        request = serving.request(scope)
        if request is None:
            with lanes.inside(None):
                await self.application(scope, receive, send)
            return
        request.enter()
        exchange: Exchange | None = None
        try:
            exchange = _exchange(request, scope, receive, send)
            if exchange is None:
                await self.application(scope, receive, send)
            else:
                await exchange.run(self.application, scope)
        except BaseException as error:
            await request.left(error, exchange.answer.status if exchange is not None else None)
            raise
        await request.left(None, exchange.answer.status if exchange is not None else None)


def _exchange(request: RequestRun, scope: Scope, receive: Receive, send: Send) -> Exchange | None:
    """The exchange; None where it cannot be recorded: then the application answers unrecorded."""
    return guarded(request.lane, lambda: Exchange(request.lane, request_call(scope), receive, send))


def _told(receive: Receive) -> Receive:
    """``receive`` of a lifespan: the messages of start-up and shutdown come in turn like all others."""

    async def arriving() -> Value:
        with lanes.inside(None):
            message = await receive()
        return Value(json.dumps(message.get("type")).encode())

    async def told() -> Any:
        lane = lanes.listening()
        if lane is None:
            return await receive()
        call = Call(Kind.INPUT, LIFESPAN, Effect.READ, REQUEST_RULE)
        value = await across(lane, lambda: call, arriving, lambda value, _: value or Value(b"null"), _value)
        return {"type": json.loads(value.body)}

    return told


def _value(outcome: Value | Failure) -> Value:
    return outcome if isinstance(outcome, Value) else Value(b"null")


def _strand(serving: Host, name: str) -> AbstractContextManager[None]:
    """Make the calling task a strand of the process's own run."""
    try:
        lane = serving.preamble.child(name)
        task = asyncio.current_task()
        if task is not None:
            lane.unit = weakref.ref(task)
        return lanes.inside(lane)
    except Exception as error:
        if serving.preamble.session.fault(error):
            raise
        return nullcontext()
