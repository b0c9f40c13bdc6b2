"""Where a run went wrong: its steps ranked by how likely each decided the failure, with the reasons.

The ranking is a hint. It weighs marks of rules, the result of a step, acts that healthy runs of the same agent never
do, and how early a step acted: most failures are decided by one of the first steps that act.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.suspicions.event_rules import tool_failed
from reenact.facts.suspicions.healthy_runs import Profile, unheard_of
from reenact.facts.suspicions.repeat_rules import is_empty
from reenact.facts.suspicions.run_course import Act, Course, Sort, Suspicion

_PLACE: Final = "model step"
"""The beginning of a reason that is only the place of a step."""
_EARLY: Final = 0.6
"""The weight of the first step that acts; the n-th has an n-th of it."""
_WEIGHTS: Final[Mapping[str, float]] = {
    "failure": 0.5,
    "repeat": 0.3,
    "empty-repeat": 0.5,
    "loop": 0.5,
    "ignored-error": 0.7,
    "foreign-id": 0.9,
    "cut-off": 0.7,
    "hour-limit": 0.3,
    "other-model": 0.5,
    "unsupported-answer": 0.2,
}
_OWN_RULE: Final = 0.5
_FATAL: Final = 0.6
_RAISED: Final = 0.8
_STRANGE: Final = 0.6
_EXIT: Final = "exit status"
"""The beginning of the error of a program that ended by itself, with a status."""
_HEAD: Final = 200
_BAD_STATUS: Final = 400
_FRUITLESS: Final = 0.15
_GUESSED: Final = 0.2
_UNTRIED: Final = 0.3
_BROKE: Final = 0.1
_STALLED: Final = 0.25
_PLANS: Final = lazy_regex(r"\(\s*(?:thought|->)|\bplan(?:ner|ning)?\b", re.IGNORECASE)
"""Names of steps that only think, or hand over to another agent."""
_ENDS: Final = lazy_regex(r"\W*(?:TERMINATE|done|end)\W*", re.IGNORECASE)
_GUESSES: Final = lazy_regex(
    r"\b(?:assum(?:e|es|ed|ing)|placeholder|hypothetical\w*|simulat\w+|for demonstration|dummy|"
    r"mock(?:ed)? (?:data|values?)|as an example value|made[- ]up)\b",
    re.IGNORECASE,
)
_STALLS: Final = lazy_regex(r"\b(?:stalled|re-?plan(?:s|ning)?|stuck|no progress|start(?:ing)? over)\b", re.IGNORECASE)
_TRACE: Final = lazy_regex(r"\bTraceback \(most recent call last\)|\bUnhandled exception\b", re.IGNORECASE)
_CODE: Final = lazy_regex(r"^```", re.MULTILINE)
_TASK: Final = lazy_regex(r"\AYou are given\b|\A(?:Task|Initial plan)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Suspect:
    """A step that may have decided a failure.

    Attributes:
        event: Number of its event.
        score: The strength of the reasons together; only the order of scores has a meaning.
        reasons: The reasons in words, the strongest first.
    """

    event: int
    score: float
    reasons: tuple[str, ...]
    evident: bool = True
    """Whether the step has a reason besides its place."""


def steps_of(course: Course) -> list[Act]:
    """The steps of a run: what models said and decided, and the tools that were called."""
    return [act for act in course.acts if act.sort is not Sort.OTHER and not act.quiet and not act.observed]


def ranked(course: Course, found: Iterable[Suspicion] = (), healthy: Sequence[Profile] = ()) -> list[Suspect]:
    """The steps of a failed run, the likeliest to have decided the failure first.

    Args:
        course: The run.
        found: The marks of the rules in it.
        healthy: Profiles of healthy runs of the same agent; without any, no comparison is made.
    """
    steps = steps_of(course)
    weighed: dict[int, list[tuple[float, str]]] = {}
    for event, weight, reason in (
        *_marked(found, steps),
        *((event, _STRANGE, why) for event, why in unheard_of(course, healthy).items()),
        *_places(steps),
        *_outcomes(steps),
        *_words(steps),
        *_ends(course, steps),
    ):
        weighed.setdefault(event, []).append((weight, reason))
    suspects = []
    for event, reasons in weighed.items():
        reasons.sort(key=lambda each: -each[0])
        words = tuple(why for _, why in reasons)
        evident = any(not why.startswith(_PLACE) for why in words)
        suspects.append(Suspect(event, sum(weight for weight, _ in reasons), words, evident))
    return sorted(suspects, key=lambda each: (-each.score, each.event))


Weights = Iterator[tuple[int, float, str]]
"""The number of an event, the weight of a reason for it, and the reason."""


def _marked(found: Iterable[Suspicion], steps: Sequence[Act]) -> Weights:
    """Reasons from the marks of rules. An ignored error counts for the answer that ignores it."""
    for each in found:
        event = each.event
        if each.rule == "ignored-error":
            event = next((act.event for act in steps if act.event > each.event and act.said is not None), event)
        yield event, _WEIGHTS.get(each.rule, _OWN_RULE), each.text


def _places(steps: Sequence[Act]) -> Weights:
    """Reasons from the places of the steps that act: the earlier a step, the greater the weight."""
    for place, act in enumerate((act for act in steps if _decides(act)), 1):
        yield act.event, _EARLY / place, f"{_PLACE} {place}"


def _outcomes(steps: Sequence[Act]) -> Weights:
    """Reasons from the immediate results of steps: a failure, an empty result, or code that was never run."""
    for act, after in pairwise(steps):
        if not _decides(act):
            continue
        if after.sort is Sort.TOOL:
            if tool_failed(after):
                yield act.event, _FRUITLESS, f"{after.name or 'the tool'} #{after.event} failed at once"
            elif is_empty(_output(after)):
                yield act.event, _FRUITLESS, f"{after.name or 'the tool'} #{after.event} gave nothing"
        elif act.said is not None and _CODE.search(act.said.text) and _decides(after):
            yield after.event, _UNTRIED, f"the code of #{act.event} was not run before it"


def _words(steps: Sequence[Act]) -> Weights:
    """Reasons from the words of a step: signs that it guesses or makes no progress."""
    stalled = False
    for act in steps:
        text = act.said.text if act.said is not None else ""
        guess = _GUESSES.search(text) if _decides(act) else None
        if guess:
            yield act.event, _GUESSED, f'it says "{guess[0]}"'
        stall = _STALLS.search(text[:_HEAD]) if not stalled else None
        if stall:
            stalled = True
            yield act.event, _STALLED, f'it says "{stall[0]}", for the first time'


def _ends(course: Course, steps: Sequence[Act]) -> Weights:
    """A reason for the last step, if the run broke down there."""
    last = steps[-1] if steps else None
    if last is None or not course.failed:
        return
    if tool_failed(last) or last.error or last.ending or (last.status or 0) >= _BAD_STATUS:
        yield last.event, _FATAL, "the run ended with it"
    elif course.error and not course.error.startswith(_EXIT):
        yield last.event, _RAISED, "the last step before the exception"
    elif last.said is not None and _TRACE.search(last.said.text):
        yield last.event, _BROKE, "the run broke down there"


def _output(act: Act) -> object:
    """The result of a tool; for a terminal, the output after the exit status."""
    if not isinstance(act.result, str):
        return act.result
    return re.sub(r"\Aexit ?code: ?\d+[^\n]*\n(?:code output:)?", "", act.result, flags=re.IGNORECASE)


def _decides(act: Act) -> bool:
    """Whether a step acts: a model's answer or decision, but not a plan, not a mere sign of the end, and not a mere
    statement of the task."""
    said = act.said
    if said is None or _PLANS.search(act.name) or _ENDS.fullmatch(said.text.strip()):
        return False
    return not _TASK.match(said.text) or _CODE.search(said.text) is not None
