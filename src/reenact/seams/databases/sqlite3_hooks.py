"""SQLite through ``sqlite3``: each statement is a crossing, its rows the answer; a replay opens no file.

``connect`` returns a connection of a subclass of the requested class, whose cursors cross at ``execute``. Rows are read
as tuples, in portions: the first with the statement, each further one when the program reads on. The program's own row
factory is applied to them in every session. A replayed connection is a real connection to an unused database in memory,
so that other uses of its objects still work. When a statement has to go live, the database itself is opened
(``reopening``).

A database in memory is the program's own, and left alone, except for the files that it attaches
(``contacts.watch_attached``). The standard library's own uses are left alone too. A connection that is made by its
class and not by ``connect`` is left alone too, but the audit hook names it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, Final, Literal

from reenact.errors import ReenactError
from reenact.facts.call import Call, Effect, End, EndKind, Failure, Value
from reenact.facts.errors_as_data import describe_error
from reenact.facts.values import encode, revealed
from reenact.seams import contacts, file_changes, project_paths
from reenact.seams.callers import module_of, whose
from reenact.seams.contacts import in_memory, watch_attached
from reenact.seams.databases.reopening import UNMADE, ReopenedConnection, cannot_go_on
from reenact.seams.databases.statements import effect_of, ending_of, further, statement
from reenact.seams.lanes import Lane, listening
from reenact.seams.patching import replace, when_imported
from reenact.seams.switchboard import begin, guarded

PORTION: Final = 1_000
"""The number of rows that are read at once."""
_BY_POSITION: Final = 4
"""The number of arguments of ``connect`` between the database and the factory."""
_SAID_DONE: Final[Any] = {"columns": None, "rows": [], "more": False, "rowcount": -1, "lastrowid": None, "open": False}
"""The result of a statement that a person took as made (``--settle done``): its answer is not known."""
_classes: dict[tuple[type, type], type] = {}


def install() -> None:
    """Hook ``connect`` once the program has imported the module."""
    when_imported("sqlite3", _hook)


def _hook(module: ModuleType) -> None:
    dbapi: Any = module.dbapi2
    original = dbapi.connect
    replace(dbapi, "connect", lambda _: _connecting(module, original))
    replace(module, "connect", lambda _: dbapi.connect)


def _connecting(module: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    connections = _of(module.Connection, _Connection)
    cursors = _of(module.Cursor, _Cursor)

    def connect(database: Any, *args: Any, **options: Any) -> Any:
        lane = listening()
        if lane is None or whose(module_of(sys._getframe(1))) == "ours":
            return original(database, *args, **options)
        if in_memory(database):
            alone = original(database, *args, **options)
            if type(alone) is module.Connection:  # a class of the program's own may have set its own authorizer
                guarded(lane, lambda: watch_attached(alone))
            return alone
        factory = options.get("factory") or module.Connection
        name = guarded(lane, lambda: _name(lane, database))
        if name is None or len(args) > _BY_POSITION or not isinstance(factory, type):
            contacts.database("sqlite3", name or "")
            return original(database, *args, **options)
        plain = {**options, "factory": module.Connection}
        options["factory"] = _of(factory, connections)
        guarded(lane, lambda: file_changes.opens_database(lane, _file(database)))
        crossed = _DataCrossing(lane, lambda: further(name, "connect"))
        made = crossed.answer(lambda: original(database, *args, **options), lambda _: None)
        if made is None:
            options["uri"] = False
            made = original(":memory:", *args, **options)
        made._begin(cursors, name)
        if crossed.frozen:
            guarded(lane, lambda: file_changes.was_opened(lane, _file(database)))
            made._played = ReopenedConnection(name, _file(database), lambda: original(database, *args, **plain))
        return made

    return connect


def _name(lane: Lane, database: Any) -> str:
    """The displayed name of a database: below the root its relative path, elsewhere the name of its file."""
    path = _file(database)
    return project_paths.below(path, project_paths.root_of(lane.session.run)) or os.path.basename(path)


def _file(database: Any) -> str:
    """Path of a database, however it is named."""
    text = project_paths.text_of(database) or str(database)
    return project_paths.absolute(text.removeprefix("file:").partition("?")[0])


def _of(asked: type, ours: type) -> type:
    """The requested class, with ours between it and the library's class."""
    if issubclass(asked, ours):
        return asked
    if issubclass(ours, asked):
        return ours
    made = _classes.get((asked, ours))
    if made is None:
        bases = (asked, ours) if issubclass(ours, asked.__mro__[-2]) else (ours, asked)
        names = {"__module__": asked.__module__, "__doc__": asked.__doc__}
        made = _classes[asked, ours] = type(asked.__name__, bases, names)
    return made


