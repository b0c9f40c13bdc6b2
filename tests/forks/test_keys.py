"""The keys of today's environment go where something of today says, never to a host that only a recording names."""

from __future__ import annotations

import base64
import json
import shlex
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact.facts.call import Call, Effect, Kind
from reenact.facts.run import Run
from reenact.seams import lanes
from reenact.timetravel.forks.api_keys import Keys, Names
from tests.forks.conftest import Forks
from tests.programs import read_program

KEY = "sk-today-8f2b6c1e9d7a4053b1"
BASIC = "Basic " + base64.b64encode(f"user:{KEY}".encode()).decode()
OTHER = "sk-then-77c0ffee11aa22bb33cc"

AGENT = """
    import json, os, sys
    import httpx
    import reenact

    def ask(base, text):
        request = {"model": "m", "messages": [{"role": "user", "content": text}]}
        headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
        answer = httpx.post(base + "/v1/chat/completions", json=request, headers=headers)
        return answer.json()["choices"][0]["message"]["content"]

    def found():
        BASE

    print(ask(found(), "what is it?"))
"""
WAYS = {
    "variable": 'return os.environ["OPENAI_BASE_URL"]',
    "another variable": 'return os.environ["WHERE_IT_IS"]',
    "argument": "return sys.argv[1]",
    "answer": 'return httpx.get(os.environ["DIRECTORY"]).json()["base"]',
    "input": "return input()",
}


class Listening(ThreadingHTTPServer):
    """Answers as a model does, and as a directory that names it; keeps every byte of what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Listening

    def do_GET(self) -> None:
        self._answer({"base": self.server.url})

    def do_POST(self) -> None:
        message = {"role": "assistant", "content": "an answer"}
        self._answer({"id": "1", "object": "chat.completion", "model": "m", "choices": [{"message": message}]})

    def _answer(self, data: Any) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        self.server.got.append(f"{self.requestline}\n{self.headers}\n{body}")
        told = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def host() -> Iterator[Listening]:
    """A host that a recording names."""
    with Listening() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def _recorded(forks: Forks, host: Listening, way: str) -> None:
    """A run whose program asks that host, with another key, and then a world in which nothing names it."""
    every = {"OPENAI_BASE_URL": host.url, "WHERE_IT_IS": host.url, "DIRECTORY": f"{host.url}/directory"}
    names = {name: url for name, url in every.items() if name in WAYS.get(way, "")}
    forks.desk.environ = {**names, "OPENAI_API_KEY": OTHER, "XDG_STATE_HOME": str(forks.desk.folder.parent / "then")}
    program = "\n".join(line[4:] for line in AGENT.replace("BASE", WAYS.get(way, way)).splitlines())
    (forks.desk.folder / "agent.py").write_text(program)
    forks.desk.record("agent.py", host.url if way == "argument" else "none", typed=f"{host.url}\n")
    forks.parent = forks.runs()[0]["run"]
    assert any(OTHER in each for each in host.got)
    host.got.clear()
    for name in names:
        del forks.desk.environ[name]
    forks.desk.environ["OPENAI_API_KEY"] = KEY


def _elsewhere(forks: Forks) -> None:
    """The run is not ours any more: another user's, as one of a bundle is."""
    forks.desk.environ["XDG_STATE_HOME"] = str(forks.desk.folder.parent / "now")


@pytest.mark.parametrize("way", WAYS)
def test_a_key_does_not_go_to_a_host_of_a_strange_recording(forks: Forks, host: Listening, way: str) -> None:
    _recorded(forks, host, way)
    _elsewhere(forks)
    report = forks.fork(0, "--live", "model", status=5)
    assert host.got == [], "nothing at all was sent"
    assert f"OPENAI_API_KEY is not sent to {host.url[7:]}, and this fork goes live" in report["message"], report
    assert KEY not in json.dumps(report)


@pytest.mark.parametrize("way", ["variable", "another variable"])
def test_a_key_does_not_go_to_a_host_of_a_variable_of_another_day(forks: Forks, host: Listening, way: str) -> None:
    _recorded(forks, host, way)
    report = forks.fork(0, "--live", "model", status=5)
    name = "OPENAI_BASE_URL" if way == "variable" else "WHERE_IT_IS"
    assert host.got == []
    assert f"names this host, in {name}" in report["message"] and f"next: export {name}={host.url}" in report["message"]
    forks.desk.environ[name] = host.url
    assert forks.fork(0, "--live", "model")["live"] == 1
    assert len(host.got) == 1 and KEY in host.got[0]


