"""The SDKs' own retries and errors: 429 with retry-after, 500, 502 with HTML, timeouts (both, async)."""

import asyncio
import os

import anthropic
import openai

WORLD = os.environ["WORLD_URL"]


async def main() -> None:
    one = openai.AsyncOpenAI(base_url=f"{WORLD}/flaky/v1", max_retries=1)
    two = anthropic.AsyncAnthropic(base_url=f"{WORLD}/flaky", max_retries=1)

    async def ask(number: int) -> str:
        question = [{"role": "user", "content": str(number)}]
        if number % 2:
            raw = await one.chat.completions.with_raw_response.create(model="gpt-4o", messages=question)
            return f"{raw.retries_taken} {raw.headers['x-request-id']} {raw.parse().choices[0].message.content}"
        return (await two.messages.create(model="claude", max_tokens=9, messages=question)).content[0].text

    for number, result in enumerate(await asyncio.gather(*(ask(n) for n in range(12)), return_exceptions=True)):
        print(number, type(result).__name__, result)
    slow = openai.AsyncOpenAI(base_url=f"{WORLD}/nobody", timeout=0.001, max_retries=2)
    try:
        await slow.chat.completions.create(model="gpt-4o", messages=[])
    except openai.APIConnectionError as error:
        print(repr(error), repr(error.__cause__))
    await openai.AsyncOpenAI(base_url="http://127.0.0.1:9", max_retries=0).models.list()


asyncio.run(main())