def _row(row: Any) -> Any:
    """A row as SQLite gives it, also when it comes from a user's JSON."""
    return tuple(row) if type(row) is list else row


class _DataCrossing:
    """One crossing whose answer is data, and the code that performs it."""

    def __init__(self, lane: Lane | None, describe: Callable[[], Call]) -> None:
        self._crossing = None if lane is None else begin(lane, describe)
        self.frozen = self._crossing is not None and self._crossing.mode == "frozen"
        self.event = -1 if self._crossing is None else self._crossing.event

    def answer(self, perform: Callable[[], Any], told: Callable[[Any], Any]) -> Any:
        """Perform the operation and return its result; if the operation is frozen, return the recorded result.

        Args:
            perform: Does the operation.
            told: The facts of its result that are kept.
        """
        crossing = self._crossing
        if crossing is None:
            return perform()
        if crossing.mode == "frozen":
            return revealed(crossing.outcome().wait())
        if crossing.mode == "live":
            crossing.ready().wait()
        try:
            with crossing.enter():
                result = perform()
        except Exception as error:
            if isinstance(error, ReenactError) and crossing.mode == "live":
                crossing.unmade()  # our own error, raised before the database got the statement
            crossing.settle(Failure(describe_error(error))).wait()
            raise
        except BaseException:
            if crossing.mode == "live":
                crossing.dropped(End(EndKind.CANCELLED))
            raise
        crossing.settle(Value(encode(told(result)).body)).wait()
        return result


def _defines(how: str) -> Callable[..., None]:
    """A method that defines something of the program's for its statements."""

    def define(self: Any, *args: Any, **options: Any) -> None:
        getattr(super(_Connection, self), how)(*args, **options)
        if self._played is not None:
            self._played.define(how, args, options)

    return define


