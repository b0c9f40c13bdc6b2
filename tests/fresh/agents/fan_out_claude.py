"""Twenty streamed messages at once (anthropic, async) under a semaphore, with the SDK's stream helper."""

import asyncio
import time

from anthropic import AsyncAnthropic

finished: list[int] = []


async def summarise(client: AsyncAnthropic, gate: asyncio.Semaphore, number: int) -> tuple[str, int]:
    async with gate:
        async with client.messages.stream(
            model="claude-sonnet-4",
            max_tokens=200,
            messages=[{"role": "user", "content": f"summarise document {number}"}],
        ) as stream:
            parts = [text async for text in stream.text_stream]
            message = await stream.get_final_message()
    finished.append(number)
    return "".join(parts), message.usage.output_tokens


async def main() -> None:
    began = time.monotonic()
    gate = asyncio.Semaphore(8)
    async with AsyncAnthropic() as client:
        tasks = [asyncio.create_task(summarise(client, gate, n), name=f"doc-{n}") for n in range(20)]
        for done in asyncio.as_completed(tasks):
            text, tokens = await done
            print(f"{tokens:4d} {text}")
    print("finished", finished)
    print(f"took {time.monotonic() - began:.9f}")


asyncio.run(main())
