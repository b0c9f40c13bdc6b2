"""Proves that a fork rewrites the model requests of every HTTP client, and that what is signed is what is sent."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from reenact.testing import ScriptedProvider
from reenact.testing.provider import Ask, Rule, Script
from tests.forks.conftest import Forks
from tests.programs import read_program

TOOLS = b'"tools": [ {"type":"function",  "function": {"name":"look", "parameters": {"b": 1.50, "a": {}}}} ]'
ASKS = b'{"model": "gpt-5.4", "messages": [{"role": "system", "content": "long"}], ' + TOOLS + b"}"
KEY, SECRET = "AKIATRIEDATADESK", "tried at a desk"
CHAT = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5.4",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}],
}
CONVERSED = {
    "output": {"message": {"role": "assistant", "content": [{"text": "hello"}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    "metrics": {"latencyMs": 1},
}


MESSAGE = {
    "id": "m1",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [{"type": "text", "text": "hello"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
RESPONSE = {
    "id": "r1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-5.4",
    "status": "completed",
    "output": [
        {
            "id": "m1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "hello", "annotations": []}],
        }
    ],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
VECTORS = {
    "object": "list",
    "model": "e",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}],
    "usage": {"prompt_tokens": 1, "total_tokens": 1},
}


def answer_to(path: str, body: bytes) -> Any:
    """What each protocol says hello with."""
    if "embeddings" in path:
        return VECTORS
    if "responses" in path:
        return RESPONSE
    if "converse" in path:
        return CONVERSED
    return MESSAGE if b'"anthropic_version"' in body else CHAT


class Provider(BaseHTTPRequestHandler):
    """Keeps what it was asked, and says hello."""

    asked: ClassVar[list[tuple[str, dict[str, str], bytes]]] = []

    def do_POST(self) -> None:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.asked.append((self.path, headers, body))
        answer = json.dumps(answer_to(self.path, body)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def world(forks: Forks) -> Iterator[Forks]:
    """A desk beside a provider."""
    Provider.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Provider) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            forks.desk.environ = {
                "WORLD": f"http://127.0.0.1:{server.server_port}",
                "OPENAI_API_KEY": "sk-none",
                "AWS_ACCESS_KEY_ID": KEY,
                "AWS_SECRET_ACCESS_KEY": SECRET,
            }
            yield forks
        finally:
            server.shutdown()
            thread.join()


CLIENTS = read_program("forks/model_asked_by_every_client.py").replace('b"{}"', repr(ASKS))


def test_every_client_sends_what_is_asked_for(world: Forks) -> None:
    printed = world.record(CLIENTS)
    first, Provider.asked = Provider.asked, []
    assert len(first) == 8
    report = world.fork(0, "--live", "model", "--model", "gpt-5.4-nano", "--prompt", "be brief", "--param", "seed=4")
    assert (report["printed"], report["live"]) == (printed, 8)
    assert len(Provider.asked) == 8
    for (path, before, asked), (there, headers, sent) in zip(first, Provider.asked, strict=True):
        assert (path, headers.get("content-type")) == (there, before.get("content-type"))
        assert headers.get("content-length", str(len(sent))) == str(len(sent))
        told = json.loads(sent)
        assert (told["model"], told["seed"]) == ("gpt-5.4-nano", 4)
        assert told["messages"][0] == {"role": "system", "content": "be brief"}
        assert (TOOLS in asked) == (TOOLS in sent)
    assert sum(TOOLS in sent for *_, sent in Provider.asked) == 7
    kept = [event.number for event in world.events(report["run"]) if event.kind == "http"]
    assert world.bodies(report["run"], kept[0]) == [ASKS], "a replay compares what the code asks"
    assert world.desk.run("cat", f"{report['run']}:{kept[0]}.request.body").stdout.encode() == Provider.asked[0][2]
    world.replays_exactly(report["run"])


BEDROCK = """
    import os, boto3
    client = boto3.client("bedrock-runtime", region_name="us-east-1", endpoint_url=os.environ["WORLD"])
    reply = client.converse(
        modelId="anthropic.claude-3-haiku-20240307-v1:0",
        messages=[{"role": "user", "content": [{"text": "hi"}]}],
        inferenceConfig={"maxTokens": 9},
    )
    print(reply["output"]["message"]["content"][0]["text"])
