"""Fork and resume: run on from a recorded prefix, with something changed or from where it broke off.

Not available yet: the functions below hold their place and their signatures, and say so when they are called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from reenact.abc.store import Store
from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.run import Run


@dataclass(frozen=True, slots=True)
class Change:
    """What a fork does differently from its parent at the branching event; whatever is None or empty stays as it was.

    Attributes:
        state: New values of the step's state: JSON pointer with dots to value.
        results: New results of recorded calls: reference of the event to value.
        errors: Errors in place of recorded results: reference of the event to ``TYPE:TEXT``.
        input: New input of the run.
        prompt: New system prompt.
        model: Name of another model of the same protocol.
        params: Parameters of the model to set (``temperature`` …).
        flags: Feature flags to set.
        at_time: Moment the agent's clock is moved to, as ISO 8601 text; None continues from the recorded one.
    """

    state: dict[str, Json] = field(default_factory=dict)
    results: dict[str, Json] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    input: Json = None
    prompt: str | None = None
    model: str | None = None
    params: dict[str, Json] = field(default_factory=dict)
    flags: dict[str, Json] = field(default_factory=dict)
    at_time: str | None = None


def fork(
    run: Run | str,
    at: int | str,
    *,
    change: Change | None = None,
    live: str = "reads",
    allow_writes: Iterable[str] = (),
    entry: Callable[..., Any] | str | None = None,
    store: Store | str | None = None,
) -> Run:
    """Make a new run that shares a frozen prefix with ``run`` and goes on from ``at`` with one thing changed.

    Args:
        run: The run, or a reference to it.
        at: The branching event: its number, or ``name#n``.
        change: What is different from there on; None samples the rest anew.
        live: Which calls may go live after the branching event: ``reads``, ``all``, ``model`` or ``none``.
        allow_writes: Names of tools that may write.
        entry: What to call, where the run has no entry of its own; may be a factory.
        store: Where the run is kept and the fork goes; None takes the project's store.

    Returns:
        The fork, a child of ``run``. The parent is never touched.

    Raises:
        UsageError: always, for now: forking is not available yet.
    """
    _not_yet("fork()", "reenact replay " + _reference(run))


def resume(run: Run | str, *, entry: Callable[..., Any] | str | None = None, store: Store | str | None = None) -> Run:
    """Continue an interrupted or failed run from its head: the prefix frozen, the rest live, appended to the same run.

    Args:
        run: The run, or a reference to it.
        entry: What to call, where the run has no entry of its own.
        store: Where the run is kept; None takes the project's store.

    Returns:
        The run, as it stands after its continuation.

    Raises:
        UsageError: always, for now: resuming is not available yet.
    """
    _not_yet("resume()", "reenact replay " + _reference(run))


def _reference(run: Run | str) -> str:
    return run.id if isinstance(run, Run) else run


def _not_yet(what: str, instead: str) -> NoReturn:
    raise UsageError(
        f"{what} is not available yet",
        cause="this version records and replays; it does not run on from a recorded prefix",
        next_command=instead,
    )
