"""Plumbing in a replay: exported telemetry gets its recorded answer, or a made-up success.

It is counted and never compared: missing, further, larger or later exports are the same run. A recorded answer comes at
its place in the order if possible. The answer comes at once where another strand would have to wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final, Literal, Protocol

from reenact.abc.session import NeverLive
from reenact.facts.call import Call, End, EndKind, Failure, Json, Stream, Value
from reenact.facts.event import Event
from reenact.facts.plumbing import PlumbingRules
from reenact.facts.telemetry_endpoints import Endpoint
from reenact.replaying.tape import Tape
from reenact.seams.lanes import Lane
from reenact.seams.turns import SuddenTurn

_EOF: Final = End(EndKind.EOF)
_BODILESS: Final = frozenset({204, 304})
_RPC: Final[dict[str, Json]] = {"code": "OK", "details": "", "trailing": [], "debug": ""}


class Exports:
    """Answers telemetry requests.

    Args:
        plumbing: The rules with which the run was recorded.
        tape: The recorded calls.

    Attributes:
        made: The number of exports.
    """

    def __init__(self, plumbing: PlumbingRules, tape: Tape) -> None:
        self._plumbing = plumbing
        self._tape = tape
        self.made = 0

    def endpoint(self, lane: Lane, call: Call) -> Endpoint | None:
        """The endpoint to which a call hands telemetry; None where the call is no plumbing. A request of the agent's
        own tool never is."""
        return None if lane.in_tool else self._plumbing.endpoint(call)

    def recorded(self, path: str, endpoint: Endpoint) -> Event | None:
        """The next recorded export of a lane by the same rule, if it has an answer that can be given again."""
        self.made += 1
        event = self._tape.lane(path).export(endpoint.name)
        if event is None:
            return None
        self._tape.use(event)
        return event if _is_whole(event) else None

    def taken(self, call: Call, endpoint: Endpoint) -> TakenCall:
        """The answer to an export for which the recording has none: a made-up success."""
        return TakenCall(endpoint, is_rpc=call.head.get("transport") == "grpc")


def frame(message: bytes) -> bytes:
    """A message of an RPC as it goes over the wire: a flag for compression, and its length."""
    return b"\0" + len(message).to_bytes(4, "big") + message


def _is_whole(event: Event) -> bool:
    outcome = event.outcome
    if isinstance(outcome, Stream):
        return outcome.end is not None and outcome.end.kind is not EndKind.CANCELLED
    return outcome is not None


class GatedSession(Protocol):
    """The part of a session that gives recorded exports their answers again."""

    @property
    def gate(self) -> Any:
        """The gate at which turns are taken."""

    def body_of(self, event: Event) -> bytes:
        """The recorded value's bytes."""

    def parts_of(self, event: Event) -> Iterator[tuple[int | None, int, bytes]]:
        """The recorded stream's segments."""


class UncountedSession:
    """A session to which no delivery matters.

    Args:
        session: Reads the answers.
    """

    __slots__ = ("_session",)

    def __init__(self, session: GatedSession) -> None:
        self._session = session

    @property
    def gate(self) -> Any:
        """The gate at which turns are taken."""
        return self._session.gate

    def body_of(self, event: Event) -> bytes:
        """The recorded value's bytes."""
        return self._session.body_of(event)

    def parts_of(self, event: Event) -> Iterator[tuple[int | None, int, bytes]]:
        """The recorded stream's segments."""
        return self._session.parts_of(event)

    def served(self, event: Event, part: int, data: bytes) -> None:
        """Do nothing: no delivery counts here."""

    def read_past(self, event: Event) -> End:
        """The end of the stream: an answer ends where the recorded reader stopped."""
        return _EOF

    def read_less(self, event: Event) -> None:
        """Do nothing: it does not matter how far an exporter reads its answer."""

    def settled(self, event: Event, outcome: Value | Failure) -> None:
        """Do nothing: an export has no body of the agent's own code."""

    def ends_in(self, event: Event) -> bool:
        """False: an export has no body of the agent's own code."""
        return False


class TakenCall(NeverLive):
    """An export that gets a made-up success (``abc.session.Frozen``). It takes no turn, because it was not recorded.

    Args:
        endpoint: The endpoint that the export was sent to.
        is_rpc: Whether the export is an RPC, and no exchange of HTTP.
    """

    __slots__ = ("_head", "_parts", "event")
    form: Literal["stream"] = "stream"

    def __init__(self, endpoint: Endpoint, *, is_rpc: bool) -> None:
        success = endpoint.answer
        self.event = -1
        if is_rpc:
            self._head: dict[str, Json] = {
                "framing": "grpc",
                "headers": [["content-type", "application/grpc"]],
                "status": "OK",
            }
            self._head["extensions"] = _RPC
            self._parts: list[bytes | End] = [frame(success.body), _EOF]
            return
        media = [["content-type", success.media]] if success.media else []
        length = [] if success.status in _BODILESS else [["content-length", str(len(success.body))]]
        self._head = {
            "status": success.status,
            "reason": HTTPStatus(success.status).phrase,
            "headers": [*media, *length],
            "version": "HTTP/1.1",
            "framing": "payload",
        }
        self._parts = [success.body, _EOF] if success.body else [_EOF]

    def head(self) -> SuddenTurn:
        """The head of the success."""
        return SuddenTurn(lambda: Stream(self._head, _EOF))

    def part(self) -> SuddenTurn:
        """The body, then the end on every further read."""
        return SuddenTurn(lambda: self._parts.pop(0) if len(self._parts) > 1 else self._parts[0])