class _Connection:
    """The methods above the library's class of connections."""

    _database = ""
    _played: ReopenedConnection | None = None
    _changed = False
    _unsaved = False
    """Whether a statement that may have changed something waits for a commit."""
    _answered = False
    """Whether a statement that waits for a commit was answered from a recording, while the connection is live."""
    _cursors: Any = None

    def _begin(self, cursors: Any, database: str) -> None:
        self._cursors, self._database = cursors, database

    def cursor(self, factory: Any = None) -> Any:
        real: Any = super()
        if not self._database:
            return real.cursor() if factory is None else real.cursor(factory)
        if factory is not None and not isinstance(factory, type):
            return real.cursor(factory)
        return real.cursor(self._cursors if factory is None else _of(factory, self._cursors))

    def execute(self, sql: str, parameters: Any = (), /) -> Any:
        return _Connection.cursor(self).execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Any:
        return _Connection.cursor(self).executemany(sql, parameters)

    def executescript(self, sql_script: str, /) -> Any:
        return _Connection.cursor(self).executescript(sql_script)

    def commit(self) -> None:
        """Commit, and record whether it failed. A commit without changes does nothing to the world."""
        self._ended("commit", Effect.WRITE if self._unsaved else Effect.READ)

    def rollback(self) -> None:
        self._ended("rollback", Effect.READ)

    def _ended(self, what: str, effect: Effect) -> None:
        real: Any = super()
        lane, played = listening(), self._played
        if played is not None and played.live is not None:
            real = played.live
        if not self._database or (lane is None and played is None):
            getattr(real, what)()
        elif lane is not None:
            crossed = _DataCrossing(lane, lambda: further(self._database, what, effect))

            def perform() -> None:
                if what == "commit" and (self._answered if played is None else played.would_lose):
                    raise cannot_go_on(lane, self._database, UNMADE)
                getattr(real, what)()

            crossed.answer(perform, lambda _: None)
            if played is None and crossed.frozen and real.in_transaction:
                getattr(real, what)()  # the answer is recorded, but the open transaction has live writes
        if played is not None:
            if played.live is not None and played.live.in_transaction:  # a part of its writes went live
                getattr(played.live, what)()
            played.ended()
        self._changed = self._unsaved = self._answered = False

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open; in a replay, according to the recorded statements."""
        real: Any = super()
        if self._played is None:
            return bool(real.in_transaction)
        return self._changed or (self._played.live is not None and bool(self._played.live.in_transaction))

    create_function = _defines("create_function")
    create_aggregate = _defines("create_aggregate")
    create_window_function = _defines("create_window_function")
    create_collation = _defines("create_collation")

    def _escaped(self, how: str) -> Any:
        """A use past the statements finds an empty database in a replay: it is noted."""
        lane = listening()
        if lane is not None and self._database:
            guarded(lane, lambda: lane.session.gap(f"sqlite3 {how}", self._database))
        return getattr(super(), how)

    def backup(self, *args: Any, **options: Any) -> Any:
        return self._escaped("backup")(*args, **options)

    def blobopen(self, *args: Any, **options: Any) -> Any:
        return self._escaped("blobopen")(*args, **options)

    def serialize(self, *args: Any, **options: Any) -> Any:
        return self._escaped("serialize")(*args, **options)

    @property
    def total_changes(self) -> int:
        return int(self._escaped("total_changes"))

    def close(self) -> None:
        real: Any = super()
        if self._played is not None:
            self._played.close()
        real.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Literal[False]:
        if kind is not None:
            self.rollback()
            return False
        try:
            self.commit()
        except BaseException:
            self.rollback()
            raise
        return False


class _Cursor:
    """The methods above the library's class of cursors."""

    _rows: Iterator[Any] = iter(())
    _told: Mapping[str, Any] = {}
    _more = False
    _event = -1
    _late: Exception | None = None
    _live: Any = None
    """The real cursor that a statement went to; None where this cursor executed it, or the recording answered it."""

    def execute(self, sql: str, parameters: Any = (), /) -> Any:
        return self._run("execute", sql, parameters, "")

    def executemany(self, sql: str, seq_of_parameters: Iterable[Any], /) -> Any:
        return self._run("executemany", sql, [*seq_of_parameters], "many")

    def executescript(self, sql_script: str, /) -> Any:
        return self._run("executescript", sql_script, None, "script")

    def _run(self, method: str, sql: str, parameters: Any, how: str) -> Any:
        real: Any = super()
        owner: Any = real.connection
        lane = listening()
        ours = bool(getattr(owner, "_database", ""))
        unsaved = ours and owner._unsaved
        if ours and (how or effect_of(sql) is Effect.WRITE):
            owner._unsaved = True  # even if it fails: the first rows of ``executemany`` stay
        if lane is None or not ours:
            self._told, self._rows, self._more = {}, iter(()), False
            return getattr(real, method)(sql) if how == "script" else getattr(real, method)(sql, parameters)
        crossed = _DataCrossing(lane, lambda: statement(owner._database, sql, parameters, how, unsaved=unsaved))
        played: ReopenedConnection | None = owner._played
        self._live = None

        def perform() -> dict[str, Any]:
            asked = real
            left_open = False
            if played is not None:
                live = played.require(lane, owner, sql)
                asked = self._live = live.cursor()
                # a recorded statement left the transaction open, and the real connection does not know of it
                ends = how == "script" or ending_of(sql)
                left_open = owner._changed and not live.in_transaction and not ends
            getattr(asked, method)(sql) if how == "script" else getattr(asked, method)(sql, parameters)
            rows, more = self._portion()
            return {
                "columns": None if asked.description is None else [column[0] for column in asked.description],
                "rows": rows,
                "more": more,
                "rowcount": asked.rowcount,
                "lastrowid": asked.lastrowid,
                "open": bool(left_open or (owner if played is None else played.live).in_transaction),
            }

        told = crossed.answer(perform, lambda result: result) or _SAID_DONE
        if played is not None and self._live is None:
            played.passed(sql, uncommitted=bool(told["open"]), script=how == "script")
        self._told, self._rows, self._more, self._event = told, map(_row, told["rows"]), told["more"], crossed.event
        owner._changed = told["open"]
        owner._unsaved = owner._unsaved and told["open"]
        owner._answered = told["open"] and (owner._answered or (played is None and crossed.frozen and owner._unsaved))
        if crossed.frozen or self._live is not None:
            self._describe(told["columns"])
        return self

    def _describe(self, columns: list[str] | None) -> None:
        """Give the real cursor the columns that a row object asks it for."""
        real: Any = super()
        quoted = ", ".join('NULL AS "' + str(name).replace('"', '""') + '"' for name in columns or ())
        real.execute(f"SELECT {quoted} WHERE 0" if columns else "SELECT NULL WHERE 0")

    def _portion(self) -> tuple[list[Any], bool]:
        """The next rows as tuples, whatever the row factory, and whether there may be more."""
        real: Any = super() if self._live is None else self._live
        late, self._late = self._late, None
        if late is not None:
            raise late
        factory, self.row_factory = self.row_factory, None
        rows: list[Any] = []
        try:
            while len(rows) < PORTION and (row := real.fetchone()) is not None:
                rows.append(row)
        except Exception as error:
            self._late = error  # the error belongs after the last row: it is raised when the next row is read
        finally:
            self.row_factory = factory
        return rows, len(rows) == PORTION or self._late is not None

    def _following(self, lane: Lane | None) -> dict[str, Any]:
        real: Any = super()
        owner = real.connection
        if lane is not None and owner._played is not None and self._live is None:
            raise cannot_go_on(lane, owner._database, "more rows are asked for than were read when it was recorded")
        rows, more = self._portion()
        return {"rows": rows, "more": more}

    def __next__(self) -> Any:
        real: Any = super()
        if not self._told:
            return real.__next__()
        row = next(self._rows, self)
        if row is self and self._more:
            lane = listening()
            crossed = _DataCrossing(lane, lambda: further(real.connection._database, "rows", of=self._event))
            told = crossed.answer(lambda: self._following(lane), lambda result: result)
            self._rows, self._more = map(_row, told["rows"]), told["more"]
            row = next(self._rows, self)
        if row is self:
            raise StopIteration
        return row if self.row_factory is None else self.row_factory(self, row)

    def fetchone(self) -> Any:
        return next(self, None)

    def fetchmany(self, size: int | None = None) -> list[Any]:
        wanted = self.arraysize if size is None else size
        rows: list[Any] = []
        while len(rows) < wanted:
            row = next(self, rows)
            if row is rows:
                break
            rows.append(row)
        return rows

    def fetchall(self) -> list[Any]:
        return self.fetchmany(sys.maxsize)

    def close(self) -> None:
        real: Any = super()
        self._told, self._rows, self._more, self._late = {}, iter(()), False, None
        if self._live is not None:
            self._live.close()
        real.close()

    @property
    def description(self) -> Any:
        real: Any = super()
        if not self._told:
            return real.description
        columns = self._told["columns"]
        return None if columns is None else tuple((name, *[None] * 6) for name in columns)

    @property
    def rowcount(self) -> int:
        real: Any = super()
        return int(self._told["rowcount"]) if self._told else int(real.rowcount)

    @property
    def lastrowid(self) -> Any:
        real: Any = super()
        return self._told["lastrowid"] if self._told else real.lastrowid

    arraysize: int
    row_factory: Any
