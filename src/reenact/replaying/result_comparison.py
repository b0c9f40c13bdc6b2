"""Comparing the results of the agent's own code, and the state of its steps, with the recorded ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reenact.abc.body_access import body_or_size
from reenact.abc.redaction import Redactor
from reenact.abc.store import Recording
from reenact.errors import Divergence
from reenact.facts.call import Failure, Value
from reenact.facts.event import Event
from reenact.facts.large_values import is_withheld
from reenact.facts.lazy_dataclass import replace
from reenact.facts.values import canonical
from reenact.replaying import divergence as words
from reenact.replaying import long_values
from reenact.replaying.run_divergences import RunDivergences


class ResultComparison:
    """Compares for one replay.

    Args:
        recording: The run.
        redactor: Cleans live values by the rules of the recording.
        saying: Names the command to type next.
    """

    __slots__ = ("_recording", "_redactor", "_saying")

    def __init__(self, recording: Recording, redactor: Redactor, saying: RunDivergences) -> None:
        self._recording = recording
        self._redactor = redactor
        self._saying = saying

    def outcome(self, event: Event, outcome: Value | Failure) -> tuple[Value | Failure, Divergence | None]:
        """The outcome of a body that ran again, without credentials, and its difference from the recording, if there is
        one."""
        recorded = event.outcome
        if isinstance(recorded, Value):
            body = body_or_size(self._recording, event.answer)
            if is_withheld(body):
                return outcome, self._withheld(event, outcome)
            recorded = replace(recorded, body=body)
        known = recorded if isinstance(recorded, Value | Failure) else None
        same = known is not None and came_to_the_same(known, outcome)
        now = outcome if same else self._redactor.outcome(outcome)
        if same or known is None:
            return now, None
        was = self._redactor.outcome(known)
        if came_to_the_same(was, now):
            return now, None
        body = was.body if isinstance(was, Value) else b""
        return now, words.result_differs(event, was, body, now, self._saying.next(event.number))

    def _withheld(self, event: Event, outcome: Value | Failure) -> Divergence | None:
        """The difference from a value of which only size and digest are kept: these only show whether the bytes are the
        same."""
        if isinstance(outcome, Value) and self._recording.holds(event.answer, outcome.body):
            return None
        return long_values.differs(event, outcome, self._saying.next(event.number))

    def state(self, event: int, phase: str, slots: Mapping[str, bytes]) -> Iterator[Divergence]:
        """The differences of the parts of a step's state from the recorded parts."""
        recorded = self._recording.checkpoint_slots(event, phase)
        if recorded is None or dict(recorded) == dict(slots):
            return
        was, now = self._redactor.slots(recorded), self._redactor.slots(slots)
        for name in dict.fromkeys([*was, *now]):
            before, after = was.get(name), now.get(name)
            if before is None or after is None or not equal(before, after):
                step = self._recording.event(event)
                left = Value(before) if before is not None else None
                right = Value(after or b"null")
                yield words.result_differs(step, left, before or b"", right, self._saying.next(event))


def came_to_the_same(left: Value | Failure, right: Value | Failure) -> bool:
    """Whether two bodies of the agent's own code returned the same, or raised the same."""
    if isinstance(left, Value) and isinstance(right, Value):
        return equal(left.body, right.body)
    if isinstance(left, Failure) and isinstance(right, Failure):
        return (left.error.type, left.error.text) == (right.error.type, right.error.text)
    return False


def equal(left: bytes, right: bytes) -> bool:
    """Whether two encoded values are equal, as Python means it: the order of a dict's keys does not count."""
    return left == right or canonical(left) == canonical(right)
