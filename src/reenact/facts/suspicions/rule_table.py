"""The table of the rules of suspicion, and how a project chooses among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.suspicions.event_rules import cut_off, failure, hour_limit, other_model
from reenact.facts.suspicions.repeat_rules import empty_repeat, loop, repeat
from reenact.facts.suspicions.run_course import Course, Suspicion
from reenact.facts.suspicions.sayings import foreign_id, ignored_error, unsupported_answer

Find = Callable[[Course], Iterable[Suspicion]]
"""A rule: a pure function of the course of a run."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        name: Its name in settings, expressions and exports.
        about: A sentence on the events that it marks.
        find: The function.
        hint: Whether its marks are hints, not findings.
        on: Whether the rule is active if no setting names it.
    """

    name: str
    about: str
    find: Find
    hint: bool = False
    on: bool = True


RULES: tuple[Rule, ...] = (
    Rule("failure", "The call raised, was refused (status 400 and above), got no answer, or broke off.", failure),
    Rule("repeat", "The same strand asks the same again, though the call had succeeded with the same answer.", repeat),
    Rule("empty-repeat", "The same call is made again after its result was empty.", empty_repeat),
    Rule("loop", "One strand makes the same one to six calls three times in a row or more.", loop),
    Rule("ignored-error", "A tool failed, and the answer that follows does not mention it.", ignored_error),
    Rule(
        "foreign-id",
        "An argument is another person's id than the input gives, or an id that was in no input and no result.",
        foreign_id,
    ),
    Rule("cut-off", "The body is cut off, or is not JSON where JSON was promised.", cut_off),
    Rule("hour-limit", "The answer was 429 within two minutes of a full hour (UTC).", hour_limit),
    Rule("other-model", "A model other than the one asked answered.", other_model),
    Rule(
        "unsupported-answer",
        "An answer holds an id or a number that neither the conversation nor any result of a tool holds.",
        unsupported_answer,
        hint=True,
    ),
)
"""Every rule of this package, in the order in which marks on one event are listed."""


def suspicions(course: Course, rules: Iterable[Rule] = RULES) -> list[Suspicion]:
    """The marks of rules on a run, in the order of events. Marks on one event are in the order of the rules.

    Args:
        course: The run.
        rules: The active rules.
    """
    found = [each for rule in rules for each in _distinct(rule.find(course))]
    return sorted(found, key=lambda each: each.event)


def _distinct(found: Iterable[Suspicion]) -> Iterator[Suspicion]:
    """The marks without duplicates. A rule may mark one event several times, because several calls of a conversation
    belong to one event."""
    seen: set[int] = set()
    for each in found:
        if each.event not in seen:
            seen.add(each.event)
            yield each
