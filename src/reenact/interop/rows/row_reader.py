"""Traces from a log of rows: a first pass finds the rows of each run, a second one reads their content.

Neither pass holds a file of JSON Lines: memory grows by some dozens of bytes a row. A row that cannot be read is left
out, and listed by place.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, BinaryIO, Final, Protocol

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field, fields
from reenact.interop.file_refusal import refused
from reenact.interop.originals import Original
from reenact.interop.otlp.otlp_documents import DocumentForm, DocumentPlace, SkippedDocument, json_form, places, read_at
from reenact.interop.traces import Facts, SpanSort, Trace, TraceItem, Wrong

REPEATED: Final = "rows that stand in the file more than once"

_MOST_LEFT: Final = 50
_LISTS: Final = ("data", "Records", "records", "events", "traces")
"""Keys under which a document holds its rows."""
_DAMAGED: Final = (RecursionError, ValueError, TypeError, AttributeError, KeyError, IndexError)

Row = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Belongs:
    """The run that a row belongs to.

    Attributes:
        run: The id of its run; empty for the one run of all rows without an id.
        key: Rows of a run with the same key are read together, at the place of the first; empty: it is read alone.
        at_us: Its time, microseconds since the epoch; None without one.
    """

    run: str
    key: str = ""
    at_us: int | None = None


class Teller(Protocol):
    """Turns the rows of one run into items, from the run's beginning."""

    def told(self, rows: list[Row]) -> Iterable[TraceItem]:
        """The items of rows with one key. On damaged data it may raise any error: the rows then become a step."""

    def rest(self) -> Iterable[TraceItem]:
        """The items that remain after all rows."""


class RowFormat(Protocol):
    """The meaning of the rows in one format. It is made for each file."""

    @property
    def source(self) -> str:
        """Name of the format."""

    def belongs(self, row: Row) -> Belongs | str:
        """The run of a row, or the reason why the row is left out. On damaged data it may raise any error."""

    def facts(self, row: Row) -> Facts:
        """The facts of a row about its run."""

    def teller(self, began_us: int | None) -> Teller:
        """The object that turns rows into items, for a run that began at this time."""


@dataclass(slots=True)
class _RunRows:
    """The rows of one run."""

    id: str
    rows: array[int] = field(default_factory=lambda: array("Q"))
    ranks: array[int] = field(default_factory=lambda: array("Q"))
    keys: dict[str, int] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    digest: int = 0
    began_us: int | None = None
    facts: Facts = field(default_factory=Facts)
    repeated: int = 0

    def add(self, number: int, row: Row, belongs: Belongs, said: Facts) -> None:
        """Take in one row, if it is not here already."""
        text = json.dumps(row, sort_keys=True, separators=(",", ":")).encode("utf-8", "surrogatepass")
        content = int.from_bytes(blake2b(text, digest_size=8).digest(), "big")
        if content in self.seen:
            self.repeated += 1
            return
        self.seen.add(content)
        self.digest = (self.digest + content) % (1 << 128)
        self.rows.append(number)
        self.ranks.append(self.keys.setdefault(belongs.key, number) if belongs.key else number)
        if belongs.at_us is not None and (self.began_us is None or belongs.at_us < self.began_us):
            self.began_us = belongs.at_us
        pairs = ((each.name, getattr(self.facts, each.name) or getattr(said, each.name)) for each in fields(Facts))
        self.facts = Facts(**dict(pairs))


@dataclass(slots=True)
class _File:
    """The findings of the first pass."""

    original: Original
    form: DocumentForm
    held: list[Row] = field(default_factory=list)
    """The rows of a file that is one document."""
    at: array[int] = field(default_factory=lambda: array("Q"))
    size: array[int] = field(default_factory=lambda: array("Q"))
    runs: dict[str, _RunRows] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    unread: int = 0

    def leave(self, what: str) -> None:
        """Note a row that cannot be read."""
        self.unread += 1
        if len(self.left) < _MOST_LEFT:
            self.left.append(what)

    def row(self, file: BinaryIO, number: int) -> Row:
        """A row by its number."""
        if self.form is DocumentForm.WHOLE:
            return self.held[number]
        row = read_at(file, self.form, DocumentPlace(self.at[number], self.size[number], number))
        return row if isinstance(row, Mapping) else {}