"""


def verified(path: str, headers: dict[str, str], body: bytes) -> bool:
    """Whether the signature is one of this request, by its provider's own reckoning."""
    told = re.search(
        r"Credential=\w+/\d+/([^/]+)/([^/]+)/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)",
        headers["authorization"],
    )
    assert told is not None
    region, service, names, signature = told.groups()
    signed = {name: headers[name] for name in names.split(";")}
    request = AWSRequest("POST", f"http://{headers['host']}{path}", signed, body)
    request.context["timestamp"] = headers["x-amz-date"]
    signer = SigV4Auth(Credentials(KEY, SECRET), service, region)
    return bool(
        signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request) == signature
    )


def test_botocore_signs_what_is_sent_and_when(world: Forks) -> None:
    world.record(BEDROCK)
    assert verified(*Provider.asked[0])
    options = ("--prompt", "be brief", "--param", "temperature=0", "--param", "top_k=5")
    report = world.fork(0, "--live", "model", *options, "--at-time", "2001-02-03")
    assert (report["printed"], report["live"]) == ("hello\n", 1)
    path, headers, body = Provider.asked[1]
    assert json.loads(body) == {
        "messages": [{"role": "user", "content": [{"text": "hi"}]}],
        "inferenceConfig": {"maxTokens": 9, "temperature": 0},
        "additionalModelRequestFields": {"top_k": 5},
        "system": [{"text": "be brief"}],
    }
    assert verified(path, headers, body) and not verified(path, headers, body + b" ")
    moment = datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%S%z")
    assert abs((datetime.now(UTC) - moment).total_seconds()) < 300  # of now, wherever the agent's clock stands
    world.replays_exactly(report["run"])


def test_botocore_signs_a_request_anew_that_a_fork_sends_as_it_is(world: Forks) -> None:
    """The agent has signed it by its own clock, which stands where the run stood: a provider refuses that."""
    world.record(BEDROCK.replace("    reply =", "    for _ in range(2): reply ="))
    report = world.fork(0, "--live", "model", "--at-time", "2001-02-03")
    assert (report["printed"], report["live"]) == ("hello\n", 2)
    *_, (_, _, then), (path, headers, body) = Provider.asked
    assert body == then and verified(path, headers, body)
    moment = datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%S%z")
    assert abs((datetime.now(UTC) - moment).total_seconds()) < 300


SIGNED = f"""
    import os, urllib.request
    headers = {{"Content-Type": "application/json", "Authorization": "AWS4-HMAC-SHA256 Credential=a, Signature=b"}}
    request = urllib.request.Request(os.environ["WORLD"] + "/v1/chat/completions", {ASKS!r}, headers)
    print(urllib.request.urlopen(request).status)
"""


def test_what_somebody_else_has_signed_is_refused_before_it_is_sent(world: Forks) -> None:
    world.record(SIGNED)
    report = world.fork(0, "--live", "model", "--param", "seed=4", status=5)
    assert "its header authorization is bound to the body it has" in report["message"]
    assert f"next: reenact fork {world.parent[-8:]}:0 --rev HEAD" in report["message"]
    assert len(Provider.asked) == 1
    planned = world.desk.run("fork", f"{world.parent}:0", "--live", "model", "--model", "claude-x", "--dry-run")
    assert "cannot be sent  claude-x does not speak openai.chat" in planned.stdout


def told(ask: Ask) -> str:
    """What a scripted model was asked with, as its answer."""
    return f"{ask.model} {ask.system} {ask.temperature:g}"


