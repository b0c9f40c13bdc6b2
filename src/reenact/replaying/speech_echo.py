"""The recorded output of frozen calls' bodies, written again at its place in the agent's own output."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from reenact.facts.call import is_transport
from reenact.facts.output_pieces import BELOW, NOTE, SpokenPiece
from reenact.seams.lanes import current

if TYPE_CHECKING:
    from reenact.abc.store import Recording
    from reenact.seams.speech import Go


class Echo:
    """Listens to the standard streams of a replaying process.

    Pieces are counted as in the recording. If the next piece came from the body of a call that is frozen now, it is
    written here: before the agent's own next piece, or at the end.

    Args:
        recording: The recording of the calls.
        through: Names of tools whose own code runs in this replay.
    """

    def __init__(self, recording: Recording, through: Collection[str]) -> None:
        self._recording = recording
        self._through = through
        self._frozen: dict[int, bool] = {BELOW: True}
        self._lock = threading.RLock()
        self._next = {1: 0, 2: 0}
        self._pending: dict[int, deque[SpokenPiece]] = {1: deque(), 2: deque()}
        for data in recording.notes(None).get(NOTE) or ():
            piece = SpokenPiece.from_json(data)
            if self._is_frozen(piece.event):
                self._pending[piece.stream].append(piece)
        self.heard: dict[int, Go] = {}

    def _is_frozen(self, event: int) -> bool:
        """Whether this call, or one around it, is answered without running its body."""
        known = self._frozen.get(event)
        if known is None:
            fact = self._recording.event(event)
            runs = fact.call.observed or fact.call.name in self._through
            known = is_transport(fact.call) or not runs
            if not known and fact.parent is not None:
                known = self._is_frozen(fact.parent)
            self._frozen[event] = known
        return known

    def __call__(self, stream: int, go: Go, text: Any) -> Any:
        """Write the agent's own ``text``, after the output of frozen calls before it."""
        lane = current()
        if lane is not None:
            if lane.gate.schedule.awaits_signal():
                lane.gate.schedule.meets(lane)
            lane.told += 1
        with self._lock:
            if self._caught_up(stream, go, text):
                return go(text)
            self._next[stream] += 1
            return go(text)

    def _caught_up(self, stream: int, go: Go, text: Any) -> bool:
        """Write the due pieces. Returns whether ``text`` is itself the due piece of a transport."""
        pending = self._pending[stream]
        while pending and pending[0].number == self._next[stream]:
            piece = pending.popleft()
            self._next[stream] += piece.count
            if piece.event == BELOW and piece.text == text:
                return True
            go(piece.text)
        return False

    def end(self) -> None:
        """Write the last output of the program's calls, after the program has ended."""
        with self._lock:
            for stream, go in self.heard.items():
                self._caught_up(stream, go, None)
