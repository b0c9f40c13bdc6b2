"""Event: the smallest recorded fact, as it is read back from a log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from reenact.facts.call import Fidelity, Kind, Stream
from reenact.facts.late import late
from reenact.facts.lazy_dataclass import dataclass, field, replace

if TYPE_CHECKING:
    from reenact.facts.call import Call, Json, Outcome
    from reenact.facts.dialects.request_rewriting import as_sent
else:
    as_sent = late("reenact.facts.dialects.request_rewriting", "as_sent")

NODE: Final = "node"
"""The attribute that names the node of a graph (LangGraph). It is on the first call of a lane that the node makes. If
it is empty, no node makes the events that follow."""
REWRITTEN: Final = "rewritten"
"""The attribute of a model request that a fork rewrote on its way: the changes. The stored request is the agent's."""


class Payload(NamedTuple):
    """Where exact bytes lie: ``digest`` is their keyed hash, ``size`` their length."""

    digest: str
    size: int
    media: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """One recorded crossing.

    Attributes:
        run: Id of the run.
        number: Number in its run, from 0, in order of issue.
        lane: Path of the lane that issued it.
        position: How many calls that lane had issued before.
        parent: Number of the call inside of which it happened, if any.
        call: The request. ``call.body`` is empty here; the bytes are at ``request``.
        request: The address of the request's body.
        outcome: The answer; None while open. A ``Value``'s body is empty here; the bytes are at ``answer``.
        answer: The address of the value, or of all segments of the stream; None without one.
        issued_us, first_us, ended_us: Times of the call, its first answer and its end, in microseconds since the run
            began; None where that did not happen.
        delivery: Number of the delivery that handed the value or head over.
        key: The call's key, an index only.
        fidelity: The exactness of the stored bytes; ``fidelity_note`` names the rules that changed them.
        attributes: Evidence: additions of ``note``, recognised model readings, capture remarks.
    """

    run: str
    number: int
    lane: str
    position: int
    parent: int | None
    call: Call
    request: Payload | None = None
    outcome: Outcome | None = None
    answer: Payload | None = None
    issued_us: int = 0
    first_us: int | None = None
    ended_us: int | None = None
    delivery: int | None = None
    key: str = ""
    fidelity: Fidelity = Fidelity.EXACT
    fidelity_note: str = ""
    attributes: Mapping[str, Json] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Sort of crossing, as a word."""
        return self.call.kind.value

    @property
    def name(self) -> str:
        """The name of the call."""
        return self.call.name

    @property
    def is_open(self) -> bool:
        """Whether the end of the call is unknown: it was never answered, or its process died during the answer."""
        return self.outcome is None or (isinstance(self.outcome, Stream) and self.outcome.end is None)

    @property
    def asked(self) -> str:
        """An identity of the request within the run. It is empty where the request is unknown, as with arguments that
        could not be stored."""
        head = self.call.head
        if self.key or head.get("opaque"):
            return self.key
        digest = self.request.digest if self.request is not None else ""
        where = " ".join(str(head[name]) for name in ("method", "url") if name in head)
        return f"{where} {digest}".strip()

    def __repr__(self) -> str:
        state = type(self.outcome).__name__.lower() if self.outcome is not None else "open"
        return f"<Event {self.run}:{self.number} {self.kind} {self.name} {state}>"


def sent_call(event: Event, body: bytes) -> Call:
    """The call of an event as it was sent, with its body; ``body`` is the stored one, by which a replay matches."""
    call = replace(event.call, body=body)
    changes = event.attributes.get(REWRITTEN) if call.kind is Kind.HTTP else None
    return as_sent(call, changes) if changes else call


def strand_of(lane: str) -> str:
    """The strand that a lane's path names: for a lane inside a call of the same strand, the path without that call."""
    cut = lane.rfind(">")
    return lane[:cut] if cut > lane.rfind("/") else lane


def node_of(events: Iterable[Event], event: Event) -> str:
    """The node of a graph (LangGraph) that made a call; empty without one.

    Args:
        events: The events of its run, in order.
        event: The call.
    """
    found, strand = "", strand_of(event.lane)
    for each in events:
        noted = each.attributes.get(NODE) if strand_of(each.lane) == strand else None
        found = noted if isinstance(noted, str) else found
        if each.number >= event.number:
            break
    return found


@dataclass(frozen=True, slots=True)
class LaneFact:
    """One sequential strand of the agent, or a scope inside one, as recorded."""

    number: int
    path: str
    parent: int | None
    scope: bool = False
