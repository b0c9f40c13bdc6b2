"""Growing lists of a replay's states, compared with the recorded ones by their new entries.

The digest of a list continues the digest of the look before, so a look only costs its new entries. Where the digests
agree the lists are the same, byte for byte; where they do not, the whole state is compared. Whether the old entries of
a list are unchanged is known only when a proof has read the list (``facts.growth``). Where a proof finds another entry,
the last state that counted as the same is compared again, as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from reenact.abc.body_access import UNPROVEN
from reenact.abc.hash_protocol import Hash
from reenact.abc.store import Recording
from reenact.errors import BlobMissing, Divergence
from reenact.facts.call import Kind
from reenact.facts.encoding import encode_part
from reenact.facts.growth import Growth, GrowthProof, NewEntries, is_grown
from reenact.facts.states import GROWS
from reenact.replaying.result_comparison import ResultComparison

_CLOSE = b"]"

ListOf = Callable[[int], list[Any] | None]
"""Gives a list by its number; None for a list that is no longer known."""


class _ComparedList:
    """The compared states of one list.

    Attributes:
        hash: The hash of the list's bytes without the last byte.
        entries: The number of entries.
        last: The last equal state.
        events: The steps with equal states since the last proof.
        look: The last look at the list among these steps.
    """

    __slots__ = ("entries", "events", "hash", "last", "look")

    def __init__(self, begun: Hash) -> None:
        self.hash = begun
        self.entries = 0
        self.look = 0
        self.last: ComparedState | None = None
        self.events: list[int] = []


class ComparedState(NamedTuple):
    """A state that was found equal by its digests.

    Attributes:
        event, phase: Its place.
        slots: The parts of the state; for lists the new entries.
        lists: These lists, by name.
    """

    event: int
    phase: str
    slots: Mapping[str, bytes]
    lists: Mapping[str, list[Any]]

    def whole(self) -> Mapping[str, bytes]:
        """The parts of the state, with the lists as they are now, up to where they ended in this state."""
        return {
            name: _encoded(self.lists[name], body, name) if is_grown(body) else body
            for name, body in self.slots.items()
        }


class GrownStates:
    """Compares the states of one replay that have growing lists.

    Args:
        recording: The run.
    """

    __slots__ = ("_known", "_recording")

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._known: dict[int, _ComparedList] = {}

    @staticmethod
    def compared(event: int, phase: str, slots: Mapping[str, bytes], held: ListOf) -> ComparedState | None:
        """A state with growing lists, to be compared by ``is_same``; None where it has none.

        Args:
            event: The step.
            phase: Its start or its end.
            slots: The parts of its state.
            held: Gives the replay's own lists.
        """
        lists = {name: held(body.number) or [] for name, body in slots.items() if is_grown(body)}
        return ComparedState(event, phase, slots, lists) if lists else None

    def is_same(self, state: ComparedState) -> bool:
        """Whether a state equals the recorded one, by its digests. Only the new entries are read.

        Raises:
            BlobMissing: The recorded state is not proven (``unproven``).
        """
        grown = {name: self._take(body) for name, body in state.slots.items() if is_grown(body)}
        recorded = self._recording.checkpoint_digests(state.event, state.phase)
        if recorded is None:
            return True
        if recorded.keys() != state.slots.keys():
            return False
        for name, body in state.slots.items():
            if (grown[name] if name in grown else self._digest(body)) != recorded[name]:
                return False
        for body in state.slots.values():
            if is_grown(body):
                known = self._known[body.number]
                known.last, known.look = state, body.look
                known.events.append(state.event)
        return True

    def doubted(self, proof: GrowthProof) -> tuple[ComparedState, list[int]] | None:
        """The states that counted as equal until a proof found a differing entry in a list: the last of them, and the
        steps of all. None where the proof confirms them."""
        known = self._known.get(proof.number)
        if known is None or known.last is None:
            return None
        found = (known.last, known.events) if proof.look < known.look else None
        known.last, known.events = None, []
        return found

    def _take(self, grown: NewEntries) -> str:
        """Add the new entries of a list, and give its digest; empty where earlier entries were not seen."""
        known = self._known.get(grown.number)
        if known is None:
            known = self._known[grown.number] = _ComparedList(self._recording.begin_digest())
        if known.entries != grown.start:
            return ""
        known.hash.update(grown.lead)
        known.hash.update(grown)
        known.entries = grown.end
        whole = known.hash.copy()
        whole.update(_CLOSE)
        return whole.hexdigest()

    def _digest(self, body: bytes) -> str:
        if not body:
            return ""
        found = self._recording.begin_digest()
        found.update(body)
        return found.hexdigest()


def _encoded(held: list[Any], grown: NewEntries, name: str) -> bytes:
    return encode_part(held[: grown.end], name).encoded.body


class StateCheck:
    """Compares the states of the steps of one replay.

    Args:
        recording: The run.
        comparing: Compares whole states.
        unproven: Collects the steps whose recorded state is not proven.
        compares: Whether the agent's states must still equal the recorded ones.
    """

    def __init__(
        self, recording: Recording, comparing: ResultComparison, unproven: list[int], compares: Callable[[], bool]
    ) -> None:
        self._recording = recording
        self._comparing = comparing
        self._unproven = unproven
        self._compares = compares
        self._names: dict[str, tuple[str, ...]] = {}
        self._grown = GrownStates(recording)
        self.growth = Growth(self.proved)
        self.noticed: Callable[[Divergence], None] = lambda divergence: None
        """Called with each difference."""

    def compare(self, event: int, phase: str, slots: Mapping[str, bytes]) -> None:
        """Compare a state of a step with the recorded one."""
        try:
            grown = self._grown.compared(event, phase, slots, self.growth.held)
            if grown is not None:
                if self._grown.is_same(grown):
                    return
                slots = grown.whole()
            for different in self._comparing.state(event, phase, slots):
                self.noticed(different)
        except BlobMissing as missing:
            if missing.reason != UNPROVEN:
                raise
            self._unproven.append(event)

    def growing(self, step: str, declared: tuple[str, ...]) -> tuple[tuple[str, ...], Growth | None]:
        """The lists that were declared when the run was recorded, whatever is declared now."""
        names = self._names.get(step)
        if names is None:
            first = next(self._recording.events(kinds=[Kind.STEP], name=step, limit=1), None)
            names = self._names[step] = declared if first is None else tuple(first.call.head.get(GROWS) or ())
        return names, self.growth

    def proved(self, proof: GrowthProof) -> None:
        """Take the proof of a list of the agent's states. If the proof has found another entry, the states that counted
        as the same may differ: the last one is compared again, as a whole."""
        doubted = self._grown.doubted(proof)
        if doubted is None:
            return
        last, events = doubted
        different = list(self._comparing.state(last.event, last.phase, last.whole())) if self._compares() else []
        if not different:
            self._unproven += events
        for each in different:
            self.noticed(each)
