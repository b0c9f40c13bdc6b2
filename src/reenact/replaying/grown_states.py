"""Growing lists of a replay's states, compared with the recorded ones by what is new in them.

The digest of a list goes on from that of the look before it, so a look costs its new entries. Where the digests agree
the lists are the same, byte for byte; where they do not, the whole state is compared. A list is known to hold still
what it held only when a proof has gone through it (``facts.growth``). Where a proof finds another entry, the last
state that counted as the same is compared again, whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from reenact.abc.hash_protocol import Hash
from reenact.abc.store import Recording
from reenact.facts.encoding import encode_part
from reenact.facts.growth import Grown, GrowthProof, is_grown

_CLOSE = b"]"

Held = Callable[[int], list[Any] | None]
"""Gives a list by its number; None where it is known no more."""


class _ComparedList:
    """The compared states of one list.

    Attributes:
        hash: The hash of its bytes without the last one.
        entries: The number of entries.
        last: The last equal state.
        events: The steps with equal states since the last proof.
        look: The last look at it among these.
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
        slots: Its parts; for lists the new entries.
        lists: These lists, by name.
    """

    event: int
    phase: str
    slots: Mapping[str, bytes]
    lists: Mapping[str, list[Any]]

    def whole(self) -> Mapping[str, bytes]:
        """Its parts, with the lists as they are now, up to where they ended then."""
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
    def compared(event: int, phase: str, slots: Mapping[str, bytes], held: Held) -> ComparedState | None:
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
        """Whether a state is the recorded one, as far as its digests tell. Costs what is new in it.

        Raises:
            BlobMissing: The recorded one is not known to have been so (``unproven``).
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
        """The states that counted as equal although a proof has found another entry in a list: the last of them, and
        the steps of all; None where the proof confirms them."""
        known = self._known.get(proof.number)
        if known is None or known.last is None:
            return None
        found = (known.last, known.events) if proof.look < known.look else None
        known.last, known.events = None, []
        return found

    def _take(self, grown: Grown) -> str:
        """Go on with a list: the digest that it has now; empty where entries before were not seen."""
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


def _encoded(held: list[Any], grown: Grown, name: str) -> bytes:
    return encode_part(held[: grown.end], name).encoded.body
