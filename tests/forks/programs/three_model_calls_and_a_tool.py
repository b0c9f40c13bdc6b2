"""Three model calls, the last from a coroutine, and a tool between them."""

import asyncio

import openai

import reenact


@reenact.tool(effect="read")
def look(city):
    return "fog"


def ask(text):
    messages = [dict(role="user", content=text)]
    return openai.OpenAI(max_retries=0).chat.completions.create(model="m", messages=messages).choices[0].message.content


async def ask_async(text):
    messages = [dict(role="user", content=text)]
    said = await openai.AsyncOpenAI(max_retries=0).chat.completions.create(model="m", messages=messages)
    return said.choices[0].message.content


print(ask("weather?"))
sky = look("Oslo")
print(ask(sky))
print(asyncio.run(ask_async(sky)))
