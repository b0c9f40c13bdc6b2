"""What VCR.py itself has recorded is imported, and the same program replays against it with its server gone."""

from __future__ import annotations

import gzip
import json

import pytest

from reenact.testing.provider import Rule, Script, ScriptedProvider
from tests.http.server import SSE, Server, answer, as_json, chunked
from tests.interop.conftest import Tried
from tests.programs import read_program

CLIENTS = read_program("interop/every_client_and_answer.py")


def serve(server: Server) -> None:
    server.routes.update(
        {
            "/json": lambda r: as_json({"number": r.number, "asked": r.target}),
            "/chunked": lambda r: chunked([b'{"number":', b" %d}" % r.number], [("Content-Type", "application/json")]),
            "/gzip": lambda r: answer(
                gzip.compress(b"packed %d" % r.number), headers=[("Content-Encoding", "gzip"), ("X-Served", "by hand")]
            ),
            "/repeated": lambda r: answer(b"\xff\x00", "200 Fine", [("X-Seen", "one"), ("X-Seen", "two")]),
            "/moved": lambda r: answer(b"", "302 Found", [("Location", "/json")]),
            "/poll": lambda r: answer(b"poll %d" % r.number),
            "/nothing": lambda r: [b"HTTP/1.1 204 No Content\r\n\r\n"],
            "/broken": lambda r: as_json({"error": "broken"}, "500 Broken"),
            "/aiohttp": lambda r: answer(b"aiohttp %d" % r.number),
            "/events": lambda r: chunked([b"data: one\n\n", b"data: two\n\n"], SSE),
        }
    )


@pytest.mark.parametrize("cassette", ["cassette.yaml", "cassette.json"])
def test_every_client_replays_against_its_own_cassette(desk: Tried, server: Server, cassette: str) -> None:
    serve(server)
    if cassette.endswith("json"):
        for route in ("/gzip", "/repeated"):  # VCR.py itself cannot keep these in JSON
            server.routes[route] = lambda r: answer(b"text", headers=[("Content-Encoding", "identity")])
    desk.writes("clients.py", CLIENTS)
    form = cassette.rpartition(".")[2]
    recorded = desk.records_with_vcr("clients.py", server.url, cassette=cassette, serializer=form)
    assert recorded.code == 0, recorded.err.decode()
    server.close()
    imported = desk.reenact("import", "vcr", cassette)
    assert imported.code == 0, imported.err.decode()
    replayed = desk.replay("--cmd", f"python clients.py {server.url}")
    assert replayed.out == recorded.out, replayed.err.decode()
    assert replayed.code == 0
    assert "verdict: same, order not known: the run was imported" in replayed.said[-1]
    assert "matched 14 of 14" in replayed.said[-1]


OPENAI = """
import sys
import openai

client = openai.OpenAI(base_url=sys.argv[1] + "/v1")
said = []
for question in ("one", "two"):
    said.append({"role": "user", "content": question})
    reply = client.chat.completions.create(model="scripted", messages=said)
    said.append({"role": "assistant", "content": reply.choices[0].message.content})
stream = client.chat.completions.create(model="scripted", messages=said, stream=True)
print(said, "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices))
"""


def test_an_agent_of_the_openai_sdk_replays_without_a_key_or_a_provider(desk: Tried) -> None:
    desk.writes("agent.py", OPENAI)
    with ScriptedProvider(Script(rules=(Rule(say=lambda ask: f"{len(ask.turns)} turns"),))) as provider:
        base = provider.url
        desk.environment["OPENAI_API_KEY"] = "sk-tried-at-a-desk-0123456789"
        recorded = desk.records_with_vcr("agent.py", base)
    assert recorded.code == 0, recorded.err.decode()
    cassette = (desk.folder / "cassette.yaml").read_bytes()
    assert b"sk-tried-at-a-desk" in cassette
    desk.environment.pop("OPENAI_API_KEY")
    imported = desk.reenact("--json", "import", "vcr", "cassette.yaml")
    run = json.loads(imported.out)
    assert run["totals"]["models"] == 3
    for kept in (desk.folder / ".reenact").rglob("*"):
        assert not kept.is_file() or b"sk-tried-at-a-desk" not in kept.read_bytes()
    replayed = desk.replay("--cmd", f"python agent.py {base}")
    assert replayed.out == recorded.out, replayed.err.decode()
    assert replayed.code == 0
