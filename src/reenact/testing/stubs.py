"""Stubs: a recorded tool as a function that gives each recorded answer to exactly the question it belongs to.

For tests that do not re-execute a whole agent. Name and arguments are compared as a replay compares them; a question
that was not recorded is a divergence, which is raised again at the end of the ``with`` block, even if the code under
test has caught it. Results have the types that the function declares, errors have their recorded classes, and changes
that a call made to its arguments are made again.
"""

from __future__ import annotations

import difflib
import inspect
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Generic, Literal, Self, TypeVar, cast

from reenact.abc.session import NeverLive
from reenact.abc.store import Recording, Store
from reenact.errors import Divergence, UsageError
from reenact.facts.call import Call, End, EndKind, Failure, Kind, Stream, Value
from reenact.facts.difference import between
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.facts.keys import rules_of
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.run import Run
from reenact.replaying import divergence as words
from reenact.replaying.replay_opening import redactor_of
from reenact.seams.colours import Steps, generating, generating_async
from reenact.seams.functions import Seam, SeamCall
from reenact.seams.generators import ItemPlayer, played
from reenact.seams.lanes import Lane
from reenact.seams.parameters import Marks
from reenact.store import open_store

__all__ = ["RecordedTool", "recorded_tool"]

T = TypeVar("T")
_KINDS = (Kind.TOOL, Kind.RETRIEVAL, Kind.MODEL)
_OWN = ("opaque", "key")
"""Notes on arguments in the head of a call."""


def recorded_tool(
    source: Recording | Run | str,
    name: str,
    function: Callable[..., Any] | None = None,
    *,
    store: Store | str | None = None,
    in_order: bool = False,
    all_used: bool = True,
    asynchronous: bool = False,
) -> RecordedTool:
    """A function that gives the recorded answers of a tool (or retriever, or in-process model).

    Best used in a ``with`` statement: its end raises a divergence again, and names recorded calls that were not made.

    Args:
        source: The run: a reference, a run, or its open recording. It is read at once, and not needed afterwards.
        name: The recorded name of the tool.
        function: The real function. It gives the signature (defaults, names of arguments), the type of the result, and
            whether it is asynchronous or gives its results one by one. Without it arguments go by the recorded names.
        store: Where a reference is looked up; the default store if None.
        in_order: Whether calls must come in the recorded order; if not, any recorded question may come next.
        all_used: Whether recorded calls that were not made are a divergence at the end of the ``with`` block.
        asynchronous: Whether it is called with ``await``, where no ``function`` shows that.

    Raises:
        UsageError: The run has no such call, or only a whole replay can answer its kind.
        RunNotFound: There is no such run.
    """
    if isinstance(source, str | Run):
        opened = open_store(store) if store is None or isinstance(store, str) else None
        home = cast(Store, opened if opened is not None else store)
        try:
            recording = home.open(source if isinstance(source, Run) else home.run(source))
            fixtures = _fixtures(recording, name)
        finally:
            if opened is not None:
                opened.close()
    else:
        recording = source
        fixtures = _fixtures(recording, name)
    _answerable(fixtures, function)
    seam = _seam(name, fixtures[0].event, function, fixtures)
    ledger = _Ledger(recording.run, fixtures, in_order)
    return RecordedTool(seam, ledger, all_used, asynchronous and function is None)


