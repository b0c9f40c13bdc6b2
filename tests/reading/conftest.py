"""Runs of the sample agents, recorded once for all tests here, through the public commands."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reenact.testing import ProviderProcess
from tests.desk import Desk

AGENTS = Path(__file__).parent / "agents"
QUESTION = "my machine arrived broken, order 4471"
_LIMIT_S = 60


class Sampled(Desk):
    """A desk with the sample agents, and the runs of them by name.

    Attributes:
        runs: Tails of ids.
        said: What ``record`` said in the end, by the run's name.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        shutil.copytree(AGENTS, self.folder, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
        self.runs: dict[str, str] = {}
        self.said: dict[str, str] = {}
        self.shown: dict[tuple[str, ...], str] = {}

    def sample(self, name: str, *argv: str, **more: str) -> None:
        """Record a program, and keep under which id."""
        self.keep(name, self.run("reenact", "record", "--", *argv, more=more).told)

    def keep(self, name: str, err: str) -> None:
        """Keep what a recording said, and its run's id."""
        (line,) = [line for line in err.splitlines() if "-> reenact show" in line]
        self.said[name] = line
        self.runs[name] = line.rpartition(" ")[2]

    def listed(self, *options: str) -> list[Any]:
        """The runs as ``ls --json`` gives them."""
        return [json.loads(line) for line in self.run("reenact", "--json", "ls", *options).text.splitlines()]

    def show(self, name: str, width: int, *options: str) -> str:
        """How ``show`` tells a run, at a width, without what differs from run to run."""
        asked = (name, str(width), *options)
        if asked not in self.shown:
            done = self.run("reenact", "show", self.runs[name], *options, more={"COLUMNS": str(width)})
            assert done.code == 0, done.told
            self.shown[asked] = self.settled(done.text)
        return self.shown[asked]

    def settled(self, text: str) -> str:
        """A text without ids, ports and times; each keeps its length where it stands in a line that is cut."""
        for name, run in self.runs.items():
            text = text.replace(run, name.upper().ljust(8, "_")[:8])
        text = re.sub(r"(127\.0\.0\.1:|--port )\d+", r"\1PORT", text)
        text = re.sub(r"\(\d+(\.\d+)? (µs|ms|s)\)", "(T)", text)
        return re.sub(r"(?<=  )\d+(\.\d+)? (µs|ms|s)(?=$|  )", "T", text, flags=re.MULTILINE)


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sampled]:
    """The sample agents, recorded: their provider is up as long as a test here may need it."""
    desk = Sampled(tmp_path_factory.mktemp("reading"))
    with ProviderProcess(desk.folder / "world.py") as provider:
        desk.environment |= {"TOOLS_URL": provider.url, **provider.environment()}
        desk.sample("declined", "python", "refunds.py", QUESTION)
        desk.sample("refunded", "python", "refunds.py", QUESTION, REFUND_LIMIT="5000")
        desk.sample("graph", "python", "graph.py", GATEWAY="open")
        desk.sample("booking", "python", "graph.py")
        desk.sample("crowd", "python", "crowd.py")
        desk.sample("shop", "python", "shop_client.py")
        desk.sample("ledger", "python", "ledger.py")
        _serve(desk)
        _fork(desk)
        yield desk


def _serve(desk: Sampled) -> None:
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


def _fork(desk: Sampled) -> None:
    """What if the gateway had not declined."""
    receipt = '{"receipt": "R-9", "order_id": "4471"}'
    forked = desk.run("reenact", "fork", f"{desk.runs['declined']}:refund#1", "--result", f"refund#1={receipt}")
    assert forked.code == 0, forked.told
    desk.said["fork"] = forked.told
    (desk.runs["fork"],) = [run["tail"] for run in desk.listed() if run["relation"] == "fork"]
