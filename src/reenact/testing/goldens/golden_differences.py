"""The differences of today's run from a golden, call by call, each in one of four categories.

Calls are paired as in ``reenact diff``. Calls inside a call that was answered from the recording are part of it: today
they were not made. The end of the run is the last difference.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum
from functools import partial
from typing import Final

from reenact.abc.store import Recording
from reenact.facts.call import EndKind, Failure, Json, Stream
from reenact.facts.credential_search import normalise
from reenact.facts.event import Event
from reenact.facts.keys import Rules, rules_of
from reenact.facts.known_credentials import NONE, KnownCredentials
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.run import Status
from reenact.privacy import make_redactor
from reenact.replaying.results import Output, outputs_differ
from reenact.timetravel import event_documents
from reenact.timetravel.alignment import Face, PairSort
from reenact.timetravel.event_contents import error_of, status_of
from reenact.timetravel.faces import Side, asked_key, compared, side_of
from reenact.timetravel.model_readings import is_model, model_name
from reenact.timetravel.run_pair import RunPair

END: Final = "end"
"""The place of a difference in the end of the run."""

DIGITS: Final = 32
_FAILED_FROM: Final = 400
_SHOWN: Final = 4000
_STREAMS: Final = ((1, "printed"), (2, "printed as errors"))


class Category(StrEnum):
    """The category of a difference.

    ``FIX`` comes first: the golden's call had gone wrong (it failed, or an expectation that failed on the golden and
    holds today blames it), and today's has not. ``CREATE``: a new call. ``TRIM``: a call of the golden that is no
    longer made. ``UPDATE``: the same call with another request, at another place or, where the agent's own code
    answers, with another result.
    """

    CREATE = "create"
    FIX = "fix"
    TRIM = "trim"
    UPDATE = "update"


@dataclass(frozen=True, slots=True)
class GoldenDifference:
    """One difference between a golden and today's run.

    Attributes:
        category: The category.
        event: The number of the golden's event; None without one.
        today: The number of today's event; None without one.
        call: The kind and name of the call.
        how: The difference, in words.
        was, now: Both as documents (``timetravel.event_documents``); None without one.
        old, new: Digests of both: 32 hexadecimal digits of SHA-256 over the key of the request, and the answer; empty
            without one.
    """

    category: Category
    event: int | None
    today: int | None
    call: str
    how: str
    was: Json
    now: Json
    old: str
    new: str

    @property
    def place(self) -> str:
        """The name with which the difference is accepted: the golden's number, ``+`` and today's number, or ``end``."""
        if self.event is not None:
            return str(self.event)
        return END if self.today is None else f"+{self.today}"

    def to_json(self) -> dict[str, Json]:
        """The difference as JSON-able data."""
        names = ("event", "today", "call", "how", "was", "now", "old", "new")
        return {"place": self.place, "category": self.category.value, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True, slots=True)
class Blame:
    """The expectations that failed on the golden and hold today.

    Attributes:
        events: The first bad event of each such expectation.
        whole: Whether one of them blames the run, and no event.
    """

    events: Collection[int] = ()
    whole: bool = False


_UNBLAMED: Final = Blame()


def differing(
    golden: Recording, today: Recording, blame: Blame = _UNBLAMED, known: KnownCredentials = NONE
) -> list[GoldenDifference]:
    """The differences of today's run from the golden's, in the order of the golden.

    Args:
        golden: The run that today's code was answered from.
        today: The run of today's code.
        blame: The faults of the golden.
        known: Credentials that are known by value, whose stand-ins differ between runs.

    Cost: that of ``reenact diff`` over both.
    """
    sides = (_outermost(side_of(each, sent=False)) for each in (golden, today))
    laid = RunPair(*compared(*sides))
    comparing = _DifferenceMaker(laid, rules_of(golden.run.capture), blame)
    found = [each for match in laid.matches if (each := comparing.pair(match.left, match.right, laid.changes(match)))]
    ended = _ended(golden, today, blame, known)
    return found if ended is None else [*found, ended]


def _outermost(side: Side) -> Side:
    """A side without the events inside calls that a replay answers as a whole."""
    inside: set[int] = set()
    kept: list[Face] = []
    for face in side.faces:
        if face.parent is not None and (face.parent in inside or not side.event(face.parent).call.observed):
            inside.add(face.number)
        else:
            kept.append(face)
    return replace(side, faces=tuple(kept))


class _DifferenceMaker:
    """Makes a difference of each pair that differs.

    Args:
        laid: Both runs, aligned.
        rules: How two calls are compared.
        blame: The faults of the golden.
    """

    def __init__(self, laid: RunPair, rules: Rules, blame: Blame) -> None:
        self._golden, self._today = laid.sides
        self._rules = rules
        self._blame = blame

    def pair(self, left: int | None, right: int | None, changes: tuple[PairSort, ...]) -> GoldenDifference | None:
        """The difference of one pair; None where both are the same."""
        one = None if left is None else self._golden.event(left)
        other = None if right is None else self._today.event(right)
        event = other or one
        assert event is not None
        if not changes:
            return None
        was, old = self._told(self._golden.recording, one)
        now, new = self._told(self._today.recording, other)
        how = " and ".join(_WORDS[change] for change in changes)
        return GoldenDifference(self._category(one, other), left, right, _call(event), how, was, now, old, new)

    def _category(self, one: Event | None, other: Event | None) -> Category:
        wrong = one is not None and (one.number in self._blame.events or has_failed(one))
        if wrong and not (other is not None and has_failed(other)):
            return Category.FIX
        if one is None:
            return Category.CREATE
        return Category.TRIM if other is None else Category.UPDATE

    def _told(self, recording: Recording, event: Event | None) -> tuple[Json, str]:
        """An event as a document, and its digest."""
        if event is None:
            return None, ""
        told = event_documents.document(recording, event, sent=False)
        key = asked_key(recording, event, self._rules, sent=False)
        return told, digest([event.kind, event.name, key, told["answer"]])


_WORDS: Mapping[PairSort, str] = {
    PairSort.ADDED: "not in the golden",
    PairSort.REMOVED: "not made any more",
    PairSort.REORDERED: "at another place",
    PairSort.ARGUMENTS: "asks something else",
    PairSort.ANSWER: "comes to something else",
}


def has_failed(event: Event) -> bool:
    """Whether a call went wrong: it raised, was refused by its server, broke off, or never came back."""
    outcome = event.outcome
    if outcome is None or isinstance(outcome, Failure) or error_of(event) is not None:
        return True
    if not isinstance(outcome, Stream):
        return False
    return (status_of(event) or 0) >= _FAILED_FROM or outcome.end is None or outcome.end.kind is EndKind.ERROR


def digest(told: Json) -> str:
    """A digest of JSON-able data that does not depend on the store: all stand-ins of credentials count as equal."""
    text = json.dumps(told, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(normalise(text.encode("utf-8", "surrogatepass"))).hexdigest()[:DIGITS]


def _call(event: Event) -> str:
    return f"model {model_name(event)}" if is_model(event) else f"{event.kind} {event.name}"


def _ended(golden: Recording, today: Recording, blame: Blame, known: KnownCredentials) -> GoldenDifference | None:
    """The difference of the two ends: status, error, exit status, and output."""
    was, now = _end(golden), _end(today)
    cleaned = make_redactor(known=known).printed
    if golden.run.entry.kind == "command":
        outputs = [Output(stream, partial(golden.printed, stream)) for stream, _ in _STREAMS]
        for output in outputs:
            for data in today.printed(output.stream):
                output.feed(data)
        outputs_differ(outputs, cleaned)
        for output, (stream, name) in zip(outputs, _STREAMS, strict=True):
            if output.difference is not None:
                was[name], now[name] = (_text(each, stream) for each in (golden, today))
    if was == now:
        return None
    bad = golden.run.status is not Status.OK or blame.whole
    category = Category.FIX if bad and today.run.status is Status.OK else Category.UPDATE
    return GoldenDifference(category, None, None, "run", "ends differently", was, now, digest(was), digest(now))


def ended_by(told: tuple[str, ...]) -> GoldenDifference:
    """The difference of a run whose calls are all the same, but which a strict replay finds different."""
    now: dict[str, Json] = {"differences": list(told)}
    return GoldenDifference(Category.UPDATE, None, None, "run", "ends differently", {}, now, digest({}), digest(now))


def _end(recording: Recording) -> dict[str, Json]:
    run = recording.run
    error = normalise(run.error.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
    told: dict[str, Json] = {"status": run.status.value, "error": error or None}
    return told | {"exit_status": run.exit_status} if run.entry.kind == "command" else told


def _text(recording: Recording, stream: int) -> str:
    """The output, cut to a length that can be read; a digest stands for the rest."""
    data = normalise(b"".join(recording.printed(stream)))
    text = data.decode("utf-8", "replace")
    if len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN]}… ({len(data)} bytes, SHA-256 {hashlib.sha256(data).hexdigest()})"


def each_of(found: Collection[GoldenDifference]) -> Iterator[tuple[str, int]]:
    """The number of differences in each category, without empty ones."""
    for category in Category:
        count = sum(each.category is category for each in found)
        if count:
            yield category.value, count
