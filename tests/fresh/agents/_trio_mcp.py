"""An MCP server in its own process, asked on trio; the server is this file, too."""

import random
import sys

import anyio
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.server import MCPServer

server = MCPServer("dice")


@server.tool()
def roll(sides: int) -> str:
    return f"rolled {random.randint(1, sides)}"


async def main() -> None:
    command = StdioServerParameters(command=sys.executable, args=[__file__, "serve"])
    async with stdio_client(command) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        print((await session.call_tool("roll", {"sides": 6})).content[0].text)


if sys.argv[1:] == ["serve"]:
    server.run("stdio")
else:
    anyio.run(main, backend="trio")
