"""What is written comes back the same, whatever bytes it holds: YAML, cassettes, archives and plain JSON."""

from __future__ import annotations

import gzip
import io
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from vcr.serializers import yamlserializer

from reenact.errors import InteropError
from reenact.interop import archive_writing, archives, cassette_writing, cassettes, plain, yamltext
from reenact.interop.assembling import DECODED, ENCODED, LENGTH, exchange
from reenact.interop.exchanges import Exchange, decoded, header

NAMES = st.text("!#$%&'*+.^_`|~0123456789abcXYZ-", min_size=1, max_size=12).filter(
    lambda name: name.lower() not in SPOKEN
)
SPOKEN = {"content-encoding", "content-length", "transfer-encoding", "content-type", "date", "cookie", "set-cookie"}
VALUES = st.text(st.characters(max_codepoint=255, exclude_categories=["Cc"]), max_size=20).map(str.strip)
BODIES = st.one_of(
    st.binary(max_size=60),
    st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")),
    st.text("\r\n\t :#-'\"\\{}[]&*!|>%@`\u2028\u0085\ufeff\x00\x7f yYnN01~<", max_size=30).map(str.encode),
)
EXCHANGES = st.builds(
    Exchange,
    method=st.sampled_from(["GET", "POST", "PATCH"]),
    url=st.builds(lambda path: f"https://h.example:8443/{path}", st.text("abc/%20?=&;~", max_size=12)),
    asked=st.lists(st.tuples(NAMES, VALUES), max_size=4).map(tuple),
    body=BODIES,
    status=st.integers(200, 599).filter(lambda status: status not in (204, 304)),
    reason=st.sampled_from(["", "OK", "Not: Found", "yes"]),
    headers=st.lists(st.tuples(NAMES, VALUES), max_size=4).map(tuple),
    answer=BODIES,
    version=st.sampled_from(["", "HTTP/1.1", "HTTP/2"]),
    at_us=st.integers(0, 2**50),
    first_us=st.integers(0, 10**9),
    ended_us=st.integers(10**9, 10**10),
)


def grouped(headers: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    """Headers as far as a mapping can hold them: the values of each name, in their order."""
    found: dict[str, list[str]] = {}
    for name, value in headers:
        found.setdefault(name.lower(), []).append(value)
    return found


def content(one: Exchange) -> tuple[Any, ...]:
    """What every format holds."""
    headers = grouped(one.asked), grouped(one.headers)
    return one.method, one.url, one.body, one.status, one.reason, one.answer, *headers


@given(st.lists(EXCHANGES, min_size=1, max_size=4))
def test_a_cassette_comes_back(exchanges: list[Exchange]) -> None:
    data = cassette_writing.write(exchanges)
    assert [content(each) for each in cassettes.read(data).exchanges] == [content(each) for each in exchanges]
    theirs = yamlserializer.deserialize(data.decode())["interactions"]
    for each, item in zip(exchanges, theirs, strict=True):
        text = item["response"]["body"]["string"]
        assert (text if isinstance(text, bytes) else text.encode()) == each.answer


@given(st.lists(EXCHANGES, min_size=1, max_size=4))
def test_a_cassette_in_json_comes_back_or_is_refused(exchanges: list[Exchange]) -> None:
    try:
        data = cassette_writing.write(exchanges, as_json=True)
    except InteropError:
        assert any(not _is_text(body) for each in exchanges for body in (each.body, each.answer))
        return
    assert [content(each) for each in cassettes.read(data).exchanges] == [content(each) for each in exchanges]


@given(st.lists(EXCHANGES, min_size=1, max_size=4), st.booleans())
def test_an_archive_comes_back_in_order_with_its_times(exchanges: list[Exchange], packed: bool) -> None:
    if packed:
        exchanges = [_packed(each) for each in exchanges]
    found = archives.read(archive_writing.write(exchanges, "0", ""))
    by_time = sorted(exchanges, key=lambda each: each.at_us or 0)
    for each, back in zip(by_time, found.exchanges, strict=True):
        assert content(back)[:5] == content(each)[:5]
        assert decoded(back) == decoded(each)
        assert (back.asked, back.version) == (each.asked, each.version)
        assert abs((back.at_us or 0) - (each.at_us or 0)) <= 1
        assert abs(back.first_us - each.first_us) <= 1
        assert abs(back.ended_us - each.ended_us) <= 1


@given(st.lists(EXCHANGES, min_size=1, max_size=4))
def test_plain_json_comes_back_whole(exchanges: list[Exchange]) -> None:
    assert list(plain.read(plain.write(exchanges, {})).exchanges) == exchanges


@pytest.mark.parametrize(
    ("client", "answer", "encodings"),
    [
        ("httpx2", gzip.compress(b"text", 6, mtime=0), ["gzip"]),
        ("http.client, by hand", gzip.compress(b"text", 6, mtime=0), ["gzip"]),
        ("urllib3", "text", ["gzip"]),
        ("aiohttp", "text", ["gzip"]),
        ("import", "text", None),
        ("", "text", None),
    ],
)
def test_a_cassette_keeps_an_encoded_body_as_vcr_does_for_its_client(
    client: str, answer: Any, encodings: list[str] | None
) -> None:
    packed = gzip.compress(b"text", 6, mtime=0)
    headers = (("content-encoding", "gzip"), ("content-length", str(len(packed))))
    data = cassette_writing.write([Exchange("GET", "http://h/", headers=headers, answer=packed, client=client)])
    (kept,) = yaml.safe_load(data)["interactions"]
    assert kept["response"]["body"]["string"] == answer
    assert kept["response"]["headers"].get("content-encoding") == encodings
    (back,) = cassettes.read(data).exchanges
    assert decoded(back) == b"text"


DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=20) | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(DATA)
def test_yaml_is_read_as_pyyaml_reads_it(value: Any) -> None:
    try:
        data = yamltext.write(value)
        theirs = yaml.safe_load(io.BytesIO(data))
    except (UnicodeEncodeError, yaml.YAMLError):
        return  # lone surrogates have no YAML
    if _has_merge(value):
        return
    assert yamltext.read(data) == theirs == value


