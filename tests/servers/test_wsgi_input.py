"""Proves that a recorded WSGI application reads its request as it does unrecorded, and that a replay gives the same."""

from __future__ import annotations

import io
import json
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from reenact.facts.call import End, EndKind, Stream
from reenact.seams.servers.wsgi_input import Body
from tests.programs import read_program
from tests.servers.conftest import Project, Running, Upstream
from tests.servers.test_wsgi import SERVERS

APP = read_program("servers/every_way_to_read_a_body.py")


def _asked(
    running: Running, path: str, body: bytes, length: int | None = None, *, ends: bool = False, more: str = ""
) -> Any:
    """Send a head and just these bytes of its body, and what the application has read of them."""
    announced = f"Content-Length: {length}\r\n" if length is not None else ""
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as client:
        client.sendall(f"POST {path} HTTP/1.1\r\nHost: here\r\n{announced}{more}\r\n".encode() + body)
        if ends:
            client.shutdown(socket.SHUT_WR)
        answer = b""
        while data := client.recv(65536):
            answer += data
            if b"]" in answer:
                break
    head, _, said = answer.partition(b"\r\n\r\n")
    assert b"200" in head, (answer, running.said)
    return json.loads(said[said.index(b"[") : said.index(b"]") + 1])  # it may be chunked


@pytest.mark.parametrize("server", SERVERS)
def test_only_what_the_application_asks_for_is_waited_for(server: str, tmp_path: Path, upstream: Upstream) -> None:
    project = Project(tmp_path / server, upstream)
    project.write(APP)
    project.write(SERVERS[server], "serve.py")
    with project.serving(sys.executable, "serve.py", stop=signal.SIGINT) as running:
        assert _asked(running, "/ten", b"0123456789ab", 1000) == ["0123456789"]
        assert _asked(running, "/none", b"", 1000) == []
        assert _asked(running, "/line", b"one\ntwo\nthr", 1000) == ["one\n", "two\n"]
        assert _asked(running, "/into", b"abcdefghijk\nl", 1000) == ["ab", "abc", "defg", "hi", "jk\n"]
        assert _asked(running, "/short", b"half of it", 1000, ends=True) == ["half of it", ""]
        assert _asked(running, "/text", b"a line\n", 7) == ["a line\n"]
        if server == "werkzeug":
            chunked = b"5\r\nabcde\r\n3\r\nfgh\r\n0\r\n\r\n"
            assert _asked(running, "/pieces", chunked, more="Transfer-Encoding: chunked\r\n") == ["abcd", "efgh"]
    runs = {run["entry"]["target"]: run["run"] for run in project.requests()}
    assert len(runs) == 6 + (server == "werkzeug")
    for run in runs.values():
        project.exact(run)
    (request,) = [event for event in project.events(runs["POST /ten"]) if event["name"] == "request"]
    assert (request["outcome"]["end"], request["outcome"]["segments"]) == ("closed", 1), request


class _Crossing:
    """A recorded body: these segments, and an end."""

    mode = "frozen"

    def __init__(self, parts: list[bytes | End], head: dict[str, Any]) -> None:
        self.parts = iter(parts)
        self.stream = Stream({"headers": [], **head}, None)

    def head(self) -> Any:
        """Its head."""
        return _Turn(self.stream)

    def part(self) -> Any:
        """The next one."""
        return _Turn(next(self.parts))


class _Turn:
    """A turn that has come."""

    def __init__(self, gives: Any) -> None:
        self.gives = gives

    def wait(self) -> Any:
        """What it hands over."""
        return self.gives


def _body(*parts: bytes | End, length: int | None = None, **head: Any) -> Body:
    environ: dict[str, Any] = {"wsgi.input": io.BytesIO()}
    if length is not None:
        environ["CONTENT_LENGTH"] = str(length)
    crossing: Any = _Crossing(list(parts), head)
    lane: Any = None
    return Body(crossing, lane, environ, [])


def test_a_body_that_was_recorded_in_large_pieces_is_read_in_any_portions() -> None:
    """So bodies were recorded before each read was noted by itself, and so is the input of a fork."""
    body = _body(b"x" * 7 + b"\n", b"second\nlast", End(EndKind.EOF), length=19)
    assert body.read(3) == b"xxx"
    assert body.readline() == b"xxxx\n"
    assert body.peek()[:3] == b"sec"
    assert list(body) == [b"second\n", b"last"]
    assert (body.read(), body.read(5), body.read1()) == (b"", b"", b"")
    assert _body(End(EndKind.EOF)).read() == b""
    assert _body(b"a\nb", b"c\n", End(EndKind.EOF)).readlines() == [b"a\n", b"bc\n"]


def test_a_stream_that_gives_less_than_was_asked_for_does_so_again() -> None:
    parts = (b"abcde", b"fgh", End(EndKind.EOF))
    assert _body(*parts, by_the_piece=True).read(6) == b"abcde"
    assert _body(*parts).read(6) == b"abcdef"
    assert _body(*parts, by_the_piece=True).read() == b"abcdefgh"


def test_a_closed_body_is_not_read() -> None:
    body = _body(b"abc", End(EndKind.EOF))
    body.close()
    with pytest.raises(ValueError, match="closed"):
        body.read()
