"""Another response, or an error in its place, reaches the code under every HTTP client, over a recorded failure too."""

from __future__ import annotations

import pytest

from tests.forks.conftest import Forks
from tests.http.server import Server, as_json
from tests.programs import read_program

AGENT = read_program("forks/every_http_client.py")


@pytest.fixture
def asked(forks: Forks) -> Forks:
    """A run in which every client has asked once."""
    server = Server()
    server.routes["*"] = lambda request: as_json({"said": "no"})
    try:
        forks.desk.environ = {"WORLD": server.url}
        assert forks.record(AGENT).splitlines() == ["(200, {'said': 'no'})"] * 5 + ["refused"]
    finally:
        server.close()
    return forks


def numbers(forks: Forks) -> list[int]:
    """The exchanges of the parent."""
    return [event.number for event in forks.events(forks.parent) if event.kind == "http"]


def test_another_response_reaches_every_client(asked: Forks) -> None:
    changes = [word for number in numbers(asked) for word in ("--result", f'{number}={{"said": "Málaga"}}')]
    report = asked.fork(0, *changes, "--live", "none")
    assert report["printed"].splitlines() == ["(200, {'said': 'Málaga'})"] * 6
    asked.replays_exactly(report["run"])
    last = numbers(asked)[-1]
    assert asked.desk.run("cat", f"{report['run']}:{last}.response.body").stdout == '{"said": "Málaga"}'


def test_a_status_in_place_of_an_answer_does(asked: Forks) -> None:
    for status in ("999999", "99", "600", "05030", "9" * 5000):
        refused = asked.fork(0, "--error", f"{numbers(asked)[0]}={status}:busy", "--dry-run", status=2)["said"]
        assert f"{status[:20]} is no status of HTTP" in refused
    changes = [word for number in numbers(asked) for word in ("--error", f"{number}=503:busy")]
    report = asked.fork(0, *changes, "--live", "none")
    assert report["printed"].splitlines() == ["(503, None)"] * 6
    asked.replays_exactly(report["run"])
