"""Choosing runs: the options by which ``ls`` and ``stats`` say which runs are meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

import click

from reenact.abc.bodies import UNPROVEN
from reenact.abc.sources import CLOCK
from reenact.abc.store import Store
from reenact.errors import BlobMissing
from reenact.facts.expressions import compile_expression
from reenact.facts.ids import tail
from reenact.facts.run import Run
from reenact.interfaces.cli.arguments import Since, pairs
from reenact.timetravel.vocabulary import RUN_WORDS, RunScope

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--failed", is_flag=True, help="Only runs that failed, ran out of time or broke off."),
    click.option("--agent", metavar="NAME", help="Only runs of this agent."),
    click.option("--user", metavar="ID", help="Only runs for this user."),
    click.option("--tenant", metavar="ID", help="Only runs for this tenant."),
    click.option("--session", metavar="ID", help="Only runs of this session."),
    click.option("--tag", metavar="K=V", multiple=True, help="Only runs with this label; may be repeated."),
    click.option("--since", type=Since(), help="Only runs that began in the last 30s, 15min, 2h, 7d, 4w."),
    click.option("--where", metavar="EXPR", help="Only runs for which an expression is true (its names are below)."),
    click.option("-k", "text", metavar="TEXT", help="Only runs with this text in messages, tool data or output."),
)


def choosing(function: F) -> F:
    """Give a command the options that say which runs are meant."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def filters_of(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The store's filters for the options that were given."""
    filters = {name: value for name, value in wanted.items() if value}
    if "tag" in filters:
        filters["tag"] = pairs(filters["tag"])
    if "since" in filters:
        filters["since_us"] = CLOCK.wall_us() - filters.pop("since")
    return filters


def nothing_called(store: Store, where: str | None, filters: Mapping[str, Any]) -> Iterator[str]:
    """Where an expression holds for no run: the names in it that the newest run does not know, in words for each."""
    if where is None:
        return
    from reenact.testing.expectations.judging import misspelt  # late: for the rare miss

    for run in store.runs(**filters, limit=1):
        for words in misspelt(compile_expression(where, RUN_WORDS), store.open(run)):
            yield f"run {tail(run.id)}, the newest: {words}"


def chosen(
    store: Store, where: str | None, limit: int | None, filters: Mapping[str, Any], told: Callable[[str], object]
) -> Iterator[Run]:
    """The runs that are meant, newest first.

    Args:
        store: Where they are.
        where: An expression that holds for them.
        limit: How many, at most.
        filters: As ``Store.runs`` takes them.
        told: Told of each run of which nobody knows whether the expression holds: a state is not proven.

    Raises:
        UsageError: The expression cannot be read.
    """
    if where is None:
        return store.runs(**filters, **({"limit": limit} if limit else {}))
    expression = compile_expression(where, RUN_WORDS)

    def holds(run: Run) -> bool:
        try:
            return bool(expression.holds(RunScope(run, partial(store.open, run))))
        except BlobMissing as missing:
            if missing.reason != UNPROVEN:
                raise
            told(f"reenact: run {tail(run.id)} is left out: {missing.args[0]}")
            return False

    return filter(holds, store.runs(**filters))
