"""A model that asks for an order, by a tool, until it has an answer."""

import json
import sys

import openai

import reenact

TOOLS = [{"type": "function", "function": {"name": "find_order", "parameters": {"type": "object"}}}]


@reenact.tool
def find_order(order: int, depot: str = "main") -> dict:
    raise AssertionError("the tool's own code ran")


def answer(question: str) -> str:
    client = openai.OpenAI(api_key="none", max_retries=0)
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": question}]
    while True:
        message = client.chat.completions.create(model="gpt-4o-mini", messages=said, tools=TOOLS).choices[0].message
        if not message.tool_calls:
            return message.content
        said.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            found = find_order(**json.loads(call.function.arguments))
            content = found if isinstance(found, str) else json.dumps(found)
            said.append({"role": "tool", "tool_call_id": call.id, "content": content})


if __name__ == "__main__":
    print(answer(sys.argv[1] if sys.argv[1:] else input()))
