"""The Anthropic client with tools behind HTTP endpoints: the first answer whole, the last one streamed."""

import os

import httpx
from anthropic import Anthropic

client = Anthropic()
shop = httpx.Client(base_url=os.environ["SHOP_URL"])
tools = [{"name": "stock", "input_schema": {"type": "object", "properties": {"item": {"type": "string"}}}}]
messages = [{"role": "user", "content": "What is left of lamps and desks?"}]
first = client.messages.create(model="claude-sonnet-4-5", max_tokens=400, messages=messages, tools=tools)
results = []
for block in first.content:
    if block.type == "tool_use":
        left = shop.get("/stock", params=block.input).json()
        print(block.name, block.input, left)
        results.append({"type": "tool_result", "tool_use_id": block.id, "content": str(left)})
messages += [{"role": "assistant", "content": first.model_dump()["content"]}, {"role": "user", "content": results}]
with client.messages.stream(model="claude-sonnet-4-5", max_tokens=400, messages=messages, tools=tools) as stream:
    for text in stream.text_stream:
        print(text, end="|")
print()
