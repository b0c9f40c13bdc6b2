"""One served exchange: the request is a crossing that the application reads, and the response is a crossing that is
compared.

Incoming parts (the head, each piece of the body, the client's disconnect) are handed over in turn, live or recorded. So
the application meets them in the same order relative to everything else. Outgoing parts pass at once.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Mapping
from typing import Any

from reenact.abc.session import Frozen, Live
from reenact.facts.call import Call, Effect, End, EndKind, ErrorFact, Failure, Kind, Value
from reenact.facts.served_requests import GONE, REQUEST_RULE, ServedResponse
from reenact.facts.values import describe_error
from reenact.seams import lanes
from reenact.seams.gate import Gate, near
from reenact.seams.lanes import Lane, listening
from reenact.seams.servers.hosting import Application, Receive, Scope, Send
from reenact.seams.strands import loops, uvloop_hooks
from reenact.seams.suspension import Suspension
from reenact.seams.switchboard import across, begin, guarded
from reenact.seams.turns import rejoin, rejoin_cancelled

_GONE_TYPE = "http.disconnect"
_GONE_ERROR = "reenact.ClientDisconnect"


class Exchange:
    """Stands between a server and its application for one request.

    Args:
        lane: Root of the request's run.
        call: The request (``facts.served_requests.request_call``), or the recorded one.
        receive: The server's ``receive``; never called in a replay.
        send: The server's ``send``; in a replay, one that does nothing.
        pieces: The number of pieces of the complete recorded body; -1 where it is incomplete, or live.
    """

    def __init__(self, lane: Lane, call: Call, receive: Receive, send: Send, pieces: int = -1) -> None:
        self.answer = ServedResponse()
        self._lane = lane
        self._receive = receive
        self._send = send
        self._body_over = False
        self._pending: Any = None
        self._message: Mapping[str, Any] | None = None
        self._notes: list[Callable[[], Any]] = []
        self._piece: bytes | None = None
        self._left = pieces
        self._waits = False
        crossing = begin(lane, lambda: call)
        self._crossing: Live | Frozen | None = None if crossing is None or crossing.mode == "rerun" else crossing
        self._headers = call.head.get("headers") or []

    async def run(self, application: Application, scope: Scope) -> None:
        """Let the application answer. Raises its exceptions."""
        self._share(self._lane.gate)
        crossing = self._crossing
        if crossing is not None:
            await (crossing.head({"headers": self._headers}) if crossing.mode == "live" else crossing.head())
        try:
            await application(scope, self.receive, self.send)
        except Exception as error:
            self._over(error)
            raise
        except BaseException:  # cancelled, or stopped: the answer is not complete
            self._unread()
            raise
        self._over(None)

    def _share(self, gate: Gate) -> None:
        """Share the loop with other requests: this run rests when nothing of its own is ready there."""
        gate.shared = True
        near.set(gate)  # in the task's context, which its strands inherit
        loop = asyncio.get_running_loop()
        loops.watch(loop, gate)
        uvloop_hooks.watch(loop, gate)

    def _over(self, error: Exception | None) -> None:
        """Note the answer."""
        session = self._lane.session
        try:
            self._unread()
            crossing = begin(self._lane, self.answer.call)
            if crossing is not None and crossing.mode != "frozen":
                crossing.settle(Value(b"null") if error is None else Failure(describe_error(error)))
        except Exception as fault:
            if session.fault(fault):
                raise

    def _unread(self) -> None:
        """The application reads no further. A reader may still wait for a message that never comes (for the client's
        disconnect, while the answer is streamed). That is recorded, so that the reader waits in a replay too."""
        crossing = self._crossing
        if crossing is None or self._body_over:
            return
        self._body_over = True
        if crossing.mode == "live":
            crossing.dropped(End(EndKind.CANCELLED if self._waits else EndKind.CLOSED))
        else:
            crossing.dropped()

    # --- what arrives ------------------------------------------------------------------------------------------

    async def receive(self) -> Mapping[str, Any]:
        """ASGI's ``receive``."""
        crossing = self._crossing
        if crossing is None:
            return await self._beside()
        if self._body_over:
            return await self._gone()
        if crossing.mode == "frozen":
            return await self._recorded(crossing)
        return await self._arriving(crossing)

    async def _arriving(self, crossing: Live) -> Mapping[str, Any]:
        """The next message.

        If its receiver is cancelled while it waits for its turn, the message is kept for the next receiver: the server
        will not hand it out again."""
        self._waits = True
        if self._message is None:
            try:
                message = await self._beside()
            except asyncio.CancelledError as error:
                await rejoin_cancelled(error)
                raise
            self._message, self._notes = message, _notes(crossing, message)
        while self._notes:
            if self._pending is None:
                self._pending = self._notes[0]()
            await self._pending
            self._pending = None
            del self._notes[0]
        arrived, self._message = self._message, None
        self._waits = False
        self._body_over = arrived.get("type") == _GONE_TYPE or not arrived.get("more_body", False)
        return arrived

    async def _recorded(self, crossing: Frozen) -> Mapping[str, Any]:
        """The next piece; the last piece comes with the end. A piece that a cancelled receiver left is used again."""
        if self._piece is None:
            part = await self._turn(crossing)
            if isinstance(part, End):
                self._body_over = True
                if part.kind is EndKind.ERROR:
                    return {"type": _GONE_TYPE}
                return {"type": "http.request", "body": b"", "more_body": False}
            self._piece = part
        if self._left == 0:
            await self._turn(crossing)
            self._body_over = True
        piece, self._piece = self._piece, None
        return {"type": "http.request", "body": piece, "more_body": not self._body_over}

    async def _turn(self, crossing: Frozen) -> bytes | End:
        if self._pending is None:
            self._pending = crossing.part()
        part: bytes | End = await self._pending
        self._pending = None
        self._left -= isinstance(part, bytes)
        return part

    async def _gone(self) -> Mapping[str, Any]:
        """The only message after the body: the exchange is over, or the client has gone."""
        lane = listening()
        if lane is None:
            return await self._beside()

        call = Call(Kind.INPUT, GONE, Effect.READ, REQUEST_RULE)
        return await across(
            lane, lambda: call, self._beside, lambda _, __: Value(b"null"), lambda _: {"type": _GONE_TYPE}
        )

    async def _beside(self) -> Mapping[str, Any]:
        """A block of the server's own code, without a session."""
        with lanes.inside(None):
            message: Mapping[str, Any] = await self._receive()
            return message

    # --- what is sent ------------------------------------------------------------------------------------------

    async def send(self, message: Mapping[str, Any]) -> None:
        """ASGI's ``send``. If the world made the application wait, it takes a turn before it goes on."""
        session = self._lane.session
        guarded(self._lane, lambda: self.answer.saw(message))
        try:
            with lanes.inside(None):
                sending = Suspension(self._send(message))
                await sending
        except asyncio.CancelledError as error:
            await rejoin_cancelled(error)
            raise
        except Exception as error:
            session.gap("a response that could not be sent", type(error).__name__)
            raise
        await rejoin(rested=sending.rested)


def _notes(crossing: Live, message: Mapping[str, Any]) -> list[Callable[[], Any]]:
    """The functions that note a message that has arrived, each in a turn of its own."""
    if message.get("type") == _GONE_TYPE:
        return [functools.partial(crossing.end, End(EndKind.ERROR, ErrorFact(_GONE_ERROR, "the client has gone")))]
    data = bytes(message.get("body") or b"")
    notes: list[Callable[[], Any]] = [functools.partial(crossing.segment, data)] if data else []
    if not message.get("more_body", False):
        notes.append(functools.partial(crossing.end, End(EndKind.EOF)))
    return notes
