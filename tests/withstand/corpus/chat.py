"""A conversation with the synchronous OpenAI client, in which the model uses tools of this program."""

import json

from openai import OpenAI

client = OpenAI()
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "stock",
            "parameters": {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]},
        },
    }
]
LEFT = {"lamp": 4, "desk": 0}
messages = [
    {"role": "system", "content": "You keep the shop."},
    {"role": "user", "content": "How many lamps and desks are left?"},
]
while True:
    answer = client.chat.completions.create(model="gpt-5-mini", messages=messages, tools=TOOLS, temperature=0)
    message = answer.choices[0].message
    messages.append(message.model_dump(exclude_none=True))
    for call in message.tool_calls or ():
        item = json.loads(call.function.arguments)["item"]
        print("looking up", call.function.name, item)
        messages.append(
            {"role": "tool", "tool_call_id": call.id, "content": f"{call.function.name} {item}: {LEFT.get(item)}"}
        )
    if not message.tool_calls:
        print(message.content)
        break
print(len(messages), "messages")