class RecordedTool:
    """A recorded tool, to be called like the real one. Made by ``recorded_tool``.

    As a context manager it raises the first divergence again at the end, and names the recorded calls that were not
    made. It may be called by several threads or tasks.

    Attributes:
        stub: The tool as a plain function of the same sort (coroutine function, generator …), for frameworks that need
            one.
    """

    def __init__(self, seam: Seam, ledger: _Ledger, all_used: bool, asynchronous: bool) -> None:
        self._seam = seam
        self._ledger = ledger
        self._all_used = all_used
        self.stub: Callable[..., Any] = self._made(asynchronous)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Answer as recorded.

        Raises:
            Divergence: No such call was recorded, or each of its recordings is used.
        """
        return self.stub(*args, **kwargs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave(error)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave(error)

    @property
    def used(self) -> tuple[int, ...]:
        """Numbers of the recorded events that have answered, in the order they did."""
        return tuple(self._ledger.used)

    @property
    def unused(self) -> tuple[int, ...]:
        """The numbers of the recorded events that were not used yet."""
        return tuple(fixture.event.number for fixture in self._ledger.left)

    def _leave(self, error: BaseException | None) -> None:
        first = self._ledger.diverged
        if error is not None and (error is first or not isinstance(error, Exception)):
            return
        if first is not None:
            raise first from error
        if error is None and self._all_used and self._ledger.left:
            raise self._ledger.missing()

    def _begun(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[SeamCall, _Answer]:
        inspect.signature(self._seam.function).bind(*args, **kwargs)  # refuses arguments that the function would refuse
        call = SeamCall(self._seam, cast(Lane, self._ledger), args, kwargs)
        return call, _Answer(self._ledger.take(call.describe()))

    def _made(self, asynchronous: bool) -> Callable[..., Any]:
        function = self._seam.function

        def plain(*args: Any, **kwargs: Any) -> Any:
            call, answer = self._begun(args, kwargs)
            return call.reveal(answer.outcome().wait())

        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            return plain(*args, **kwargs)

        def items(*args: Any, **kwargs: Any) -> Steps[Any]:
            return played(ItemPlayer(*self._begun(args, kwargs)))

        if inspect.isasyncgenfunction(function):
            made: Callable[..., Any] = generating_async(items)
        elif inspect.isgeneratorfunction(function):
            made = generating(items)
        elif asynchronous or inspect.iscoroutinefunction(function):
            made = coroutine
        else:
            made = plain
        made.__name__ = made.__qualname__ = self._seam.name
        made.__doc__ = function.__doc__
        return made


@dataclass(frozen=True, slots=True)
class _Fixture:
    """One recorded call: its request and its result."""

    event: Event
    body: bytes
    answer: bytes
    parts: tuple[bytes, ...]


class _Ledger:
    """The recorded calls of one name, and which of them are used: the stub's counterpart of a lane and a session."""

    checks_changes = True

    def __init__(self, run: Run, fixtures: Sequence[_Fixture], in_order: bool) -> None:
        self.left = list(fixtures)
        self.used: list[int] = []
        self.diverged: Exception | None = None
        self._all = tuple(fixtures)
        self._in_order = in_order
        self._redactor = redactor_of(run)
        self._rules = rules_of(run.capture)
        self._next = f"reenact show {tail(run.id)}"
        self._lock = threading.Lock()

    @property
    def session(self) -> _Ledger:
        """The object that a call informs of values that it cannot restore."""
        return self

    def fault(self, problem: Exception) -> bool:
        """Keep the problem of a recorded value that cannot be restored here; every later call raises it."""
        with self._lock:
            self.diverged = self.diverged or problem
        return True

    def take(self, call: Call) -> _Fixture:
        """The recording of a call.

        Raises:
            Divergence: The call was not recorded, or the stub has diverged before.
        """
        with self._lock:
            if self.diverged is not None:
                raise self.diverged
            cleaned = self._redactor.call(call)
            candidates = self.left[:1] if self._in_order else self.left
            found = next((each for each in candidates if self._same(each, cleaned)), None)
            if found is None:
                self.diverged = self._differs(cleaned)
                raise self.diverged
            self.left.remove(found)
            self.used.append(found.event.number)
            return found

    def missing(self) -> Divergence:
        """The error for recorded calls that were not made."""
        first = self.left[0]
        others = ", ".join(f"#{each.event.number}" for each in self.left[1:6])
        found = words.missing(first.event, first.body, self._next)
        found.message = (
            f"{len(self.left)} of {len(self._all)} recorded calls of {first.event.name} were not made: "
            f"#{first.event.number} {words.clip(found.recorded)}" + (f", and {others}" if others else "")
        )
        return found

    def _same(self, fixture: _Fixture, call: Call) -> bool:
        recorded = fixture.event.call
        # The decorator's facts (effect, embedding model) come from the recording, not from the test.
        head = {name: value for name, value in recorded.head.items() if name not in _OWN}
        head |= {name: value for name, value in call.head.items() if name in _OWN}
        return self._rules.same(recorded.rule, recorded.head, fixture.body, head, call.body)

    def _differs(self, call: Call) -> Divergence:
        if not self.left or (not self._in_order and any(self._same(each, call) for each in self._all)):
            error = words.added(call, "of the test", self._next)
            times = sum(1 for each in self._all if self._same(each, call))
            if times:
                error.cause = f"it was recorded {times} times with these arguments, and each answer was given"
            return error
        nearest = (
            self.left[0] if self._in_order else min(self.left, key=lambda each: len(between(each.body, call.body)))
        )
        return words.changed(nearest.event, nearest.body, call, self._next)


class _Answer(NeverLive):
    """A recorded answer (``abc.session.Frozen``): its turn is always now."""

    def __init__(self, fixture: _Fixture) -> None:
        self._fixture = fixture
        self._parts = iter(fixture.parts)
        self.event = fixture.event.number

    @property
    def form(self) -> Literal["value", "failure", "stream", "open"]:
        """The form of the recorded result."""
        match self._fixture.event.outcome:
            case Value():
                return "value"
            case Failure():
                return "failure"
            case Stream(head=head) if head:
                return "stream"
        return "open"

    def outcome(self) -> _GivenTurn[Value | Failure]:
        """The value or exception."""
        match self._fixture.event.outcome:
            case Value() as value:
                return _GivenTurn(replace(value, body=self._fixture.answer))
            case Failure() as failure:
                return _GivenTurn(failure)
        raise _unanswered(self._fixture.event)

    def head(self) -> _GivenTurn[Stream]:
        """The head of a stream."""
        return _GivenTurn(cast(Stream, self._fixture.event.outcome))

    def part(self) -> _GivenTurn[bytes | End]:
        """The next item of a stream, or its end."""
        data = next(self._parts, None)
        if data is not None:
            return _GivenTurn(data)
        end = cast(Stream, self._fixture.event.outcome).end
        if end is None or end.kind in (EndKind.CLOSED, EndKind.CANCELLED):
            raise _unanswered(self._fixture.event)
        return _GivenTurn(end)

    def dropped(self) -> None:
        """Do nothing: a test may stop reading a stream before its end."""


