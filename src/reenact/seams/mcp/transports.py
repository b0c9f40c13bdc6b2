"""MCP transports: how each is opened, and the streams that the agent gets in a replay, which opens no transport.

In a replay no process or server is at the other end of the streams.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from types import ModuleType
from typing import Any

from reenact.facts.call import Call, Effect, Json
from reenact.seams.http.http_exchange import place_of
from reenact.seams.mcp import mcp_messages
from reenact.seams.mcp.server_line import connected
from reenact.seams.patching import replace
from reenact.seams.processes import process_calls
from reenact.seams.rebinding import Rebinding


def _streams(anyio: Any) -> Callable[[], tuple[Any, tuple[Any, ...]]]:
    """A pair of streams with no process or server at their other end."""

    def pretended() -> tuple[Any, tuple[Any, ...]]:
        into, read = anyio.create_memory_object_stream(0)
        write, out = anyio.create_memory_object_stream(0)
        return (read, write), (into, read, write, out)

    return pretended


def _hook(module: ModuleType, name: str, describe: Callable[..., Call]) -> None:
    """Replace a function that opens a transport, under every name it was imported as."""
    original = getattr(module, name, None)
    if original is None:
        return

    def make(function: Any) -> Any:
        def opening(*args: Any, **options: Any) -> Any:
            anyio = module.anyio
            return connected(
                anyio,
                lambda: describe(*args, **options),
                lambda: function(*args, **options),
                _streams(anyio),
                getattr(module, "create_mcp_http_client", object),
            )

        return opening

    replace(module, name, make)
    early = Rebinding(exempt=lambda _name: False)
    early.add(module, name, original, getattr(module, name))
    early.apply()


def patch_stdio(module: ModuleType) -> None:
    """Hook the transport to servers that are child processes."""
    _hook(module, "stdio_client", _stdio)


def patch_streamable_http(module: ModuleType) -> None:
    """Hook the transport to servers behind an address."""
    _hook(module, "streamable_http_client", lambda url, *_, **__: _address(url, "http"))
    _hook(module, "streamablehttp_client", lambda url, *_, **__: _address(url, "http"))


def patch_sse(module: ModuleType) -> None:
    """Hook the older transport to servers behind an address."""
    _hook(module, "sse_client", lambda url, *_, **__: _address(url, "sse"))


def patch_memory(module: ModuleType) -> None:
    """Hook the transport to servers in this process, over streams."""

    def make(original: Any) -> Any:
        def _connect(self: Any) -> Any:
            anyio = module.anyio
            return connected(anyio, lambda: _memory(self._server), lambda: original(self), _streams(anyio))

        return _connect

    replace(module.InMemoryTransport, "_connect", make)


def patch_inprocess(module: ModuleType) -> None:
    """Hook the transport to servers in this process that are called directly."""
    anyio: Any = module.anyio

    def make(original: Any) -> Any:
        def _connect_inproc(server: Any) -> Any:
            real = original(server)

            async def connect(exit_stack: AsyncExitStack, *how: Any) -> Any:
                @asynccontextmanager
                async def opened() -> AsyncIterator[Any]:
                    async with AsyncExitStack() as inner:
                        yield await real(inner, *how)

                whole = connected(anyio, lambda: _memory(server), opened, lambda: (UnconnectedDispatcher(), ()))
                return await exit_stack.enter_async_context(whole)

            return connect

        return _connect_inproc

    if hasattr(module, "_connect_inproc"):
        replace(module, "_connect_inproc", make)


class UnconnectedDispatcher:
    """Stands for the dispatcher to a server in memory that does not run."""


def _stdio(server: Any, *_: Any, **__: Any) -> Call:
    command = process_calls.command_of([server.command, *server.args])
    place: dict[str, Json] = {"command": command, "cwd": process_calls.place_of(server.cwd)}
    changes = process_calls.changes_of(server.env)
    if changes:
        place["environment"] = changes
    return mcp_messages.connection(process_calls.name_of(command, False), "stdio", Effect.WRITE, place)


def _address(url: str, transport: str) -> Call:
    return mcp_messages.connection(place_of(str(url)), transport, Effect.READ, {"url": str(url)})


def _memory(server: Any) -> Call:
    return mcp_messages.connection(str(getattr(server, "name", "server")), "memory", Effect.READ, None)
