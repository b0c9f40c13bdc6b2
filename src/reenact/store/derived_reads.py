"""The methods that every store has in the same form, because they only need its other methods: events by reference,
checkpoints, closing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

from reenact.errors import UsageError
from reenact.facts.late import late

if TYPE_CHECKING:
    from reenact.abc.store import Recording
    from reenact.facts.checkpoint import Checkpoint
    from reenact.facts.event import Event
    from reenact.facts.run import Run
    from reenact.store.checkpoints import build_checkpoint
    from reenact.store.reference_lookup import find_event, split
else:
    build_checkpoint = late("reenact.store.checkpoints", "build_checkpoint")
    find_event = late("reenact.store.reference_lookup", "find_event")
    split = late("reenact.store.reference_lookup", "split")

FILTERS = frozenset(
    {
        "agent",
        "user",
        "tenant",
        "session",
        "parent",
        "status",
        "failed",
        "tag",
        "text",
        "limit",
        "since_us",
        "before_us",
    }
)
"""The names of the filters that ``Store.runs`` takes."""


def check_filters(names: object) -> None:
    """Refuse filters that ``Store.runs`` does not have.

    Raises:
        UsageError: A name is no filter.
    """
    unknown = sorted(set(names) - FILTERS)  # type: ignore[call-overload]
    if unknown:
        raise UsageError(
            f"runs() has no filter {unknown[0]!r}",
            cause=f"the filters are {', '.join(sorted(FILTERS))}",
            next_command="reenact ls --help",
        )


class Views(ABC):
    """The part of ``abc.store.Store`` that needs only ``run``, ``open`` and ``close``."""

    @abstractmethod
    def run(self, ref: str) -> Run:
        """See ``abc.store.Store``."""

    @abstractmethod
    def open(self, run: Run | str) -> Recording:
        """See ``abc.store.Store``."""

    @abstractmethod
    def close(self) -> None:
        """See ``abc.store.Store``."""

    def events(self, run: Run | str) -> Iterator[Event]:
        """See ``abc.store.Store``."""
        return self.open(run).events()

    def event(self, ref: str) -> Event:
        """See ``abc.store.Store``."""
        run, event = split(ref)
        return find_event(self.open(run), event)

    def checkpoint(self, run: Run | str, at: int | str) -> Checkpoint:
        """See ``abc.store.Store``."""
        recording = self.open(run)
        return build_checkpoint(recording, find_event(recording, at))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
