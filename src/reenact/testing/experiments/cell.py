"""A cell of an experiment: the result of one run of one row on one candidate; and its identity, by content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Literal

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import asdict, dataclass, field
from reenact.testing.goldens.golden_outcome import JudgedExpectation

FORMAT: Final = 2
"""Version of a kept cell, part of its identity: cells of another version are not found."""

Status = Literal["passed", "failed", "ran", "stale", "refused", "broken"]
UNANSWERED_MODEL: Final = "a model call without an answer"
"""The beginning of the message of a stale cell that a live model call would have answered."""
KEPT: Final[frozenset[Status]] = frozenset(("passed", "failed", "ran", "stale"))
"""The statuses that do not change in another run; cells with another status are run again when the experiment
continues."""


@dataclass(frozen=True, slots=True)
class CellResult:
    """The result of one run of one row on one candidate.

    Attributes:
        row: The name of the row; ``candidate``: the name of the candidate; ``repeat``: the number of the run, from 1.
        status: ``passed``, ``failed`` (an expectation does not hold, or a *same* golden differs), ``ran`` (there are no
            expectations), ``stale`` (a call has no answer), ``refused`` (contact with the world), ``broken`` (it could
            not be run, or a model could not be asked).
        message: Why it did not pass, in words; empty where it did.
        judged: Its expectations.
        output: The final answer of the agent.
        changed: Tool calls that are not the recorded ones, each as a text; ``first`` is the first difference of any
            kind.
        tokens: In and out; None where they were not counted. ``cost`` in US dollars, None where it is unknown.
        duration_us: The duration of the agent's run.
        live: The number of calls that were performed; ``used``: the number of answers of each source except the
            recording.
        note: A further remark.
        opinions: The number of judges' opinions: ``judged`` in all, ``kept`` and ``asked`` among them; empty without a
            judge.
        ended: The end of its run, as features for ``triage`` (``facts.features``); empty without a run.
    """

    row: str
    candidate: str
    repeat: int
    status: Status
    message: str = ""
    judged: tuple[JudgedExpectation, ...] = ()
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
        """The result as JSON-able data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CellResult:
        """The inverse of ``to_json``."""
        values = {
            **data,
            "changed": tuple(data["changed"]),
            "judged": tuple(JudgedExpectation(**each) for each in data["judged"]),
        }
        return cls(**values)

    @property
    def verdict(self) -> str:
        """The facts by which two repeats differ: the end and, without expectations, the answer."""
        said = json.dumps(self.output, sort_keys=True, default=str) if self.status == "ran" else ""
        return f"{self.status} {said}"


def identity(row: str, candidate: Mapping[str, Json], repeat: int, code: str) -> str:
    """The name under which a cell is kept: a digest, of 32 hex digits, over all that decides its result.

    Args:
        row: Digest of the row.
        candidate: The candidate as data; its name does not count.
        repeat: The number of the repeat.
        code: Digest of the code that runs.
    """
    counted = {name: value for name, value in candidate.items() if name != "name"}
    told = json.dumps([FORMAT, row, counted, repeat, code], sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()
