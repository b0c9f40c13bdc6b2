"""The output that bodies of calls write while they are recorded: a replay does not run the bodies, and writes it for
them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from reenact.facts.output_pieces import BELOW, NOTE, SpokenPiece
from reenact.facts.record import EvidenceNoted
from reenact.seams.lanes import Lane, current

if TYPE_CHECKING:
    from reenact.abc.session import Session
    from reenact.recording.recording_session import RecordingSession
    from reenact.seams.speech import Go

LIMIT = 4 << 20
"""The most characters kept of one run; later output from inside calls is missing in a replay."""


class StreamListener:
    """Listens to the standard streams of a recorded process.

    All pieces of a stream are counted, so that a replay knows the place of a call's pieces among those of the agent's
    own output. About a microsecond a piece.

    Args:
        session: The session that notes the output.
        lanes_of: The session whose lanes identify the writer; the same one by default.
    """

    def __init__(self, session: RecordingSession, lanes_of: Session | None = None) -> None:
        self._session = session
        self._lanes_of = session if lanes_of is None else lanes_of
        self._lock = threading.RLock()  # a signal handler may print while its own thread holds it
        self._counts = {1: 0, 2: 0}
        self._pieces: list[SpokenPiece] = []
        self._room = LIMIT

    def __call__(self, stream: int, go: Go, text: Any) -> Any:
        """Write ``text``; note it if a call's body writes it."""
        if self._session.closed:
            return go(text)
        lane = current()
        if lane is not None:
            lane.told += 1
        with self._lock:
            try:
                self._note(stream, text, self._inside(lane))
            except Exception as error:
                if self._session.fault(error):
                    raise
            return go(text)

    def count(self, stream: int) -> int:
        """The number of pieces that were written to a stream, by all writers."""
        return self._counts[stream]

    def said(self, piece: SpokenPiece, event: int, go: Go) -> None:
        """Write the output of a body that does not run now, as a piece of call ``event``."""
        with self._lock:
            self._note(piece.stream, piece.text, event, piece.count)
            go(piece.text)

    def _note(self, stream: int, text: Any, event: int | None, count: int = 1) -> None:
        number = self._counts[stream]
        self._counts[stream] = number + count
        if event is None or not isinstance(text, str) or len(text) > self._room:
            return
        self._room -= len(text)
        last = self._pieces[-1] if self._pieces else None
        if last is not None and count == 1 and event != BELOW and last.goes_on(event, stream, number):
            self._pieces[-1] = last.joined(text)
        else:
            self._pieces.append(SpokenPiece(event, stream, number, count, text))

    def _inside(self, lane: Lane | None) -> int | None:
        """Of the calls around a lane, the innermost one whose body does not run in a replay; None where there is
        none."""
        if lane is None or lane.session is not self._lanes_of:
            return None
        if lane.below:
            return BELOW
        event = lane.parent
        observed = self._session.writes.observed
        while event is not None and event in observed:
            event = observed[event]
        return event

    def end(self) -> None:
        """At the end of the program, put the noted output into the recording."""
        with self._lock:
            if self._pieces:
                self._session.put(EvidenceNoted(None, NOTE, [piece.to_json() for piece in self._pieces]))
