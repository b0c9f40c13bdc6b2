"""Marks: the verdicts of the active rules of suspicion on the events of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from reenact.abc.store import Recording
from reenact.abc.suspicion_rules import rules_in_force
from reenact.facts.call import Json
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.suspicions import RULES, Course, Rule, Suspicion, suspicions
from reenact.store.courses import course_of
from reenact.timetravel.conduct import Finding


@dataclass(frozen=True, slots=True)
class SuspicionLook:
    """The course of a run, and the marks of the rules: read once, and used for the story and for the hint.

    Attributes:
        course: The course of the run.
        found: The marks, in order of events.
    """

    course: Course
    found: tuple[Suspicion, ...]

    @property
    def marks(self) -> dict[int, list[Suspicion]]:
        """The marks of the rules, by number of event."""
        by_event: dict[int, list[Suspicion]] = {}
        for each in self.found:
            by_event.setdefault(each.event, []).append(each)
        return by_event


def look(
    recording: Recording, rules: Iterable[Rule] | None = None, events: Iterable[Event] | None = None
) -> SuspicionLook:
    """Read a run, and apply rules to it; see ``marked``."""
    course = course_of(recording, events)
    return SuspicionLook(course, tuple(suspicions(course, RULES if rules is None else rules)))


def marked(
    recording: Recording, rules: Iterable[Rule] | None = None, events: Iterable[Event] | None = None
) -> dict[int, list[Suspicion]]:
    """The marks of the rules on a run, by number of event.

    Args:
        recording: The run.
        rules: The rules in force; None for all of this package.
        events: Its events, where they have been read already.
    """
    return look(recording, rules, events).marks


def mark_of(found: Sequence[Suspicion]) -> str:
    """The marks of one event in a few words; empty without a mark."""
    return "; ".join(each.text for each in found)


def marks_data(found: Mapping[int, Sequence[Suspicion]], event: int) -> dict[str, Json]:
    """The marks of one event as data: ``mark``, and each with the name of its rule."""
    here = found.get(event, ())
    return {"mark": mark_of(here), "suspicious": [{"rule": each.rule, "text": each.text} for each in here]}


def suspected(recording: Recording, rule: str | None = None) -> Finding:
    """The marks of a run by the rules in force here: the names of these rules; with a rule given, how many events it
    marks."""
    found = marked(recording, rules_in_force())
    hits = [each for number in sorted(found) for each in found[number] if rule in (None, each.rule)]
    shown = hits[0] if hits else None
    why = f"#{shown.event}: {shown.text}" if shown is not None else ""
    value: Json = sorted({each.rule for each in hits}) if rule is None else len(hits)
    return Finding(value, why, None if shown is None else shown.event)
