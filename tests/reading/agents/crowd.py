"""Eight threads that ask the same thing once each (openai)."""

from concurrent.futures import ThreadPoolExecutor

from openai import OpenAI

client = OpenAI()


def vote(_number: int) -> str:
    """One opinion."""
    messages = [{"role": "user", "content": "Is it a duck?"}]
    return client.chat.completions.create(model="gpt-5.4", messages=messages).choices[0].message.content or ""


with ThreadPoolExecutor(8) as pool:
    print(len(list(pool.map(vote, range(8)))), "votes")
