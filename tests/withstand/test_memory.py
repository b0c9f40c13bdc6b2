"""Proves that a 200 MB response adds at most 64 MiB of memory, while it is recorded and while it is replayed."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.withstand.stage import reenact, run

pytest.importorskip("resource")

SIZE = 200 << 20
PIECE = 1 << 20
LIMIT = 64 << 20

READERS = {
    "httpx": """
import httpx
with httpx.stream("GET", URL, timeout=60, trust_env=False) as answer:
    for piece in answer.iter_bytes(65536):
        count += len(piece); digest.update(piece[:64])
""",
    "requests": """
import requests
session = requests.Session()
session.trust_env = False
with session.get(URL, stream=True, timeout=60) as answer:
    for piece in answer.iter_content(65536):
        count += len(piece); digest.update(piece[:64])
""",
}
FRAME = """
import hashlib, os, resource, sys
URL = os.environ["BIG_URL"]
count, digest = 0, hashlib.sha256()
{reader}
print(count, digest.hexdigest())
try:  # the kernel's other figure, ru_maxrss, begins at the size of whoever started the process
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
except OSError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print("peak", peak, file=sys.stderr)
"""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(SIZE))
        self.end_headers()
        for number in range(SIZE // PIECE):
            self.wfile.write(bytes([number & 0xFF]) * PIECE)

    def log_message(self, *args: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server of one large body."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/big"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("reader", READERS)
def test_a_response_of_200_mb(url: str, tmp_path: Path, reader: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "agent.py").write_text(FRAME.format(reader=READERS[reader]))
    peaks = {}

    def watched(name: str, *words: str) -> bytes:
        ended = run(*words, cwd=tmp_path, variables={"BIG_URL": url})
        found = re.search(rb"^peak ([0-9]+)$", ended.err, re.MULTILINE)
        # The figure is all that a replay finds different.
        assert ended.status == ("replay" in words) and found is not None, ended.err
        peaks[name] = int(found[1])
        return ended.out

    bare = watched("bare", sys.executable, "agent.py")
    ours = (sys.executable, "-m", "reenact")
    assert watched("recorded", *ours, "record", "--", sys.executable, "agent.py") == bare
    assert watched("replayed", *ours, "replay", "@") == bare
    added = {name: (peaks[name] - peaks["bare"]) / (1 << 20) for name in ("recorded", "replayed")}
    with capsys.disabled():
        print(f"\n  {reader}: " + ", ".join(f"{name} +{value:.0f} MiB" for name, value in added.items()))
    assert max(added.values()) <= LIMIT >> 20
    assert reenact("show", "@", cwd=tmp_path).status == 0
