"""Proves that a fork goes on once the agent has cancelled live calls, whether their answers are under way or there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.forks.conftest import Forks
from tests.http.server import Request, Route, Script, Server, Wait, answer
from tests.programs import read_program

RACE = read_program("forks/race_with_a_back_off.py")


class Signal:
    """A moment of one exchange for which another one waits."""

    def __init__(self) -> None:
        self._come = threading.Event()

    def awaited(self, request: Request) -> Iterator[Any]:
        """Answer when the moment has come."""
        yield Wait(self._come)
        yield from answer(b"")

    def sent(self, request: Request) -> Iterator[Any]:
        """Answer at once; the moment comes when the answer has been sent."""
        yield from answer(b"")
        self._come.set()

    def asked(self, request: Request) -> Iterator[Any]:
        """Give no answer; the moment has come."""
        self._come.set()
        yield from never(request)


def never(request: Request) -> Iterator[Any]:
    """Give no answer for as long as a test lasts."""
    yield Wait(threading.Event())


def refused(request: Request) -> list[bytes]:
    """Refuse a request."""
    return answer(b"", "503 Service Unavailable")


@pytest.mark.parametrize("is_there", [True, False], ids=["there", "under way"])
@pytest.mark.parametrize("client", ["httpx", "httpx2", "aiohttp"])
def test_a_loser_of_a_race_is_not_waited_for(forks: Forks, client: str, is_there: bool) -> None:
    backed_off, lost = Signal(), Signal()
    recorded: dict[str, Route] = {"/a": backed_off.awaited, "/b": never, "/c": Script([refused, backed_off.asked])}
    forked: dict[str, Route] = {"/a": never, "/b": lost.sent, "/c": lost.awaited}
    server = Server()
    try:
        forks.desk.environ = {"WORLD_URL": server.url}
        server.routes = recorded
        assert forks.record(RACE.replace('import_module("httpx")', f'import_module("{client}")')) == "first a\n"
        server.routes = forked if is_there else {**forked, "/b": lost.asked}
        report = forks.fork(0, "--live", "all")
        assert report["printed"] == "first c\n"
        assert report["live"] == 3
    finally:
        server.close()
    forks.replays_exactly()
