"""Steps: stretches of the agent's own code that its author named, with the state before and after.

A step always runs, in replays too; its states are compared there. ``note`` keeps evidence beside the events.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import FrameType, TracebackType
from typing import Any, TypeVar

from reenact.abc.session import Turn
from reenact.errors import UsageError
from reenact.facts.call import Call, Effect, End, EndKind, Failure, Kind, Value
from reenact.facts.growth import Growth, NewEntries
from reenact.facts.interruptions import let_through
from reenact.facts.states import GROWS, State, encode_state
from reenact.facts.values import describe_error, encode, jsonable
from reenact.seams import lanes
from reenact.seams.colours import CLOSED, Steps, generating, generating_async
from reenact.seams.functions import MEDIA, Seam, is_state
from reenact.seams.generators import through
from reenact.seams.lanes import Lane, listening
from reenact.seams.switchboard import begin, guarded
from reenact.seams.turns import NOW

F = TypeVar("F", bound=Callable[..., Any])
RULE = "step/1"
_COUNTER = "=step"
_BETWEEN = frozenset(
    ["CACHE", "SEND", "YIELD_VALUE", "RESUME", "JUMP_BACKWARD_NO_INTERRUPT", "GET_AWAITABLE", "LOAD_CONST", "END_SEND"]
)
"""The instructions between entering an ``async with`` and the use of its value."""


def note(key: str, value: Any) -> None:
    """Keep evidence on the event the caller is inside, or on the run. Does nothing outside a recording or replay.

    Args:
        key: The name of the evidence.
        value: Any value; one that is not JSON is kept as readable text.
    """
    lane = listening()
    if lane is not None:
        guarded(lane, lambda: lane.session.note(lane, key, jsonable(encode(value).body)))


def step(name: str, state: Any = None, *, grows: Sequence[str] = ()) -> StepScope:
    """Name a stretch of the agent's code.

    As a context manager (``with`` and ``async with``) it gives the state back: ``with step("plan", state) as state``.
    As a decorator of a function of any sort, the parameter named ``state`` is the state, and the return value is the
    state afterwards if it is a mapping or a record. An exception passes through untouched. Without a session it does
    nothing.

    Args:
        name: The author's name for the stretch.
        state: The agent's state, for the context manager.
        grows: The keys of a dictionary state whose lists only grow: new entries go to the end, and existing entries are
            neither changed nor removed. A step looks only at their new entries. If a list has changed in another way,
            the run notes that, and goes on with whole lists.

    Raises:
        UsageError: ``name`` is no text; ``grows`` is a single text, or holds something else than texts.
    """
    if not isinstance(name, str):
        raise UsageError(
            f"a step has a name, and was given {type(name).__name__}",
            cause='the name goes into parentheses: @reenact.step("plan"), with reenact.step("plan", state)',
            next_command="python -m pydoc reenact.step",
        )
    names = tuple(grows)
    if isinstance(grows, str) or not all(isinstance(key, str) for key in names):
        raise UsageError(
            f"grows takes the names of lists, not {grows!r}",
            cause='it is a sequence of keys of the state: grows=("messages",)',
            next_command="python -m pydoc reenact.step",
        )
    return StepScope(name, state, names)


class Passage:
    """One execution of a step: from its first line to its end.

    Args:
        name: The step.
        state: The state at its start, as the live object, so that changes in place show at its end.
        grows: Names of the state's lists that only grow.
    """

    __slots__ = ("_crossing", "_grows", "_growth", "_inside", "_lane", "_name", "_place", "_scope", "state")

    def __init__(self, name: str, state: Any, grows: tuple[str, ...] = ()) -> None:
        self.state = state
        self._grows = grows
        self._growth: Growth | None = None
        self._name = self._place = name
        self._crossing: Any = None
        self._scope: AbstractContextManager[None] | None = None
        self._inside: Lane | None = None
        lane = self._lane = listening()
        if lane is None:
            return

        looks: list[State] = []

        def describe() -> Call:
            self._grows, self._growth = lane.session.growing(name, self._grows)
            head: dict[str, Any] = {"step": name, "number": lane._ordinal(_COUNTER)}
            self._place = f"step {name} ({head['number']} of {lane.path})"
            looks[:] = [self._look(state, "the start")]
            if self._grows:
                head[GROWS] = list(self._grows)
            return Call(
                kind=Kind.STEP,
                name=name,
                effect=Effect.NONE,
                rule=RULE,
                head=head,
                body=looks[0].body,
                media=MEDIA,
                channel=f"step/{name}",
                observed=True,
            )

        self._crossing = begin(lane, describe)
        if self._crossing is not None and state is not None:
            changed = lane.session.restate(self._crossing.event, state)
            if changed is not None:
                self.state = changed
            self._checkpoint("in", looks[0] if changed is None else self._look(changed, "the start"))

    def _look(self, state: Any, when: str) -> State:
        growth = self._growth
        if growth is None or not self._grows:
            return encode_state(state, self._grows)
        place = f"{when} of {self._place}"
        seen = False

        def look(key: str, held: list[Any]) -> tuple[NewEntries, tuple[str, ...]] | None:
            nonlocal seen
            found = growth.look(key, held, state, place)
            seen |= found is not None
            return found

        found = encode_state(state, self._grows, look)
        if seen and not found.grows:  # the encoding does not use the lists' new entries
            growth.restart()
        return found

    def enter(self, *, heeds: bool = True) -> None:
        """The code of the step runs now. ``heeds``: whether the code uses the state that the step gives it."""
        if not heeds and self._lane is not None:
            raise self._lane.session.cannot_go_on(
                f"the state of step {self._name} is immutable, and the step does not use the new one",
                cause="another state can only be handed over: with step(name, state) as state",
                next_command="python -m pydoc reenact.step",
            )
        if self._crossing is not None and self._scope is None:
            scope = lanes.inside(self._inside) if self._inside is not None else self._crossing.enter()
            scope.__enter__()
            self._scope = scope
            self._inside = lanes.current()

    def leave(self) -> None:
        """Other code runs now: the step has ended, or rests at a ``yield``."""
        scope, self._scope = self._scope, None
        if scope is not None:
            scope.__exit__(None, None, None)

    @contextmanager
    def resumed(self) -> Iterator[None]:
        """The code of the step runs again, after a ``yield``."""
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def end(self, state: Any, error: BaseException | None) -> Turn[None]:
        """The step has ended. Gives the turn to wait for."""
        self.leave()
        crossing = self._crossing
        if crossing is None:
            return NOW
        if error is not None and not isinstance(error, Exception):
            if crossing.mode == "live":
                crossing.dropped(End(EndKind.CLOSED if isinstance(error, GeneratorExit) else EndKind.CANCELLED))
            return NOW
        outcome = self._outcome(state, error)
        if outcome is None:
            return NOW
        turn: Turn[None] = crossing.settle(outcome)
        return turn

    def _outcome(self, state: Any, error: BaseException | None) -> Value | Failure | None:
        try:
            look = self._look(state, "the end")
            if state is not None:
                self._checkpoint("out", look)
            if error is not None:
                return Failure(describe_error(error))
            return Value(look.body, MEDIA, head={"opaque": list(look.opaque)} if look.opaque else {})
        except Exception as fault:
            let_through(fault)
            self._faulted(fault)
            return None

    def _checkpoint(self, phase: str, look: State) -> None:
        lane = self._lane
        if lane is None:
            return
        try:
            lane.session.checkpoint(self._crossing.event, phase, look.slots)
        except Exception as fault:
            let_through(fault)
            self._faulted(fault)

    def _faulted(self, fault: Exception) -> None:
        if self._lane is not None and self._lane.session.fault(fault):
            raise fault


class StepScope:
    """The object that ``step`` returns: a context manager, sync and async, and a decorator."""

    __slots__ = ("_grows", "_name", "_open", "_state")

    def __init__(self, name: str, state: Any, grows: tuple[str, ...] = ()) -> None:
        self._name = name
        self._state = state
        self._grows = grows
        self._open: list[Passage | None] = []

    def __enter__(self) -> Any:
        if not lanes._sessions:
            self._open.append(None)
            return self._state
        return self._entered(sys._getframe(1))

    def _entered(self, caller: FrameType) -> Any:
        passage = Passage(self._name, self._state, self._grows)
        passage.enter(heeds=passage.state is self._state or _takes_result(caller))
        self._open.append(passage)
        return passage.state

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        passage = self._open.pop()
        if passage is not None:
            passage.end(passage.state, error).wait()

    async def __aenter__(self) -> Any:
        if not lanes._sessions:
            return self.__enter__()
        return self._entered(sys._getframe(1))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        passage = self._open.pop()
        if passage is not None:
            await passage.end(passage.state, error)

    def __call__(self, function: F) -> F:
        """Decorate a function: each call is one passage through the step."""
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(self(function.__func__))
        seam = Seam(function, kind=Kind.STEP, effect=Effect.NONE, rule=RULE, name=self._name)
        if inspect.isasyncgenfunction(function):
            wrapper = generating_async(_items(seam, self._grows))
        elif inspect.isgeneratorfunction(function):
            wrapper = _generator(seam, self._grows)
        elif inspect.iscoroutinefunction(function):
            wrapper = _coroutine(seam, self._grows)
        else:
            wrapper = _plain(seam, self._grows)
        return functools.wraps(function)(wrapper)  # type: ignore[return-value]


def _passage(seam: Seam, args: tuple[Any, ...], kwargs: dict[str, Any], grows: tuple[str, ...]) -> Passage:
    state = seam.bind(args, kwargs).get("state")
    passage = Passage(seam.name, state, grows)
    passage.enter(heeds=passage.state is state)
    return passage


def _after(passage: Passage, result: Any) -> Any:
    """The state after a decorated function."""
    return result if is_state(result) else passage.state


def _plain(seam: Seam, grows: tuple[str, ...]) -> Callable[..., Any]:
    function = seam.function

    def called(*args: Any, **kwargs: Any) -> Any:
        if listening() is None:
            return function(*args, **kwargs)
        passage = _passage(seam, args, kwargs, grows)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            passage.end(passage.state, error).wait()
            raise
        passage.end(_after(passage, result), None).wait()
        return result

    return called


def _coroutine(seam: Seam, grows: tuple[str, ...]) -> Callable[..., Any]:
    function = seam.function

    async def called(*args: Any, **kwargs: Any) -> Any:
        if listening() is None:
            return await function(*args, **kwargs)
        passage = _passage(seam, args, kwargs, grows)
        try:
            result = await function(*args, **kwargs)
        except BaseException as error:
            await passage.end(passage.state, error)
            raise
        await passage.end(_after(passage, result), None)
        return result

    return called


def _generator(seam: Seam, grows: tuple[str, ...]) -> Callable[..., Any]:
    function, passing = seam.function, generating(_items(seam, grows))

    def called(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from (function if listening() is None else passing)(*args, **kwargs))

    return called


def _items(seam: Seam, grows: tuple[str, ...]) -> Callable[..., Steps[Any]]:
    def steps(*args: Any, **kwargs: Any) -> Steps[Any]:
        if listening() is None:
            return (yield from through(seam.function(*args, **kwargs)))
        passage = _passage(seam, args, kwargs, grows)
        try:
            result = yield from through(seam.function(*args, **kwargs), passage.resumed)
        except BaseException as error:
            ended = passage.end(passage.state, error)
            if isinstance(error, Exception):
                yield ended
            raise
        yield passage.end(_after(passage, result), GeneratorExit() if result is CLOSED else None)
        return result

    return steps


def _takes_result(frame: FrameType) -> bool:
    """Whether the ``with`` statement that ``frame`` has just entered keeps its value (``as``)."""
    after = [
        step for step in dis.get_instructions(frame.f_code) if step.offset > frame.f_lasti and step.opname != "CACHE"
    ]
    for step in after:
        if step.opname not in _BETWEEN:
            return step.opname != "POP_TOP"
    return True