class _GivenTurn(Generic[T]):
    """A turn that has come, with the value it delivers."""

    __slots__ = ("_gives",)

    def __init__(self, gives: T) -> None:
        self._gives = gives

    def wait(self) -> T:
        """Return the value at once."""
        return self._gives

    def __await__(self) -> Generator[Any, Any, T]:
        return self._gives
        yield


def _by_names(known: Sequence[str], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by recorded name; a surplus argument gets a new name, so that it shows as a difference."""
    names = [*known, *(f"argument {n + 1}" for n in range(len(known), len(args)))]
    given = dict(zip(names, args, strict=False)) | dict(kwargs)
    return {name: given[name] for name in (*(each for each in known if each in given), *given)}


def _seam(name: str, first: Event, function: Callable[..., Any] | None, fixtures: Sequence[_Fixture]) -> Seam:
    def answered_from_the_recording(*args: Any, **kwargs: Any) -> Any:
        """Answers as recorded."""

    real = inspect.unwrap(function) if function is not None else answered_from_the_recording
    call = first.call
    asked = [words.readable(fixture.body, encoded=True) for fixture in fixtures if fixture.body]
    known = list(dict.fromkeys(key for each in asked if isinstance(each, dict) for key in each))
    marks = Marks(bind=partial(_by_names, known) if function is None else None)
    return Seam(real, kind=call.kind, effect=call.effect, rule=call.rule, name=name, marks=marks)


def _fixtures(recording: Recording, name: str) -> list[_Fixture]:
    events = list(recording.events(name=name))
    foreign = next((event for event in events if event.call.kind not in _KINDS), None)
    if not events:
        borne = {event.name for event in recording.events() if event.call.kind in _KINDS}
        near = difflib.get_close_matches(name, borne, 1)
        raise UsageError(
            f"nothing was called {name} in run {tail(recording.run.id)}",
            cause=f"did you mean {near[0]}?" if near else f"its tools are: {', '.join(sorted(borne)) or 'none'}",
            next_command=f"reenact show {tail(recording.run.id)}",
        )
    if foreign is not None:
        raise UsageError(
            f"{name} is a call of kind {foreign.kind}, and no function answers for it",
            cause="functions marked as tool, retriever or model can be stubbed; the rest is answered by a replay",
            next_command=f"reenact replay {tail(recording.run.id)}",
        )
    return [_fixture(recording, event) for event in events]


def _answerable(fixtures: Sequence[_Fixture], function: Callable[..., Any] | None) -> None:
    """Refuse calls that were not kept whole: of a generator that always runs, the recording has only a digest of its
    items."""
    one_by_one = inspect.isgeneratorfunction(inspect.unwrap(function)) if function is not None else False
    one_by_one = one_by_one or (function is not None and inspect.isasyncgenfunction(inspect.unwrap(function)))
    for fixture in fixtures:
        event = fixture.event
        if event.call.observed and (one_by_one or isinstance(event.outcome, Stream)):
            raise UsageError(
                f"{event.name} computes only (effect none) and gives its results one by one: they were not kept",
                cause="such a function always runs, in a replay too; call it itself",
                next_command=f"reenact show {tail(event.run)}:{event.number}",
            )
        if function is None and isinstance(event.outcome, Stream) and event.outcome.head:
            raise UsageError(
                f"{event.name} gave its results one by one, and only the real function shows how to read them",
                cause=f"name the function: recorded_tool(…, {event.name!r}, module.{event.name})",
                next_command=f"reenact show {tail(event.run)}:{event.number}",
            )


def _fixture(recording: Recording, event: Event) -> _Fixture:
    streamed = isinstance(event.outcome, Stream)
    parts = tuple(data for _, _, data in recording.parts(event.number)) if streamed else ()
    return _Fixture(event, recording.body(event.request), b"" if streamed else recording.body(event.answer), parts)


def _unanswered(event: Event) -> Divergence:
    return Divergence(
        f"the recorded call #{event.number} of {event.name} has no further items",
        event=event.number,
        reason="end",
        cause="it was cancelled, left early by its reader, or cut off, when it was recorded",
        next_command=f"reenact show {tail(event.run)}:{event.number}",
    )
