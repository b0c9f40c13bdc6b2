"""A tool of an MCP server over HTTP."""

import asyncio
import os

from mcp import Client


async def main() -> None:
    """List the tools and call the one there is."""
    async with Client(f"{os.environ['WORLD']}/mcp") as session:
        print([tool.name for tool in (await session.list_tools()).tools])
        print(await session.call_tool("look", {}))


asyncio.run(main())
