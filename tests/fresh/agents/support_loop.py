"""A support agent: a loop of model calls with tools (openai, requests), logging with timestamps."""

import json
import logging
import os
import sys
import time

import requests
from openai import OpenAI

logging.basicConfig(level=logging.INFO, format="%(asctime)s.%(msecs)03d %(name)s %(levelname)s %(message)s")
logging.getLogger("httpx2").setLevel(logging.WARNING)
log = logging.getLogger("support")
WORLD = os.environ["WORLD_URL"]
session = requests.Session()


def weather(city: str, nonce: int) -> dict:
    return session.get(f"{WORLD}/tools/weather", params={"city": city, "nonce": nonce}, timeout=5).json()


def inventory(city: str, nonce: int) -> dict:
    reply = session.get(f"{WORLD}/tools/inventory", params={"city": city}, headers={"X-Nonce": str(nonce)}, timeout=5)
    reply.raise_for_status()
    return reply.json()


TOOLS = {"weather": weather, "inventory": inventory}
SCHEMA = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"the {name} of a city",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "nonce": {"type": "integer"}}},
        },
    }
    for name in TOOLS
]


def run(question: str) -> str:
    client = OpenAI()
    messages: list = [{"role": "system", "content": "You help."}, {"role": "user", "content": question}]
    for turn in range(12):
        began = time.perf_counter()
        choice = client.chat.completions.create(model="gpt-4o", messages=messages, tools=SCHEMA, temperature=1).choices[
            0
        ]
        log.info("turn %d took %.6fs, finish=%s", turn, time.perf_counter() - began, choice.finish_reason)
        if choice.finish_reason == "stop":
            return choice.message.content or ""
        messages.append(choice.message.model_dump(exclude_none=True))
        for call in choice.message.tool_calls or []:
            result = TOOLS[call.function.name](**json.loads(call.function.arguments))
            log.info("%s(%s) -> %s", call.function.name, call.function.arguments, result)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
    return "gave up"


if __name__ == "__main__":
    print(run(" ".join(sys.argv[1:]) or "where is my parcel?"))
