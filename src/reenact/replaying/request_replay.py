"""Replaying one request of a server: the program starts as recorded, and gets that request instead of a socket.

The run of the process is the preamble: it answers the imports, the construction of clients and the lifespan, as far
as they had come when the request arrived. The request's own run answers everything that happens inside the request.
"""

from __future__ import annotations

import io
import itertools
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from reenact.abc.redaction import Redactor
from reenact.abc.sources import CLOCK
from reenact.abc.store import Recording
from reenact.errors import Halt, UnreplayableRun
from reenact.facts.call import EndKind, Fidelity, Kind, Stream
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.facts.keys import Rules
from reenact.facts.late import late
from reenact.facts.order import Delivery
from reenact.facts.run import Run
from reenact.facts.served_requests import LIFESPAN, REQUEST, environ_of, scope_of, with_credentials
from reenact.replaying.options import Options
from reenact.replaying.recorded_schedule import RecordedSchedule
from reenact.replaying.replay_session import ReplaySession
from reenact.seams import lanes
from reenact.seams.async_backends import cancelled
from reenact.seams.lanes import Lane
from reenact.seams.schedules import Standstill
from reenact.seams.servers import wsgi
from reenact.seams.servers.hosting import Application
from reenact.seams.waits import Waiter, never_tag

if TYPE_CHECKING:
    from reenact.seams.servers.served_exchange import Exchange
else:
    Exchange = late("reenact.seams.servers.served_exchange", "Exchange")

_WARM_S = 10.0
"""How long the server's own work may take until the server is in the state in which the request came."""
_LOOK_S = 0.002


class PreambleSchedule(RecordedSchedule):
    """Hands out the deliveries that the process had received when the request came. After that no call counts as
    missing: answers that the server's own tasks fetch for the request come at once, and their timers do not fire."""

    rests: Callable[[Waiter], bool] = staticmethod(lambda waiter: False)
    """Whether an answer belongs to a time after the request."""

    def _after_recording(self, at: Standstill) -> Waiter | None:
        awaited = (w for w in at.waiting.values() if w.deadline_us is None and w.tag.lane != "~never")
        return next((w for w in awaited if not self.rests(w)), None)

    def stalled(self, waited_us: int) -> None:
        """Do nothing: a server that waits for requests, or in a wait of its own, has not ended."""

    silent = stalled


class Preamble(ReplaySession):
    """Answers the calls of the process before and beside the request.

    Args:
        recording: The run of the process.
        redactor, rules, options: As for any replay.
        deliveries: The number of deliveries before the request.
    """

    def __init__(
        self, recording: Recording, redactor: Redactor, rules: Rules, options: Options, deliveries: int
    ) -> None:
        self._until = deliveries
        super().__init__(recording, redactor, rules, options)

    def _make_schedule(self) -> PreambleSchedule:
        def again() -> Iterator[Delivery]:
            return itertools.takewhile(lambda each: each.number < self._until, self.recording.deliveries(0))

        schedule = PreambleSchedule(again, self._stands_for, self._unawaited, self._at_the_end)
        schedule.rests = self._for_later
        return schedule

    def _for_later(self, waiter: Waiter) -> bool:
        """Whether an answer belongs to the shutdown of the server, which comes when no request is left."""
        return waiter.tag.kind == "e" and self.recording.event(waiter.tag.number).name == LIFESPAN

    @property
    def warm(self) -> bool:
        """Whether the process is in the state in which the request came."""
        return self.gate.halted is not None or self.schedule.order.head is None


class PlayerProcess(Protocol):
    """The part of the replaying process that a player needs."""

    def entered(self) -> AbstractContextManager[None]:
        """A scope in which the output of the request's lanes is compared."""

    def finish(self) -> None:
        """Write the report."""

    def leave(self, status: int) -> None:
        """Write the report and end the process."""