def read(original: Original, make: Callable[[], RowFormat]) -> Iterator[Trace]:
    """Every run of a log, in the order in which they began.

    Args:
        original: The file: JSON Lines, or one document that is a row or holds a list of rows.
        make: Makes the format's ``RowFormat``.

    Raises:
        InteropError: The file has nothing that can be read.
    """
    log = make()
    with original.open() as file:
        found = _File(original, json_form(file))
        for place, row in _rows(file, found):
            _place(found, log, place, row)
    if not found.runs:
        cause = "; ".join(found.left[:3]) or "it holds nothing"
        raise refused(f"the file holds no row of {log.source} that can be read", cause)
    more = found.unread - len(found.left)
    left = (*found.left, f"and {more} more") if more else tuple(found.left)
    for each in sorted(found.runs.values(), key=lambda run: (run.began_us or 0, run.rows[0])):
        each.keys, each.seen = {}, set()
        yield Trace(
            source=log.source,
            id=_named(log.source, each.id or f"{each.digest:032x}"),
            digest=f"{each.digest:032x}",
            items=_Items(found, each, log),
            spans=len(each.rows),
            began_us=each.began_us,
            facts=each.facts,
            remarks={REPEATED: each.repeated} if each.repeated else {},
            left=left,
            original=_Rows(found, each),
        )


def _named(source: str, run: str) -> str:
    """The id of a trace. It is not the log's own id, which often names a session and is kept as the session then."""
    return blake2b(f"{source}:{run}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _rows(file: BinaryIO, found: _File) -> Iterator[tuple[str, Any]]:
    """Every row, with the words for its place; parts that are no rows are left out."""
    for place in places(file, found.form):
        document = place if isinstance(place, SkippedDocument) else read_at(file, found.form, place)
        if isinstance(document, SkippedDocument):
            found.leave(str(document))
            continue
        assert isinstance(place, DocumentPlace)
        found.original.told(place.at)
        rows = _listed(document)
        if (
            found.form is DocumentForm.LINES
            and rows is not None
            and len(found.at) == 0
            and place.size == found.original.size
        ):
            found.form = DocumentForm.WHOLE  # the only line is the whole document
        if found.form is DocumentForm.LINES:
            found.at.append(place.at)
            found.size.append(place.size)
            yield place.name(found.form), document
            continue
        for row in rows if rows is not None else [document]:
            found.held.append(row)
            yield f"row {len(found.held)}", row


def _listed(document: Any) -> list[Any] | None:
    """The rows that a document holds; None for a document that is a row itself."""
    if isinstance(document, list):
        return document
    if isinstance(document, dict):
        return next((document[name] for name in _LISTS if isinstance(document.get(name), list)), None)
    return None


def _place(found: _File, log: RowFormat, place: str, row: Any) -> None:
    number = (len(found.held) if found.form is DocumentForm.WHOLE else len(found.at)) - 1
    if not isinstance(row, Mapping):
        found.leave(f"{place}: it is no object")
        return
    try:
        belongs = log.belongs(row)
        if isinstance(belongs, str):
            found.leave(f"{place}: {belongs}")
            return
        said = log.facts(row)
        run = found.runs.get(belongs.run) or _RunRows(belongs.run)
        run.add(number, row, belongs, said)
        found.runs[belongs.run] = run
    except _DAMAGED as error:
        found.leave(f"{place}: it cannot be told ({type(error).__name__})")


@dataclass(frozen=True, slots=True)
class _Items:
    """The items of a run, made again each time they are asked for."""

    found: _File
    run: _RunRows
    log: RowFormat

    def __iter__(self) -> Iterator[TraceItem]:
        teller = self.log.teller(self.run.began_us)
        for rows in self._groups():
            try:
                items = [*teller.told(rows)]
            except _DAMAGED as error:
                items = [
                    TraceItem(SpanSort.OTHER, "damaged row", error=Wrong(type(error).__name__, "it cannot be told"))
                ]
            yield from items
        yield from teller.rest()

    def _groups(self) -> Iterator[list[Row]]:
        run = self.run
        with self.found.original.open() as file:
            group: list[Row] = []
            last = -1
            for rank, number in sorted(zip(run.ranks, run.rows, strict=True)):
                if rank != last and group:
                    yield group
                    group = []
                last = rank
                group.append(self.found.row(file, number))
            if group:
                yield group


@dataclass(frozen=True, slots=True)
class _Rows:
    """The original rows of a run."""

    found: _File
    run: _RunRows

    def __iter__(self) -> Iterator[bytes]:
        found = self.found
        with found.original.open() as file:
            for number in self.run.rows:
                if found.form is DocumentForm.WHOLE:
                    yield json.dumps(found.held[number], separators=(",", ":")).encode() + b"\n"
                    continue
                file.seek(found.at[number])
                yield file.read(found.size[number]).removeprefix(b"\xef\xbb\xbf").rstrip() + b"\n"
