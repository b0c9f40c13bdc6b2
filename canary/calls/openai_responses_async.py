"""OpenAI responses on the async client."""

import asyncio

from openai import AsyncOpenAI


async def main() -> None:
    """Ask once."""
    async with AsyncOpenAI() as client:
        print((await client.responses.create(model="gpt-x", input="hello")).output_text)


asyncio.run(main())
