"""A model that is asked asynchronously, within a limit, in a thread, or for a stream."""

import asyncio
import sys
import threading
import time

import openai

HOW = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Where is order 9?"}]}
said = []


async def asynchronous(limit=None):
    client = openai.AsyncOpenAI(max_retries=0)
    ticks = asyncio.create_task(asyncio.sleep(30))
    answer = await asyncio.wait_for(client.chat.completions.create(**HOW), limit)
    said.append(answer.choices[0].message.content)
    ticks.cancel()
    await client.close()


def blocking():
    said.append(openai.OpenAI(max_retries=0).chat.completions.create(**HOW).choices[0].message.content)


def streamed():
    parts = openai.OpenAI(max_retries=0).chat.completions.create(stream=True, **HOW)
    said.append("".join(part.choices[0].delta.content or "" for part in parts if part.choices))


if sys.argv[1] in ("async", "limit"):
    asyncio.run(asynchronous(0.2 if sys.argv[1] == "limit" else None))
elif sys.argv[1] == "thread":
    thread = threading.Thread(target=blocking)
    thread.start()
    time.sleep(0.1)
    thread.join()
else:
    streamed()
print("said", said[0])
