"""A cell of an experiment: what one row came to on one candidate, once; and its identity, by content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Literal

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import asdict, dataclass, field
from reenact.testing.goldens.outcome import Judged

FORMAT: Final = 2
"""Version of a kept cell, part of its identity: cells of another version are not found."""

Status = Literal["passed", "failed", "ran", "stale", "refused", "broken"]
UNANSWERED_MODEL: Final = "a model call without an answer"
"""How the message of a stale cell begins where asking models would have answered it."""
KEPT: Final[frozenset[Status]] = frozenset(("passed", "failed", "ran", "stale"))
"""What comes to the same when it is done again; whatever else is done again when the experiment goes on."""


@dataclass(frozen=True, slots=True)
class CellResult:
    """What came of one row on one candidate, once.

    Attributes:
        row: Name of the row, ``candidate`` of the candidate, ``repeat`` which time it was, from 1.
        status: ``passed``, ``failed`` (an expectation does not hold, or a *same* golden differs), ``ran`` (nothing is
            expected of it), ``stale`` (a call has no answer), ``refused`` (contact with the world), ``broken`` (it
            could not be run, or a model could not be asked).
        message: Why it did not pass, in words; empty where it did.
        judged: Its expectations.
        output: What the agent said in the end.
        changed: Tool calls that are not the recorded ones, a text each; ``first`` is the first difference at all.
        tokens: In and out; None where nobody counted. ``cost`` in US dollars, None where it is unknown.
        duration_us: How long the agent took.
        live: Calls that were performed; ``used`` counts answers by their source, where it is not the recording.
        note: What else a reader must know.
        opinions: By how many opinions of models it was ``judged``, how many of these were ``kept`` and ``asked`` for;
            empty where no model judges.
        ended: How its run ended, as the features by which runs that fail alike are found (``facts.features``); empty
            where it did not come to a run.
    """

    row: str
    candidate: str
    repeat: int
    status: Status
    message: str = ""
    judged: tuple[Judged, ...] = ()
    output: Json = None
    changed: tuple[str, ...] = ()
    first: str = ""
    tokens: int | None = None
    cost: float | None = None
    duration_us: int = 0
    live: int = 0
    used: Mapping[str, int] = field(default_factory=dict)
    note: str = ""
    opinions: Mapping[str, int] = field(default_factory=dict)
    ended: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As JSON-able data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CellResult:
        """The inverse of ``to_json``."""
        values = {**data, "changed": tuple(data["changed"]), "judged": tuple(Judged(**each) for each in data["judged"])}
        return cls(**values)

    @property
    def verdict(self) -> str:
        """What makes two repeats differ: how it ended and, where nothing is expected, what it said."""
        said = json.dumps(self.output, sort_keys=True, default=str) if self.status == "ran" else ""
        return f"{self.status} {said}"


def identity(row: str, candidate: Mapping[str, Json], repeat: int, code: str) -> str:
    """The name under which a cell is kept: all that decides what it comes to, as a digest of 32 hex digits.

    Args:
        row: Digest of the row.
        candidate: The candidate as data; its name does not count.
        repeat: Which time.
        code: Digest of the code that runs.
    """
    counted = {name: value for name, value in candidate.items() if name != "name"}
    told = json.dumps([FORMAT, row, counted, repeat, code], sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()
