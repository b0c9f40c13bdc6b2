"""An agent that starts two others, each a recorded run of its own: one in a thread, one as a task."""

import asyncio

from anthropic import Anthropic
from openai import AsyncOpenAI

import reenact


def researcher(topic: str) -> str:
    with reenact.record(agent="researcher"):
        message = Anthropic().messages.create(
            model="claude-haiku-4-5", max_tokens=100, messages=[{"role": "user", "content": f"research {topic}"}]
        )
        return str(message.content[0].text)


@reenact.record(agent="writer")
async def writer(topic: str) -> str:
    async with AsyncOpenAI() as client:
        answer = await client.responses.create(model="gpt-5-mini", input=f"write about {topic}")
        return answer.output_text


async def main() -> None:
    found, *written = await asyncio.gather(
        asyncio.to_thread(researcher, "herons"), *(writer(topic) for topic in ("reeds", "ponds"))
    )
    print(found, written)
    with reenact.record(agent="editor"):
        print(await writer(f"{found} {written}"))


asyncio.run(main())
