"""Recording in code: ``record`` as a context manager and as a decorator, and ``current_run``."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.abc.store import Store
from reenact.errors import Halt, UsageError
from reenact.facts.call import Call, Effect, Failure, Json, Kind, Value
from reenact.facts.policy import Policy
from reenact.facts.record import RunClosed, RunOpened
from reenact.facts.run import Run, Status, Totals
from reenact.facts.values import describe_error, encode
from reenact.recording.opening import Opened, Who, interpreter, new_run, status_of
from reenact.seams import lanes, logs, wiring
from reenact.seams.steps import note
from reenact.store import open_store

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class ActiveRun(Run):
    """The run being recorded (or replayed) here."""

    def note(self, key: str, value: Json) -> None:
        """Keep evidence on the current event; see ``reenact.note``."""
        note(key, value)

    @property
    def effect_key(self) -> str:
        """The idempotency key of the call under way.

        Raises:
            UsageError: Not available yet.
        """
        raise UsageError("effect_key is not available yet", cause="it comes with resume and fork")

    def timeline(self) -> Any:
        """A place in the run from which one can move.

        Raises:
            UsageError: Not available yet.
        """
        raise UsageError("timeline() is not available yet", next_command="reenact show @")


def _active(run: Run) -> ActiveRun:
    return ActiveRun(**{field.name: getattr(run, field.name) for field in fields(Run)})


_current: ContextVar[ActiveRun | None] = ContextVar("reenact_run", default=None)


def _current_id() -> str:
    run = _current.get()
    if run is not None:
        return run.id
    lane = lanes.current()
    return "" if lane is None else str(lane.session.run.id)


logs.run_ids_from(_current_id)


def current_run() -> Run | None:
    """The run being recorded here, or None when nobody records."""
    run = _current.get()
    if run is not None:
        return run
    lane = lanes.current()
    return _active(lane.session.run) if lane is not None else None


class Recorder:
    """One use of ``record``: a context manager, sync and async, or a decorator of an entry point."""

    def __init__(self, who: Who, store: str | Store | None, policy: Policy | None) -> None:
        self._who = who
        self._store = store
        self._policy = policy
        self._blocks: list[_Block | None] = []

    # --- as a context manager ----------------------------------------------------------------------------------

    def __enter__(self) -> Run:
        block = _block(self._who, self._store, self._policy, None, None)
        self._blocks.append(block)
        if block is None:
            return _active(Run(id="", agent=self._who.name, status=Status.OK))
        return block.enter()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        block = self._blocks.pop()
        if block is not None:
            block.leave(error, None)

    async def __aenter__(self) -> Run:
        return self.__enter__()

    async def __aexit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self.__exit__(kind, error, trace)

    # --- as a decorator ----------------------------------------------------------------------------------------

    def __call__(self, function: F) -> F:
        """Make each call of ``function`` one run."""
        if inspect.isasyncgenfunction(function):
            wrapper = self._async_generator(function)
        elif inspect.iscoroutinefunction(function):
            wrapper = self._coroutine(function)
        elif inspect.isgeneratorfunction(function):
            wrapper = self._generator(function)
        else:
            wrapper = self._function(function)
        return functools.wraps(function)(wrapper)  # type: ignore[return-value]

    def _open(self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> _Block | None:
        return _block(self._who, self._store, self._policy, function, (args, options))

    def _function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **options: Any) -> Any:
            block = self._open(function, args, options)
            if block is None:
                return function(*args, **options)
            block.enter()
            try:
                result = function(*args, **options)
            except BaseException as error:
                block.leave(error, None)
                raise
            block.leave(None, result)
            return result

        return wrapper

    def _coroutine(self, function: Callable[..., Any]) -> Callable[..., Any]:
        async def wrapper(*args: Any, **options: Any) -> Any:
            block = self._open(function, args, options)
            if block is None:
                return await function(*args, **options)
            block.enter()
            try:
                result = await function(*args, **options)
            except BaseException as error:
                block.leave(error, None)
                raise
            block.leave(None, result)
            return result

        return wrapper

    def _generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **options: Any) -> Any:
            block = self._open(function, args, options)
            if block is None:
                return (yield from function(*args, **options))
            generator = function(*args, **options)
            items: list[Any] = []
            send: Callable[[], Any] = functools.partial(next, generator)
            while True:
                block.resume()
                try:
                    item = send()
                except StopIteration as end:
                    block.leave(None, items)
                    return end.value
                except BaseException as error:
                    block.leave(error, items)
                    raise
                block.suspend()
                items.append(item)
                try:
                    sent = yield item
                except GeneratorExit as error:
                    block.resume()
                    generator.close()
                    block.leave(error, items)
                    raise
                except BaseException as error:
                    send = functools.partial(generator.throw, error)
                else:
                    send = functools.partial(generator.send, sent)

        return wrapper

    def _async_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        async def wrapper(*args: Any, **options: Any) -> Any:
            block = self._open(function, args, options)
            if block is None:
                async for item in function(*args, **options):
                    yield item
                return
            generator = function(*args, **options)
            items: list[Any] = []
            send: Callable[[], Any] = generator.__anext__
            while True:
                block.resume()
                try:
                    item = await send()
                except StopAsyncIteration:
                    block.leave(None, items)
                    return
                except BaseException as error:
                    block.leave(error, items)
                    raise
                block.suspend()
                items.append(item)
                try:
                    sent = yield item
                except GeneratorExit as error:
                    block.resume()
                    await generator.aclose()
                    block.leave(error, items)
                    raise
                except BaseException as error:
                    send = functools.partial(generator.athrow, error)
                else:
                    send = functools.partial(generator.asend, sent)

        return wrapper


def record(
    fn: F | None = None,
    *,
    agent: str | None = None,
    user: str | None = None,
    tenant: str | None = None,
    session: str | None = None,
    tags: Mapping[str, str] | None = None,
    store: str | Store | None = None,
    policy: Policy | None = None,
) -> Any:
    """Record a block of code, or every call of a function, as a run.

    As a context manager (``with`` and ``async with``) it yields the ``Run`` being recorded. As a decorator of an
    entry point (sync, async, generator) each call is one run, and ``replay`` can call it again with the recorded
    arguments. Inside a run that is already being recorded, or replayed, it opens a child run.

    Args:
        fn: The entry point, when used as a bare decorator.
        agent: Name of the agent, or ``name@version``; a decorated function's own name by default.
        user, tenant, session: Whom the run is about.
        tags: Free labels.
        store: A store or its URL; by default the ``.reenact/`` found upwards from here, made here if there is none.
        policy: What may be kept and how.

    Returns:
        A context manager that is also a decorator; the decorated function when ``fn`` was given.

    Raises:
        RecordingError: The store cannot be opened. Later faults only degrade the run.
    """
    recorder = Recorder(Who(agent or "", user, tenant, session, tags), store, policy)
    return recorder(fn) if fn is not None else recorder


# --- one block -----------------------------------------------------------------------------------------------------


class _Block:
    """What ``record`` does between its begin and its end."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._token: Any = None
        self.run: Run = Run(id="")

    def enter(self) -> Run:
        """Begin to listen."""
        self.resume()
        active = _active(self.run)
        self._token = _current.set(active)
        return active

    def resume(self) -> None:
        """Run on in the block's lane."""
        self._stack.enter_context(self.listen())

    def suspend(self) -> None:
        """Hand control to code outside the block (between two items of a generator)."""
        self._stack.close()

    def listen(self) -> AbstractContextManager[None]:
        """The block's lane."""
        raise NotImplementedError

    def finish(self, error: BaseException | None, result: Any) -> None:
        """Write the end."""
        raise NotImplementedError

    def leave(self, error: BaseException | None, result: Any) -> None:
        """Stop listening, and write the end."""
        self._stack.close()
        if self._token is not None:
            try:
                _current.reset(self._token)
            except ValueError:  # left in another context than it was entered in
                _current.set(None)
        self.finish(error, result)


