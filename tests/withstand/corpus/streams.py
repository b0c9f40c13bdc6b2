"""Twenty streamed answers at once on the asynchronous OpenAI client, printed as their pieces come."""

import asyncio
import sys

from openai import AsyncOpenAI

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 20


async def ask(client: AsyncOpenAI, number: int) -> str:
    stream = await client.chat.completions.create(
        model="gpt-5-mini", messages=[{"role": "user", "content": f"job {number}"}], stream=True
    )
    said = []
    async for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            said.append(chunk.choices[0].delta.content)
            print(number, said[-1])
    return "".join(said)


async def main() -> None:
    async with AsyncOpenAI() as client:
        for answer in await asyncio.gather(*(ask(client, number) for number in range(COUNT))):
            print(answer)


asyncio.run(main())