GOOGLE = """
    import asyncio, os
    from google import genai
    from google.genai import types
    client = genai.Client(api_key="scripted", http_options=types.HttpOptions(base_url=os.environ["WORLD"]))
    config = types.GenerateContentConfig(system_instruction="long", temperature=1)
    asked = dict(model="gemini-x", contents="hi", config=config)
    print(client.models.generate_content(**asked).text)
    print("".join(part.text or "" for part in client.models.generate_content_stream(**asked)))
    print(asyncio.run(client.aio.models.generate_content(**asked)).text)
"""

CONVERSE = """
    import os, boto3
    client = boto3.client("bedrock-runtime", region_name="us-east-1", endpoint_url=os.environ["WORLD"])
    asked = dict(modelId="amazon.nova-x-v1:0", messages=[dict(role="user", content=[dict(text="hi")])],
        system=[dict(text="long")], inferenceConfig=dict(temperature=1))
    print(client.converse(**asked)["output"]["message"]["content"][0]["text"])
    stream = client.converse_stream(**asked)["stream"]
    deltas = (one["contentBlockDelta"] for one in stream if "contentBlockDelta" in one)
    print("".join(one["delta"]["text"] for one in deltas))
"""


@pytest.mark.parametrize(
    ("program", "model", "other", "calls"),
    [(GOOGLE, "gemini-x", "gemini-y", 3), (CONVERSE, "amazon.nova-x-v1:0", "eu.amazon.nova-y-v1:0", 2)],
)
def test_a_model_in_the_address_is_changed_in_real_sdks(
    forks: Forks, program: str, model: str, other: str, calls: int
) -> None:
    with ScriptedProvider(Script(rules=(Rule(say=told),))) as provider:
        forks.desk.environ = {
            "WORLD": provider.url,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        assert forks.record(program) == f"{model} long 1\n" * calls
        options = ("--live", "model", "--model", other, "--prompt", "be brief", "--param", "temperature=0")
        report = forks.fork(0, *options)
        assert (report["printed"], report["live"]) == (f"{other} be brief 0\n" * calls, calls)
        assert provider.calls == 2 * calls
    if program is GOOGLE:
        forks.replays_exactly(report["run"])


TWICE = """
    import json, os, urllib.request
    for text in ("one", "two"):
        messages = [dict(role="system", content="long"), dict(role="user", content=text)]
        asked = json.dumps(dict(model="gpt-4o-mini", temperature=0.2, messages=messages)).encode()
        headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
        request = urllib.request.Request(os.environ["WORLD"] + "/v1/chat/completions", asked, headers)
        print(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
"""


def test_a_rewritten_request_is_shown_as_it_was_sent(forks: Forks) -> None:
    run = forks.desk.run
    with ScriptedProvider(Script(rules=(Rule(say=told),))) as provider:
        forks.desk.environ = {"WORLD": provider.url, "OPENAI_API_KEY": "sk-none"}
        forks.record(TWICE)
        changes = ("--model", "gpt-4o", "--param", "temperature=0.9", "--prompt", "be brief")
        first = forks.fork(0, "--live", "model", *changes)["run"]
        again = json.loads(run("fork", f"{first}:1", "--live", "none", "--json").stdout)["run"]
    assert forks.bodies(forks.parent, 0, 1) == forks.bodies(first, 0, 1) == forks.bodies(again, 0, 1)
    for fork in (first, again):  # the answers in a fork of a fork are to the same requests
        shown, written = run("show", fork).stdout, run("export", "markdown", fork).stdout
        for text in (shown, written):
            assert "asked gpt-4o-mini" not in text and "temperature=0.2" not in text
        assert "temperature=0.9" in shown
        assert forks.events(fork)[0].attributes["reading"]["model_asked"] == "gpt-4o"
        sent = {
            "model": "gpt-4o",
            "temperature": 0.9,
            "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "one"}],
        }
        assert json.loads(run("cat", f"{fork}:0.request.body").stdout) == sent
        assert json.loads(run("cat", f"{fork}:0.request").stdout)["body"] == sent
        for text in (run("cat", f"{fork}:0", "--curl").stdout, run("show", f"{fork}:0").stdout):
            assert "be brief" in text and "gpt-4o-mini" not in text
        differs = run("diff", forks.parent, fork, status=1).stdout
        assert 'asks.body.model: "gpt-4o-mini" -> "gpt-4o"' in differs
        assert 'asks.body.messages.0.content: "long" -> "be brief"' in differs
    assert run("diff", first, again).stdout.startswith("the same")
    forks.replays_exactly(first)
    forks.replays_exactly(again)


ONE_DOOR = """
    import asyncio, json, os, boto3
    from anthropic import AnthropicBedrock, AsyncAnthropicBedrock

    WORLD, HI = os.environ["WORLD"], [dict(role="user", content="hi")]
    client = boto3.client("bedrock-runtime", region_name="us-east-1", endpoint_url=WORLD)
    claude = dict(anthropic_version="bedrock-2023-05-31", max_tokens=9, messages=HI)
    reply = client.invoke_model(modelId="anthropic.claude-a:0", body=json.dumps(claude))
    print(json.loads(reply["body"].read())["content"][0]["text"])
    asked = dict(model="anthropic.claude-a:0", max_tokens=9, messages=HI)
    print(AnthropicBedrock(aws_region="us-east-1", base_url=WORLD).messages.create(**asked).content[0].text)

    async def main():
        async with AsyncAnthropicBedrock(aws_region="us-east-1", base_url=WORLD) as client:
            for reply in await asyncio.gather(*[client.messages.create(**asked) for _ in range(3)]):
                print(reply.content[0].text)

    asyncio.run(main())
"""


def test_behind_bedrocks_invoke_each_client_signs_what_is_sent(world: Forks) -> None:
    printed = world.record(ONE_DOOR)
    first, Provider.asked = Provider.asked, []
    assert len(first) == 5 and all(verified(*one) for one in first)
    options = ("--model", "us.anthropic.claude-b:1", "--prompt", "be brief", "--param", "temperature=0")
    report = world.fork(0, "--live", "model", *options)
    assert (report["printed"], report["live"]) == (printed, 5)
    assert {path for path, *_ in Provider.asked} == {"/model/us.anthropic.claude-b%3A1/invoke"}
    for path, headers, body in Provider.asked:
        asked = json.loads(body)
        assert (asked["system"], asked["temperature"]) == ("be brief", 0)
        assert verified(path, headers, body) and not verified(path, headers, body + b" ")
        assert not verified(path.replace("claude-b", "claude-a"), headers, body)


ELSEWHERE = """
    import os
    import openai

    WORLD, HI = os.environ["WORLD"], [dict(role="user", content="hi")]
    azure = openai.AzureOpenAI(azure_endpoint=WORLD, api_version="2025-01-01", api_key="none")
    print(azure.chat.completions.create(model="one", messages=HI).choices[0].message.content)
    client = openai.OpenAI(base_url=WORLD + "/v1")
    print(client.embeddings.create(model="e", input="hi", encoding_format="float").data[0].embedding)
    print(client.responses.create(model="gpt-5.4", input="hi").output_text)
"""


def test_an_azure_deployment_changes_a_vector_does_not_and_what_is_kept_is_a_write(world: Forks) -> None:
    printed = world.record(ELSEWHERE)
    first, Provider.asked = Provider.asked, []
    kept = f"POST {world.desk.environ['WORLD'][7:]}/v1/responses"
    refused = world.fork(0, "--model", "gpt-5.4-nano", status=5)
    assert f"{kept} is not sent: it does not say store=false, so its provider would store it" in refused["message"]
    assert [path.partition("?")[0] for path, *_ in Provider.asked] == [
        "/openai/deployments/gpt-5.4-nano/chat/completions"
    ]
    assert json.loads(Provider.asked[0][2]) == {**json.loads(first[0][2]), "model": "gpt-5.4-nano"}
    Provider.asked = []
    report = world.fork(0, "--model", "gpt-5.4-nano", "--allow-write", kept)
    assert (report["printed"], report["live"]) == (printed, 2)
    asked = [json.loads(body) for path, _, body in Provider.asked if "responses" in path]
    assert asked == [{"input": "hi", "model": "gpt-5.4-nano"}]
