"""Streams cancelled in the middle: by a task's cancel, by a deadline, by a reader who has enough (both SDKs)."""

import asyncio

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

claude, gpt = AsyncAnthropic(), AsyncOpenAI()


async def long_story(number: int, seen: list[str]) -> None:
    async with claude.messages.stream(
        model="claude", max_tokens=999, messages=[{"role": "user", "content": f"story {number}"}]
    ) as stream:
        async for text in stream.text_stream:
            seen.append(text)


async def enough(number: int) -> str:
    text = ""
    async with await gpt.chat.completions.create(
        model="gpt-4o", messages=[{"role": "user", "content": f"list {number}"}], stream=True
    ) as stream:
        async for chunk in stream:
            text += chunk.choices[0].delta.content or ""
            if len(text) > 20:
                break
    return text


async def main() -> None:
    stories: list[list[str]] = [[] for _ in range(6)]
    tasks = [asyncio.create_task(long_story(number, stories[number])) for number in range(6)]
    first = await enough(99)
    for task in tasks[::2]:
        task.cancel(msg=f"after {len(first)}")
    for number, result in enumerate(await asyncio.gather(*tasks, return_exceptions=True)):
        print(number, repr(result), "".join(stories[number]))
    for number in range(4):
        seen: list[str] = []
        try:
            await asyncio.wait_for(long_story(50 + number, seen), timeout=0.02)
        except TimeoutError:
            print("deadline after", len(seen), "parts:", "".join(seen))
        else:
            print("complete", "".join(seen))
    print(await asyncio.gather(*(enough(number) for number in range(4))))


asyncio.run(main())
