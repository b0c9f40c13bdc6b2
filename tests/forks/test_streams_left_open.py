"""A stream that the code left open has the part that was read as its answer: a fork does not ask again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.desk import Desk
from tests.http.server import Request, Server, chunked
from tests.programs import read_program


@pytest.fixture
def world() -> Iterator[Server]:
    """A model that streams, and says something else each time."""
    server = Server()

    def model(request: Request) -> Iterator[object]:
        yield from chunked([f"{request.number}.{part} ".encode() for part in range(8)])

    server.routes["/v1/chat/completions"] = model
    yield server
    server.close()


@pytest.fixture
def desk(tmp_path: Path, world: Server) -> Desk:
    """An agent that has been recorded."""
    desk = Desk(tmp_path, {"WORLD": world.url})
    (desk.folder / "agent.py").write_text(read_program("forks/streams_left_open.py"))
    assert desk.record(["python", "agent.py"]).code == 0
    return desk


def test_a_fork_with_nothing_changed_asks_nothing(desk: Desk, world: Server) -> None:
    forked = desk.run("reenact", "fork", "@:0")
    assert (forked.code, forked.text, len(world.requests)) == (0, "1.0 1.1 \n2.0 2.1 \n", 2), forked
    assert "live calls made: 0" in forked.told and "parts at" not in forked.told


def test_code_that_reads_on_is_told_so(desk: Desk, world: Server) -> None:
    desk.environment["PARTS"] = "5"
    forked = desk.run("reenact", "fork", "@:0")
    assert forked.code == 1, forked
    assert "it reads more of event 0 (POST 127.0.0.1:" in forked.told
    assert ":0 --live all" in forked.told
    live = desk.run("reenact", "fork", "@~1:0", "--live", "all")
    assert (live.code, len(world.requests)) == (0, 4), live
    assert len(live.text.split()) == 10
