"""Proves that connections to PostgreSQL are named with their database and refused by a replay, and frozen in a tool."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reenact.seams.databases.drivers import name_of

from .conftest import Place

_PLACES = ("/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/16/bin", "/usr/lib/postgresql/17/bin")


class Server:
    """A PostgreSQL of one test, on a socket in a folder of its own.

    Args:
        programs: Folder of its programs.
        folder: Where its data and its socket lie.
    """

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs = programs
        self._as: tuple[str, ...] = ()
        self.folder = folder
        if os.geteuid() == 0:  # it refuses to run as root
            drop = shutil.which("setpriv")
            if drop is None:
                pytest.skip("PostgreSQL does not run as root, and there is no setpriv to run it as another user")
            self._as = (drop, "--reuid=65534", "--regid=65534", "--clear-groups")
            os.chown(folder, 65534, 65534)
        self._do("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "shop", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        self._do("pg_ctl", "-D", str(folder / "data"), "-l", str(folder / "log"), "-o", options, "-w", "start")

    def _do(self, program: str, *words: str) -> None:
        command = [*self._as, str(self._programs / program), *words]
        done = subprocess.run(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
        assert done.returncode == 0, done.stderr

    def stop(self) -> None:
        """Stop it at once."""
        self._do("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "-w", "stop")


@pytest.fixture
def server() -> Iterator[Server]:
    """A running server; skips where none is installed."""
    pytest.importorskip("psycopg")
    found = next((Path(place) for place in _PLACES if Path(place, "postgres").exists()), None)
    if found is None:
        pytest.skip("no PostgreSQL is installed here")
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        running = Server(found, folder)
        yield running
        running.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


AGENT = """
import asyncio, psycopg, sys
where = "host={host} dbname=postgres user=shop password=hunter2secret1"
def count():
    with psycopg.connect(where) as db:
        return db.execute("SELECT 40 + %s", (2,)).fetchone()[0]
async def later():
    async with await psycopg.AsyncConnection.connect(where) as db:
        return (await (await db.execute("SELECT 7")).fetchone())[0]
print(count(), asyncio.run(later()))
"""
TOOL = AGENT.replace("def count():", "import reenact\n@reenact.tool(effect='read')\ndef count():", 1).replace(
    "async def later", "@reenact.tool(effect='read')\nasync def later"
)


def test_connections_are_named_and_refused(world: Place, server: Server) -> None:
    recorded = world.record(AGENT.format(host=server.folder))
    assert recorded.stdout == "42 7\n"
    shown = world.shown()
    name = f"psycopg to postgres on {server.folder}"
    assert f"gap  database at agent.py:5 ({name}), 1 time" in shown, shown
    assert f"gap  database at agent.py:8 ({name}), 1 time" in shown, shown
    assert f"gap: database at agent.py:5 ({name})" in world.kit()
    assert b"hunter2secret1" not in world.kept()
    replayed = world.replay()
    assert replayed.returncode == 5 and f"database to {name} at agent.py:5" in replayed.stderr
    assert "42" not in replayed.stdout


def test_behind_a_tool_it_is_frozen_and_the_server_may_be_gone(world: Place, server: Server) -> None:
    recorded = world.record(TOOL.format(host=server.folder))
    assert recorded.stdout == "42 7\n" and "gap " not in world.shown()
    world.exact(recorded, PGHOST="nowhere")


@pytest.mark.parametrize(
    ("where", "options", "name"),
    [
        ("postgresql://me:pass@db.example:5433/shop?x=1", {}, "shop on db.example:5433"),
        ("host=db.example dbname='shop' password=pass", {}, "shop on db.example"),
        ("", {"host": "db.example", "database": "shop", "port": 1, "password": "pass"}, "shop on db.example:1"),
        ("", {}, "the default database"),
        ("dbname=shop", {"dbname": "other"}, "other"),
    ],
)
def test_a_database_is_named_without_its_password(where: str, options: dict[str, object], name: str) -> None:
    assert name_of(where, options) == name
