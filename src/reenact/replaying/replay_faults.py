"""The faults that stop a replay: divergences, damage, and runs that cannot be replayed. The verdict names them."""

from __future__ import annotations

from collections.abc import Callable

from reenact.abc.store import Recording
from reenact.errors import Divergence, ForkError, Halt, StoreError, UnreplayableRun
from reenact.replaying.run_divergences import RunDivergences, no_caller_comes, waiting_place
from reenact.seams.accepted_connections import ACCEPTED
from reenact.seams.gate import Gate


class ReplayFaults:
    """Keeps the divergences, the damage and the errors for runs that cannot be replayed, and stops the agent.

    Args:
        gate: The gate, which lets nothing pass once the agent is stopped.
        saying: Names the command to type next.
        observing: Whether the agent goes on after a divergence.
    """

    def __init__(self, gate: Gate, saying: RunDivergences, *, observing: bool) -> None:
        self._gate = gate
        self._saying = saying
        self._observing = observing
        self.divergences: list[Divergence] = []
        self.unreplayable: list[UnreplayableRun] = []
        self.damaged: list[StoreError] = []
        self.unheeded: ForkError | None = None
        """Why the change of a fork cannot be made, if it cannot."""
        self.on_stop: Callable[[], object] = lambda: None

    def __bool__(self) -> bool:
        return bool(self.divergences or self.unreplayable or self.damaged)

    def extend(self, other: ReplayFaults) -> None:
        """Take in the faults of another session of the same replay."""
        self.divergences.extend(other.divergences)
        self.unreplayable.extend(other.unreplayable)
        self.damaged.extend(other.damaged)

    def diverged(self, divergence: Divergence) -> Halt:
        """Keep a divergence and stop the agent; when observing, keep it and go on."""
        halt = Halt(divergence.message)
        with self._gate.lock:
            if self._observing or not self.divergences:
                self.divergences.append(divergence)
        return halt if self._observing else self.stop(halt)

    def take(self, error: Exception) -> None:
        """Keep the error of a seam that has failed, and stop the agent."""
        if isinstance(error, UnreplayableRun):
            error.next_command = self._saying.of_run(error.next_command)
            self.unreplayable.append(error)
            self.stop(Halt(error.message))
        elif isinstance(error, StoreError):
            self.unreadable(error)
        elif isinstance(error, ForkError):
            self.unheeded = error
            self.stop(Halt(error.message))

    def stop(self, halt: Halt) -> Halt:
        """Stop the agent. Returns the halt that stopped it first."""
        first = self._gate.halted is None
        try:
            self._gate.halt(halt)
        finally:
            if first:
                self.on_stop()
        return self._gate.halted or halt

    def unreadable(self, error: StoreError) -> Halt:
        """Stop the agent because the recording is damaged: nothing is ever substituted."""
        with self._gate.lock:
            self.damaged.append(error)
        return self.stop(Halt(error.message))

    def refuse(self, words: str) -> Halt:
        """Stop the agent because it tried to touch the world."""
        return self.stop(Halt(f"refused while replaying: {words}"))

    def await_callers(self, recording: Recording) -> bool:
        """Whether every waiting strand waits for connections from outside. If so, the replay stops here."""
        places = [place for what, place, _ in recording.gaps() if what == ACCEPTED]
        if self._gate.blocked_us < 0 or not places:
            return False
        self.unreplayable.append(no_caller_comes(recording.run, waiting_place() or places[0]))
        self.stop(Halt("nothing connects in a replay"))
        return True
