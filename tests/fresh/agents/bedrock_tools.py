"""Bedrock (boto3): converse with tools, converse_stream, and threads that share a client."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import boto3
from botocore.config import Config

WORLD = os.environ["WORLD_URL"]
client = boto3.client(
    "bedrock-runtime", region_name="us-east-1", endpoint_url=WORLD, config=Config(retries={"max_attempts": 2})
)
MODEL = "anthropic.claude-3-haiku-20240307-v1:0"
SPEC = {
    "tools": [
        {"toolSpec": {"name": "top_song", "description": "song", "inputSchema": {"json": {"type": "object"}}}},
    ]
}


def loop() -> str:
    messages = [{"role": "user", "content": [{"text": "what is played?"}]}]
    for _ in range(10):
        reply = client.converse(modelId=MODEL, messages=messages, toolConfig=SPEC, inferenceConfig={"temperature": 0.5})
        messages.append(reply["output"]["message"])
        if reply["stopReason"] != "tool_use":
            break
        results = []
        for block in reply["output"]["message"]["content"]:
            if "toolUse" in block:
                use = block["toolUse"]
                print("tool", json.dumps(use["input"]))
                content = [{"json": {"song": use["input"]["city"], "rank": use["input"]["nonce"]}}]
                results.append({"toolResult": {"toolUseId": use["toolUseId"], "content": content}})
        messages.append({"role": "user", "content": results})
    return (
        f"{reply['output']['message']['content'][0]['text']} {reply['metrics']['latencyMs']}ms {len(messages)} messages"
    )


def streamed(number: int) -> str:
    reply = client.converse_stream(modelId=MODEL, messages=[{"role": "user", "content": [{"text": f"story {number}"}]}])
    parts = [event["contentBlockDelta"]["delta"]["text"] for event in reply["stream"] if "contentBlockDelta" in event]
    return f"{number} {len(parts)} parts: {''.join(parts)}"


print(loop())
with ThreadPoolExecutor(5) as pool:
    for text in pool.map(streamed, range(10)):
        print(text)