class Stage:
    """A server in the replay of its whole process: it starts up and shuts down as before, but serves no request,
    because requests are runs of their own (``seams.servers.hosting.Host``).

    Args:
        session: Answers the process.
        process: The replaying process.
    """

    alone = False

    def __init__(self, session: ReplaySession, process: PlayerProcess) -> None:
        self.preamble: Lane = session.root
        self._schedule = session.schedule
        self._process = process
        self._recorded_end = session.run.exit_status or 0
        self._rounds = 0
        capture = session.run.capture
        served = int(capture.get("served") or 0)
        last = max(1, served) + 1 if self._recorded_end < 0 else 0
        self._broken_off = int(capture["broken_off"]) if "broken_off" in capture else last

    def serving(self) -> None:
        """Note that the server has begun to serve, as in a recording."""
        self._rounds += 1
        lanes.forget_fallback()

    def interrupted(self) -> None:
        """Do nothing: the recording has the interrupt."""

    def has_no_client(self) -> bool:
        """True: no request is served."""
        return True

    def ignores(self, method: str, path: str) -> bool:
        """False: no request is served, so none is ignored."""
        return False

    def request(self, scope: Mapping[str, Any]) -> None:
        """None: no request is served."""

    def stopped_by(self) -> int:
        """The signal that stopped the recorded server; 0 where none did."""
        return max(0, -self._recorded_end)

    def ending(self, number: int) -> None:
        """Write the report, because the signal is about to end the process and no handler will run."""
        self._process.finish()

    def player(self) -> Callable[[Application, MutableMapping[str, Any]], Awaitable[None]]:
        """The function that plays a request."""
        return self._play

    async def _play(self, application: Application, state: MutableMapping[str, Any]) -> None:
        """Send nothing: there is no request."""

    def performer(self) -> Callable[[Any], None]:
        """The function that plays a WSGI application."""
        return self._perform

    def _perform(self, application: Any) -> None:
        """Send nothing: there is no request. A program that handles one request after the other goes through the
        recorded number of rounds. An interrupt that ended a round comes in that round: as the recorded signal, if one
        was recorded."""
        if self._rounds != self._broken_off:
            return
        if self._schedule.signals_later(signal.SIGINT):
            self._schedule.gate.take(never_tag())
        raise KeyboardInterrupt


