"""Everything is logged, what the transports say of opening and closing connections too (httpx, openai)."""

import asyncio
import logging
import os

import httpx
from openai import AsyncOpenAI, OpenAI

WORLD = os.environ["WORLD_URL"]
ASKED = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "and now?"}]}

logging.basicConfig(level=logging.DEBUG)
with OpenAI() as client:
    print(client.chat.completions.create(**ASKED).choices[0].message.content)
print("between")


async def main() -> None:
    async with AsyncOpenAI() as client:

        async def ask() -> None:
            reply = await client.chat.completions.create(**ASKED)
            logging.debug("got %s", reply.id)

        await asyncio.gather(ask(), ask())
        async with httpx.AsyncClient() as http, http.stream("GET", f"{WORLD}/tools/slow?ms=1") as answer:
            async for part in answer.aiter_raw():
                logging.debug("%d bytes", len(part))
                break
    print("closed")


asyncio.run(main())
httpx.get(f"{WORLD}/tools/slow?ms=2")
logging.info("the end")
