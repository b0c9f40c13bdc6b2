"""The trace goes on to named hosts alone: the header is sent and noted, and no part of key, call or replay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from reenact.errors import UsageError
from reenact.facts.call import Call, Effect, Kind
from reenact.facts.policy import Policy
from reenact.facts.tracecontext import Propagation, around, named_hosts, span_id, trace_id
from reenact.store import open_store
from tests.http.server import Request, Server, answer, as_json
from tests.interop.conftest import Tried
from tests.interop.spans_out import Receiver, said
from tests.programs import read_program

CLIENTS = read_program("interop/clients_of_two_hosts.py")
CALLS = 20


def _serve(server: Server) -> None:
    count = iter(range(1000))
    for path in ("httpx-async", "aiohttp", "httpx", "own", "requests", "urllib3", "urllib", "end"):
        server.routes[f"/{path}"] = lambda request: as_json({"n": next(count)})
    server.routes["/away"] = lambda request: answer(b"", "302 Found", [("Location", "/end")])
    xml = b"<methodResponse><params><param><value><int>4</int></value></param></params></methodResponse>"
    server.routes["/by-hand"] = lambda request: answer(xml, headers=[("Content-Type", "text/xml")])


def path_of(request: Request) -> str:
    return request.target.partition("?")[0]


@pytest.fixture
def servers() -> Iterator[tuple[Server, Server]]:
    made = Server(), Server()
    for each in made:
        _serve(each)
    yield made
    for each in made:
        each.close()


def recorded(desk: Tried, servers: tuple[Server, Server], receiver: Receiver, propagate: str) -> list[Any]:
    """Record the clients, and give the events that asked something."""
    desk.writes("reenact.toml", f'[otel]\nendpoint = "{receiver.server.url}"\n{propagate}\n')
    desk.writes("clients.py", CLIENTS)
    done = desk.reenact("record", "--", "python", "clients.py", *(each.url for each in servers))
    assert done.code == 0, done.err.decode()
    with open_store(str(desk.folder / ".reenact")) as store:
        recording = store.open(store.run("@"))
        found = [each for each in recording.events() if each.call.kind is Kind.HTTP]
        return [(recording.run, each, recording.notes(each.number)) for each in found]


def replays(desk: Tried) -> None:
    replayed = desk.reenact("replay", "@")
    assert replayed.code == 0, replayed.err.decode()
    assert b"same (exact)" in replayed.err, replayed.err.decode()


def test_a_named_host_gets_the_trace_and_the_recording_is_the_one_without(
    desk: Tried, servers: tuple[Server, Server]
) -> None:
    receiver = Receiver()
    named, other = servers
    without = recorded(desk, servers, receiver, "")
    assert not [each for server in servers for each in server.requests if path_of(each) != "/own" and sent(each)]
    before = {server: len(server.requests) for server in servers}
    with_it = recorded(desk, servers, receiver, f'propagate = ["127.0.0.1:{named.port}"]')
    came = {server: server.requests[before[server] :] for server in servers}
    assert [path_of(each) for each in came[named]] == [path_of(each) for each in came[other]]
    assert {path_of(each) for each in came[other] if sent(each)} == {"/own"}
    assert len(with_it) == len(without) > CALLS
    for (_, ours, notes), (_, theirs, no_notes) in zip(with_it, without, strict=True):
        assert (ours.key, ours.call, ours.request) == (theirs.key, theirs.call, theirs.request)
        assert not any(name.lower() == "traceparent" for name, _ in ours.call.head["headers"]) or "/own" in ours.name
        assert "traceparent" not in no_notes
        is_named = f":{named.port}/" in ours.call.head["url"] and "/own" not in ours.name
        assert ("traceparent" in notes) == is_named, ours.name
    run = with_it[0][0]
    told = [notes["traceparent"] for _, _, notes in with_it if "traceparent" in notes]
    assert sorted(told) == sorted(sent(each) for each in came[named] if path_of(each) != "/own")
    spans = {span.span_id.hex(): span for span in receiver.spans if said(span)["reenact.run.id"] == run.id}
    for text in told:
        version, trace, span, flags = text.split("-")
        assert (version, trace, flags) == ("00", trace_id(run.id), "01")
        assert spans[span].trace_id.hex() == trace
        assert said(spans[span])["url.full"].startswith(named.url)
    for request in came[named]:
        agents = "user=7" if path_of(request) == "/httpx" else ""
        assert request.header("baggage") == agents and not request.header("tracestate")
        if path_of(request) == "/own":
            assert sent(request) == "00-" + "1" * 32 + "-" + "2" * 16 + "-00"
    for server in servers:
        server.close()
    receiver.server.close()
    replays(desk)  # with the setting
    desk.writes("reenact.toml", "")
    replays(desk)  # and without


def sent(request: Request) -> str:
    return request.header("traceparent")


def call(url: str, *headers: list[str]) -> Call:
    return Call(Kind.HTTP, "GET x", Effect.READ, "http/1", {"url": url, "headers": list(headers)})


@pytest.mark.parametrize(
    ("pattern", "url", "leads"),
    [
        ("api.example.com", "https://api.example.com/x", True),
        ("API.example.com", "https://user:key@Api.Example.Com:8443/x", True),
        ("api.example.com", "https://api.example.com.evil.net/x", False),
        ("api.example.com", "https://evil.net/?api.example.com", False),
        ("api.example.com", "https://not-api.example.com/", False),
        ("*.example.com", "https://a.b.example.com/", True),
        ("*.example.com", "https://example.com/", False),
        ("*.example.com", "https://evilexample.com/", False),
        ("localhost:8080", "http://localhost:8080/", True),
        ("localhost:8080", "http://localhost/", False),
        ("example.com:443", "https://example.com/", True),
        ("[::1]:80", "http://[::1]/", True),
        ("example.com", "http://[broken/", False),
        ("example.com", "", False),
    ],
)
def test_a_host_is_named_wholly(pattern: str, url: str, leads: bool) -> None:
    assert named_hosts([pattern])(url) is leads


@pytest.mark.parametrize("pattern", ["*", "", "https://api.example.com", "a/b", "*.*.com", "api.*", "a:port", "*:80"])
def test_what_names_no_host_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError, match="names no host"):
        Policy(otel_propagate=(pattern,))


def test_the_callers_span_gives_the_trace_and_its_sampling() -> None:
    caller = around("00-" + "a" * 32 + "-" + "b" * 16 + "-00")
    assert caller is not None and not caller.sampled
    there = named_hosts(["h"])
    assert Propagation("r1", there, caller).header(call("http://h/"), 3) == f"00-{'a' * 32}-{span_id('r1', 3)}-00"
    assert Propagation("r1", there).header(call("http://h/"), 3) == f"00-{trace_id('r1')}-{span_id('r1', 3)}-01"
    assert Propagation("r1", there).header(call("http://h/", ["TraceParent", "x"]), 3) == ""
    for text in (None, "", "00-" + "0" * 32 + "-" + "b" * 16 + "-01", "00-" + "a" * 32 + "-" + "0" * 16 + "-01", 7):
        assert around(text) is None