class RequestPlayer(Stage):
    """Sends the recorded request to the application.

    Args:
        session: Answers the request.
        before: Answers the process.
        process: The replaying process.
    """

    alone = True

    def __init__(self, session: ReplaySession, before: Preamble, process: PlayerProcess) -> None:
        super().__init__(before, process)
        self.played = False
        self.answered: int | None = None
        """Status of the response, once there is one."""
        self.error: Exception | None = None
        """The error of the application."""
        self._removed = False
        self._session = session
        self._before = before
        self._round = int(session.run.capture["preamble"].get("round") or 1)

    def has_no_client(self) -> bool:
        """Whether this round has no client. The rounds before the request's have none, so that the program does its
        work between them."""
        return self._rounds < self._round

    def suspects(self) -> list[str]:
        """Why a replay of the request alone may differ."""
        found = []
        before = int(self._session.run.capture["preamble"].get("served") or 1) - 1
        if before:
            word = "request" if before == 1 else "requests"
            found.append(f"{before} {word} came before it in its process: data that was left in memory is missing")
        if self._removed:
            found.append("credentials of the request were removed when it was recorded: a check of them fails")
        return found

    async def _play(self, application: Application, state: MutableMapping[str, Any]) -> None:
        """Serve the request once, then end the process without its shutdown."""
        await self._warmed()
        self.played = True
        status = 0
        try:
            with self._session.begin(), self._process.entered():
                await self._exchange(application, state)
        except Halt:
            status = 1
        except cancelled():
            status = 1
        except Exception as error:  # perhaps the recorded error: this is compared later
            self.error = error
        self._process.leave(status)

    def _perform(self, application: wsgi.Application) -> None:
        """Serve the request to a WSGI application, once, in its round."""
        if self.has_no_client():
            return
        end = CLOCK.mono_us() + int(_WARM_S * 1e6)
        while not self._before.warm and CLOCK.mono_us() < end:
            time.sleep(_LOOK_S)
        self._unready()
        self.played = True
        status = 0
        try:
            with self._session.begin(), self._process.entered():
                event, scope, _ = self._request({})
                environ = {**environ_of(scope), "wsgi.input": io.BytesIO(), "wsgi.errors": sys.stderr}
                exchange = wsgi.WsgiExchange(self._session.root, event.call, environ)
                self._answered(application, environ, exchange)
        except Halt:
            status = 1
        except Exception as error:  # perhaps the recorded error: this is compared later
            self.error = error
        self._process.leave(status)

    def _answered(self, application: wsgi.Application, environ: dict[str, Any], exchange: wsgi.WsgiExchange) -> None:
        """Take the response as a server does."""
        try:
            result = application(environ, exchange.starting(lambda *_: lambda data: None))
            try:
                for piece in result:
                    exchange.sent(piece)
            finally:
                if hasattr(result, "close"):
                    result.close()
        except Exception as error:
            exchange.over(error)
            raise
        finally:
            self.answered = exchange.answer.status
        exchange.over(None)

    async def _warmed(self) -> None:
        """Wait until the server's own tasks have done the work that they had done before the request."""
        loop = lanes.running_loop()
        end = loop.time() + _WARM_S
        while not self._before.warm and loop.time() < end:
            looks = loop.create_future()
            loop.call_later(_LOOK_S, looks.set_result, None)
            await looks
        self._unready()

    def _unready(self) -> None:
        if not self._before.warm:
            self._session.tally.remarks["preamble"] = "the server did not reach the state in which the request came"

    async def _exchange(self, application: Application, state: MutableMapping[str, Any]) -> None:
        event, scope, pieces = self._request(state)
        exchange = Exchange(self._session.root, event.call, _nothing, _nowhere, pieces)
        try:
            await exchange.run(application, scope)
        finally:
            self.answered = exchange.answer.status

    def _request(self, state: MutableMapping[str, Any]) -> tuple[Event, dict[str, Any], int]:
        """The recorded request, as a scope, and the number of pieces of its body (-1: incomplete)."""
        event = self._session.as_asked(self._recorded())
        outcome = event.outcome
        stream = outcome if isinstance(outcome, Stream) else Stream({}, None)
        whole = stream.end is not None and stream.end.kind is EndKind.EOF
        kept = stream.head.get("headers") or event.call.head.get("headers") or ()
        known = self._session.run.capture["preamble"].get("credentials")
        headers = with_credentials(kept, known, os.environ)
        self._removed = event.fidelity is not Fidelity.EXACT and len(known or ()) == 0
        return event, scope_of(event.call.head, headers, state), stream.segments if whole else -1

    def _recorded(self) -> Event:
        session = self._session
        for event in session.recording.events(lane=session.root.path, limit=1):
            if event.call.kind is Kind.INPUT and event.name == REQUEST:
                return event
        error = UnreplayableRun(
            f"run {tail(session.run.id)} holds no request",
            cause="its recording was cut off before the request reached the store",
            next_command=f"reenact show {tail(session.run.id)}",
            missing=(REQUEST,),
        )
        session.fault(error)
        raise error


async def _nothing() -> Any:
    """Stop the agent: all messages come from the recording."""
    raise Halt("nothing arrives in a replay")


async def _nowhere(_message: Any) -> None:
    """Drop the response: it has no reader."""


def never_served(run: Run) -> UnreplayableRun:
    """Why nothing was compared: the program ended, and no server took the request."""
    return UnreplayableRun(
        f"the program ended before it served {run.entry.target}",
        cause="it failed while it started, or starts no server that is known (uvicorn, wsgiref)",
        next_command=f"reenact show {tail(run.parent or run.id)}",
        missing=(REQUEST,),
    )
