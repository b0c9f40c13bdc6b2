"""A gate that lets everything through, for tests of seams whose lanes are watched by the hooks of other tests."""

from __future__ import annotations

from reenact.facts.order import Tag
from reenact.seams.gate import Gate, Waiter


class OpenGate(Gate):
    """Nothing waits here and nothing is numbered."""

    def grant(self, tag: Tag, proven: bool) -> int:
        """Always the first."""
        return 0

    def immediate(self, tag: Tag) -> bool:
        """Always."""
        return True

    def impatient(self) -> bool:
        """Always."""
        return True

    def choose(self, settled: bool) -> Waiter | None:
        """First come, first served."""
        return next(iter(self.waiting.values()), None)

    def now_us(self) -> int:
        """No time passes."""
        return 0
