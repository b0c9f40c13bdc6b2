"""An MCP server: tools that answer, fail, die, tell their progress, and ask the client."""

import asyncio
import random
import sys

import mcp_types as types
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("orders")


def mark(what):
    with open("marks", "a") as marks:
        marks.write(what + "\n")


@server.tool()
async def shout(text: str, wait: float = 0) -> str:
    """Say it louder, with a number that is another one each time."""
    mark("shout " + text)
    await asyncio.sleep(wait)
    return f"{text.upper()} {random.random()}"


@server.tool(annotations=types.ToolAnnotations(read_only_hint=True))
async def fails(text: str) -> str:
    raise ValueError("no " + text)


@server.tool()
async def dies() -> str:
    import os

    os._exit(3)


@server.tool()
async def in_steps(n: int, ctx: Context) -> str:
    for at in range(n):
        await ctx.report_progress(at, n, f"step {at} {random.random()}")
    return "done"


@server.tool()
async def asks(ctx: Context) -> str:
    """Ask the client for everything it may be asked for."""
    session = ctx.request_context.session
    await ctx.info(f"asking {random.random()}")
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=f"n={random.random()}"))
    said = await session.create_message([message], max_tokens=10)
    form = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
    agreed = await session.elicit_form("really?", form)
    roots = await session.list_roots()
    return f"{said.content.text} / {agreed.action} {agreed.content} / {[str(root.uri) for root in roots.roots]}"


if __name__ == "__main__":
    mark("start")
    how = sys.argv[1] if len(sys.argv) > 1 else "stdio"
    if how == "stdio":
        server.run("stdio")
    else:
        import socket
        import threading

        import uvicorn

        app = server.streamable_http_app() if how == "http" else server.sse_app()
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        running = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1))

        def until_our_starter_has_gone():
            sys.stdin.read()
            running.should_exit = True

        threading.Thread(target=until_our_starter_has_gone, daemon=True).start()
        running.run(sockets=[listener])
