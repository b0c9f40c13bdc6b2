"""OpenAI chat completions on the SDK's own aiohttp client."""

import asyncio

from openai import AsyncOpenAI, DefaultAioHttpClient


async def main() -> None:
    """Ask once."""
    async with AsyncOpenAI(http_client=DefaultAioHttpClient()) as client:
        said = await client.chat.completions.create(model="gpt-x", messages=[{"role": "user", "content": "hello"}])
        print(said.choices[0].message.content)


asyncio.run(main())
