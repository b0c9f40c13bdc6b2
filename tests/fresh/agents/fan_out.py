"""Twenty streamed completions at once (openai, async); each word is printed the moment it comes."""

import asyncio

from openai import AsyncOpenAI

client = AsyncOpenAI()
arrived: list[str] = []


async def ask(number: int) -> str:
    stream = await client.chat.completions.create(
        model="gpt-4o-mini", messages=[{"role": "user", "content": f"question {number}"}], stream=True
    )
    text = ""
    async for chunk in stream:
        part = chunk.choices[0].delta.content or ""
        text += part
        arrived.append(f"{number}:{part}")
        print(f"[{number}]{part}", end="", flush=True)
    return text


async def main() -> None:
    answers = await asyncio.gather(*(ask(number) for number in range(20)))
    print()
    for number, answer in enumerate(answers):
        print(number, answer)
    print("order of arrival", hash(tuple(arrived)), len(arrived))


asyncio.run(main())
