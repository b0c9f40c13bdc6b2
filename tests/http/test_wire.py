"""Proves that the end of a response's head, and of the response, are found wherever its bytes are cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reenact.seams.http.response_bytes import Wire

HEADERS = st.lists(st.tuples(st.sampled_from(["X-A", "x-a", "Set-Cookie"]), st.text("abc =;", max_size=5)), max_size=4)
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"


def head_bytes(lines: list[str], newline: str) -> bytes:
    return (newline.join(["HTTP/1.1 200 OK", *lines]) + newline * 2).encode()


@given(
    headers=HEADERS,
    body=st.binary(max_size=60),
    sizes=st.lists(st.integers(1, 20), min_size=1, max_size=5),
    framing=st.sampled_from(["length", "chunked", "close", "bodiless"]),
    newline=st.sampled_from(["\r\n", "\n"]),
    interim=st.booleans(),
    cuts=st.lists(st.integers(0, 400), max_size=20),
)
def test_any_cut_finds_the_same_ends(
    headers: list[tuple[str, str]],
    body: bytes,
    sizes: list[int],
    framing: str,
    newline: str,
    interim: bool,
    cuts: list[int],
) -> None:
    lines = [f"{name}: {value}" for name, value in headers]
    if framing == "length":
        lines.append(f"content-length: {len(body)}")
    elif framing == "chunked":
        lines.append("Transfer-Encoding: gzip, Chunked")
    start = (INTERIM if interim else b"") + head_bytes(lines, newline)
    sent = body
    if framing == "chunked":
        pieces: list[bytes] = []
        at = 0
        while at < len(body):
            size = sizes[len(pieces) % len(sizes)]
            pieces.append(body[at : at + size])
            at += size
        sent = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\nTrailer: t\r\n\r\n"
    elif framing == "bodiless":
        sent = b""
    whole = start + sent
    wire = Wire("HEAD" if framing == "bodiless" else "GET")
    edges = sorted({cut for cut in cuts if cut < len(whole)} | {len(whole)})
    at = 0
    for edge in edges:
        if framing in ("length", "chunked") and sent:
            assert not wire.complete
        if at < len(start):
            assert wire.head is None
        wire.take(whole[at:edge])
        at = edge
        assert (wire.head is not None) == (edge >= len(start))
    assert wire.complete == (framing != "close")
    assert wire.head is not None and wire.head["status"] == 200 and wire.head["reason"] == "OK"
    assert wire.head["headers"][: len(headers)] == [[name, value.strip()] for name, value in headers]


@given(st.lists(st.binary(max_size=50), max_size=20))
def test_what_is_no_http_never_raises(pieces: list[bytes]) -> None:
    wire = Wire("GET")
    for piece in pieces:
        wire.take(piece)
    for piece in [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *pieces]:
        wire.take(piece)


def test_no_content_has_none() -> None:
    for status in (b"204 No Content", b"304 Not Modified"):
        wire = Wire("GET")
        wire.take(b"HTTP/1.1 " + status + b"\r\nContent-Length: 10\r\n\r\n")
        assert wire.complete
