"""Recording in code: ``record`` as a context manager and as a decorator."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from reenact.abc.store import Store
from reenact.errors import UsageError
from reenact.facts.policy import Policy
from reenact.facts.run import Run, Status
from reenact.recording.active_run import ActiveRun, active, current_run
from reenact.recording.blocks import Block, open_block
from reenact.recording.recording_opening import Who

__all__ = ["Recorder", "current_run", "record"]

F = TypeVar("F", bound=Callable[..., Any])


class Recorder:
    """One use of ``record``: a context manager, sync and async, or a decorator of an entry point."""

    def __init__(self, who: Who, store: str | Store | None, policy: Policy | None) -> None:
        self._who = who
        self._store = store
        self._policy = policy
        self._blocks: list[Block | None] = []

    # --- as a context manager ----------------------------------------------------------------------------------

    def __enter__(self) -> ActiveRun:
        block = open_block(self._who, self._store, self._policy)
        self._blocks.append(block)
        if block is None:
            return active(Run(id="", agent=self._who.name, status=Status.OK))
        return block.enter()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        block = self._blocks.pop()
        if block is not None:
            block.leave(error, None)

    async def __aenter__(self) -> ActiveRun:
        return self.__enter__()

    async def __aexit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        block = self._blocks.pop()
        if block is not None:
            await block.left(error, None)

    # --- as a decorator ----------------------------------------------------------------------------------------

    def __call__(self, function: F) -> F:
        """Make each call of ``function`` one run."""
        if not callable(function) or not hasattr(function, "__qualname__"):
            raise UsageError(
                f"record takes a function, not {type(function).__name__}",
                cause="a replay finds a function by its name; the run's own is an option: record(agent='refunds')",
                next_command="python -m pydoc reenact.record",
            )
        if inspect.isasyncgenfunction(function):
            wrapper = self._async_generator(function)
        elif inspect.iscoroutinefunction(function):
            wrapper = self._coroutine(function)
        elif inspect.isgeneratorfunction(function):
            wrapper = self._generator(function)
        else:
            wrapper = self._function(function)
        return functools.wraps(function)(wrapper)  # type: ignore[return-value]

    def _open(self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Block | None:
        return open_block(self._who, self._store, self._policy, function, (args, options))

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
                await block.left(error, None)
                raise
            await block.left(None, result)
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
                    await block.left(None, items)
                    return
                except BaseException as error:
                    await block.left(error, items)
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


@overload
def record(
    fn: F,
    *,
    agent: str | None = ...,
    user: str | None = ...,
    tenant: str | None = ...,
    session: str | None = ...,
    tags: Mapping[str, str] | None = ...,
    store: str | Store | None = ...,
    policy: Policy | None = ...,
) -> F: ...
@overload
def record(
    fn: None = None,
    *,
    agent: str | None = ...,
    user: str | None = ...,
    tenant: str | None = ...,
    session: str | None = ...,
    tags: Mapping[str, str] | None = ...,
    store: str | Store | None = ...,
    policy: Policy | None = ...,
) -> Recorder: ...
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
        user, tenant, session: The people and the session that the run belongs to.
        tags: Free labels.
        store: A store or its URL; by default the ``.reenact/`` found upwards from here, made here if there is none.
        policy: Rules for what may be kept, and how.

    Returns:
        A context manager that is also a decorator; the decorated function when ``fn`` was given.

    Raises:
        UsageError: The store's URL is of a kind that does not exist, or ``fn`` is no function. Every other fault only
            costs the recording.
    """
    recorder = Recorder(Who(agent or "", user, tenant, session, tags), store, policy)
    return recorder(fn) if fn is not None else recorder
