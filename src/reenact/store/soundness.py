"""The rules by which each row of a SQLite store is checked: for each table, a function that finds the faults of a row.

The function reads the row and the few other rows that the row names, and never writes. The caller
(``store.store_check``) catches errors that a damaged row may cause (a value of another type, text that is no JSON).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from zlib import crc32

from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.order import unpack
from reenact.store.check_sums import sum_of
from reenact.store.codec import load, unpack_call, unpack_end, unpack_run, unpack_settled
from reenact.store.folding import first_of, whole
from reenact.store.full_text import plain
from reenact.store.mark_rows import mark_of
from reenact.store.payloads import decompress
from reenact.store.pieces import LogPart
from reenact.store.ranges import unpack_ranges
from reenact.store.related_rows import CHECK_SUM, MISSING, RelatedRows
from reenact.store.runrows import amended_run
from reenact.store.schema import LOW, MENTIONED, SHIFT
from reenact.store.slot_rows import PACKED
from reenact.store.stepwise_removal import MARK
from reenact.store.store_fault import Place, StoreFault

UNREADABLE = "cannot be read"

_CALL_AT, _FORM_AT, _DIGEST_AT = 7, 6, 4
_WORD = lazy_regex(r"(?<![^\s])[A-Za-z0-9]+(?![^\s])")
_WORDS_AT_ONCE = 32


class TableCheck(NamedTuple):
    """How the rows of one table are checked.

    Attributes:
        name: The table.
        keys: The columns that order the rows, and from which the log of a row follows.
        columns: The other columns that are read.
        faults: Gives the faults of a row, which has the keys and columns.
        place_of: Gives the log, the part and the number (as in ``StoreFault``) to which a row that cannot be read
            belongs.
    """

    name: str
    keys: tuple[str, ...]
    columns: str
    faults: Callable[[RelatedRows, tuple[Any, ...]], Iterator[StoreFault]]
    place_of: Callable[[Sequence[Any]], Place]


def _in_log(row: Sequence[Any]) -> Place:
    return int(row[0]), None, None


def _in_log_of_address(row: Sequence[Any]) -> Place:
    number = int(row[0])
    return (number >> SHIFT if number > LOW else number), None, None


def _in_event(row: Sequence[Any]) -> Place:
    address = int(row[0])
    return address >> SHIFT, LogPart.EVENTS, address & LOW


def _of(part: LogPart) -> Callable[[Sequence[Any]], Place]:
    return lambda row: (int(row[0]) >> SHIFT, part, int(row[0]) & LOW)


def _where_read(row: Sequence[Any]) -> Place:
    return int(row[0]) >> SHIFT, LogPart.READS, (int(row[0]) & LOW) << SHIFT | int(row[1])


def _where_printed(row: Sequence[Any]) -> Place:
    owner = int(row[1])
    return owner >> SHIFT, {1: LogPart.OUT, 2: LogPart.ERR}.get(owner & LOW), None


def _noted(row: Sequence[Any]) -> Place:
    owner = int(row[0])
    return _in_event(row) if owner >= 0 else (-owner, None, None)


def _second(row: Sequence[Any]) -> Place:
    return int(row[1]), None, None


def _owned(row: Sequence[Any]) -> Place:
    return int(row[4]), None, None


def _nowhere(row: Sequence[Any]) -> Place:
    return 0, None, None


def _event(name: str, address: int, problem: str) -> StoreFault:
    return StoreFault(name, str(address & LOW), problem, address >> SHIFT, LogPart.EVENTS, address & LOW)


def _lost(digest: bytes, log: int, event: int | None, problem: str = MISSING) -> StoreFault:
    return StoreFault(
        "payload", digest.hex()[:12], problem, log, None if event is None else LogPart.EVENTS, event, digest
    )


def _run(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    number, run_id, tail, log, lane, agent, user, tenant, session, status, started, parent, body, amended, crc = row
    if sum_of(0, body) != crc:
        yield StoreFault("run", str(run_id), CHECK_SUM, log)
        return
    run = unpack_run(body)
    own = (run.id, run.lane, run.agent, run.user, run.tenant, run.session, run.status.value, run.started_us, run.parent)
    if own != (run_id, lane, agent, user, tenant, session, status, started, parent) or not run.id.endswith(tail):
        yield StoreFault("run", run.id, "is indexed as something else", log)
    if related.ask("SELECT 1 FROM log WHERE id = ?", log) is None:
        yield StoreFault("log", run.id, MISSING, log)
    tags = amended_run(run, load(amended) if amended else None).tags
    found = dict(related.ask_all("SELECT name, value FROM tag WHERE run = ?", number))
    if found != dict(tags):
        yield StoreFault("tag", run.id, "the labels in the index are not those of the run", log)


def _log(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    log, events, last = row
    if related.ask("SELECT 1 FROM run WHERE id = ?", log) is None:
        yield StoreFault("log", str(log), "belongs to no run", log)
    span = (log << SHIFT, log << SHIFT | LOW)
    own, highest = related.ask("SELECT count(*), max(id) FROM event WHERE id BETWEEN ? AND ?", *span)
    if related.has("piece"):
        for (data,) in related.ask_all("SELECT data FROM piece WHERE log = ? AND kind = 0", log):
            try:
                own += len(unpack_ranges(data))
            except ValueError:
                return  # the check of the piece reports it
    if own != events:
        yield StoreFault("log", str(log), f"has {own} events where {events} were written", log)
    elif highest is not None and highest & LOW > last:
        yield StoreFault("log", str(log), f"has event {highest & LOW} beyond its last, {last}", log)


def _lane(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    address, path, parent, kind = row
    if type(path) is not str or kind not in range(MENTIONED + 1) or not (parent is None or type(parent) is int):
        yield StoreFault("lane", str(address & LOW), UNREADABLE, address >> SHIFT, LogPart.LANES, address & LOW)


def _event_row(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    address, strand, kind, name, request, answer, asked, asked_crc, came, came_crc = row
    log, number = address >> SHIFT, address & LOW
    if related.ask("SELECT 1 FROM lane WHERE id = ?", strand) is None:
        yield _event("event", address, "is on a lane that is not there")
    asked = _whole(related, address, "asked", asked)
    if sum_of(address, asked) != asked_crc:
        yield _event("event", address, CHECK_SUM)
        return
    found = load(asked)
    call = unpack_call(found[_CALL_AT:])
    if (call.kind.value, call.name) != (kind, name):
        yield _event("event", address, f"is indexed as {kind} {name}, and is {call.kind.value} {call.name}")
    yield from _named(related, log, number, request, *found[_CALL_AT - 2 : _CALL_AT])
    if came is None:
        if answer is not None or came_crc is not None:
            yield _event("event", address, CHECK_SUM)
        return
    came = _whole(related, address, "came", came)
    if sum_of(address, came) != came_crc:
        yield _event("event", address, CHECK_SUM)
        return
    found = load(came)
    if found[_FORM_AT] != "s":
        unpack_settled(found[_FORM_AT:])
        yield from _named(related, log, number, answer, *found[_DIGEST_AT:_FORM_AT])


def _whole(related: RelatedRows, address: int, column: str, text: str) -> str:
    """A column of an event's row, unfolded if needed. A damaged column is returned unchanged."""
    row = related.ask(f"SELECT {column} FROM event WHERE id = ?", first_of(text, address))
    return text if row is None else str(whole(text, row[0]))


