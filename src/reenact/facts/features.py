"""Features: the few facts about a run by which runs that fail alike are found, and the fingerprint made from them.

Features are cleaned values or digests of cleaned values, small and bounded. Each run has one row of them in its store.
A user's flag is no feature, because it is set later.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, fields, replace
from reenact.facts.run import Run, Status
from reenact.facts.templates import parted, template
from reenact.facts.thinned_runs import PAYLOADS

VERSION: Final = 3
"""The version of the stored features. Features of another version are computed again from the run."""

MOST: Final = 12
"""The most names of one sort."""

LONGEST: Final = 120
"""The most characters of a name."""

STEPS: Final = 3
"""How many of the last steps count."""

MOST_NAMED: Final = 100
"""How many fingerprints metrics name. All others are counted together."""

OTHER: Final = "other"
"""The name under which all other fingerprints are counted."""

_NAMING: Final = "1"
"""The version of fingerprints, which stay the same when other features are written."""

_FAILED: Final = frozenset((Status.FAILED, Status.TIMEOUT, Status.INTERRUPTED))


@dataclass(frozen=True, slots=True)
class Features:
    """The features of a run that are compared.

    Attributes:
        error: The type of the error at its end; empty without one.
        template: Template of its message (``facts.templates``).
        tool: The call that failed last: a tool, or an exchange by its name; empty without one.
        steps: Its last steps, or else its last calls, oldest first: a repeat counts once, and a call of any model is
            ``model``.
        asked, answered: The requested models, and the models that answered.
        tools: Tools that it called.
        shapes: For each tool, the form of its last answer, as ``lookup_order {id, items[]}``.
        prompts: Versions of its system prompts: noted names, or short digests.
        schemas: Short digests of the tools that models were offered.
        commit: Commit of its code; empty where it is not known.
        version: Version of the agent.
        suspicions: The kinds of suspicious events in it; None where the run was not examined yet.
        lacks: The missing or partial items of its kit; None where the run was not examined yet.
        cold: The items without which the run cannot be replayed, as its records show. Later damage is not among them;
            the kit shows it.
    """

    error: str = ""
    template: str = ""
    tool: str = ""
    steps: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    answered: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    schemas: tuple[str, ...] = ()
    commit: str = ""
    version: str = ""
    suspicions: tuple[str, ...] | None = None
    lacks: tuple[str, ...] | None = None
    cold: tuple[str, ...] | None = None

    @property
    def thinned(self) -> bool:
        """Whether the bodies of the run are gone, so that facts that need them are unknown."""
        return PAYLOADS in (self.cold or ())

    def without_bodies(self) -> Features:
        """The features of the run after its bodies are removed: the forms of answers are removed too, digests stay."""
        cold = tuple(dict.fromkeys((*(self.cold or ()), PAYLOADS)))
        return replace(self, shapes=(), cold=cold, lacks=None, suspicions=None)

    def to_json(self) -> dict[str, Json]:
        """The features as JSON-able data, without empty and unknown ones."""
        found: dict[str, Json] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if value or (value == () and each.name in _UNKNOWN):
                found[each.name] = list(value) if isinstance(value, tuple) else value
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> Features:
        """The inverse of ``to_json``; fields of a later version are ignored."""
        known: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in data.items() if name in _NAMES
        }
        return cls(**known)


_UNKNOWN: Final = frozenset(("suspicions", "lacks", "cold"))
_NAMES: Final = frozenset(each.name for each in fields(Features))


class Case(StrEnum):
    """The reason why a run is examined."""

    FAILED = "failed"
    FLAGGED = "flagged"
    COLD = "cold"


def case_of(status: Status, flagged: bool, features: Features) -> Case | None:
    """The reason why a run is examined; None for a healthy run, and for a run that is still being recorded. Of several
    reasons the first counts: it failed, a person flagged it, it cannot be replayed.
    """
    if status in _FAILED:
        return Case.FAILED
    if flagged:
        return Case.FLAGGED
    return Case.COLD if features.cold and status is not Status.RECORDING else None


def fingerprint(case: Case, features: Features, flag: str = "") -> str:
    """The fingerprint of runs that fail alike, as 32 hexadecimal digits: the same in every process and store.

    It is a digest of parts. Each part comes after its length, so that no text of a run can be taken for another part or
    for two parts.

    Args:
        case: The reason why the run is examined.
        features: Its features, fully examined.
        flag: The text of a person's flag; used for flagged runs.
    """
    parts: list[str] = [_NAMING, case.value]
    if case is Case.COLD:
        parts += ["", *sorted(features.cold or ())]
    else:
        text = template(flag) if case is Case.FLAGGED else features.template
        parts += [features.error, text, features.tool, str(len(features.steps)), *features.steps]
        parts += sorted(features.suspicions or ()) if names_suspicions(case, features) else []
    digest = hashlib.blake2b(digest_size=16, person=b"reenact-triage")
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(4, "big") + data)
    return digest.hexdigest()


def names_suspicions(case: Case, features: Features) -> bool:
    """Whether kinds of suspicious events are a part of a run's fingerprint. If the run has an error they are not,
    because they vary among equal cases."""
    return case is not Case.COLD and not features.error


def ended_with(run: Run) -> tuple[str, str]:
    """Type of the error that a run ended with, and the template of its message. Without an error the
    type is the status: ``timeout``, ``exit 3``."""
    kind, message = parted(run.error) if run.error else ("", "")
    if run.error:
        return clipped(kind), template(message)
    if run.status is Status.FAILED and run.exit_status:
        return f"exit {run.exit_status}", ""
    return (run.status.value if run.status in _FAILED else ""), ""


def clipped(name: str) -> str:
    """A name, cut to the longest permitted length."""
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def some(names: Iterable[str]) -> tuple[str, ...]:
    """Names in the order in which they came first, each once, no more than ``MOST``, without empty ones."""
    return tuple(clipped(name) for name in list(dict.fromkeys(filter(None, names)))[:MOST])
