"""OpenAI responses on the SDK's own aiohttp client."""

import asyncio

from openai import AsyncOpenAI, DefaultAioHttpClient


async def main() -> None:
    """Ask once."""
    async with AsyncOpenAI(http_client=DefaultAioHttpClient()) as client:
        print((await client.responses.create(model="gpt-x", input="hello")).output_text)


asyncio.run(main())