@pytest.mark.parametrize("way", ["argument", "input"])
def test_what_this_user_recorded_names_its_hosts(forks: Forks, host: Listening, way: str) -> None:
    _recorded(forks, host, way)
    assert forks.fork(0, "--live", "model")["live"] == 1
    assert len(host.got) == 1 and KEY in host.got[0]


def test_the_code_of_today_names_its_hosts(forks: Forks, host: Listening) -> None:
    _recorded(forks, host, f"return {host.url!r}")
    _elsewhere(forks)
    assert forks.fork(0, "--live", "model")["live"] == 1
    assert len(host.got) == 1 and KEY in host.got[0]


def test_the_command_line_of_today_names_its_hosts(forks: Forks, host: Listening) -> None:
    _recorded(forks, host, "argument")
    _elsewhere(forks)
    report = forks.fork(0, "--live", "model", "--cmd", shlex.join([sys.executable, "agent.py", host.url]))
    assert report["live"] == 1 and KEY in host.got[0]


@pytest.mark.parametrize("ours", [True, False])
def test_a_fork_without_the_key_stops_before_it_sends(forks: Forks, host: Listening, ours: bool) -> None:
    _recorded(forks, host, "variable")
    forks.desk.environ |= {"OPENAI_BASE_URL": host.url, "OPENAI_API_KEY": ""}
    if not ours:
        _elsewhere(forks)
    report = forks.fork(0, "--live", "model", status=3)
    assert host.got == []
    assert "OPENAI_API_KEY is not set, and this fork goes live" in report["message"]
    assert "next: export OPENAI_API_KEY=" in report["message"]
    assert forks.fork(0, "--live", "none")["live"] == 0, "what stays frozen needs none"


def test_a_plan_shows_host_and_key(forks: Forks, host: Listening) -> None:
    _recorded(forks, host, "variable")
    name = host.url[7:]

    def plan() -> str:
        return str(forks.desk.run("fork", f"{forks.parent}:0", "--live", "model", "--dry-run").stdout)

    assert (
        f"may be sent to  {name} with OPENAI_API_KEY: only the recording names this host: no key goes there\n" in plan()
    )
    forks.desk.environ["OPENAI_BASE_URL"] = host.url
    assert f"may be sent to  {name} with OPENAI_API_KEY\n" in plan()
    forks.desk.environ["OPENAI_API_KEY"] = ""
    assert f"{name} with OPENAI_API_KEY: OPENAI_API_KEY is not set: a call that goes live stops there\n" in plan()
    assert host.got == []


GETS = """
    import os, httpx, reenact
    headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    print(httpx.get(os.environ["WORLD"] + "/rates", headers=headers).status_code)
    print(httpx.post(os.environ["POSTS"] + "/orders", json={"n": 1}).status_code)
"""


@pytest.fixture
def other() -> Iterator[Listening]:
    """Another host that a recording names."""
    with Listening() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_a_plan_shows_the_hosts_of_plain_requests_that_may_go_live(
    forks: Forks, host: Listening, other: Listening
) -> None:
    forks.desk.environ = {"WORLD": host.url, "POSTS": other.url, "OPENAI_API_KEY": KEY}
    forks.record(GETS)

    def hosts(*options: str) -> list[str]:
        plan = forks.desk.run("fork", f"{forks.parent}:0", *options, "--dry-run").stdout
        return [line.split("  ")[-1] for line in plan.splitlines() if "may be sent to" in line]

    got = f"{host.url[7:]} with OPENAI_API_KEY"
    assert hosts() == hosts("--live", "all") == [got]
    assert hosts("--live", "all", "--allow-write", "POST *") == [got, other.url[7:]]
    assert hosts("--live", "none", "--allow-write", "POST *") == [other.url[7:]]
    assert hosts("--live", "model") == hosts("--live", "none") == []
    before = len(host.got)
    forks.fork(0, "--live", "all")
    assert (len(host.got), len(other.got)) == (before + 1, 1)


SEVERAL = read_program("forks/key_for_each_tool.py")


def test_every_key_that_is_not_set_is_told_at_once(forks: Forks, host: Listening) -> None:
    keys = {"SEARCH_API_KEY": f"{KEY}1", "MAIL_API_KEY": f"{KEY}2"}
    forks.desk.environ = {"OPENAI_BASE_URL": host.url, **keys}
    forks.record(SEVERAL)
    host.got.clear()
    forks.desk.environ |= dict.fromkeys(keys, "")
    change = "--result", "first#1=b"
    told = forks.desk.run("fork", f"{forks.parent}:0", *change, "--dry-run").stdout
    assert "blocked write   mail" in told, "its own calls are not made"
    assert "SEARCH_API_KEY, MAIL_API_KEY are not set" in told or "MAIL_API_KEY, SEARCH_API_KEY are not set" in told
    message = forks.fork(0, *change, status=3)["message"]
    assert "SEARCH_API_KEY is not set" in message and "MAIL_API_KEY is not set either" in message
    assert host.got == []


