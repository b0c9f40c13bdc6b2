"""A credential that was removed once in a run is removed wherever it stands afterwards, and the run still replays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import reenact
from reenact.facts.removed_digests import REMOVED, listed
from reenact.facts.run import Run
from reenact.store.bundles import read_bundle
from reenact.store.run_records import records_of

COOKIE = "Zq3vT9xKb7LmW2nRc4Yd8sPf"
LOGIN = "hT5rW8eQ2yU9iO3pA6sD1fG4"
SHORT = "k3J9x0QpZ"
"""Too short for a stand-in with a digest, and for the list of a run."""

_PROGRAMS = {
    "urllib": """
import json, urllib.request
with urllib.request.urlopen(BASE + "/login") as answer:
    cookies = [each.partition(";")[0].partition("=")[2] for each in answer.headers.get_all("Set-Cookie")]
    token = json.load(answer)["access_token"]
def ask(path):
    with urllib.request.urlopen(BASE + path) as answer:
        return answer.read().decode()
""",
    "requests": """
import requests
session = requests.Session()
answer = session.get(BASE + "/login")
cookies = [session.cookies["sid"], session.cookies["short"]]
token = answer.json()["access_token"]
def ask(path):
    return session.get(BASE + path).text
""",
    "httpx": """
import httpx
client = httpx.Client()
answer = client.get(BASE + "/login")
cookies = [client.cookies["sid"], client.cookies["short"]]
token = answer.json()["access_token"]
def ask(path):
    return client.get(BASE + path).text
""",
    "aiohttp": """
import aiohttp, asyncio
async def login():
    async with aiohttp.ClientSession() as session, session.get(BASE + "/login") as answer:
        return [answer.cookies[name].value for name in ("sid", "short")], (await answer.json())["access_token"]
cookies, token = asyncio.run(login())
def ask(path):
    async def fetch():
        async with aiohttp.ClientSession() as session, session.get(BASE + path) as answer:
            return await answer.text()
    return asyncio.run(fetch())
""",
}
_REST = """
import subprocess, sys
print("cookies", *cookies, "and", token, flush=True)
sys.stderr.write(f"glued:x{cookies[0]}x\\n")
print(ask("/say/" + cookies[0] + "?note=" + token))
child = "import sys; print('child', sys.argv[1], sys.argv[2], 'of', len(sys.argv))"
print(subprocess.run([sys.executable, "-c", child, cookies[0], "t=" + token], capture_output=True, text=True).stdout)
"""


class _Site(BaseHTTPRequestHandler):
    """Logs anybody in, and says again what it is asked."""

    def do_GET(self) -> None:
        body = json.dumps({"ok": True} | ({"access_token": LOGIN} if self.path == "/login" else {"asked": self.path}))
        self.send_response(200)
        if self.path == "/login":
            self.send_header("Set-Cookie", f"sid={COOKIE}; Path=/; HttpOnly")
            self.send_header("Set-Cookie", f"short={SHORT}; Path=/")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Be silent."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of a site that logs anybody in."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """``reenact`` in a folder."""
    environment = {**os.environ, "REENACT_STORE": str(folder / "store.sqlite")}
    return subprocess.run(
        [sys.executable, "-m", "reenact", *words], cwd=folder, env=environment, capture_output=True, timeout=120
    )


def kept(folder: Path) -> bytes:
    """Every byte below a folder but the program's."""
    return b"\n".join(each.read_bytes() for each in folder.rglob("*") if each.is_file() and each.suffix != ".py")


def told(folder: Path) -> bytes:
    """All that the store below a folder can tell of its runs, compressed or not."""
    with reenact.open_store(str(folder / "store.sqlite")) as store:
        runs = [run for run in store.runs() if not run.lane]
        return repr([(run, [list(records_of(store.open(run), ()))]) for run in runs]).encode()


def found(data: bytes, *values: str) -> list[str]:
    """Which of the values stand in it."""
    return [value for value in values if value.encode() in data]


