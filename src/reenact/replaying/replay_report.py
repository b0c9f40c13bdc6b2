"""The report of a replay: what it has proved, as one frozen value that travels between processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar, cast

from reenact.abc.redaction import Redactor
from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import asdict, dataclass, fields, replace

T = TypeVar("T")

NETWORK: Final = "network namespace"
OVERLAY: Final = "scratch overlay"
EVERYWHERE: Final = "every folder"
CALLS: Final = "system calls filtered"
_LEFT_OPEN: Final = ("files not isolated", "privileges kept")
"""The prefix of names of enforcement that is not in force."""


def enforced(names: Sequence[str]) -> bool:
    """Whether every enforcement of a replay was in force, by the names in its report."""
    wanted = (NETWORK, f"{OVERLAY} ({EVERYWHERE}", CALLS)
    whole = all(any(name.startswith(each) for name in names) for each in wanted)
    return whole and not any(name.startswith(_LEFT_OPEN) for name in names)


@dataclass(frozen=True, slots=True)
class EndDifference:
    """One difference between the end of a replay and that of the recording.

    Attributes:
        what: ``divergence``, ``stdout``, ``stderr``, ``exit status``, ``file``, ``unused``, ``unread``.
        text: The difference in words, for people.
        event: The recorded event of the difference, if any.
        data: The difference as data.
    """

    what: str
    text: str
    event: int | None = None
    data: Json = None


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a replay.

    Attributes:
        verdict: ``exact``, ``same``, ``live`` (a model was asked where an import has no answer; nothing else differs)
            or ``different``.
        first_line: The mode, the frozen parts, the allowed live calls; printed before the agent starts.
        last_line: Verdict, live calls made and the counts; fidelity and enforcement where they are not whole.
        run: Id of the recorded run.
        mode: ``code`` or ``events``.
        divergence: The first divergence as data (``Divergence`` attributes and its message); None without one.
        differences: Every difference, divergences and results (output, exit status, return value, files) alike.
        live_calls: The contacts with the world: 0, unless model calls could go live.
        refused: The refused contacts, with the place in the agent's code.
        events, matched, reordered, moved, unused: Counts, without plumbing.
        inside: The number of further calls inside those that were answered as a whole: tools whose code did not run.
        renamed: The number of strands whose function has another name now.
        plumbing: The number of telemetry requests in this replay.
        unproven: Notes on deliveries whose order is not proven.
        redacted: Matched events whose bytes redaction has changed.
        not_compared: Parameters that are a tool's own state.
        fidelity: The weakest fidelity of a served answer.
        enforcement: The means that kept the replay from the world.
        executed: The crossings of the agent's own code in this replay.
        digest_chain: Digest over all answers in their order; equal for two replays with the same answers.
        exit_code: 0 same, 1 different, 5 contact with the world outside the seams.
        remarks: Further remarks.
        output: The entry's result, encoded as text; None where it cannot be stored.
        saved: Id of the replay's own run; empty unless it was kept.
        raised: The exception that ended the program, and the line of its code, if the recorded run ended differently.
        changed_code: The source files that have changed since the recording, if the replay differs.
        order_doubt: A remark that the order was not proven, if changed code is the likelier cause.
    """

    verdict: str
    first_line: str
    last_line: str
    run: str = ""
    mode: str = "code"
    divergence: Mapping[str, Json] | None = None
    differences: tuple[EndDifference, ...] = ()
    live_calls: int = 0
    refused: tuple[str, ...] = ()
    events: int = 0
    matched: int = 0
    inside: int = 0
    reordered: int = 0
    moved: int = 0
    renamed: int = 0
    unused: int = 0
    plumbing: int = 0
    unproven: tuple[str, ...] = ()
    redacted: int = 0
    not_compared: tuple[str, ...] = ()
    fidelity: str = "exact"
    enforcement: tuple[str, ...] = ()
    executed: int = 0
    digest_chain: str = ""
    exit_code: int = 0
    remarks: tuple[str, ...] = ()
    output: str | None = None
    saved: str = ""
    raised: str = ""
    changed_code: str = ""
    order_doubt: str = ""

    def with_last_line(self, line: str) -> Report:
        """The same report with its last line."""
        return replace(self, last_line=line)

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON-able data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Report:
        """The inverse of ``to_json``."""
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in data.items()}
        values["differences"] = tuple(EndDifference(**entry) for entry in data.get("differences", ()))
        return cls(**values)


def without_credentials(report: T, redactor: Redactor) -> T:
    """A report without credentials. Its messages, data and names of places come from the program and have not passed
    the gate.

    Args:
        report: The report.
        redactor: Cleans as the recording was cleaned.
    """
    found = {each.name: _cleaned(getattr(report, each.name), redactor) for each in fields(cast(Any, report))}
    return cast(T, replace(cast(Any, report), **found))


def _cleaned(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.text(value)
    if isinstance(value, Mapping):
        return redactor.data(dict(value))
    if isinstance(value, tuple):
        return tuple(_cleaned(each, redactor) for each in value)
    if isinstance(value, EndDifference):
        return replace(value, text=redactor.text(value.text), data=redactor.data(value.data))
    return value
