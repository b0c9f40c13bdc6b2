"""Proves that a planted key reaches no file of the store, not even for a moment, and that the replay is the same."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from reenact.store.frames import Portion, unpack
from reenact.store.splice_rows import LOW
from tests.withstand.stage import Recorded, record, replay

KEYS = {
    "header": "sk-proj-Hd9sLq27XvBn04TzRwEy81KmUaPc65Gf",
    "query": "qk7Zp2Vd94NwXr01TbYs",
    "body": "bd3Jf8Qm55LxKz92HtRv",
    "environment": "ev1Wc6Sg70PyMu38DnEo",
    "answer": "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
}

AGENT = """
import json, os, urllib.request, requests, httpx
URL = os.environ["SHOP_URL"]
HEADER, QUERY, BODY = (os.environ[name] for name in ("PLANTED_TOKEN", "QUERY_API_KEY", "BODY_SECRET"))
answer = requests.get(f"{URL}/stock", params={"item": "lamp", "api_key": QUERY},
                      headers={"Authorization": f"Bearer {HEADER}"})
print(answer.json())
answer = httpx.post(f"{URL}/order", json={"items": [1, 2], "client_secret": BODY, "note": "mail " * 300},
                    headers={"X-Api-Key": HEADER})
print(answer.status_code)
print("a key:", os.environ["SERVICE_PASSWORD"][:0], len(HEADER), "LEAKED")
"""


def _planted(folder: Path) -> Recorded:
    source = AGENT.replace('"LEAKED"', repr(KEYS["answer"]))
    return record(
        "agent",
        folder,
        source=source,
        PLANTED_TOKEN=KEYS["header"],
        QUERY_API_KEY=KEYS["query"],
        BODY_SECRET=KEYS["body"],
        SERVICE_PASSWORD=KEYS["environment"],
    )


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _unpacked(file: Path) -> Iterator[tuple[str, bytes]]:
    """Every value of every table, and what it is when it was compressed."""
    with closing(sqlite3.connect(file)) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in connection.execute(f"SELECT * FROM {table}"):
                for value in row:
                    data = value if isinstance(value, bytes) else str(value).encode()
                    yield table, data
                    for packed in (data, data[1:]):
                        try:
                            yield table, zlib.decompress(packed)
                        except zlib.error:
                            pass
        columns = "id & 4294967295, first, size, codec, data, crc"
        for (frame,) in connection.execute("SELECT DISTINCT id - (id & 4294967295) + first FROM frame").fetchall():
            portions = connection.execute(
                f"SELECT {columns} FROM frame WHERE id BETWEEN ? AND ? AND first = ? ORDER BY id",
                (frame, frame | LOW, frame & LOW),
            )
            text = unpack([Portion(*row) for row in portions])
            assert text
            yield "frame", text


@pytest.mark.timeout(120)
def test_planted_keys_reach_no_file_and_the_replay_is_the_same(tmp_path: Path) -> None:
    run = _planted(tmp_path)
    assert run.ended.status == 0, run.ended.err
    assert KEYS["answer"].encode() in run.ended.out, "what the agent prints is its own affair"
    files = _files(tmp_path / ".reenact")
    assert any(path.name == "store.db" for path in files)
    pieces = [(path.name, path.read_bytes()) for path in files]
    unpacked = [*_unpacked(tmp_path / ".reenact" / "store.db")]
    assert any(name == "frame" and b"mail mail" in data for name, data in unpacked)
    for name, data in [*pieces, *unpacked]:
        found = [key for key, secret in KEYS.items() if secret.encode() in data or secret.encode("utf-16-le") in data]
        assert found == [], f"{name} holds the key planted in: {found}"
    ended = replay(
        run,
        PLANTED_TOKEN="another-" + KEYS["header"][8:],
        QUERY_API_KEY="0",
        BODY_SECRET="1",
        SERVICE_PASSWORD="2",
    )
    report = ended.report
    assert ended.status == 0 and report["verdict"] in ("exact", "same"), report["differences"]
    assert report["live_calls"] == 0
    assert report["redacted"] >= 2 and f"{report['redacted']} redacted" in report["last_line"]
