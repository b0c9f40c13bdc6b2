"""The records that a recording appends to its log: one small frozen record for each event in it.

Numbers of events, lanes and deliveries are given by the recording session; times are microseconds of our own
monotonic clock since the run began.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reenact.facts.call import Fidelity, Stream
from reenact.facts.lazy_dataclass import dataclass, field

if TYPE_CHECKING:
    from reenact.facts.call import Call, End, Json, Outcome
    from reenact.facts.order import Delivery
    from reenact.facts.run import Run


@dataclass(frozen=True, slots=True)
class RunOpened:
    """A run began. A child run (``run.lane`` set) has its events in its parent's log."""

    run: Run


@dataclass(frozen=True, slots=True)
class LaneOpened:
    """A lane, or a scope inside one, came into being."""

    number: int
    path: str
    parent: int | None
    scope: bool = False


@dataclass(frozen=True, slots=True)
class CallIssued:
    """A call was issued; its outcome is open."""

    event: int
    lane: int
    position: int
    parent: int | None
    at_us: int
    call: Call
    fidelity: Fidelity = Fidelity.EXACT
    note: str = ""


@dataclass(frozen=True, slots=True)
class CallSettled:
    """A call returned or raised (``Value`` or ``Failure``)."""

    event: int
    at_us: int
    outcome: Outcome
    delivery: int | None = None
    fidelity: Fidelity = Fidelity.EXACT
    note: str = ""


@dataclass(frozen=True, slots=True)
class HeadArrived:
    """A stream began. ``head`` as in ``facts.call.Stream``."""

    event: int
    at_us: int
    head: Mapping[str, Json]
    delivery: int | None = None
    fidelity: Fidelity = Fidelity.EXACT
    note: str = ""


@dataclass(frozen=True, slots=True)
class SegmentArrived:
    """Bytes of a stream, as the transport handed them over."""

    event: int
    at_us: int
    data: bytes
    delivery: int | None = None
    fidelity: Fidelity = Fidelity.EXACT
    note: str = ""


@dataclass(frozen=True, slots=True)
class StreamEnded:
    """A stream ended. ``delivery`` is None where the reader itself ended it."""

    event: int
    at_us: int
    end: End
    delivery: int | None = None


@dataclass(frozen=True, slots=True)
class EvidenceNoted:
    """Evidence on an event (None: on the run), JSON-able."""

    event: int | None
    key: str
    value: Json
    fidelity: Fidelity = Fidelity.EXACT


@dataclass(frozen=True, slots=True)
class AmbientRead:
    """A packed run of reads of one source (``wall``, ``mono``, ``perf``, ``urandom``, ``random`` …).

    Its address is the lane and the number of calls that the lane had issued. A later record with the same address
    continues the run of reads. ``data`` is one pack (``seams.ambient``) after its length in four bytes, big-endian, so
    that joined records can be separated again.
    """

    lane: int
    position: int
    source: str
    data: bytes


@dataclass(frozen=True, slots=True)
class TurnsDelivered:
    """Consecutive turns at the gate."""

    deliveries: tuple[Delivery, ...]


@dataclass(frozen=True, slots=True)
class OutputPrinted:
    """Bytes the agent wrote to standard output (1) or standard error (2)."""

    stream: int
    at_us: int
    data: bytes
    fidelity: Fidelity = Fidelity.EXACT
    note: str = ""


@dataclass(frozen=True, slots=True)
class CheckpointTaken:
    """Agent state at an event, one encoded value a slot; each slot is a channel of its own.

    ``phase`` is ``in`` at the start of a step and ``out`` at its end.
    """

    event: int
    phase: str
    slots: Mapping[str, bytes]
    fidelity: Fidelity = Fidelity.EXACT
    note: str = ""


@dataclass(frozen=True, slots=True)
class GapNoted:
    """A fact that the recording does not have, and its place."""

    what: str
    place: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class RunClosed:
    """A run ended; ``run`` carries the final status and totals."""

    run: Run
    extra: Mapping[str, Json] = field(default_factory=dict)


Record = (
    RunOpened
    | LaneOpened
    | CallIssued
    | CallSettled
    | HeadArrived
    | SegmentArrived
    | StreamEnded
    | EvidenceNoted
    | AmbientRead
    | TurnsDelivered
    | OutputPrinted
    | CheckpointTaken
    | GapNoted
    | RunClosed
)

__all__ = [
    "AmbientRead",
    "CallIssued",
    "CallSettled",
    "CheckpointTaken",
    "EvidenceNoted",
    "GapNoted",
    "HeadArrived",
    "LaneOpened",
    "OutputPrinted",
    "Record",
    "RunClosed",
    "RunOpened",
    "SegmentArrived",
    "Stream",
    "StreamEnded",
    "TurnsDelivered",
]
