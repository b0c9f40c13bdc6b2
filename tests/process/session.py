"""Begins a small session in a booted process: it keeps what it sees in the boot's private directory.

Stands in for ``reenact.recording.recording_process`` in these tests, which are about how a process is entered and left.
"""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Literal

from reenact.facts.call import Call, End, Failure, Value
from reenact.seams import ambient, clock, entropy, lanes, stdio


class Turn:
    """A turn that has come."""

    def __init__(self, value: Any = None) -> None:
        self._value = value

    def wait(self) -> Any:
        """What the turn hands over."""
        return self._value


class Crossing:
    """Performs, or answers from the tape."""

    event = 0

    def __init__(self, session: Session, call: Call, answer: bytes | None) -> None:
        self._session = session
        self._call = call
        self._answer = answer

    @property
    def mode(self) -> Literal["live", "frozen"]:
        """Frozen when there is an answer."""
        return "live" if self._answer is None else "frozen"

    def ready(self) -> Turn:
        """At once."""
        return Turn()

    def enter(self) -> AbstractContextManager[None]:
        """No scope."""
        return nullcontext()

    def outcome(self) -> Turn:
        """The recorded value."""
        return Turn(Value(self._answer or b""))

    answer = outcome

    def settle(self, outcome: Value | Failure) -> Turn:
        """Keep the value."""
        assert isinstance(outcome, Value)
        self._session.calls.append([self._call.name, self._call.body.decode(), outcome.body.hex()])
        return Turn()

    def dropped(self, _end: End) -> None:
        """Nothing was read."""
        self._session.calls.append([self._call.name, self._call.body.decode(), None])


class Session:
    """Keeps, or plays, ambient reads and calls."""

    reaches_world = True

    def __init__(self, tape: dict[str, Any] | None) -> None:
        self.reads: list[list[Any]] = []
        self.calls: list[list[Any]] = []
        self.output = {1: bytearray(), 2: bytearray()}
        self._played = None if tape is None else {"reads": list(tape["reads"]), "calls": list(tape["calls"])}

    def ambient(self, lane: lanes.Lane, source: str, fresh: Any) -> Any:
        """The next read of this source."""
        if self._played is not None:
            at = next(n for n, read in enumerate(self._played["reads"]) if read[0] == source)
            fresh = ambient.unpack(source, bytes.fromhex(self._played["reads"].pop(at)[1]))[0]
        self.reads.append([source, ambient.pack(source, [fresh]).hex()])
        return fresh

    def unrecorded(self, lane: lanes.Lane, source: str, fresh: Any) -> Any:
        """The real time."""
        return fresh

    def decide(self, lane: lanes.Lane, call: Call) -> Crossing:
        """The next call of this name."""
        if self._played is None:
            return Crossing(self, call, None)
        name, body, answer = self._played["calls"].pop(0)
        assert (name, body) == (call.name, call.body.decode())
        self.calls.append([name, body, answer])
        return Crossing(self, call, bytes.fromhex(answer))

    def fault(self, error: Exception) -> bool:
        """Faults show in these tests."""
        raise error

    def gap(self, what: str, place: str) -> None:
        """Nothing escapes."""

    def printed(self, stream: int, data: bytes) -> None:
        """Keep output."""
        self.output[stream] += data


def begin(instructions: dict[str, Any]) -> None:
    """What ``reenact.recording.recording_process.begin`` does, in small."""
    if instructions.get("explode"):
        raise RuntimeError("the recorder cannot begin")
    tape = json.loads(Path(instructions["tape"]).read_text()) if instructions.get("tape") else None
    session: Any = Session(tape)
    place = Path(instructions["place"])
    terminal = tape["terminal"] if tape else None
    facts = stdio.facts()
    seen = session.printed

    def printed(stream: int, data: bytes) -> None:
        seen(stream, data)
        save()

    def save() -> None:
        kept = {"reads": session.reads, "calls": session.calls, "terminal": terminal or facts, "pid": os.getpid()}
        kept |= {name: session.output[n].decode("utf-8", "surrogateescape") for n, name in ((1, "out"), (2, "err"))}
        partial = place / "result.partial"
        partial.write_text(json.dumps(kept))
        partial.rename(place / "result")

    clock.rebinding.join()
    entropy.rebinding.join()
    lane = lanes.Lane("root", session, None)
    lanes.session_began(lane)
    stdio.install(printed, terminal=terminal)
    save()
