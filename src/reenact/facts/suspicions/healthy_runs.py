"""Profiles of healthy runs: the usual acts of an agent, and the acts of a failed run that no healthy run has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.suspicions.event_rules import tool_failed
from reenact.facts.suspicions.repeat_rules import is_empty
from reenact.facts.suspicions.run_course import Act, Course, Sort

FEWEST: Final = 3
"""With fewer healthy runs than this, no event is called strange."""
Feature = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Profile:
    """The course of one healthy run: calls with their results, and the order in which they followed."""

    features: frozenset[Feature]


def profile(course: Course) -> Profile:
    """The profile of a run."""
    return Profile(frozenset(feature for _, each in _walk(course) for feature, _ in each))


def unheard_of(course: Course, healthy: Sequence[Profile]) -> dict[int, str]:
    """The events of a run that appear in no healthy run, each in words.

    Args:
        course: The run.
        healthy: At least three profiles; with fewer nothing is found.
    """
    if len(healthy) < FEWEST:
        return {}
    known = frozenset[Feature]().union(*(each.features for each in healthy))
    found: dict[int, str] = {}
    for event, features in _walk(course):
        why = next((why for feature, why in features if feature not in known), "")
        if why and event not in found:
            found[event] = f"{why} (in none of {len(healthy)} healthy runs)"
    return found


def _walk(course: Course) -> Iterator[tuple[int, list[tuple[Feature, str]]]]:
    """Each step with its features: its act, its result, and the act before it."""
    before: dict[str, str] = {}
    for act in course.acts:
        if act.sort is Sort.OTHER or act.quiet or act.observed:
            continue
        name, way = _name(act), _way(act)
        last = before.get(act.strand, "")
        before[act.strand] = name
        yield (
            act.event,
            [
                (("made", name), f"{name} is called"),
                (("came", f"{name} {way}"), f"{name} {way}"),
                (("after", f"{last} > {name}"), f"{name} comes after {last or 'the start'}"),
            ],
        )


def _name(act: Act) -> str:
    if act.said is not None and act.said.calls:
        return f"a decision for {act.said.calls[0][0]}"
    return "an answer" if act.said is not None else act.name


def _way(act: Act) -> str:
    """The result of a step, in words."""
    if act.error:
        return f"raises {act.error.partition(':')[0].removeprefix('builtins.')}"
    if act.status is not None and act.status >= 400:
        return f"is answered {act.status}"
    if not act.answered or act.ending:
        return "breaks off"
    if tool_failed(act):
        return "gives an error"
    if act.sort is Sort.TOOL and is_empty(act.result):
        return "gives nothing"
    return "comes out well"
