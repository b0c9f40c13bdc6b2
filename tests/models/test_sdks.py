"""Real SDKs of further providers are recorded, replayed with the provider gone, and their calls read alike.

Each program runs twice under the public commands: recorded against the scripted provider, then replayed when nobody
listens there any more. What the SDK said on its standard output is the witness.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact.testing import ScriptedProvider
from reenact.testing.provider import Rule, Script, ToolUse, When

WORLD = Script(
    rules=(
        Rule(say="Let me look.", uses=(ToolUse("look", {"city": "Málaga"}),), when=When(results=False)),
        Rule(say=lambda ask: "It is " + ", ".join(result.text for result in ask.results)),
    )
)
SCHEMA = "{'type': 'object', 'properties': {'city': {'type': 'string'}}}"

GEMINI = f"""
import asyncio, os
from google import genai
from google.genai import types
client = genai.Client(api_key="scripted", http_options=types.HttpOptions(base_url=os.environ["WORLD"]))
look = types.Tool(function_declarations=[dict(name="look", description="d", parameters_json_schema={SCHEMA})])
config = types.GenerateContentConfig(system_instruction="Be brief.", temperature=0, top_p=0.5, seed=7, tools=[look],
    max_output_tokens=99, automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True))
asked = [types.Content(role="user", parts=[types.Part(text="weather?")])]
said = client.models.generate_content(model="gemini-x", contents=asked, config=config)
asked.append(said.candidates[0].content)
result = types.Part.from_function_response(name="look", response=dict(sky="fog"))
asked.append(types.Content(role="user", parts=[result]))
print(said.text, [(one.name, one.args) for one in said.function_calls])
parts = client.models.generate_content_stream(model="gemini-x", contents=asked, config=config)
print("".join(part.text or "" for part in parts))
async def main():
    said = await client.aio.models.generate_content(model="gemini-x", contents=asked, config=config)
    print(said.text, said.usage_metadata.prompt_token_count)
asyncio.run(main())
"""

BEDROCK = f"""
import boto3, os
client = boto3.client("bedrock-runtime", region_name="eu-west-1", endpoint_url=os.environ["WORLD"],
    aws_access_key_id="AKIAEXAMPLE", aws_secret_access_key="scripted")
asked = [dict(role="user", content=[dict(text="weather?")])]
common = dict(modelId="amazon.nova-x-v1:0", system=[dict(text="Be brief.")],
    inferenceConfig=dict(temperature=0, topP=0.5, maxTokens=99),
    toolConfig=dict(tools=[dict(toolSpec=dict(name="look", description="d", inputSchema=dict(json={SCHEMA})))]))
said = client.converse(messages=asked, **common)
print(said["output"], said["usage"])
asked.append(said["output"]["message"])
used = next(block["toolUse"] for block in asked[-1]["content"] if "toolUse" in block)
result = dict(toolUseId=used["toolUseId"], content=[dict(text="fog")])
asked.append(dict(role="user", content=[dict(toolResult=result)]))
for _ in range(2):
    print(list(client.converse_stream(messages=asked, **common)["stream"]))
"""

OLLAMA = f"""
import asyncio, os, ollama
look = dict(type="function", function=dict(name="look", description="d", parameters={SCHEMA}))
asked = [dict(role="system", content="Be brief."), dict(role="user", content="weather?")]
common = dict(model="llama-x", tools=[look], options=dict(temperature=0, top_p=0.5, seed=7, num_predict=99))
client = ollama.Client(os.environ["WORLD"])
said = client.chat(messages=asked, **common)
print(said.message.content, said.message.tool_calls)
asked += [said.message, dict(role="tool", tool_name="look", content="fog")]
print("".join(part.message.content for part in client.chat(messages=asked, stream=True, **common)))
print(asyncio.run(ollama.AsyncClient(os.environ["WORLD"]).chat(messages=asked, **common)).message.content)
"""

MISTRAL = f"""
import asyncio, os
from mistralai.client import Mistral
look = dict(type="function", function=dict(name="look", description="d", parameters={SCHEMA}))
asked = [dict(role="system", content="Be brief."), dict(role="user", content="weather?")]
common = dict(model="mistral-x", tools=[look], temperature=0, top_p=0.5, random_seed=7, max_tokens=99)
client = Mistral(api_key="scripted", server_url=os.environ["WORLD"])
said = client.chat.complete(messages=asked, **common).choices[0].message
print(said.content, [(one.function.name, one.function.arguments) for one in said.tool_calls])
asked += [said, dict(role="tool", tool_call_id=said.tool_calls[0].id, content="fog")]
print("".join(part.data.choices[0].delta.content or "" for part in client.chat.stream(messages=asked, **common)))
async def main():
    print((await client.chat.complete_async(messages=asked, **common)).choices[0].message.content)
asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("program", "dialect", "model", "seed"),
    [
        (GEMINI, "google.gemini", "gemini-x", 7),
        (BEDROCK, "bedrock.converse", "amazon.nova-x-v1:0", None),
        (OLLAMA, "ollama.chat", "llama-x", 7),
        (MISTRAL, "openai.chat", "mistral-x", 7),
    ],
)
def test_recorded_and_replayed_with_the_provider_gone(
    tmp_path: Path, program: str, dialect: str, model: str, seed: int | None
) -> None:
    (tmp_path / "agent.py").write_text(program, encoding="utf-8")
    store = f"sqlite:///{tmp_path / 'runs.db'}"
    with ScriptedProvider(WORLD) as world:
        environment = {**os.environ, "WORLD": world.url, "REENACT_STORE": store, "AWS_EC2_METADATA_DISABLED": "true"}
        recorded = reenacted(tmp_path, environment, "record", "--", sys.executable, "agent.py")
        asked = world.calls
    assert recorded.returncode == 0, recorded.stderr
    replayed = reenacted(tmp_path, environment, "replay", "@")
    assert replayed.returncode == 0, replayed.stderr
    assert asked == world.calls == 3
    assert "laga" in recorded.stdout and "fog" in recorded.stdout
    first, second, third = readings(store)
    assert first["dialect"] == second["dialect"] == third["dialect"] == dialect
    assert {one["model_asked"] for one in (first, second, third)} == {model}
    assert {one["provider"] for one in (first, second, third)} == {"127.0.0.1"}
    assert first["text"] == "Let me look." and [one["name"] for one in first["tool_calls"]] == ["look"]
    arguments = first["tool_calls"][0]["arguments"]
    assert (json.loads(arguments) if isinstance(arguments, str) else arguments) == {"city": "Málaga"}
    assert "fog" in second["text"] and second["streamed"] and not first.get("streamed")
    for one in (first, second, third):
        params = one["params"]
        assert (params["temperature"], params["top_p"], params["max_tokens"], params.get("seed")) == (0, 0.5, 99, seed)
        assert one["stateless"] and one["finish"] and not one.get("partial") and not one.get("error")
        uncounted = dialect == "openai.chat" and one.get("streamed")  # this protocol counts streams when asked to
        assert uncounted or (one["usage"]["tokens_in"] > 0 and one["usage"]["tokens_out"] > 0)
    remembered(store, model)


def remembered(store: str, model: str) -> None:
    """The checkpoint at the last model call holds its whole conversation."""
    with reenact.open_store(store) as opened:
        run = next(iter(opened.runs()))
        last = max(event.number for event in opened.events(run) if "reading" in event.attributes)
        checkpoint = opened.checkpoint(run, last)
    system, asked, called, result, answer = checkpoint.messages
    assert (system["text"], asked["text"], called["tool_calls"][0]["name"]) == ("Be brief.", "weather?", "look")
    assert "fog" in result["tool_results"][0]["text"] and "fog" in answer["text"]
    assert checkpoint.model_config["model"] == model and checkpoint.model_config["tools_hash"]
    assert run.totals.models == 3 and run.totals.tokens_in > 0


def reenacted(folder: Path, environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "reenact", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=90)


def readings(store: str) -> list[Any]:
    with reenact.open_store(store) as opened:
        run = next(iter(opened.runs()))
        return [event.attributes["reading"] for event in opened.events(run) if "reading" in event.attributes]
