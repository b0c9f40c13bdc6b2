"""A credential that a streamed answer carries in two pieces: absent from disk, served again piece by piece, matched."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http.server import SSE, Server, chunked
from tests.withstand.stage import Recorded, environment, replay
from tests.withstand.test_secrets import _files, _unpacked

SECRET = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

AGENT = """
import json, os, httpx
text = ""
with httpx.stream("POST", os.environ["SHOP_URL"] + "/answer", json={"ask": "the key"}) as response:
    for line in response.iter_lines():
        if line.startswith("data: {"):
            text += json.loads(line[6:])["choices"][0]["delta"]["content"]
print(len(text), text[:9])
again = httpx.post(os.environ["SHOP_URL"] + "/keep", json={"said": text})
print(again.status_code)
"""


def _event(content: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": content}}]}).encode() + b"\n\n"


def _stream() -> bytes:
    return _event("the key: ") + _event(f"it is {SECRET} ") + _event("and no other\n") + b"data: [DONE]\n\n"


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    made.routes["/keep"] = lambda request: [b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"]
    yield made
    made.close()


def _recorded(folder: Path, server: Server) -> Recorded:
    (folder / "agent.py").write_text(AGENT)
    done = subprocess.run(
        [sys.executable, "-m", "reenact", "record", "--", sys.executable, "agent.py"],
        cwd=folder,
        env=environment(SHOP_URL=server.url),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    server.close()
    return Recorded("agent", folder, done)  # type: ignore[arg-type]


def _absent(folder: Path, secret: bytes) -> None:
    store = folder / ".reenact"
    pieces = [(path.name, path.read_bytes()) for path in _files(store)]
    for name, data in [*pieces, *_unpacked(store / "store.db")]:
        assert secret not in data, name


@pytest.mark.parametrize("place", [8, 20, 39])
def test_in_two_chunks_of_the_connection(tmp_path: Path, server: Server, place: int) -> None:
    whole = _stream()
    at = whole.index(SECRET.encode()) + place
    server.routes["/answer"] = lambda request: chunked([whole[:at], whole[at:]], SSE)
    run = _recorded(tmp_path, server)
    _absent(tmp_path, SECRET.encode())
    assert run.ended.stdout.splitlines()[1] == b"201"  # type: ignore[attr-defined]
    ended = replay(run)
    assert (ended.status, ended.report["verdict"]) == (0, "exact"), ended.report["differences"]
    assert ended.report["redacted"] >= 2
