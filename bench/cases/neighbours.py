"""What ours is measured against: a plain transport that replays from SQLite, and vcrpy."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sqlite3
import tempfile
import time
from collections.abc import Mapping
from statistics import median
from typing import Any

import httpx

from bench.absent import Absent
from bench.clocks import Real
from bench.traffic import WARM, body, busy, describe, drive, url


class Tape(httpx.BaseTransport):
    """The least a replaying transport can do: one row an exchange, found by a digest of method, URL and body."""

    def __init__(self, path: str) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("CREATE TABLE x (key BLOB PRIMARY KEY, status INTEGER, head TEXT, body BLOB) WITHOUT ROWID")

    def key(self, request: httpx.Request, raw: bytes) -> bytes:
        """Digest of what is asked."""
        return hashlib.blake2b(request.method.encode() + str(request.url).encode() + raw, digest_size=32).digest()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer from the table."""
        key = self.key(request, b"".join(request.stream))  # type: ignore[arg-type]
        row = self.db.execute("SELECT status, head, body FROM x WHERE key = ?", (key,)).fetchone()
        return httpx.Response(row[0], headers=json.loads(row[1]), stream=httpx.ByteStream(row[2]))

    def put(self, request: httpx.Request, answer: httpx.Response) -> None:
        """Keep one exchange."""
        head = json.dumps([(name.decode(), value.decode()) for name, value in answer.headers.raw])
        row = (self.key(request, request.content), answer.status_code, head, answer.content)
        self.db.execute("INSERT OR REPLACE INTO x VALUES (?, ?, ?, ?)", row)


def plain_transport(size: int) -> Mapping[str, float]:
    """Microseconds a call under httpx with a plain replaying transport: the client's own cost, and one look-up."""
    with tempfile.TemporaryDirectory() as folder:
        tape = Tape(os.path.join(folder, "tape.db"))
        with httpx.Client() as live:
            sample = live.post(url(), json=body(0))
        client = httpx.Client(transport=tape)
        tape.db.execute("BEGIN")
        for number in range(size + WARM):
            tape.put(client.build_request("POST", url(), json=body(number)), sample)
        tape.db.execute("COMMIT")
        drive(lambda asked: client.post(url(), json=asked).content, range(WARM))
        _, worked = busy(lambda asked: client.post(url(), json=asked).content, range(WARM, size + WARM))
        return describe("replay", worked)


def recorder(folder: str) -> Any:
    """A vcrpy recorder with its defaults."""
    if importlib.util.find_spec("vcr") is None:
        raise Absent("vcrpy is not installed")
    import vcr

    return vcr.VCR(cassette_library_dir=folder)


def vcr_http(size: int) -> Mapping[str, float]:
    """The same calls recorded and replayed by vcrpy with its defaults (the body is not matched)."""
    with tempfile.TemporaryDirectory() as folder:
        tapes = recorder(folder)
        plain = httpx.Client()
        drive(lambda asked: plain.post(url(), json=asked).content, range(40))
        before = median(drive(lambda asked: plain.post(url(), json=asked).content, range(200)))
        cassette = tapes.use_cassette("c.yaml")
        cassette.__enter__()
        client = httpx.Client()
        took = drive(lambda asked: client.post(url(), json=asked).content, range(size))
        start = time.perf_counter()
        cassette.__exit__(None, None, None)
        out = {"save_ms": (time.perf_counter() - start) * 1e3}
        after = median(drive(lambda asked: plain.post(url(), json=asked).content, range(200)))
        out["added_us"] = median(took) - (before + after) / 2
        cassette = tapes.use_cassette("c.yaml", record_mode="none")
        start = time.perf_counter()
        cassette.__enter__()
        out["open_ms"] = (time.perf_counter() - start) * 1e3
        client = httpx.Client()
        _, worked = busy(lambda asked: client.post(url(), json=asked).content, range(size))
        cassette.__exit__(None, None, None)
        return {**out, **describe("replay", worked)}


def first_chunks(client: httpx.Client, count: int = 4) -> list[float]:
    """Milliseconds until a reader has the first chunk of a slow stream, after one stream that is not timed."""
    took = []
    for number in range(-1, count):
        start = Real.now_ns()
        with client.stream("POST", url("/slow/v1/chat/completions"), json={**body(number), "stream": True}) as answer:
            parts = answer.iter_raw()
            next(parts)
            took.append((Real.now_ns() - start) / 1e6)
            for _ in parts:
                pass
    return took[1:]


def vcr_first_chunk(size: int) -> Mapping[str, float]:
    """How much later than unrecorded the first chunk arrives under vcrpy."""
    with tempfile.TemporaryDirectory() as folder:
        tapes = recorder(folder)
        with httpx.Client() as client:
            live = median(first_chunks(client))
        with tapes.use_cassette("c.yaml"), httpx.Client() as client:
            recorded = median(first_chunks(client))
    return {"live_ms": live, "recorded_ms": recorded, "later_ms": recorded - live}
