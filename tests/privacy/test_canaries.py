"""Canaries in every place: a program is recorded, replayed unchanged and changed, packed and kept as a golden, and none
of them is in the store, in the bundle, in a report, or in what any command says."""

from __future__ import annotations

import json
import os
import random
import string
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact.store.run_records import records_of
from tests.privacy.canaries import seen
from tests.programs import read_program

_ALPHABET = string.ascii_letters + string.digits
_KINDS = (
    ("sk-proj-", 40),
    ("sk-ant-api03-", 60),
    ("ghp_", 36),
    ("glpat-", 20),
    ("hf_", 34),
    ("npm_", 36),
    ("sk_live_", 32),
    ("gsk_", 40),
    ("github_pat_", 50),
)
_PLACES = (
    *("state", "state_list", "after", "note", "result", "argument", "frozen_argument", "frozen_result", "error"),
    *("tool_error", "url", "query", "header", "body", "answer", "answer_header", "argv", "argv_named", "argv_user"),
    *("argv_attached", "shell", "task", "thread", "step", "tool", "listing", "read", "written", "variable", "log"),
    *("output", "error_output", "tag", "user", "tenant", "session", "agent", "version", "own_argv"),
)

LEAD = "CANARIES: dict[str, str] = {}\nPORT = 0\nN = 1\n"
"""The lines of the programs that a test replaces."""
PROGRAM = read_program("privacy/secrets_in_every_place.py")


def canaries(seed: int) -> dict[str, str]:
    """A canary for each place; which kind stands where is left to the seed."""
    drawn = random.Random(seed)

    def one() -> str:
        lead, size = drawn.choice(_KINDS)
        while True:
            text = "".join(drawn.choices(_ALPHABET, k=size))
            if any(each.isdigit() for each in text[:8]) and any(each.isalpha() for each in text[:8]):
                return lead + text

    return {place: one() for place in _PLACES}


def leaked(text: str, planted: dict[str, str], but: tuple[str, ...] = ()) -> list[str]:
    """The places whose canary, or half of it, stands in a text."""
    return [
        place
        for place, canary in planted.items()
        if place not in but and (canary[-12:] in text or canary[len(canary) // 2 - 8 : len(canary) // 2 + 8] in text)
    ]


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            planted: Any = self.server
            body = json.dumps({"text": f"your key is {planted.planted['answer']}"}).encode()
            self.send_response(200)
            self.send_header("x-api-key", planted.planted["answer_header"])
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("seed", [1, 2])
def test_no_canary_is_kept_or_said_anywhere(seed: int, tmp_path: Path, server: ThreadingHTTPServer) -> None:
    planted = canaries(seed)
    server.planted = planted  # type: ignore[attr-defined]  # read by its handler
    project = tmp_path / "project"
    (project / "found").mkdir(parents=True)
    for name in ("listing", "read"):
        (project / "found" / f"{planted[name]}.txt").write_text("x")
    environment = {**os.environ, "REENACT_STORE": str(tmp_path / "store"), "THE_API_KEY": planted["variable"]}

    def source(number: int) -> None:
        backwards = {name: text[::-1] for name, text in planted.items()}
        head = f"CANARIES = {backwards!r}\nPORT = {server.server_port}\nN = {number}\n"
        (project / "agent.py").write_text(PROGRAM.replace(LEAD, head))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "reenact", *words]
        return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=120)

    def ours(done: subprocess.CompletedProcess[str]) -> str:
        """What a command says; what the program prints is the program's own, on both streams unless in JSON."""
        return done.stdout + "\n".join(line for line in done.stderr.splitlines() if " was refused" not in line)

    printed = ("output", "error_output", "log")
    source(1)
    about = [f"--{name}={planted[name]}" for name in ("user", "tenant", "session")]
    about += ["--agent", f"{planted['agent']}@{planted['version']}", "--tag", f"ticket={planted['tag']}"]
    recorded = run("record", *about, "--", sys.executable, "agent.py", "--api-key", planted["own_argv"])
    assert recorded.returncode == 0, recorded.stderr
    assert leaked(ours(recorded), planted, printed) == []
    unchanged = run("replay", "@", "--json")
    assert json.loads(unchanged.stdout.splitlines()[-1])["verdict"] != "different", unchanged.stdout + unchanged.stderr
    assert leaked(unchanged.stdout, planted) == []
    bundle = tmp_path / "run.reenact"
    packed = run("pack", "@", "-o", str(bundle), "--json")
    assert packed.returncode == 0, packed.stdout + packed.stderr
    assert leaked(packed.stdout, planted) == []
    added = run("golden", "add", "@", "--as", "g", "--json")
    assert added.returncode == 0, added.stdout + added.stderr
    assert leaked(added.stdout, planted) == [], added.stdout
    saved = run("replay", "@", "--save", "--json")
    assert leaked(saved.stdout, planted) == []
    source(2)
    for words in (["replay", "@~1"], ["replay", "@~1", "--json", "--on-divergence", "observe"]):
        changed = run(*words)
        assert changed.returncode == 1, changed.stdout + changed.stderr
        assert leaked(changed.stdout if "--json" in words else ours(changed), planted, printed) == []
    judged = run("golden", "run", "--report", str(tmp_path / "report"), "--json")
    assert leaked(judged.stdout, planted) == []
    report = "".join(each.read_text() for each in (tmp_path / "report").iterdir())
    assert leaked(report, planted) == []
    for words in (["show", "@"], ["ls", "--json"], ["diff", "@~1", "@"]):
        said = run(*words)
        assert leaked(said.stdout + said.stderr, planted) == [], words
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and "found" not in path.parts]
    kept = [path for path in kept if path.name != "agent.py" and path.name != f"{planted['written']}.txt"]
    assert leaked("".join(path.read_bytes().decode("latin-1") for path in kept), planted) == []
    for address in (str(tmp_path / "store"), str(bundle)):
        with reenact.open_store(address) as store:
            for each in store.runs():
                assert leaked(seen(list(records_of(store.open(each)))), planted) == []


