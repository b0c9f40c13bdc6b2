"""Model calls of imported exchanges, found by model and messages where no exchange has the same request.

Today's agent may ask at another address, in another protocol, or with other parameters than the file holds. This search
is made where models may go live, before a live call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from reenact.errors import UnreplayableRun
from reenact.facts.answers.say_answers import streams
from reenact.facts.call import Call, EndKind, Kind, Stream
from reenact.facts.conversations import digest_of, is_same_model, lines_of
from reenact.facts.dialects import read
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.reading import Reading
from reenact.replaying.trace_matching import spoken

_FINE: Final = 200


@dataclass(frozen=True, slots=True)
class _ToldModelCall:
    """An answered model call of the import, and the facts that two calls with the same content have in common."""

    event: Event
    reading: Reading
    lines: bytes

    @property
    def answer(self) -> tuple[str, tuple[str, ...]]:
        """The answer of the model."""
        return self.reading.text, tuple(str(each) for each in self.reading.tool_calls)


class ToldModels:
    """The answers of models in an import.

    Args:
        unused: Gives the unused exchanges.
        body: Gives the request of an exchange.
        pieces: Gives the pieces of an exchange's answer.
    """

    def __init__(
        self,
        unused: Callable[[], Iterable[Event]],
        body: Callable[[Event], bytes],
        pieces: Callable[[Event], Iterable[bytes]],
    ) -> None:
        self._unused = unused
        self._body = body
        self._pieces = pieces
        self._read: dict[int, _ToldModelCall | None] = {}
        self.made: dict[int, bytes] = {}
        """Answers that were written in another protocol, by the number of the exchange."""
        self.given = 0
        """How many answers were found in this way."""

    def find(self, call: Call) -> Event | None:
        """The exchange of the same model with the same conversation; None if there is no such exchange, or several that
        differ."""
        asked = read(call.head, call.body, {}, b"") if call.kind is Kind.HTTP else None
        if asked is None:
            return None
        lines = digest_of(lines_of(asked))
        told = [each for each in map(self._told, self._unused()) if each is not None and each.lines == lines]
        fit = [each for each in told if is_same_model(asked.model_asked, each.reading)]
        if not fit or any(each.answer != fit[0].answer for each in fit):
            return None
        found = self._in_protocol(fit[0], asked, call)
        self.given += found is not None
        return found

    def _told(self, event: Event) -> _ToldModelCall | None:
        if event.number not in self._read:
            self._read[event.number] = self._reading(event)
        return self._read[event.number]

    def _reading(self, event: Event) -> _ToldModelCall | None:
        outcome = event.outcome
        if event.call.kind is not Kind.HTTP or not isinstance(outcome, Stream) or outcome.head.get("status") != _FINE:
            return None
        whole = outcome.end is not None and outcome.end.kind is EndKind.EOF
        found = read(event.call.head, self._body(event), outcome.head, self._pieces(event)) if whole else None
        if found is None or found.partial or found.error:
            return None
        return _ToldModelCall(event, found, digest_of(lines_of(found)))

    def _in_protocol(self, told: _ToldModelCall, asked: Reading, call: Call) -> Event | None:
        """The exchange. If the agent now uses another protocol, the answer is written in that protocol."""
        then = told.event.call
        same = streams(then.head, self._body(told.event)) is streams(call.head, call.body)
        if same and told.reading.dialect == asked.dialect:
            return told.event
        try:
            event, self.made[told.event.number] = spoken(told.event, told.reading, call)
        except UnreplayableRun:
            return None
        return event