@pytest.mark.parametrize("client", _PROGRAMS)
def test_a_program_that_prints_what_it_was_given_at_login_replays(client: str, site: str, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(f"BASE = {site!r}\n" + _PROGRAMS[client] + _REST)
    recorded = command(tmp_path, "record", "--", sys.executable, "agent.py")
    assert recorded.returncode == 0, recorded.stderr
    assert not {COOKIE, LOGIN, SHORT} - set(found(recorded.stdout, COOKIE, LOGIN, SHORT)), recorded.stdout
    assert not found(kept(tmp_path) + told(tmp_path), COOKIE, LOGIN, SHORT)
    shown = [command(tmp_path, *words) for words in (("replay", "@"), ("show", "@"), ("show", "@", "--all"))]
    assert shown[0].returncode == 0, shown[0].stdout + shown[0].stderr
    assert b"same" in shown[0].stderr + shown[0].stdout
    saved = command(tmp_path, "replay", "@", "--save")
    differing = command(tmp_path, "diff", "@", "@~1")
    for each in (*shown, saved, differing):
        assert not found(each.stdout + each.stderr, COOKIE, LOGIN, SHORT)
    packed = command(tmp_path, "pack", "@", "-o", "run.reenact")
    assert packed.returncode == 0, packed.stderr
    assert not found(kept(tmp_path), COOKIE, LOGIN, SHORT)


def test_the_value_is_found_in_the_run_of_a_child_process(site: str, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(f"BASE = {site!r}\n" + _PROGRAMS["urllib"] + _REST)
    assert command(tmp_path, "record", "--", sys.executable, "agent.py").returncode == 0
    with reenact.open_store(str(tmp_path / "store.sqlite")) as store:
        (child,) = [run for run in store.runs() if run.relation == "child"]
    assert child.status == "ok"
    assert not found(repr(child).encode() + " ".join(child.entry.argv).encode(), COOKIE, LOGIN)


HELD = """
import urllib.request
CODE_WORD = %r
def ask(path, **headers):
    with urllib.request.urlopen(urllib.request.Request(BASE + path, headers=headers)) as answer:
        return answer.read().decode()
print("beginning with", CODE_WORD, flush=True)
print(ask("/say?about=" + CODE_WORD))
print(ask("/say", **{"X-Api-Key": CODE_WORD}))
print("ended with", CODE_WORD, f"({CODE_WORD})")
"""


@pytest.mark.parametrize("token", [LOGIN, SHORT])
def test_a_program_that_holds_a_credential_itself_replays_and_can_be_packed(
    token: str, site: str, tmp_path: Path
) -> None:
    """It says it before anything is known of it, and after; both sides of a comparison are without it."""
    (tmp_path / "agent.py").write_text(f"BASE = {site!r}\n" + HELD % token)
    recorded = command(tmp_path, "record", "--", sys.executable, "agent.py")
    assert recorded.returncode == 0, recorded.stderr
    replayed = command(tmp_path, "replay", "@")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    packed = command(tmp_path, "pack", "@", "-o", "run.reenact")
    assert packed.returncode == 0, packed.stderr
    if token == LOGIN:  # a short one is known in the process that removed it alone
        assert b"credentials removed in" in packed.stderr
        assert not found(repr(read_bundle(tmp_path / "run.reenact")).encode(), token)
        assert (
            b"no further credential was found" in command(tmp_path, "pack", "run.reenact", "-o", "again.reenact").stderr
        )


def test_a_fork_knows_what_its_parent_has_removed(site: str, tmp_path: Path) -> None:
    program = HELD % LOGIN + 'print(ask("/say?last"), "and last", CODE_WORD, flush=True)\n'
    (tmp_path / "agent.py").write_text(f"BASE = {site!r}\n" + program)
    assert command(tmp_path, "record", "--", sys.executable, "agent.py").returncode == 0
    said = json.dumps({"other": True})
    forked = command(tmp_path, "fork", "@:2", "--result", f"2={said}", "--live", "none")
    assert forked.returncode == 0, forked.stdout + forked.stderr
    with reenact.open_store(str(tmp_path / "store.sqlite")) as store:
        (fork,) = [run for run in store.runs() if run.relation == "fork"]
        kept_of_it = repr([fork, list(records_of(store.open(fork), ()))]).encode()
    assert b"and last" in kept_of_it
    assert not found(kept_of_it, LOGIN)
    (parent,) = [run for run in _runs(tmp_path) if not run.relation]
    assert set(listed(parent.capture[REMOVED]).entries) <= set(listed(fork.capture[REMOVED]).entries)


def _runs(folder: Path) -> list[Run]:
    with reenact.open_store(str(folder / "store.sqlite")) as store:
        return list(store.runs())


def test_a_kept_replay_has_no_value_of_a_secret_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", "UkUo9p7JTPmLYdTTB8S8ZuWF")
    (tmp_path / "agent.py").write_text("import os; print('env', os.environ['DB_PASSWORD'])")
    assert command(tmp_path, "record", "--", sys.executable, "agent.py").returncode == 0
    assert command(tmp_path, "replay", "@", "--save").returncode == 0
    assert not found(kept(tmp_path) + told(tmp_path), "UkUo9p7JTPmLYdTTB8S8ZuWF")


SHORT_ONES = """
import os, reenact

@reenact.tool(effect="read")
def account(user: str) -> dict:
    return {{"user": user, "password": {value!r}, "note": "fine"}}

@reenact.tool(effect="read")
def line(user: str) -> str:
    return f"login {{user}} password={text}\\n"

print("got", account("bob")["password"], account("bob"))
print("read", line("bob").strip().partition("=")[2])
print("set", os.environ["DB_PASSWORD"], flush=True)
"""


@pytest.mark.parametrize("size", [8, 9, 12, 15, 16])
def test_a_short_credential_that_a_tool_returns_or_a_variable_holds_is_printed_and_replays(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Printed bytes keep their number, and an answer leaves a stand-in of another length: both stand for the same."""
    value, text, held = ("kX9f2Lq8vB7mT4wZ"[:size], "Zq8f2LqW8vK3nY6c"[:size], "u7Tz3KpW9sQ2xR5d"[:size])
    (tmp_path / "agent.py").write_text(SHORT_ONES.format(value=value, text=text))
    with monkeypatch.context() as set_:
        set_.setenv("DB_PASSWORD", held)
        recorded = command(tmp_path, "record", "--", sys.executable, "agent.py")
    assert recorded.returncode == 0, recorded.stderr
    assert value.encode() in recorded.stdout
    replayed = command(tmp_path, "replay", "@")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert b"same (exact)" in replayed.stderr
    with reenact.open_store(str(tmp_path / "store.sqlite")) as store:
        (run,) = [each for each in store.runs() if not each.relation]
        kept = repr(list(records_of(store.open(run), ()))).encode()
    assert b"got " in kept
    assert not found(kept, value, text, held)
    changed = (tmp_path / "agent.py").read_text().replace("fine", "good")
    (tmp_path / "agent.py").write_text(changed.replace('print("read",', 'print("READ",'))
    assert command(tmp_path, "replay", "@").returncode == 1
