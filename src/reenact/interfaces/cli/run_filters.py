"""The options of ``ls``, ``stats`` and other commands that choose runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reenact.abc.body_access import UNPROVEN
from reenact.abc.sources import CLOCK
from reenact.errors import BlobMissing, UsageError
from reenact.facts.ids import tail
from reenact.facts.late import late
from reenact.interfaces.cli.arguments import Since, pairs

if TYPE_CHECKING:
    from reenact.abc.store import Store
    from reenact.facts.expressions import compile_expression
    from reenact.facts.marks import find_mark
    from reenact.facts.run import Run
    from reenact.store.indices import indices
    from reenact.timetravel import vocabulary
    from reenact.timetravel.narrowed_query import NarrowedQuery
    from reenact.triage.kit_of_run import kit_of
else:
    indices = late("reenact.store.indices", "indices")
    NarrowedQuery = late("reenact.timetravel.narrowed_query", "NarrowedQuery")
    compile_expression = late("reenact.facts.expressions", "compile_expression")
    vocabulary = late("reenact.timetravel.vocabulary")
    kit_of = late("reenact.triage.kit_of_run", "kit_of")
    find_mark = late("reenact.facts.marks", "find_mark")

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--failed", is_flag=True, help="Only runs that failed, ran out of time or broke off."),
    click.option("--agent", metavar="NAME", help="Only runs of this agent."),
    click.option("--user", metavar="ID", help="Only runs for this user."),
    click.option("--tenant", metavar="ID", help="Only runs for this tenant."),
    click.option("--session", metavar="ID", help="Only runs of this session."),
    click.option("--tag", metavar="K=V", multiple=True, help="Only runs with this label; may be repeated."),
    click.option(
        "--since", type=Since(), help="Only runs that began in the last 30s, 15min, 2h, 7d, 4w, or since a mark."
    ),
    click.option("--before", type=Since(), help="Only runs that began longer ago than 2h, 7d, or before a mark."),
    click.option("--where", metavar="EXPR", help="Only runs for which an expression is true (its names are below)."),
    click.option("-k", "text", metavar="TEXT", help="Only runs with this text in messages, tool data or output."),
)


def choosing(function: F) -> F:
    """Give a command the options that choose runs."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def filters_of(wanted: Mapping[str, Any], store: Store) -> dict[str, Any]:
    """The store's filters for the options that were given.

    Args:
        wanted: The options by name.
        store: The store with the marks that ``--since`` and ``--before`` may name.

    Raises:
        UsageError: A label is not written key=value, or there is no such mark.
    """
    filters = {name: value for name, value in wanted.items() if value}
    if "tag" in filters:
        filters["tag"] = pairs(filters["tag"])
    for name, into in (("since", "since_us"), ("before", "before_us")):
        if name in filters:
            filters[into] = _moment(store, filters.pop(name))
    return filters


def _moment(store: Store, said: int | str) -> int:
    """The time of a span before now, or of a mark."""
    if isinstance(said, int):
        return CLOCK.wall_us() - said
    marks = store.marks()
    try:
        return find_mark(marks, said).at_us
    except UsageError as error:
        raise UsageError(
            f"{said!r} is neither a span of time nor a mark",
            cause=f"a span is written 30s, 15min, 2h, 7d or 4w; {error.cause}",
            next_command="reenact mark" if marks else "reenact ls --help",
        ) from None


def nothing_called(store: Store, where: str | None, filters: Mapping[str, Any]) -> Iterator[str]:
    """Texts that may explain why an expression holds for no run: one for each name in it that the newest run does not
    have."""
    if where is None:
        return
    from reenact.testing.expectations.judgement import misspelt  # imported late: rarely needed

    for run in store.runs(**filters, limit=1):
        for words in misspelt(compile_expression(where, vocabulary.STORED_WORDS), store.open(run)):
            yield f"run {tail(run.id)}, the newest: {words}"


def scope_of(store: Store, run: Run) -> vocabulary.RunScope:
    """A run as expressions see it. The kit of the run is made only when an expression uses it, because that reads the
    run's events."""
    return vocabulary.RunScope(run, partial(store.open, run), lambda: kit_of(store, run))


def chosen(
    store: Store, where: str | None, limit: int | None, filters: Mapping[str, Any], told: Callable[[str], object]
) -> Iterator[Run]:
    """The runs that match, newest first.

    Args:
        store: The store of the runs.
        where: An expression that must be true of each run.
        limit: The most runs to give.
        filters: As ``Store.runs`` takes them.
        told: Called for each run that is left out because the expression needs a state that is not proven.

    Raises:
        UsageError: The expression cannot be read.
    """
    if where is None:
        return store.runs(**filters, **({"limit": limit} if limit else {}))
    narrowing = NarrowedQuery(compile_expression(where, vocabulary.STORED_WORDS))

    def holds(run: Run) -> bool:
        try:
            return narrowing.holds(scope_of(store, run))
        except BlobMissing as missing:
            if missing.reason != UNPROVEN:
                raise
            told(f"reenact: run {tail(run.id)} is left out: {missing.args[0]}")
            return False

    return filter(holds, store.runs(**narrowing.among(filters)))


def ways(store: Store, where: str | None, filters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """For ``--explain``: each option and each part of the expression, with the index that finds its runs or the data
    that is read for it.

    Args:
        store: The store.
        where: An expression that must be true of each run.
        filters: As ``Store.runs`` takes them.
    """
    found = indices(store)
    for name in sorted(filters):
        yield _SPOKEN.get(name, f"--{name}"), _by(found.words if name == "text" else found.runs)
    if where is None:
        return
    for part in NarrowedQuery(compile_expression(where, vocabulary.STORED_WORDS)).parts:
        yield part.text, _by(found.runs) if part.reads == "index" else _READS[part.reads]


_SPOKEN = {"text": "-k", "since_us": "--since", "before_us": "--before"}
_READS = {"row": "the row of each run that is left is read", "events": "the events of each run that is left are read"}


def _by(found: str) -> str:
    return "by an index" if not found else f"without an index: {found}"
