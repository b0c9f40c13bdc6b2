"""Gemini on the async side."""

import asyncio
import os

from google import genai

client = genai.Client(api_key="scripted", http_options={"base_url": os.environ["WORLD"]})


async def main() -> None:
    """Ask once."""
    print((await client.aio.models.generate_content(model="gemini-x", contents="hello")).text)


asyncio.run(main())