GOES_ON = read_program("privacy/secrets_of_a_run_that_goes_on.py")


def test_no_canary_is_kept_or_said_by_forks_and_resumptions(tmp_path: Path, server: ThreadingHTTPServer) -> None:
    planted = canaries(3)
    server.planted = planted  # type: ignore[attr-defined]
    project = tmp_path / "project"
    project.mkdir()
    environment = {**os.environ, "REENACT_STORE": str(tmp_path / "store"), "THE_API_KEY": planted["variable"]}
    backwards = {name: text[::-1] for name, text in planted.items()}
    printed = ("output", "answer")
    said: list[str] = []

    def write(number: int) -> None:
        head = f"CANARIES = {backwards!r}\nPORT = {server.server_port}\nN = {number}\n"
        (project / "agent.py").write_text(GOES_ON.replace(LEAD, head))

    def run(*words: str, status: int | None = 0) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "reenact", *words]
        done = subprocess.run(
            command, cwd=project, env=environment, input="", capture_output=True, text=True, timeout=120
        )
        assert status is None or done.returncode == status, "\n".join((str(words), done.stdout, done.stderr))
        assert leaked(done.stdout + done.stderr, planted, printed) == [], "\n".join(
            (str(words), done.stdout, done.stderr)
        )
        if "--json" in words:
            assert leaked(done.stdout, planted) == [], (words, done.stdout)
        said.append(done.stdout)
        return done

    write(1)
    run("record", "--", sys.executable, "agent.py")
    with reenact.open_store(str(tmp_path / "store")) as store:
        parent = next(iter(store.runs())).id
    run("fork", f"{parent}:plan#1", "--set", "n=3", "--live", "all", "--allow-write", "sent", "--dry-run")
    run("fork", f"{parent}:plan#1", "--set", "n=3", "--live", "all", "--allow-write", "sent", "--json")
    run("replay", "@", "--json")
    run("fork", f"{parent}:plan#1", "--set", "n=4", "--json", status=None)  # the write is refused
    secret = planted["shell"]
    run("fork", f"{parent}:plan#1", "--set", f'password="{secret}"', "--live", "none", "--json", status=None)
    run(
        "fork",
        f"{parent}:looked#1",
        "--result",
        f'looked#1={{"client_secret": "{secret}"}}',
        "--live",
        "none",
        "--json",
    )
    run("replay", "@", "--json")
    write(2)
    run("record", "--", sys.executable, "agent.py", status=9)
    run("show", "@")
    (project / "goes-on").touch()
    run("resume", "@", "--json")
    run("replay", "@", "--json")
    for words in (["show", "@", "--tree"], ["ls", "--json"], ["diff", parent, "@"], ["show", "@~1"]):
        run(*words, status=None)
    bundle = tmp_path / "run.reenact"
    run("pack", "@", "-o", str(bundle), "--json")
    assert any('"relation":"fork"' in each.replace(" ", "") for each in said)
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "agent.py"]
    assert leaked("".join(path.read_bytes().decode("latin-1") for path in kept), planted) == []
    for address in (str(tmp_path / "store"), str(bundle)):
        with reenact.open_store(address) as store:
            for each in store.runs():
                assert leaked(seen(list(records_of(store.open(each)))), planted) == []