def _named(
    related: RelatedRows, log: int, number: int, row: int | None, digest: str, size: int
) -> Iterator[StoreFault]:
    """The faults of a payload that an event names, by its digest and by its row."""
    if not size:
        return
    address = bytes.fromhex(digest)
    found = related.ask("SELECT id FROM payload WHERE digest = ?", address)
    if found is None:
        yield _lost(address, log, number)
    elif found[0] != row:
        yield StoreFault("event", str(number), "names another row of its payload", log, LogPart.EVENTS, number)
    elif address in related.broken:
        yield _lost(address, log, number, related.broken[address])


def _stream(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    address, digest, ended, crc = row
    if sum_of(address, ended) != crc:
        yield _event("stream", address, CHECK_SUM)
        return
    _, _, _, _, size, _, end = load(ended)
    unpack_end(end)
    if related.ask("SELECT 1 FROM event WHERE id = ?", address) is None:
        yield _event("event", address, MISSING)
    held = related.ask("SELECT coalesce(sum(size), 0) FROM chunk WHERE event = ?", address)[0]
    if held < size:
        yield _event("stream", address, f"holds {held} of {size} bytes")
    elif related.stream_digest(address) != digest:
        yield _event("stream", address, "does not hash to its digest")


def _chunk(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    event = row[0]
    problem = related.chunk(row)
    missing = row[1] == 0 and related.ask("SELECT 1 FROM event WHERE id = ?", event) is None
    if (problem or missing) and _is_going(related, event >> SHIFT):
        return
    if problem:
        yield _event("stream", event, f"part {row[1]} {problem}")
    if missing:
        yield _event("event", event, MISSING)


def _is_going(related: RelatedRows, log: int) -> bool:
    """Whether a run was removed, except for large parts that are still to be removed."""
    return related.ask("SELECT 1 FROM meta WHERE name = ?", f"{MARK}{log}") is not None


def _payload(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    _, digest, size, codec, owner, data = row
    problem = related.content(digest, codec, data, size)
    if problem:
        related.broken[digest] = problem
        yield StoreFault("payload", digest.hex()[:12], problem, owner, None, None, digest)
    elif related.ask("SELECT 1 FROM log WHERE id = ?", owner) is None and not _is_going(related, owner):
        yield StoreFault("payload", digest.hex()[:12], "belongs to no run", owner)


def _held(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    payload, log, _ = row
    if related.ask("SELECT 1 FROM payload WHERE id = ?", payload) is None:
        yield StoreFault("held", str(payload), "names a payload that is not there", log)


def _slot(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    address, _, n, name, digest, fidelity, _ = row
    log, event = address >> SHIFT, address & LOW
    if n == PACKED:
        yield from _state(related, row)
        return
    if type(name) is not str or type(fidelity) is not str:
        yield StoreFault("slot", f"{event} {name!s}", UNREADABLE, log, LogPart.EVENTS, event)
    if n < 0 or not digest:
        return
    if digest in related.broken:
        yield _lost(digest, log, event, related.broken[digest])
    elif related.ask("SELECT 1 FROM payload WHERE digest = ?", digest) is None:
        yield _lost(digest, log, event)


def _state(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    """The faults of the row of a whole state."""
    log, event = row[0] >> SHIFT, row[0] & LOW
    try:
        kept = related.states.unpack(row).kept
    except ValueError as error:
        yield StoreFault("slot", f"{event} {row[1]!s}", str(error), log, LogPart.EVENTS, event)
        return
    for each in kept:
        if each.short:
            continue
        if each.data in related.broken:
            yield _lost(each.data, log, event, related.broken[each.data])
        elif related.ask("SELECT 1 FROM payload WHERE digest = ?", each.data) is None:
            yield _lost(each.data, log, event)


def _shape(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    address, names = row
    if type(names) is not str or not all(type(name) is str for name in load(names)):
        yield StoreFault("shape", str(address & LOW), UNREADABLE, address >> SHIFT)


def _note(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    owner, name, value, digest, crc = row
    log, event = (owner >> SHIFT, owner & LOW) if owner >= 0 else (related.log_of_run(-owner), None)
    part = None if event is None else LogPart.EVENTS
    if digest is None:
        if sum_of(owner & LOW, value) != crc:
            yield StoreFault("note", str(name), CHECK_SUM, log, part, event)
    elif digest in related.broken:
        yield _lost(digest, log, event, related.broken[digest])
    elif related.ask("SELECT 1 FROM payload WHERE digest = ?", digest) is None:
        yield _lost(digest, log, event)


def _ambient(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    strand, position, _, source, data, crc = row
    if crc32(data, strand & LOW) != crc:
        place = (strand & LOW) << SHIFT | position
        yield StoreFault("ambient", f"{source} since {position}", CHECK_SUM, strand >> SHIFT, LogPart.READS, place)


def _turns(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    address, count, data, crc = row
    first = address & LOW
    problem = CHECK_SUM
    if crc32(data, first) == crc:
        problem = "" if len(list(unpack(data, first, related.paths))) == count else "holds another count than it says"
    if problem:
        yield StoreFault("turns", f"from {first}", problem, address >> SHIFT, LogPart.ORDER, first)


def _printed(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    number, owner, said, codec, data, crc = row
    stream = owner & LOW
    if stream not in (1, 2) or crc32(decompress(codec, data), stream) != crc or (said and not load(said)):
        part = {1: LogPart.OUT, 2: LogPart.ERR}.get(stream)
        yield StoreFault("printed", str(number), CHECK_SUM, owner >> SHIFT, part)


def _gap(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    _, log, what, place, count = row
    if related.ask("SELECT 1 FROM log WHERE id = ?", log) is None or type(what) is not str or type(count) is not int:
        yield StoreFault("gap", f"{what} {place}", UNREADABLE, log)


def _words(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    """The faults of a text for the search: the index must find every plain word of it."""
    number, body = row
    log = number >> SHIFT if number > LOW else number
    words = sorted({each.lower() for each in _WORD.findall(plain(body))}) if related.indexed else []
    for at in range(0, len(words), _WORDS_AT_ONCE):
        terms = " AND ".join(f'"{word}"' for word in words[at : at + _WORDS_AT_ONCE])
        sql = "SELECT 1 FROM words_index WHERE words_index MATCH ? AND rowid = ?"
        if related.ask(sql, terms, number) is None:
            yield StoreFault("text index", str(number), "does not find the words of a run", log)
            return


def _piece(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    log, base, kind, data = row
    ranges = unpack_ranges(data)
    part = LogPart(kind)
    if related.ask("SELECT 1 FROM log WHERE id = ?", base) is None:
        yield StoreFault("piece", f"{part.name.lower()} of log {base}", "is of a log that is not there", log)
        return
    if part is not LogPart.EVENTS:
        return
    for first, end in ranges:
        span = (base << SHIFT | first, base << SHIFT | end - 1)
        found = related.ask("SELECT count(*) FROM event WHERE id BETWEEN ? AND ?", *span)[0]
        if found != end - first:
            yield StoreFault("piece", f"events {first}..{end - 1}", f"{end - first - found} of them are not there", log)


def _passage(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    log, n, base, end = row
    found = related.ask(
        "SELECT count(*) FROM words WHERE id BETWEEN ? AND ?", base << SHIFT | n, base << SHIFT | (end - 1)
    )[0]
    if found != end - n:
        yield StoreFault("passage", f"{n}..{end - 1}", MISSING, log)


def _text(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    number, owner = row
    if related.ask("SELECT 1 FROM log WHERE id = ?", owner) is None and not _is_going(related, owner):
        yield StoreFault("text", str(number), "belongs to no run", owner)


def _frame(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    address, first, size, codec, data, crc = row
    text, start = address >> SHIFT, address & LOW
    problem = related.portion(text, start, first, size, codec, data, crc)
    if problem:
        owner = related.ask("SELECT owner FROM text WHERE id = ?", text)
        if owner is None or not _is_going(related, owner[0]):
            yield StoreFault("frame", f"{text} from byte {start}", problem, 0 if owner is None else owner[0])


def _gone(_: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    run_id, end, at_us, why = row
    if not run_id.endswith(end) or type(at_us) is not int or type(why) is not str:
        yield StoreFault("gone", str(run_id), "is indexed as something else", 0)


def _arrival(related: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    number, at_us = row
    if type(at_us) is not int or related.ask("SELECT 1 FROM run WHERE id = ?", number) is None:
        yield StoreFault("arrival", str(number), "belongs to no run", number)


def _mark(_: RelatedRows, row: tuple[Any, ...]) -> Iterator[StoreFault]:
    mark_of(*row)  # raises an error for an unsound row
    return iter(())


TABLES: tuple[TableCheck, ...] = (
    TableCheck("log", ("id",), "events, last", _log, _in_log),
    TableCheck(
        "run",
        ("id",),
        "run_id, tail, log, lane, agent, user, tenant, session, status, started_us, parent, body, amended, crc",
        _run,
        _in_log,
    ),
    TableCheck("lane", ("id",), "path, parent, kind", _lane, _of(LogPart.LANES)),
    TableCheck("text", ("id",), "owner", _text, _second),
    TableCheck("frame", ("id",), "first, size, codec, data, crc", _frame, _nowhere),
    TableCheck("payload", ("id",), "digest, size, codec, owner, data", _payload, _owned),
    TableCheck("held", ("payload", "log"), "1", _held, _second),
    TableCheck("chunk", ("event", "n"), "codec, size, said, segments, data, digest", _chunk, _in_event),
    TableCheck("stream", ("id",), "digest, ended, crc", _stream, _in_event),
    TableCheck(
        "event", ("id",), "strand, kind, name, request, answer, asked, asked_crc, came, came_crc", _event_row, _in_event
    ),
    TableCheck("shape", ("id",), "names", _shape, _in_log_of_address),
    TableCheck("slot", ("event", "phase", "n"), "name, digest, fidelity, remark", _slot, _in_event),
    TableCheck("note", ("owner", "name"), "value, digest, crc", _note, _noted),
    TableCheck("ambient", ("strand", "position", "n"), "source, data, crc", _ambient, _where_read),
    TableCheck("turns", ("id",), "count, data, crc", _turns, _of(LogPart.ORDER)),
    TableCheck("printed", ("id",), "owner, said, codec, data, crc", _printed, _where_printed),
    TableCheck("gap", ("id",), "log, what, place, count", _gap, _second),
    TableCheck("words", ("id",), "body", _words, _in_log_of_address),
    TableCheck("piece", ("log", "base", "kind"), "data", _piece, _in_log),
    TableCheck("gone", ("run_id",), "tail, at_us, why", _gone, _nowhere),
    TableCheck("arrival", ("run",), "at_us", _arrival, _in_log),
    TableCheck("passage", ("log", "n"), "base, end", _passage, _in_log),
    TableCheck("mark", ("id",), "body, crc", _mark, _nowhere),
)
"""The check of each table, in an order in which a table comes before the tables that name its rows."""
