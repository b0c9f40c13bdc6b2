"""The output of calls in a fork: noted where the body runs, and written again for a frozen call."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

from reenact.abc.store import Recording
from reenact.facts.output_pieces import BELOW, NOTE, SpokenPiece
from reenact.recording.recorded_speech import StreamListener
from reenact.timetravel.forks.fork_points import inside

if TYPE_CHECKING:
    from reenact.seams.speech import Go


class ForkSpeech:
    """Listens to the standard streams of a forking process.

    The output of a frozen call is written as a whole when its answer is delivered; the output of a transport inside it,
    after the same number of pieces as in the recording.

    Args:
        recording: The parent.
        spoken: Notes the output inside calls of the fork.
    """

    def __init__(self, recording: Recording, spoken: StreamListener) -> None:
        self._spoken = spoken
        self._pieces: defaultdict[int, list[SpokenPiece]] = defaultdict(list)
        self._below: dict[int, deque[SpokenPiece]] = {1: deque(), 2: deque()}
        self._lock = threading.RLock()
        for data in recording.notes(None).get(NOTE) or ():
            piece = SpokenPiece.from_json(data)
            if piece.event == BELOW:
                self._below[piece.stream].append(piece)
            else:
                event = recording.event(piece.event)
                self._pieces[(inside(recording, event) or event).number].append(piece)
        self.heard: dict[int, Go] = {}

    def __call__(self, stream: int, go: Go, text: Any) -> Any:
        """Write the agent's output, and note it if a call's body made it."""
        with self._lock:
            self._below_came(stream, go, text)
            return self._spoken(stream, go, text)

    def _below_came(self, stream: int, go: Go, text: Any) -> None:
        """Write the recorded output of transports at this place, unless the text is that output itself."""
        below = self._below[stream]
        while below and below[0].number <= self._spoken.count(stream):
            piece = below.popleft()
            if piece.text == text:
                return
            if piece.number == self._spoken.count(stream):
                self._spoken.said(piece, BELOW, go)

    def answered(self, recorded: int, event: int) -> None:
        """A call of the fork gets the answer of a recorded one: write the output of its body."""
        for piece in self._pieces.pop(recorded, ()):
            go = self.heard.get(piece.stream)
            if go is not None:
                self._spoken.said(piece, event, go)

    def end(self) -> None:
        """At the end of the program, put the noted output into the recording."""
        for stream, go in self.heard.items():
            self._below_came(stream, go, None)
        self._spoken.end()
