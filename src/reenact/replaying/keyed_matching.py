"""Matching against an imported recording, which knows neither lanes nor deliveries: by requests, each exchange used
once.

A file of another tool holds a list of exchanges. If a question was answered once, or always alike, its answer is
certain. If a request got different answers, their order in the list is the program's order only if one strand made the
calls. So such answers go, in that order, to one sequential strand only. A guess would be a divergence. Answers that
differ only in headers that are new in every answer (``VOLATILE``) count as equal; such cases are counted, and the
verdict names the headers.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from itertools import pairwise
from typing import Final

from reenact.facts.call import Call, Effect, Json, Kind, Stream, is_transport
from reenact.facts.event import Event
from reenact.facts.keys import Rules
from reenact.facts.lane_paths import parent_path
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.replaying.matching import Match, Miss, alike
from reenact.replaying.tape import Tape
from reenact.seams.lanes import UNOWNED

VOLATILE: Final = frozenset(
    {"date", "age", "server-timing", "x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid",
     "x-amzn-trace-id", "x-trace-id", "traceparent", "cf-ray", "x-runtime", "x-response-time", "openai-processing-ms",
     "x-envoy-upstream-service-time"}
)  # fmt: skip
"""Headers with the id or the time of an answer: they differ between answers with the same content."""
_LIMITS: Final = ("x-ratelimit-", "ratelimit-", "anthropic-ratelimit-")
_OWN = frozenset({Kind.STEP, Kind.TOOL, Kind.MODEL, Kind.RETRIEVAL})


class Own:
    """The result for a call of the agent's own code, which no import can have: the code runs with the world frozen."""


OWN = Own()


@dataclass(slots=True)
class _Question:
    """Recorded exchanges with the same request, in the order of the file.

    Attributes:
        left: The unused ones.
        mixed: Whether they hold different outcomes.
        volatile: The headers that are the only difference between outcomes.
        overlapping: Whether two of them overlapped in time.
        asker: The strand that asked first, in this replay.
    """

    left: list[Event]
    mixed: bool
    volatile: frozenset[str]
    overlapping: bool
    asker: str | None = None


@dataclass(slots=True)
class _Index:
    """All recorded exchanges, by request and by name."""

    questions: dict[bytes, _Question] = field(default_factory=dict)
    unused: dict[int, Event] = field(default_factory=dict)


class KeyedMatcher:
    """Finds recorded exchanges by their requests (the counterpart of ``matching.Matcher``).

    Args:
        tape: The recorded exchanges, in the order of the file.
        rules: How two calls are compared.
    """

    def __init__(self, tape: Tape, rules: Rules) -> None:
        self._tape = tape
        self._rules = rules
        self._known: _Index | None = None
        self._writes: dict[str, int] = {}
        self._loosely: Counter[str] = Counter()

    def remarks(self) -> tuple[str, ...]:
        """Remarks on how answers were found."""
        if not self._loosely:
            return ()
        names = ", ".join(sorted(set(self._loosely) - {""}))
        return (f"answers given in the order of the file, which differ only in {names} ({self._loosely['']})",)

    def has_given(self, number: int) -> bool:
        """Whether an exchange has been an answer in this replay."""
        return number not in self._index().unused

    def left(self) -> list[Event]:
        """The exchanges that have not been an answer in this replay, in the order of the file."""
        return list(self._index().unused.values())

    def take(self, event: Event) -> None:
        """Mark an exchange that was found in another way as used."""
        index = self._index()
        del index.unused[event.number]
        left = index.questions[self._key(event.call, self._tape.body(event))].left
        left[:] = [each for each in left if each.number != event.number]

    def identical(self, path: str, call: Call) -> Match | Own | None:
        """Whether the call is the agent's own code; other calls are found only by their request."""
        return OWN if not is_transport(call) and (call.observed or call.kind in _OWN) else None

    def find(self, path: str, call: Call) -> Match | Miss:
        """The recorded exchange for ``call``, which lane ``path`` makes and which is cleaned like the recording."""
        index = self._index()
        question = index.questions.get(self._key(call, call.body))
        if question is None or not question.left:
            return self._unknown(index, call)
        strand = strand_of(path)
        event = question.left[0]
        if (question.mixed or question.volatile) and not self._in_order(question, event, strand):
            if question.mixed:
                return Miss(event, "ambiguous")
            self._loosely.update(("", *question.volatile))
        question.asker = question.asker or strand
        del question.left[0]
        first = next(iter(index.unused))
        del index.unused[event.number]
        if call.effect is Effect.WRITE:
            self._writes[strand] = max(event.number, self._writes.get(strand, -1))
        return Match(event, "exact" if event.number == first else "reordered")

    def _in_order(self, question: _Question, event: Event, strand: str) -> bool:
        """Whether it is certain that the next of several different answers is meant."""
        if strand == UNOWNED or question.overlapping or question.asker not in (None, strand):
            return False
        return event.number > self._writes.get(strand, -1)  # a write may have changed the answers recorded before it

    @staticmethod
    def _unknown(index: _Index, call: Call) -> Miss:
        near = (event for event in index.unused.values() if event.call.name == call.name)
        nearest = next(near, None)
        return Miss(nearest, "added" if nearest is None else "changed")

    def _index(self) -> _Index:
        """All recorded exchanges, read when they are first needed."""
        if self._known is None:
            self._known = index = _Index()
            groups: dict[bytes, list[Event]] = {}
            for event in sorted(self._tape.unused(), key=lambda each: each.number):
                index.unused[event.number] = event
                groups.setdefault(self._key(event.call, self._tape.body(event)), []).append(event)
            for key, events in groups.items():
                apart = [_apart(events[0], other) for other in events[1:]]
                volatile = frozenset[str]().union(*(names for names in apart if names is not None))
                index.questions[key] = _Question(events, None in apart, volatile, _overlapping(events))
        return self._known

    def _key(self, call: Call, body: bytes) -> bytes:
        asked = self._rules.canonical(call.rule, call.head, body)
        return blake2b(asked, digest_size=16, person=call.kind.value.encode()).digest()


def strand_of(path: str) -> str:
    """The sequential strand of a lane: the inside of a call belongs to the strand that makes it."""
    above, scope = parent_path(path)
    while scope:
        path = above
        above, scope = parent_path(path)
    return path


def _apart(left: Event, right: Event) -> frozenset[str] | None:
    """The volatile headers in which two outcomes differ; None where they differ in anything else."""
    if alike(left, right):
        return frozenset()
    one, other = left.outcome, right.outcome
    if not isinstance(one, Stream) or not isinstance(other, Stream) or left.answer is None or right.answer is None:
        return None
    names = {name for name in (*_named(one), *_named(other)) if _named(one).get(name) != _named(other).get(name)}
    same = left.answer.digest == right.answer.digest and _bare(one) == _bare(other)
    return frozenset(names) if same and all(name in VOLATILE or name.startswith(_LIMITS) for name in names) else None


def _named(outcome: Stream) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in outcome.head.get("headers") or ():
        found.setdefault(str(name).lower(), []).append(str(value))
    return found


def _bare(outcome: Stream) -> dict[str, Json]:
    return {name: value for name, value in outcome.head.items() if name != "headers"}


def _overlapping(events: list[Event]) -> bool:
    return any(
        earlier.ended_us is not None and earlier.ended_us > later.issued_us for earlier, later in pairwise(events)
    )
