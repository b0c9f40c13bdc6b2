"""Graders: functions of this project that judge a run, found by the name that an expectation bears.

An expectation travels in a file, so its name of a function is data, and data never becomes code: only a function that a
file *of this project* defines is called. That file is chosen before anything is imported.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reenact.abc.own_functions import own_function
from reenact.facts.call import Json
from reenact.testing.expectations.runview import RunView
from reenact.timetravel.conduct import Finding

__all__ = ["find_grader", "graded"]

Grader = Callable[[RunView], object]


def graded(target: str, enough: float | None, view: RunView, project: Path | None = None) -> Finding:
    """The verdict of a grader on a run.

    Args:
        target: ``module:function``.
        enough: The lowest good score; None where the grader says yes or no.
        view: The run.
        project: Root of this project; None for the one around the working directory.

    Returns:
        True or False with the grader's own words; None where it has no verdict: it raised an error other than
        ``AssertionError``, or returned nothing.

    Raises:
        UsageError: There is no such function inside this project.
    """
    grader = find_grader(target, project)
    try:
        said = grader(view)
    except AssertionError as error:
        return Finding(False, str(error) or "its assertion failed")
    except Exception as error:
        return Finding(None, f"it raised {type(error).__name__}: {error}")
    if inspect.iscoroutine(said):
        said.close()
        return Finding(None, "it is a coroutine function; a grader is a plain one")
    return _read(said, enough)


def find_grader(target: str, project: Path | None = None) -> Grader:
    """The function of ``module:function``, if a file of this project defines it.

    Raises:
        UsageError: The name is not of that form, or no file of this project defines it.
    """
    return own_function(target, "grader", project)


def _read(said: object, enough: float | None) -> Finding:
    match said:
        case bool():
            return Finding(said)
        case str():
            return Finding(not said, said)
        case int() | float() if enough is not None:
            return Finding(said >= enough, f"its score is {said:g}, {enough:g} is enough")
        case int() | float():
            return Finding(None, f"its score is {said:g}; say how much is enough: grade('…', 0.7)")
    return Finding(None, f"it returned {type(said).__name__}; a grader returns True or False, a complaint, or a score")


def threshold_of(rest: tuple[Json, ...], default: float | None) -> float | None:
    """The number that follows the texts in the brackets of a word; ``default`` without a number."""
    found: Any = rest[-1] if rest else None
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else default
