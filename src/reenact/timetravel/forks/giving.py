"""A call of a fork that neither the parent's recording nor the world answers, but the change itself."""

from __future__ import annotations

from typing import Any, Literal

from reenact.facts.call import Value
from reenact.timetravel.forks.handing import Handing
from reenact.timetravel.forks.taping import OwnCall


class GivenCall:
    """A call answered with a value of the change's (``abc.session.Frozen``), an event of the fork's own.

    Args:
        own: The call as the fork would note it if it were performed.
        outcome: Its answer.
    """

    __slots__ = ("_outcome", "_own", "event")
    mode: Literal["frozen"] = "frozen"
    form: Literal["value"] = "value"

    def __init__(self, own: OwnCall, outcome: Value) -> None:
        self._own = own
        self._outcome = outcome
        self.event = own.event

    def outcome(self) -> Handing:
        """The change's value, in its turn."""
        return Handing(self._own.settle(self._outcome), self._outcome)

    answer = outcome

    def go_live(self) -> None:
        """The change answers it, whatever is live."""

    def can_begin(self) -> None:
        """The change answers it, and nothing is begun."""

    def head(self) -> Any:
        """Nothing that is given is a stream."""
        raise TypeError("a value that a change gives is no stream")

    part = head

    def dropped(self) -> None:
        """Nothing to drop."""
