"""MCP transports: connecting is one call; below it the real transport runs unrecorded, or, in a replay, nothing.

In a replay the agent gets streams that nobody feeds, inside a task group as the real ones are, so that what its code
raises comes out wrapped in the same way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from types import ModuleType
from typing import Any

from reenact.facts.call import Call, Effect, Json
from reenact.seams import lanes
from reenact.seams.http.exchange import place_of
from reenact.seams.lanes import Lane, listening
from reenact.seams.mcp import messages
from reenact.seams.patching import replace
from reenact.seams.processes import asking
from reenact.seams.rebinding import Rebinding
from reenact.seams.switchboard import answered, begin
from reenact.seams.turns import rejoin

Open = Callable[[], AbstractAsyncContextManager[Any]]


@contextmanager
def below(lane: Lane) -> Iterator[None]:
    """A block of a transport's own work, in a strand of the agent's."""
    with lanes.inside(Lane(lane.path, lane.session, lane.gate, parent=lane.parent, below=True)):
        yield


@asynccontextmanager
async def connected(describe: Callable[[], Call], real: Open, pretended: Open) -> AsyncIterator[Any]:
    """A transport, as one crossing.

    Args:
        describe: The call.
        real: Opens it.
        pretended: What stands for it in a replay.
    """
    lane = listening()
    crossing = begin(lane, describe) if lane is not None else None
    if lane is None or crossing is None or crossing.mode == "rerun":
        async with real() as streams:
            yield streams
        return
    if crossing.mode == "frozen":
        messages.revealed(await crossing.outcome())
        transport = pretended()
        streams = await transport.__aenter__()
    else:
        transport = real()
        streams = await answered(lane, crossing, transport.__aenter__, messages.nothing_sealed, _unused)
    try:
        yield streams
    except BaseException as error:
        if not await _left(lane, transport, error):
            raise
    else:
        await _left(lane, transport, None)


async def _left(lane: Lane, transport: AbstractAsyncContextManager[Any], error: BaseException | None) -> bool:
    """Leave a transport; takes a turn, because a live one takes time for it. Whether it swallowed the exception."""
    try:
        with below(lane):
            if error is None:
                return bool(await transport.__aexit__(None, None, None))
            return bool(await transport.__aexit__(type(error), error, error.__traceback__))
    finally:
        await rejoin()


def _unused(_outcome: object) -> Any:
    raise TypeError("a live crossing has no recorded outcome")


def _streams(anyio: Any) -> Open:
    """A pair of streams that nobody feeds or reads."""

    @asynccontextmanager
    async def pretended() -> AsyncIterator[Any]:
        into, read = anyio.create_memory_object_stream(0)
        write, out = anyio.create_memory_object_stream(0)
        async with into, read, write, out, anyio.create_task_group():
            yield read, write

    return pretended


def _hook(module: ModuleType, name: str, describe: Callable[..., Call]) -> None:
    """Replace a function that opens a transport, under every name it was imported as."""
    original = getattr(module, name, None)
    if original is None:
        return

    def make(function: Any) -> Any:
        def opening(*args: Any, **options: Any) -> Any:
            return connected(
                lambda: describe(*args, **options),
                lambda: function(*args, **options),
                _streams(module.anyio),
            )

        return opening

    replace(module, name, make)
    early = Rebinding(lambda _name: False)
    early.add(module, name, original, getattr(module, name))
    early.apply()


def patch_stdio(module: ModuleType) -> None:
    """Servers that are child processes."""
    _hook(module, "stdio_client", _stdio)


def patch_streamable_http(module: ModuleType) -> None:
    """Servers behind an address."""
    _hook(module, "streamable_http_client", lambda url, *_, **__: _address(url, "http"))
    _hook(module, "streamablehttp_client", lambda url, *_, **__: _address(url, "http"))


def patch_sse(module: ModuleType) -> None:
    """Servers behind an address, the older way."""
    _hook(module, "sse_client", lambda url, *_, **__: _address(url, "sse"))


def patch_memory(module: ModuleType) -> None:
    """Servers in this process, over streams."""

    def make(original: Any) -> Any:
        def _connect(self: Any) -> Any:
            return connected(lambda: _memory(self._server), lambda: original(self), _streams(module.anyio))

        return _connect

    replace(module.InMemoryTransport, "_connect", make)


def patch_inprocess(module: ModuleType) -> None:
    """Servers in this process, called directly."""
    anyio: Any = module.anyio

    def make(original: Any) -> Any:
        def _connect_inproc(server: Any) -> Any:
            real = original(server)

            async def connect(exit_stack: AsyncExitStack, *how: Any) -> Any:
                @asynccontextmanager
                async def opened() -> AsyncIterator[Any]:
                    async with AsyncExitStack() as inner:
                        yield await real(inner, *how)

                @asynccontextmanager
                async def pretended() -> AsyncIterator[Any]:
                    async with anyio.create_task_group():
                        yield Unconnected()

                whole = connected(lambda: _memory(server), opened, pretended)
                return await exit_stack.enter_async_context(whole)

            return connect

        return _connect_inproc

    if hasattr(module, "_connect_inproc"):
        replace(module, "_connect_inproc", make)


class Unconnected:
    """Stands for the dispatcher to a server in memory that does not run."""


def _stdio(server: Any, *_: Any, **__: Any) -> Call:
    command = asking.command_of([server.command, *server.args])
    place: dict[str, Json] = {"command": command, "cwd": asking.place_of(server.cwd)}
    changes = asking.changes_of(server.env)
    if changes:
        place["environment"] = changes
    return messages.connection(asking.name_of(command, False), "stdio", Effect.WRITE, place)


def _address(url: str, transport: str) -> Call:
    return messages.connection(place_of(str(url)), transport, Effect.READ, {"url": str(url)})


def _memory(server: Any) -> Call:
    return messages.connection(str(getattr(server, "name", "server")), "memory", Effect.READ, None)
