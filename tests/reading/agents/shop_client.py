"""An agent with the tools of an MCP server (mcp, stdio; openai)."""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from openai import AsyncOpenAI

client = AsyncOpenAI()


async def main() -> None:
    """Ask the shop, then the model."""
    server = StdioServerParameters(command=sys.executable, args=["shop_server.py"])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = await session.list_tools()
        found = await session.call_tool(tools.tools[0].name, {"order_id": "4471", "fields": ["item", "total"]})
        text = found.content[0].text
        messages = [{"role": "user", "content": f"What came of {text}?"}]
        answer = await client.chat.completions.create(model="gpt-5.4", messages=messages)
        print(answer.choices[0].message.content)


asyncio.run(main())