def test_aliases_are_the_same_value_and_dates_are_texts() -> None:
    text = b"a: &x [1, 2]\nb: *x\nc: 2014-04-21\nd: !!python/unicode 'u'\ne: !!python/tuple [1]\nf: &t text\ng: *t\n"
    found = {"a": [1, 2], "b": [1, 2], "c": "2014-04-21", "d": "u", "e": [1], "f": "text", "g": "text"}
    assert yamltext.read(text) == found


@pytest.mark.parametrize(
    ("encoding", "answer", "kept", "remark"),
    [
        ("gzip", b"text", gzip.compress(b"text", 6, mtime=0), (ENCODED, LENGTH)),
        ("gzip", gzip.compress(b"text", 6, mtime=0), gzip.compress(b"text", 6, mtime=0), ()),
        ("sdch", b"text", b"text", (DECODED, LENGTH)),
        ("sdch", b"\xff\xfe", b"\xff\xfe", (LENGTH,)),
        ("identity", b"text", b"text", (LENGTH,)),
    ],
)
def test_headers_and_body_of_an_answer_are_brought_to_agree(
    encoding: str, answer: bytes, kept: bytes, remark: tuple[str, ...]
) -> None:
    length = str(len(gzip.compress(b"text", 6, mtime=0))) if not remark else "999"
    headers = (("Content-Encoding", encoding), ("Content-Length", length))
    made = exchange("here", Exchange("GET", "http://h/", headers=headers, answer=answer))
    assert (made.answer, made.remarks) == (kept, remark)
    assert header(made.headers, "content-length") == str(len(kept))
    assert header(made.headers, "content-encoding") == ("" if DECODED in remark else encoding)


def _packed(one: Exchange) -> Exchange:
    headers = (*one.headers, ("Content-Encoding", "gzip"))
    answer = gzip.compress(one.answer, 6, mtime=0) if one.answer else b""
    return exchange(
        "here",
        Exchange(**{name: getattr(one, name) for name in one.__slots__} | {"headers": headers, "answer": answer}),
    )


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _has_merge(value: Any) -> bool:
    if isinstance(value, dict):
        return any(key in ("<<", "=") or _has_merge(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_has_merge, value))