def test_a_proxy_of_the_recording_is_not_gone_through(forks: Forks, host: Listening) -> None:
    _recorded(forks, host, f"return {host.url!r}")
    with Listening() as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        forks.desk.environ |= {"HTTP_PROXY": proxy.url, "NO_PROXY": ""}
        forks.desk.record("agent.py")
        forks.parent = forks.runs()[0]["run"]
        assert proxy.got
        proxy.got.clear()
        for name in ("HTTP_PROXY", "NO_PROXY"):
            del forks.desk.environ[name]
        assert forks.fork(0, "--live", "model")["live"] == 1
        assert not proxy.got and KEY in host.got[0]
        proxy.shutdown()


# --- what names a host -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "url", "vouched"),
    [
        ("https://api.example.com/v1", "https://api.example.com/v2", True),
        ("https://api.example.com/v1", "https://API.example.com:8443/v2", True),
        ("https://api.example.com", "https://example.com", False),
        ("https://api.example.com", "https://api.example.com.evil.net", False),
        ("https://example.com.evil.net", "https://example.com", False),
        ("https://evil-example.com", "https://example.com", False),
        ("see example.com.", "https://example.com", True),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8001", False),
        ("http://127.0.0.1:80001", "http://127.0.0.1:8000", False),
        ("http://localhost:8000", "http://localhost:8000", True),
        ("8000", "http://localhost:8000", True),
        ("8000", "http://example.com:8000", False),
        ("", "https://bedrock-runtime.eu-west-1.amazonaws.com/x", True),
        ("", "http://bedrock-runtime.eu-west-1.amazonaws.com/x", False),
        ("", "https://bedrock-runtime.x.evil.net/.amazonaws.com", False),
        ("https://api.example.com", "https://api.example.com@evil.net/", False),
        ("https://api.example.com", "", False),
    ],
)
def test_what_names_a_host(text: str, url: str, vouched: bool) -> None:
    assert Names((text,)).vouch(url) is vouched


@pytest.mark.parametrize(
    "head",
    [
        {"url": f"http://h.example/?key={KEY}"},
        {"url": "http://h.example/?key=" + KEY.replace("-", "%2D")},
        {"url": "http://h.example/", "headers": [["x-mine", KEY]]},
        {
            "url": "http://h.example/",
            "headers": [["authorization", BASIC]],
        },
        {"url": "http://h.example/", "headers": [["authorization", "Bearer of-another-place"]]},
        {"url": "http://h.example/", "headers": [["Cookie", "session=1"]]},
    ],
)
def test_a_key_is_found_wherever_a_call_carries_it(head: dict[str, Any]) -> None:
    call = Call(Kind.HTTP, "GET h.example/", Effect.READ, "http/1", head)
    assert Keys(Run("r"), {"A_KEY": KEY}, Names(()), ours=False).astray(call)
    assert not Keys(Run("r"), {"A_KEY": KEY}, Names(("h.example",)), ours=False).astray(call)


def test_a_fork_in_this_process_keeps_all_but_its_live_calls_from_the_world(host: Listening, tmp_path: Path) -> None:
    """Also what no session listens to: only the performer of a live call may reach anything."""
    import httpx

    refused: list[str] = []

    def agent() -> str:
        with lanes.inside(None):
            try:
                socket.create_connection(("127.0.0.1", host.server_port)).close()
            except PermissionError as error:
                refused.append(str(error))
        return httpx.get(host.url).text

    with reenact.open_store(str(tmp_path / "store")) as store:
        reenact.record(agent, store=store)()
        assert refused == []
        with suppress(reenact.ReenactError):
            reenact.fork(next(store.runs()), 0, live="all", entry=agent, store=store)
    assert [words.partition(" at ")[0].rpartition(":")[0] for words in refused] == [
        "refused while replaying: connection to 127.0.0.1"
    ]


def test_a_fork_in_this_process_asks_the_host_of_its_code(
    host: Listening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import httpx

    monkeypatch.setenv("SOME_API_KEY", KEY)
    url = host.url

    def agent() -> str:
        return httpx.get(url, headers={"x-api-key": KEY}).text

    with reenact.open_store(str(tmp_path / "store")) as store:
        recorded = reenact.record(agent, store=store)
        recorded()
        run = next(store.runs())
        host.got.clear()
        reenact.fork(run, 0, live="all", entry=agent, store=store)
    assert len(host.got) == 1 and KEY in host.got[0]
