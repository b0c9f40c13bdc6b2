"""Agents that call a gRPC server, through the public commands; the server is gone when they are replayed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import commands

from .server import Server

ORDERS = """
import asyncio, os, queue, threading
import grpc, grpc.aio

TARGET = "127.0.0.1:" + os.environ["PORT"]
NAMES = {"unary_unary": "Unary", "unary_stream": "Down", "stream_unary": "Up", "stream_stream": "Both"}


def methods(channel):
    return [getattr(channel, shape)("/shop.Orders/" + name) for shape, name in NAMES.items()]


def failed(error):
    print(type(error).__name__, isinstance(error, grpc.RpcError), error.code(), error.details())
    print(sorted(tuple(pair) for pair in error.trailing_metadata() or ()))
"""


class Agent:
    """A program in a folder of its own, and the server that it calls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = Server(folder)
        self._base = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}

    def environment(self) -> dict[str, str]:
        """What every command finds."""
        return {**self._base, "REENACT_STORE": str(self.folder / "store"), "PORT": str(self.server.port)}

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """A command in the folder."""
        base = {**self.environment(), **environment}
        return commands.run(words, cwd=self.folder, env=base, capture_output=True, text=True, timeout=60, check=False)

    def write(self, text: str) -> None:
        """The program. Each finds the server, and says what has failed, by names that are imported for it."""
        (self.folder / "orders.py").write_text(ORDERS)
        (self.folder / "agent.py").write_text("from orders import *\n" + textwrap.dedent(text))

    def bare(self) -> str:
        """What it prints without us; the server's numbers left out."""
        done = self.run(sys.executable, "agent.py")
        assert done.returncode == 0, done.stderr
        return without_numbers(done.stdout)

    def record(self, **environment: str) -> subprocess.CompletedProcess[str]:
        """Record it; it must end well."""
        done = self.run(sys.executable, "-m", "reenact", "record", "--", sys.executable, "agent.py", **environment)
        assert done.returncode == 0, done.stderr
        return done

    def replay(self, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Replay the last run."""
        return self.run(sys.executable, "-m", "reenact", "replay", "@", *options, **environment)

    def same(self, text: str) -> str:
        """Recorded it prints what it prints bare; replayed, with the server gone, the same exactly."""
        self.write(text)
        bare = self.bare()
        recorded = self.record()
        assert without_numbers(recorded.stdout) == bare
        self.server.close()
        replayed = self.replay()
        assert replayed.returncode == 0, replayed.stderr
        assert "live calls made: 0" in replayed.stderr and "verdict: same (exact)" in replayed.stderr
        assert replayed.stdout == recorded.stdout
        return recorded.stdout


def without_numbers(text: str) -> str:
    """A text without what the server counts."""
    return re.sub(r" \d{3,}", " N", text)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """An agent of one test, with a server of its own."""
    made = Agent(tmp_path)
    yield made
    made.server.close()
