"""A turn that hands over what neither the recording nor the world brings, but the change or a person's word."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from reenact.facts.call import Failure, Value


class Handing:
    """A turn at the gate that hands over an outcome when it has come.

    Args:
        turn: Notes the outcome in the fork's recording.
        outcome: What the agent gets.
    """

    __slots__ = ("outcome", "turn")

    def __init__(self, turn: Any, outcome: Value | Failure) -> None:
        self.turn = turn
        self.outcome = outcome

    def wait(self) -> Value | Failure:
        """Wait in a thread."""
        self.turn.wait()
        return self.outcome

    def __await__(self) -> Generator[Any, Any, Value | Failure]:
        yield from self.turn.__await__()
        return self.outcome