class _RootBlock(_Block):
    """A run of its own."""

    def __init__(self, opened: Opened, call: Call | None) -> None:
        super().__init__()
        self._opened = opened
        self.run = opened.run
        self._begun = False
        if call is not None:
            session = opened.session
            session.decide(session.root, call)

    def listen(self) -> AbstractContextManager[None]:
        session = self._opened.session
        if self._begun:
            return lanes.inside(session.root)
        self._begun = True
        wiring.begin()
        return session.begin()

    def finish(self, error: BaseException | None, result: Any) -> None:
        status, line = status_of(error)
        lanes.session_ended()
        wiring.end()
        try:
            self._settle(error, result)
        except Exception as fault:
            self._opened.session.fault(fault)
        self._opened.close(status, error=line)


    def _settle(self, error: BaseException | None, result: Any) -> None:
        """Keep what the entry point returned or raised: a replay must end likewise."""
        if self.run.entry.kind != "callable" or (error is not None and not isinstance(error, Exception)):
            return
        session = self._opened.session
        outcome = Value(encode(result).body) if error is None else Failure(describe_error(error))
        call = Call(Kind.OUTPUT, "return", Effect.NONE, "value/1", observed=True)
        crossing = session.decide(session.root, call)
        if crossing is not None:
            crossing.settle(outcome)


