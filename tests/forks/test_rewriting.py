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

from tests.forks.conftest import Forks

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
        answer = json.dumps(CONVERSED if "converse" in self.path else CHAT).encode()
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


CLIENTS = f"""
    import asyncio, http.client, io, os, urllib.request
    import aiohttp, openai, requests
    from openai import DefaultAioHttpClient

    WORLD, ASKS = os.environ["WORLD"], {ASKS!r}
    URL = WORLD + "/v1/chat/completions"
    HEADERS = {{"Content-Type": "application/json"}}

    print("requests", requests.post(URL, data=ASKS, headers=HEADERS).status_code)
    print("chunked", requests.post(URL, data=iter([ASKS[:20], ASKS[20:]]), headers=HEADERS).status_code)
    conn = http.client.HTTPConnection(WORLD[7:])
    conn.request("POST", "/v1/chat/completions", ASKS, {{**HEADERS, "content-length": str(len(ASKS))}})
    print("http.client", len(conn.getresponse().read()))
    conn.close()
    request = urllib.request.Request(URL, ASKS, HEADERS)
    print("urllib", urllib.request.urlopen(request).status)

    async def twice(request, handler):
        (await handler(request)).release()
        return await handler(request)

    async def main():
        async with aiohttp.ClientSession() as session:
            async with session.post(URL, data=ASKS, headers=HEADERS) as reply:
                print("aiohttp", len(await reply.read()))
            async with session.post(URL, data=ASKS, headers=HEADERS, middlewares=[twice]) as reply:
                print("twice", len(await reply.read()))
        client = openai.AsyncOpenAI(base_url=WORLD + "/v1", http_client=DefaultAioHttpClient())
        reply = await client.chat.completions.create(model="gpt-5.4", messages=[{{"role": "user", "content": "hi"}}])
        print("openai over aiohttp", reply.choices[0].message.content)
        await client.close()

    asyncio.run(main())
"""


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
    assert world.desk.run("cat", f"{report['run']}:{kept[0]}.request.body").stdout.encode() == ASKS
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
    refused = world.fork(0, "--live", "model", "--model", "amazon.nova-lite-v1:0", status=5)
    assert "stands in the address of the request" in refused["message"]


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
    assert len(Provider.asked) == 1
