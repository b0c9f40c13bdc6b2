"""The rules of suspicion of a project: those of this package, and its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from reenact.abc.own_functions import own_function
from reenact.abc.project_settings import load_settings
from reenact.facts.rule_names import OFF, ON
from reenact.facts.settings import Settings
from reenact.facts.suspicions import RULES, Course, Rule, Suspicion


def rules_in_force(settings: Settings | None = None, project: Path | None = None) -> tuple[Rule, ...]:
    """The active rules: without those that ``[tool.reenact.suspicions]`` turns off; the project's own rules come last.

    Args:
        settings: The settings; None for those of the working directory.
        project: Root of this project; None for the one around the working directory.

    Raises:
        UsageError: A rule of the project is no function that a file of it defines.
    """
    chosen = (settings if settings is not None else load_settings())["suspicions"].value
    kept = tuple(rule for rule in RULES if chosen.get(rule.name, ON if rule.on else OFF) == ON)
    own = ((name, text) for name, text in chosen.items() if text not in (ON, OFF))
    return (*kept, *(_own(name, own_function(text, "rule", project)) for name, text in own))


def _own(name: str, function: Callable[[Course], Iterable[tuple[int, str]]]) -> Rule:
    """A rule of the project: a function that yields the number of an event and why it is marked."""

    def find(course: Course) -> Iterator[Suspicion]:
        try:
            for event, text in function(course):
                yield Suspicion(int(event), name, str(text))
        except Exception as error:
            first = course.acts[0].event if course.acts else 0
            yield Suspicion(first, name, f"the rule {name} raised {type(error).__name__}: {error}")

    about = (function.__doc__ or "A rule of this project.").strip().splitlines()[0]
    return Rule(name, about, find)
