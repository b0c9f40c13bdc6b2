"""The contract of the redactor at the one write gate: it sees every record before the first byte reaches a disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from reenact.facts.call import Call, Failure, Json, Value
from reenact.facts.record import Record


class Redactor(Protocol):
    """Cleans the records of one run, in order, in the writer thread."""

    @property
    def rules(self) -> tuple[str, ...]:
        """Named, versioned rules in force; kept with the run."""
        ...

    def clean(self, record: Record) -> tuple[Record, ...]:
        """The records to store in place of this one, labelled with their fidelity.

        May hold back the undecided tail of a stream (bounded) until a later record of the same event. Never raises:
        data that cannot be cleaned is withheld.
        """
        ...

    def flush(self) -> tuple[Record, ...]:
        """The data that is still held back when the run closes."""
        ...

    def call(self, call: Call) -> Call:
        """Clean a live call of a replay, so that the same rules apply to both sides of a comparison.
        Credentials become a constant of their class, so that a placeholder equals the original. Data that cannot be
        cleaned is withheld, as in the recording."""
        ...

    def outcome(self, outcome: Value | Failure) -> Value | Failure:
        """Clean the result of a body that runs again, or the recorded result, as ``call`` cleans a call."""
        ...

    def slots(self, slots: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """Clean the state of a step, as ``call`` cleans a call."""
        ...

    def text(self, text: str) -> str:
        """Clean a name, or words that people read, as ``call`` cleans a call."""
        ...

    @property
    def naming(self) -> Callable[[str], str]:
        """A function that cleans the names of lanes; it does not depend on the run, and may outlive it."""
        ...

    def data(self, data: Json) -> Json:
        """Clean JSON that people or programs read, as ``call`` cleans a call."""
        ...

    def printed(self, texts: Sequence[bytes]) -> list[bytes] | None:
        """Clean everything that a program has printed, on both streams and on both sides of a comparison. These texts
        are given together, because the stand-in of a credential in one of them is removed from all. The result has None
        for a text that cannot be cleaned."""
        ...
