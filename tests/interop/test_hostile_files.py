"""Files that are made to harm, or are something else, are refused with a reason: soon, in little memory, unwritten."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from reenact.errors import InteropError
from reenact.interop import file_formats
from reenact.interop.readers import ReaderOptions

SMALL = 256 << 20

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
from reenact.interfaces.cli.main import main
sys.argv = ["reenact", *sys.argv[1:]]
main()
"""


def one(**changes: object) -> dict[str, object]:
    """A cassette of one good exchange, with something changed in it."""
    request: dict[str, object] = {"method": "GET", "uri": "http://h/", "headers": {}, "body": None}
    response: dict[str, object] = {"status": {"code": 200, "message": ""}, "headers": {}, "body": {"string": ""}}
    for name, value in changes.items():
        side, _, field = name.partition("_")
        (request if side == "request" else response)[field] = value
    return {"version": 1, "interactions": [{"request": request, "response": response}]}


LAUGHS = b"interactions: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + b"".join(
    b"k%d: &a%d [%s]\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 12)
)
PARSED_LAUGHS = (
    b"a0: &a0 {x: " + b"y" * 5000 + b"}\n"
    + b"".join(b"a%d: &a%d [%s]\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 9))
    + b"interactions:\n- request: {method: POST, uri: 'http://h/', parsed_body: *a8}\n  response: {status: 200}\n"
)  # fmt: skip

HOSTILE: dict[str, tuple[str, bytes, str]] = {
    "an object": (
        "vcr",
        b"interactions: !!python/object/apply:os.system ['touch made']\n",
        "'!!python/object/apply:os.system'",
    ),
    "a module": ("vcr", b"a: !!python/name:os.system x\n", "asks for an object"),
    "a custom tag": ("vcr", b"a: !mine {x: 1}\n", "the tag '!mine' asks for an object"),
    "a billion laughs": ("vcr", LAUGHS, "it holds more than 500000 values"),
    "laughs in a body": ("vcr", PARSED_LAUGHS, "it holds more than 500000 values"),
    "itself": ("vcr", b"interactions: &a [*a]\n", "*a stands for itself"),
    "deep yaml": ("vcr", b"a: " + b"[" * 200_000, "it is nested deeper than 100 levels"),
    "deep json": ("har", b'{"log": ' + b"[" * 200_000, "it is nested too deeply"),
    "deep flow": ("vcr", b"[" * 200_000, "it is nested"),
    "many values": ("har", b'{"log": [' + b"[],[{}]," * 3_000_000 + b"1]}", "it holds more than 900000 values"),
    "many yaml values": ("vcr", b"a: [" + b"x," * 3_000_000 + b"x]", "it holds more than 500000 values"),
    "a string without end": ("har", b'{"a": "' + b'\\"' * 4_000_000 + b"\\", "this is no JSON"),
    "a terminal's orders": ("vcr", b'"\\e]0;x\\a": 1\n', "it has no interactions (it has ?]0;x?)"),
    "too large": ("vcr", b"a: '" + b"x" * (26 << 20) + b"'", "is larger than 24 MiB"),
    "a gzip bomb": ("vcr", gzip.compress(b"\0" * (200 << 20), 1), "cannot be unpacked"),
    "a long header": ("vcr", json.dumps(one(response_headers={"A": ["x" * 300_000]})).encode(), "more headers than"),
    "many headers": ("vcr", json.dumps(one(response_headers={"A": ["x"] * 9999})).encode(), "more headers than"),
    "an injected header": (
        "vcr",
        json.dumps(one(response_headers={"A": ["x\r\nB: y"]})).encode(),
        "holds a line break",
    ),
    "an injected name": (
        "vcr",
        json.dumps(one(response_headers={"A: b\r\nC": ["x"]})).encode(),
        "is no name of a header",
    ),
    "an injected method": ("vcr", json.dumps(one(request_method="GET / HTTP/1.1\r\n")).encode(), "is no method"),
    "an injected url": ("vcr", json.dumps(one(request_uri="http://h/ HTTP/1.1\r\nX: y")).encode(), "is no address"),
    "a file's url": ("vcr", json.dumps(one(request_uri="file:///etc/passwd")).encode(), "is no address of HTTP"),
    "a huge status": ("vcr", json.dumps(one(response_status={"code": 10**30})).encode(), "its status is 1000000"),
    "a huge number": ("vcr", b"a: " + b"9" * 200_000, "is no int"),
    "latin-1": ("vcr", "interactions: [\xe9\xe8]".encode("latin-1"), "this is no YAML"),
    "utf-16 in pieces": ("vcr", "interactions: 1".encode("utf-16")[:-1], "this is no YAML"),
    "no unicode": (
        "vcr",
        json.dumps(one(response_body={"string": "\ud800"})).encode(),
        "exchange 0: its body is no text",
    ),
    "an image": ("vcr", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8, "this is no YAML"),
    "a sqlite file": ("har", b"SQLite format 3\0" + bytes(4096), "this is no JSON"),
    "an endless conversation": (
        "messages",
        b'{"messages": ['
        + b'{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"},' * 20_000
        + b'{"role": "user"}]}',
        "line 1: its requests would come to more than 24 MiB",
    ),
    "nothing": ("vcr", b"  \n", "is empty"),
    "a har as vcr": ("vcr", b'{"log": {"entries": []}}', "this is no cassette: it has no interactions (it has log)"),
    "a cassette as har": ("har", json.dumps(one()).encode(), "this is no HTTP archive"),
    "a newer cassette": ("vcr", b"version: 2\ninteractions: [1]", "the cassette is of version 2"),
    "a websocket": ("vcr", b"interactions: [{kind: websocket, direction: send, data: x}]", "a message of a WebSocket"),
    "two documents": ("vcr", b"interactions: []\n---\nx: 1\n", "a second document begins"),
    "a merge": ("vcr", b"a: &a {x: 1}\nb: {<<: *a}\n", "the key '<<' cannot be read"),
    "a key twice": ("vcr", b"interactions: []\ninteractions: []\n", "the key 'interactions' cannot be read"),
    "damaged base64": ("vcr", b"interactions: !!binary '####'", "is no binary"),
}


def trap(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "trap"
    path.write_bytes(data)
    return path


@pytest.mark.timeout(60)  # the only bound: some of them would keep a reader busy without end
@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    form, data, why = HOSTILE[name]
    monkeypatch.chdir(tmp_path)
    path = trap(tmp_path, data)
    with pytest.raises(InteropError) as refusal:
        file_formats.read(form, path, ReaderOptions())
    assert why in refusal.value.message or why in str(refusal.value)
    assert refusal.value.next_command
    assert [each.name for each in tmp_path.iterdir()] == ["trap"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not bound a process's memory by RLIMIT_AS")
@pytest.mark.parametrize(
    "name",
    [
        "a billion laughs",
        "laughs in a body",
        "deep yaml",
        "many values",
        "many yaml values",
        "a gzip bomb",
        "too large",
        "an endless conversation",
    ],
)
def test_it_is_refused_in_little_memory_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    form, data, why = HOSTILE[name]
    trap(tmp_path, data)
    argv = [sys.executable, "-c", LIMITED.format(limit=SMALL), "import", form, "trap"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stderr
    assert why in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["trap"]


def test_an_exchange_in_the_middle_that_cannot_be_read_lets_nothing_in(tmp_path: Path) -> None:
    good = one()["interactions"]
    bad = one(response_status={"code": "no"})["interactions"]
    path = trap(tmp_path, json.dumps({"interactions": [*good, *bad, *good]}).encode())  # type: ignore[misc]
    with pytest.raises(InteropError, match="trap is not imported: exchange 1: its response has no status"):
        file_formats.read("vcr", path, ReaderOptions())


def test_without_pyyaml_the_message_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trap(tmp_path, b"interactions: []")
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(InteropError) as refusal:
        file_formats.read("vcr", path, ReaderOptions())
    assert refusal.value.next_command == "pip install 'reenact[yaml]'"
    assert file_formats.read("vcr", trap(tmp_path, json.dumps(one()).encode()), ReaderOptions())[0]
