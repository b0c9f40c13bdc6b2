"""Credentials behind encodings and over events: absent from disk, served again, and an unchanged program replays same.

So does one that handles megabytes: a document in base64, a page, a database in an argument.
"""

from __future__ import annotations

import base64
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http.server import SSE, Server, answer, as_json, chunked
from tests.withstand.stage import Ended, Recorded, environment, replay
from tests.withstand.test_secrets import _files, _unpacked

TOKEN = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PASSWORD = "Tr0ub4dor-and-3"

STREAMED = """
import json, os, httpx
text = ""
with httpx.stream("POST", os.environ["SHOP_URL"] + "/answer", json={"ask": "the key"}) as response:
    for line in response.iter_lines():
        if line.startswith("data: {"):
            text += json.loads(line[6:])["choices"][0]["delta"]["content"]
print(len(text), text[:9])
print(httpx.post(os.environ["SHOP_URL"] + "/keep", json={"said": text}).status_code)
"""

ENCODED = """
import base64, gzip, json, os, httpx, reenact
url = os.environ["SHOP_URL"]
found = httpx.get(url + "/contents").json()
config = json.loads(base64.b64decode(found["content"]))
print(sorted(config), len(found["content"]))
again = base64.b64encode(json.dumps({"name": "x", "password": config["password"]}).encode()).decode()
print(httpx.post(url + "/keep", json={"file": again, "link": "https://h.example/?p=" + again}).status_code)
packed = base64.b64encode(gzip.compress(json.dumps(config).encode(), mtime=0)).decode()
print(httpx.post(url + "/keep", json={"packed": packed, "wide": config["password"].encode("utf-16").hex()}).status_code)

@reenact.tool(effect="read")
def look(settings):
    return {"settings": settings, "n": 1}

print(sorted(look(found["content"])))
"""

LARGE = """
import base64, json, os, random, httpx, reenact
url = os.environ["SHOP_URL"]
document = httpx.get(url + "/document").content
page = httpx.get(url + "/page").text
print(len(document), len(page))
sent = {"messages": [{"role": "user", "content": [{"data": base64.b64encode(document).decode()}, {"text": page}]}]}
print(httpx.post(url + "/keep", json=sent).status_code)
database = {"orders": {f"#W{n}": {"n": n, "key": f"k{n}", "tokens": n * 2, "name": "Ann Lee"} for n in range(45_000)}}

@reenact.tool(effect="read")
def total(database, password):
    return len(database["orders"])

print(total(database, os.environ["SHOP_PASSWORD"]), total(database, "none"))
"""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    made.routes["/keep"] = lambda request: [b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"]
    yield made
    made.close()


def recorded(folder: Path, server: Server, program: str) -> Recorded:
    (folder / "agent.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "-m", "reenact", "record", "--", sys.executable, "agent.py"],
        cwd=folder,
        env=environment(SHOP_URL=server.url, SHOP_PASSWORD=PASSWORD),
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    server.close()
    return Recorded("agent", folder, Ended(done.stdout, done.stderr, done.returncode))


def absent(folder: Path, *secrets: bytes) -> None:
    store = folder / ".reenact"
    for name, data in [*((path.name, path.read_bytes()) for path in _files(store)), *_unpacked(store / "store.db")]:
        for secret in secrets:
            assert secret not in data, name


def replays_same(run: Recorded, **variables: str) -> None:
    ended = replay(run, **variables)
    assert (ended.status, ended.report["verdict"]) == (0, "exact"), ended.report["differences"]
    assert ended.report["redacted"] >= 1


@pytest.mark.parametrize("size", [1, 3, 10])
def test_over_the_events_of_a_stream(tmp_path: Path, server: Server, size: int) -> None:
    text = f"the key: it is {TOKEN}, with password={PASSWORD} beside it\n"
    events = [
        b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text[at : at + size]}}]}).encode()
        for at in range(0, len(text), size)
    ]
    server.routes["/answer"] = lambda request: chunked([event + b"\n\n" for event in events], SSE)
    run = recorded(tmp_path, server, STREAMED)
    absent(tmp_path, TOKEN[4:].encode(), PASSWORD.encode())
    joined = "".join(
        json.loads(line[6:])["choices"][0]["delta"]["content"]
        for _, data in _unpacked(tmp_path / ".reenact" / "store.db")
        for line in data.decode("utf-8", "replace").splitlines()
        if line.startswith("data: {")
    )
    assert "the key: it is ghp_~rxk" in joined and TOKEN[4:12] not in joined and PASSWORD[:8] not in joined
    replays_same(run)


def test_behind_encodings(tmp_path: Path, server: Server) -> None:
    content = base64.b64encode(json.dumps({"host": "db", "password": PASSWORD, "token": TOKEN}).encode()).decode()
    server.routes["/contents"] = lambda request: as_json({"content": content, "encoding": "base64"})
    run = recorded(tmp_path, server, ENCODED)
    at = base64.b64encode(b"xx" + PASSWORD.encode())[4:16]
    absent(tmp_path, TOKEN[4:].encode(), PASSWORD.encode(), content.encode()[40:], at)
    replays_same(run)


def test_megabytes(tmp_path: Path, server: Server) -> None:
    document = b"%PDF-1.7\n" + random.Random(5).randbytes(3_800_000)
    page = "".join(
        f'<li class="token key"><a href="/x%20y?page={n}&amp;key=a{n}">{n} of the pass</a></li>\n'
        for n in range(14_000)
    )
    server.routes["/document"] = lambda request: answer(document, headers=[("Content-Type", "application/pdf")])
    server.routes["/page"] = lambda request: answer(page.encode(), headers=[("Content-Type", "text/html")])
    run = recorded(tmp_path, server, LARGE)
    absent(tmp_path, PASSWORD.encode())
    replays_same(run, SHOP_PASSWORD="another-Passw0rd")
