"""The requests to a recorded server process: each is a run, whose preamble is the run of the process."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.abc.store import Store
from reenact.facts.call import Json
from reenact.facts.ignored_requests import unrecorded
from reenact.facts.interruptions import let_through
from reenact.facts.lazy_dataclass import replace
from reenact.facts.policy import Policy
from reenact.facts.run import Run
from reenact.facts.served_requests import RELATION, REQUEST, credentials_of, failure_of, traceparent_of
from reenact.recording.blocks import RootBlock
from reenact.recording.recording_opening import OpenRun, Who, new_run
from reenact.recording.recording_session import RecordingSession
from reenact.seams import lanes
from reenact.seams.lanes import Lane


class RecordedRequest:
    """The run of one request (``seams.servers.hosting.RequestRun``).

    Args:
        block: Its recording, not begun yet.
        session: The session of the recording.
    """

    def __init__(self, block: RootBlock, session: RecordingSession) -> None:
        self._block = block
        self.lane = session.root

    def enter(self) -> None:
        """Begin to listen."""
        self._block.enter()

    def suspend(self) -> None:
        """Stop listening to this thread."""
        self._block.suspend()

    def resume(self) -> None:
        """Listen to this thread again."""
        self._block.resume()

    async def left(self, error: BaseException | None, status: int | None) -> None:
        """Write the end; an answer of the server's own failure fails the run, as an exception does."""
        self._judge(error, status)
        await self._block.left(error, None)

    def leave(self, error: BaseException | None, status: int | None) -> None:
        """Do the work of ``left`` in a thread."""
        self._judge(error, status)
        self._block.leave(error, None)

    def _judge(self, error: BaseException | None, status: int | None) -> None:
        self._block.failure = failure_of(status) if error is None else ""


class RequestRuns:
    """Opens the runs of requests (``seams.servers.hosting.Host``).

    Args:
        session: The recording of the process, whose run is the preamble of each request.
        run: The run of the process as it began.
        store: The store for the runs; it stays open.
        who: The user, tenant and session of the process's run.
        policy: Rules for what may be kept, and how.
        end: Ends the recording of the process.

    Attributes:
        served: The number of requests.
        ignored: The number of further requests of which the project wants no run.
        rounds: The number of times that a server has begun to serve: a program may do so again.
        broken_off: The round that an interrupt has ended; 0 for none.
        ran: Whether a server ran at all.
        signal: The signal that stopped it; 0 without one.
    """

    alone = False

    def __init__(
        self,
        session: RecordingSession,
        run: Run,
        store: Store,
        who: Who,
        policy: Policy,
        end: Callable[[], None],
    ) -> None:
        self.preamble: Lane = session.root
        self._session = session
        self._run = run
        self._store = store
        self._who = who
        self._policy = policy
        self._end = end
        self._unrecorded = unrecorded(policy.server_ignore)
        self.served = 0
        self.ignored = 0
        self.rounds = 0
        self.broken_off = 0
        self.ran = False
        self.signal = 0

    def serving(self) -> None:
        """Let threads and tasks whose start was not seen belong to the server from now on."""
        self.ran = True
        self.rounds += 1
        lanes.forget_fallback()

    def interrupted(self) -> None:
        """Note that an interrupt of the program has ended the round."""
        self.broken_off = self.rounds

    def ignores(self, method: str, path: str) -> bool:
        """Whether the project wants no run of a request."""
        ignored = self._unrecorded(method, path)
        self.ignored += ignored
        return ignored

    def request(self, scope: Mapping[str, Any]) -> RecordedRequest | None:
        """Open a run for a request; a failure here costs only that run."""
        session = self._session
        if session.closed:
            return None
        try:
            self.served += 1
            return self._opened(scope, self.served)
        except Exception as error:
            let_through(error)
            session.fault(error)
            session.gap("a request that could not be recorded", type(error).__name__)
            return None

    def _opened(self, scope: Mapping[str, Any], number: int) -> RecordedRequest:
        process = self._run
        what = f"{scope.get('method', 'GET')} {scope.get('path', '/')}"
        entry = replace(process.entry, kind=REQUEST, target=what)
        run = new_run(self._who, entry, self._policy, CLOCK, ENTROPY, parent=process.id, relation=RELATION)
        traceparent = traceparent_of(scope)
        run = replace(
            run,
            capture={
                "preamble": {
                    "run": process.id,
                    "deliveries": self._session.schedule.count,
                    "served": number,
                    "round": self.rounds,
                    "credentials": credentials_of(scope, self._secrets()),
                }
            },
            environment={"traceparent": traceparent} if traceparent else {},
        )
        opened = OpenRun(run, self._store, self._policy, CLOCK)
        return RecordedRequest(RootBlock(opened, None, self._policy.files), opened.session)

    def _secrets(self) -> dict[str, str]:
        names = self._run.environment.get("env_secret") or ()
        return {str(name): os.environ.get(str(name), "") for name in names}

    def player(self) -> Callable[..., Awaitable[None]] | None:
        """None: only a replay has such a function."""
        return None

    def performer(self) -> Callable[[Any], None] | None:
        """None: only a replay has such a function."""
        return None

    def has_no_client(self) -> bool:
        """False: a recording has clients."""
        return False

    def stopped_by(self) -> int:
        """0: only the world stops a recording."""
        return 0

    def ending(self, number: int) -> None:
        """End the recording, because the signal is about to end the process and no handler will run."""
        self.signal = number
        self._end()

    def summary(self) -> dict[str, Json]:
        """The summary of requests for the end of the process's run; empty where no server ran."""
        if not self.ran:
            return {}
        ignored = {"ignored": self.ignored} if self.ignored else {}
        return {"served": self.served, **ignored, "stopped_by": self.signal, "broken_off": self.broken_off}