class _ChildBlock(_Block):
    """A run inside a run: a lane of its own in its parent's log."""

    def __init__(self, lane: lanes.Lane, who: Who, policy: Policy) -> None:
        super().__init__()
        self._outer = lane
        name = who.name or "run"
        body = encode({"agent": who.name, "user": who.user, "session": who.session}).body
        self._crossing = lane.session.decide(
            lane, Call(Kind.STEP, name, Effect.NONE, "step/1", {"step": name, "run": True}, body, observed=True)
        )
        self._inner = lane
        if self._crossing is not None:
            with self._crossing.enter():  # type: ignore[union-attr]
                self._inner = lanes.current() or lane
        session: Any = lane.session
        self._put = getattr(session, "put", None)
        self._before = session.totals() if self._put is not None else Totals()
        root = session.run
        self.run = replace(
            new_run(who, root.entry, policy, CLOCK, ENTROPY),
            parent=root.id,
            relation="child",
            lane=self._inner.path,
            origin_us=root.origin_us,
        )
        if self._put is not None:
            self._put(RunOpened(self.run))

    def listen(self) -> AbstractContextManager[None]:
        return lanes.inside(self._inner)

    def finish(self, error: BaseException | None, result: Any) -> None:
        status, line = status_of(error)
        if self._crossing is not None and not isinstance(error, Halt):
            try:
                outcome = Value(encode(result).body) if error is None else Failure(describe_error(error))
                self._crossing.settle(outcome)  # type: ignore[union-attr]
            except Exception as fault:
                if self._outer.session.fault(fault):
                    raise
        if self._put is not None:
            session: Any = self._outer.session
            ended = replace(self.run, status=status, error=line, ended_us=CLOCK.wall_us())
            self._put(RunClosed(replace(ended, totals=_between(self._before, session.totals()))))


def _between(before: Totals, after: Totals) -> Totals:
    """What a child run added to its root's totals (siblings that ran meanwhile are counted too)."""
    return Totals(**{field.name: getattr(after, field.name) - getattr(before, field.name) for field in fields(Totals)})


def _block(
    who: Who,
    store: str | Store | None,
    policy: Policy | None,
    function: Callable[..., Any] | None,
    arguments: tuple[tuple[Any, ...], dict[str, Any]] | None,
) -> _Block | None:
    """The block for one use; None when recording is switched off."""
    if not who.agent and function is not None:
        who = replace(who, agent=function.__qualname__)
    lane = lanes.listening()
    if lane is not None:
        return _ChildBlock(lane, who, policy or Policy())
    if os.environ.get("REENACT_DISABLE") == "1":
        return None
    policy = policy or wiring.configured_policy()
    if policy.sample < 1 and int.from_bytes(ENTROPY.bytes(4), "big") / 2**32 >= policy.sample:
        return None
    opened_here = store is None or isinstance(store, str)
    target = open_store(store) if store is None or isinstance(store, str) else store
    entry = interpreter("block")
    call = None
    if function is not None and arguments is not None:
        module = function.__module__
        entry = replace(
            entry,
            kind="callable",
            target=f"{module}:{function.__qualname__}",
            file=os.path.abspath(inspect.getsourcefile(function) or sys.modules[module].__file__ or ""),
        )
        encoded = encode({"args": list(arguments[0]), "kwargs": arguments[1]})
        head = {"opaque": list(encoded.opaque)}
        call = Call(Kind.INPUT, "arguments", Effect.NONE, "value/1", head, encoded.body, observed=True)
    run = new_run(who, entry, policy, CLOCK, ENTROPY)
    return _RootBlock(Opened(run, target, policy, CLOCK, owned=opened_here), call)
