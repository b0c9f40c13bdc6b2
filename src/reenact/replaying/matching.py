"""Matching: which recorded call a call of the replay is, by one ladder and no other.

1. The same lane's next recorded call, when the key agrees (for tools a provider's ``tool_call_id`` is the better
   ordinal).
2. The same key further on in the same lane, never across a write: *reordered*.
3. The same key in another lane, if exactly one is left (or all that are left had the same outcome) and that lane has
   ended or will not appear: *moved*.
4. Otherwise nothing: a divergence. Candidates that hold different outcomes are never guessed between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from reenact.facts.call import Call, Effect, Failure, Kind, Stream, Value
from reenact.facts.event import Event
from reenact.facts.keys import Rules, plain
from reenact.facts.lazy_dataclass import dataclass
from reenact.replaying.tape import Tape
from reenact.seams.lanes import UNOWNED

How = Literal["exact", "reordered", "moved"]


@dataclass(frozen=True, slots=True)
class Match:
    """A recorded call, and the rung of the ladder by which it was found."""

    event: Event
    how: How


@dataclass(frozen=True, slots=True)
class Miss:
    """The result where no recorded call matches: the nearest call, and why that one does not match.

    ``reason``: ``changed`` (the lane's next call asks something else), ``added`` (the lane has no further call),
    ``ambiguous`` (several recordings, with different outcomes, would fit) or ``renamed`` (several recorded strands,
    named in ``names``, would fit a lane whose own name is not recorded), or ``untold`` (the trace has the call without
    its answer).
    """

    nearest: Event | None
    reason: Literal["changed", "added", "ambiguous", "renamed", "untold"]
    names: tuple[str, ...] = ()


class Matcher:
    """Finds recorded calls.

    Args:
        tape: The recorded calls.
        rules: How two calls are compared.
        gone: Whether a recorded lane has ended, or will not appear, in this replay.
    """

    def __init__(self, tape: Tape, rules: Rules, gone: Callable[[str], bool]) -> None:
        self._tape = tape
        self._rules = rules
        self._gone = gone

    def identical(self, path: str, call: Call) -> Match | None:
        """The first rung, for a call with exactly the recorded bytes: this is the usual case, and the fast one."""
        if path == UNOWNED:
            return None
        head = self._tape.head(path)
        if head is None:
            return None
        recorded = head.call
        if recorded.kind is not call.kind or recorded.name != call.name or recorded.rule != call.rule:
            return None
        if call.ordinal is not None and not self._ordinal_agrees(head, call):
            return None
        if recorded.head != call.head and plain(call.rule, recorded.head) != plain(call.rule, call.head):
            return None
        return Match(head, "exact") if self._tape.holds(head.request, call.body) else None

    def find(self, path: str, call: Call) -> Match | Miss:
        """The recorded call for ``call``, which lane ``path`` makes and which is cleaned like the recording."""
        if path == UNOWNED:
            return self._by_key_alone(call)
        head = self._tape.head(path)
        if head is not None and self.agrees(head, call) and self._ordinal_agrees(head, call):
            return Match(head, "exact")
        rest = self._tape.lane(path).rest()
        return self._by_ordinal(head, rest, call) or self._past_the_next(path, head, rest, call)

    def _by_ordinal(self, head: Event | None, rest: list[Event], call: Call) -> Match | None:
        """The one recorded call of the lane to which a provider gave the same id."""
        if call.ordinal is None:
            return None
        named = [
            event
            for event in rest
            if self._ordinal_agrees(event, call) and event.call.ordinal and self.agrees(event, call)
        ]
        if len(named) != 1:
            return None
        return Match(named[0], "exact" if named[0] is head else "reordered")

    def _past_the_next(self, path: str, head: Event | None, rest: list[Event], call: Call) -> Match | Miss:
        """The rungs below the first, for a call that is not the next recorded one."""
        further, ambiguous = self._further_on(rest, call)
        if further is not None:
            return Match(further, "reordered")
        if ambiguous:
            return Miss(head, "ambiguous")
        if any(self.agrees(event, call) for event in rest):  # only after a write: no other lane is searched
            return Miss(head, "changed")
        return self._elsewhere(path, head, call)

    def agrees(self, event: Event, call: Call) -> bool:
        """Whether a recorded call has the same request as ``call``, which is cleaned like the recording."""
        recorded = event.call
        if not self._same_kind(event, call):
            return False
        return self._rules.same(call.rule, recorded.head, self._tape.body(event), call.head, call.body)

    def _same_kind(self, event: Event, call: Call) -> bool:
        recorded = event.call
        if recorded.kind is not call.kind or recorded.rule != call.rule:
            return False
        return self._rules.one_name(recorded.name, call.name)

    def _ordinal_agrees(self, event: Event, call: Call) -> bool:
        recorded = event.call.ordinal
        return call.ordinal is None or recorded is None or self._rules.one_name(recorded, call.ordinal)

    def _further_on(self, rest: list[Event], call: Call) -> tuple[Event | None, bool]:
        candidates = []
        for event in rest:
            if self.agrees(event, call):
                candidates.append(event)
            elif event.call.effect is Effect.WRITE and not event.call.observed:
                break
        if candidates and all(alike(candidates[0], other) for other in candidates[1:]):
            return candidates[0], False
        return None, bool(candidates)

    def _elsewhere(self, path: str, head: Event | None, call: Call) -> Match | Miss:
        others = [event for event in self._tape.unused() if event.lane != path and self.agrees(event, call)]
        equal = all(alike(others[0], other) for other in others[1:])
        if others and equal and all(self._gone(event.lane) for event in others):
            return Match(others[0], "moved")
        ends = head is not None and head.call.kind is Kind.OUTPUT  # after its last call a lane has only the result
        if head is not None and (not ends or call.kind is Kind.OUTPUT):
            return Miss(head, "changed")
        return Miss(others[0] if others else None, "added" if equal else "ambiguous")

    def _by_key_alone(self, call: Call) -> Match | Miss:
        candidates = [event for event in self._tape.lane(UNOWNED).rest() if self.agrees(event, call)]
        if not candidates:
            return self._elsewhere(UNOWNED, None, call)
        if all(alike(candidates[0], other) for other in candidates[1:]):
            return Match(candidates[0], "exact" if len(candidates) == 1 else "moved")
        return Miss(candidates[0], "ambiguous")


def alike(left: Event, right: Event) -> bool:
    """Whether two recorded calls have the same outcome, so that it does not matter which one is served."""
    if type(left.outcome) is not type(right.outcome):
        return False
    if isinstance(left.outcome, Failure):
        return left.outcome == right.outcome
    if isinstance(left.outcome, Value | Stream) and left.answer is not None and right.answer is not None:
        same_head = left.outcome.head == right.outcome.head  # type: ignore[union-attr]
        return left.answer.digest == right.answer.digest and same_head
    return False
