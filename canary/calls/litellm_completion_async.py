"""An async completion through litellm."""

import asyncio

import litellm


async def main() -> None:
    """Ask once."""
    print(
        (await litellm.acompletion(model="openai/gpt-x", messages=[{"role": "user", "content": "hello"}]))
        .choices[0]
        .message.content
    )


asyncio.run(main())
