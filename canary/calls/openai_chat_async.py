"""OpenAI chat completions on the async client."""

import asyncio

from openai import AsyncOpenAI


async def main() -> None:
    """Ask once."""
    async with AsyncOpenAI() as client:
        said = await client.chat.completions.create(model="gpt-x", messages=[{"role": "user", "content": "hello"}])
        print(said.choices[0].message.content)


asyncio.run(main())
