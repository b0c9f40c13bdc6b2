"""Ask a model for the questions."""

import asyncio

from openai import AsyncOpenAI


async def plan(topic: str, width: int) -> list[str]:
    async with AsyncOpenAI() as client:
        replies = await asyncio.gather(
            *(
                client.chat.completions.create(
                    model="gpt-4o", messages=[{"role": "user", "content": f"question {n} on {topic}"}]
                )
                for n in range(width)
            )
        )
    return [reply.choices[0].message.content for reply in replies]
