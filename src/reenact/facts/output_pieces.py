"""Pieces of text that the body of a call wrote to a standard stream, as they are noted on a run."""

from __future__ import annotations

from typing import Any, Final

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, replace

NOTE: Final = "printed inside calls"
"""Name of the note on the run."""

BELOW: Final = -1
"""Stands for the call where a transport wrote. A replay runs a part of a transport itself, the one above the socket."""


@dataclass(frozen=True, slots=True)
class SpokenPiece:
    """One piece of text, or several that came in a row.

    Attributes:
        event: The innermost call whose body wrote it.
        stream: 1 for standard output, 2 for standard error.
        number: The number of pieces that were written to the stream before.
        count: The number of pieces.
        text: The text.
    """

    event: int
    stream: int
    number: int
    count: int
    text: str

    def goes_on(self, event: int, stream: int, number: int) -> bool:
        """Whether a later piece, of this call and stream, follows this one directly."""
        return self.event == event and self.stream == stream and self.number + self.count == number

    def joined(self, text: str) -> SpokenPiece:
        """This piece and the next, with the text of the next, as one piece."""
        return replace(self, count=self.count + 1, text=self.text + text)

    def to_json(self) -> Json:
        """The piece as data."""
        return [self.event, self.stream, self.number, self.count, self.text]

    @classmethod
    def from_json(cls, data: Any) -> SpokenPiece:
        """The inverse of ``to_json``.

        Raises:
            ValueError: The data is no piece.
        """
        event, stream, number, count, text = data
        if not isinstance(text, str) or not all(isinstance(each, int) for each in (event, stream, number, count)):
            raise ValueError(f"not a piece of text: {data!r}")
        return cls(event, stream, number, count, text)
