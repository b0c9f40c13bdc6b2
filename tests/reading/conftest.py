"""Runs of the sample agents, recorded once for all tests here, through the public commands."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reenact.testing import ProviderProcess
from tests import commands

AGENTS = Path(__file__).parent / "agents"
QUESTION = "my machine arrived broken, order 4471"
_LIMIT_S = 60


@dataclass
class Desk:
    """A folder with the sample agents and a store, and the runs in it by name.

    Attributes:
        folder: The folder.
        environment: What every command gets.
        runs: Tails of ids.
        said: What ``record`` said in the end, by the run's name.
    """

    folder: Path
    environment: dict[str, str]
    runs: dict[str, str] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    shown: dict[tuple[str, ...], str] = field(default_factory=dict)

    def call(self, *argv: str, more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command here."""
        return commands.run(
            argv,
            cwd=self.folder,
            env=self.environment | dict(more or {}),
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )

    def record(self, name: str, *argv: str, **more: str) -> None:
        """Record a program, and keep under which id."""
        self.keep(name, self.call("reenact", "record", "--", *argv, more=more).stderr)

    def keep(self, name: str, err: str) -> None:
        """Keep what a recording said, and its run's id."""
        (line,) = [line for line in err.splitlines() if "-> reenact show" in line]
        self.said[name] = line
        self.runs[name] = line.rpartition(" ")[2]

    def listed(self, *options: str) -> list[Any]:
        """The runs as ``ls --json`` gives them."""
        return [json.loads(line) for line in self.call("reenact", "--json", "ls", *options).stdout.splitlines()]

    def show(self, name: str, width: int, *options: str) -> str:
        """How ``show`` tells a run, at a width, without what differs from run to run."""
        asked = (name, str(width), *options)
        if asked not in self.shown:
            done = self.call("reenact", "show", self.runs[name], *options, more={"COLUMNS": str(width)})
            assert done.returncode == 0, done.stderr
            self.shown[asked] = self.settled(done.stdout)
        return self.shown[asked]

    def settled(self, text: str) -> str:
        """A text without ids, ports and times; each keeps its length where it stands in a line that is cut."""
        for name, run in self.runs.items():
            text = text.replace(run, name.upper().ljust(8, "_")[:8])
        text = re.sub(r"(127\.0\.0\.1:|--port )\d+", r"\1PORT", text)
        text = re.sub(r"\(\d+(\.\d+)? (µs|ms|s)\)", "(T)", text)
        return re.sub(r"(?<=  )\d+(\.\d+)? (µs|ms|s)(?=$|  )", "T", text, flags=re.MULTILINE)


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """The sample agents, recorded: their provider is up as long as a test here may need it."""
    folder = tmp_path_factory.mktemp("reading") / "desk"
    shutil.copytree(AGENTS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    home = folder.parent / "home"
    home.mkdir()
    with ProviderProcess(folder / "world.py") as provider:
        environment = {
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))),
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "REENACT_HOLD_MS": "500",
            "TOOLS_URL": provider.url,
            **provider.environment(),
        }
        desk = Desk(folder, environment)
        desk.record("declined", "python", "refunds.py", QUESTION)
        desk.record("refunded", "python", "refunds.py", QUESTION, REFUND_LIMIT="5000")
        desk.record("graph", "python", "graph.py", GATEWAY="open")
        desk.record("booking", "python", "graph.py")
        desk.record("crowd", "python", "crowd.py")
        desk.record("shop", "python", "shop_client.py")
        desk.record("ledger", "python", "ledger.py")
        _serve(desk)
        _fork(desk)
        yield desk


def _serve(desk: Desk) -> None:
    """Record a server with three requests."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    command = ["reenact", "record", "--agent", "api@1", "--", "uvicorn", "server:app", "--port", str(port)]
    url = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(command, cwd=desk.folder, env=desk.environment, stderr=subprocess.PIPE, text=True)
    try:
        _wait_for(url)
        for question in ("where is it?", "crash"):
            body = b'{"question": "%s"}' % question.encode()
            try:
                urllib.request.urlopen(urllib.request.Request(f"{url}/ask", data=body), timeout=_LIMIT_S).read()
            except urllib.error.HTTPError as error:
                assert error.code == 500
        server.send_signal(signal.SIGINT)
        desk.keep("server", server.communicate(timeout=_LIMIT_S)[1])
    finally:
        server.kill()
        server.wait()
    for run in desk.listed("--agent", "api"):
        if run["entry"]["target"]:
            name = run["entry"]["target"].partition("/")[2] + ("_bad" if run["status"] == "failed" else "")
            desk.runs[name] = run["tail"]


def _wait_for(url: str) -> None:
    end = time.monotonic() + _LIMIT_S
    while True:
        try:
            urllib.request.urlopen(f"{url}/health", timeout=_LIMIT_S).read()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def _fork(desk: Desk) -> None:
    """What if the gateway had not declined."""
    receipt = '{"receipt": "R-9", "order_id": "4471"}'
    forked = desk.call("reenact", "fork", f"{desk.runs['declined']}:refund#1", "--result", f"refund#1={receipt}")
    assert forked.returncode == 0, forked.stderr
    desk.said["fork"] = forked.stderr
    (desk.runs["fork"],) = [run["tail"] for run in desk.listed() if run["relation"] == "fork"]
