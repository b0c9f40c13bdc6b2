"""Servers recorded and replayed through the public commands, and the world they call: a counting upstream."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact.timetravel.json_views import event_data, run_data
from tests import commands

_LISTENS = re.compile(r"(?:[Rr]unning on|listens on) http://127\.0\.0\.1:(\d+)")


class Upstream(ThreadingHTTPServer):
    """Answers each GET with a number that is never given twice; ``/stream`` in pieces; counts who asks."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.numbers = itertools.count(1)
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Upstream

    def do_GET(self) -> None:
        """Answer, and count."""
        self.server.asked.append(self.path)
        if self.path.startswith("/stream"):
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for n in range(4):
                self.wfile.write(b"6\r\npiece%d\r\n" % n)
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
            return
        body = json.dumps({"n": next(self.server.numbers), "path": self.path}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Silent."""


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    """The world."""
    server = Upstream()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass
class Answer:
    """What a client of the server got."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass
class Running:
    """A server that listens."""

    process: subprocess.Popen[str]
    port: int
    said: list[str] = field(default_factory=list)

    def ask(
        self, path: str, data: object = None, headers: Mapping[str, str] | None = None, method: str | None = None
    ) -> Answer:
        """One request."""
        body = data if data is None or isinstance(data, bytes) else json.dumps(data).encode()
        sent = {"Content-Type": "application/json", **(headers or {})} if body is not None else dict(headers or {})
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return Answer(response.status, dict(response.headers), response.read())
        except urllib.error.HTTPError as error:
            return Answer(error.code, dict(error.headers), error.read())


class Project:
    """A folder with an application, and a store of its own.

    Args:
        folder: Where it lives.
        upstream: The world it calls.
    """

    def __init__(self, folder: Path, upstream: Upstream) -> None:
        self.folder = folder
        self.upstream = upstream
        folder.mkdir(exist_ok=True)
        self.environment = {
            **os.environ,
            "REENACT_STORE": f"sqlite:///{folder / 'runs.db'}",
            "UPSTREAM": upstream.url,
            "PYTHONUNBUFFERED": "1",
            "REENACT_HOLD_MS": "1000",  # a busy machine may not get to each of eight requests within 20
        }

    def write(self, text: str, name: str = "app.py") -> None:
        """A file of the project."""
        (self.folder / name).write_text(textwrap.dedent(text))

    @contextmanager
    def serving(self, *argv: str, recorded: bool = True, stop: int = signal.SIGTERM) -> Iterator[Running]:
        """The server, until the block is left; then it is stopped by a signal, and its status is there."""
        command = [sys.executable, "-m", "reenact", "record", "--", *argv] if recorded else list(argv)
        process = subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        assert process.stderr is not None
        said: list[str] = []
        found = None
        try:
            for line in process.stderr:
                said.append(line)
                found = _LISTENS.search(line)
                if found:
                    break
            assert found is not None, "the server did not start: " + "".join(said)
        except BaseException:
            process.kill()
            process.wait()
            raise
        reader = threading.Thread(target=lambda: said.extend(process.stderr or ()), daemon=True)
        reader.start()
        running = Running(process, int(found[1]), said)
        try:
            yield running
        finally:
            if process.poll() is None and stop:
                process.send_signal(stop)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise
            reader.join(10)
            process.stderr.close()

    def command(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """One of our commands."""
        return commands.run(
            [sys.executable, "-m", "reenact", *words],
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )

    def runs(self) -> list[dict[str, Any]]:
        """All runs, oldest first."""
        with reenact.open_store(self.environment["REENACT_STORE"]) as store:
            return [run_data(run) for run in store.runs()][::-1]

    def requests(self) -> list[dict[str, Any]]:
        """The runs of requests, oldest first."""
        return [run for run in self.runs() if run["entry"]["kind"] == "request"]

    def events(self, run: str) -> list[dict[str, Any]]:
        """The events of one run."""
        with reenact.open_store(self.environment["REENACT_STORE"]) as store:
            return [event_data(event) for event in store.events(store.run(run))]

    def replay(self, run: str, *words: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
        """Replay a run: how the command ended, and its report."""
        asked = len(self.upstream.asked)
        done = self.command("replay", run, "--json", *words)
        assert len(self.upstream.asked) == asked, "the replay has touched the world"
        report = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
        return done, report

    def exact(self, run: str) -> dict[str, Any]:
        """Replay a run; it must be the same in everything."""
        done, report = self.replay(run)
        assert done.returncode == 0, (report.get("differences"), report.get("refused"), done.stderr)
        assert report["verdict"] == "exact", report
        return report


def until(true: Any, seconds: float = 80.0) -> None:
    """Wait for a condition, with a bound that only what hangs reaches: two workers start in 20 s on a busy machine."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)


UVICORN = (sys.executable, "-m", "uvicorn", "app:app", "--port", "0")
