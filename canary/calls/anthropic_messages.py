"""Anthropic messages, at once and on the async client."""

import asyncio

from anthropic import Anthropic, AsyncAnthropic

print(
    Anthropic()
    .messages.create(model="claude-x", max_tokens=99, messages=[{"role": "user", "content": "hello"}])
    .content
)


async def main() -> None:
    """Ask once."""
    async with AsyncAnthropic() as client:
        print(
            (
                await client.messages.create(
                    model="claude-x", max_tokens=99, messages=[{"role": "user", "content": "hello"}]
                )
            ).content
        )


asyncio.run(main())
