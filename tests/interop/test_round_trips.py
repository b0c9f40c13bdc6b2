"""What is written comes back the same, whatever bytes it holds: YAML, cassettes, archives and plain JSON."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from vcr.serializers import yamlserializer

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.abc.store import Store
from reenact.errors import InteropError
from reenact.facts.conversations import data_of, digest_of, lines_of
from reenact.facts.policy import Policy
from reenact.facts.reading import Reading
from reenact.facts.run import Run
from reenact.facts.trace_runs import reading_in
from reenact.interop import archive_writing, archives, cassette_writing, cassettes, plain_json, yamltext
from reenact.interop.exchange_assembly import DECODED, ENCODED, LENGTH, exchange
from reenact.interop.exchanges import ImportedExchange, decoded, header
from reenact.interop.file_formats import read, write
from reenact.interop.importing import import_runs
from reenact.interop.readers import ReaderOptions
from reenact.recording.recording_opening import Who
from reenact.store import open_store
from tests.interop.trees import at
from tests.interop.trees import run as run_of

SPOKEN = {"content-encoding", "content-length", "transfer-encoding", "content-type", "date", "cookie", "set-cookie"}
NAMES = st.text("!#$%&'*+.^_`|~0123456789abcXYZ-", min_size=1, max_size=12).filter(
    lambda name: name.lower() not in SPOKEN
)
VALUES = st.text(st.characters(max_codepoint=255, exclude_categories=["Cc"]), max_size=20).map(str.strip)
BODIES = st.one_of(
    st.binary(max_size=60),
    st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")),
    st.text("\r\n\t :#-'\"\\{}[]&*!|>%@`\u2028\u0085\ufeff\x00\x7f yYnN01~<", max_size=30).map(str.encode),
)
EXCHANGES = st.builds(
    ImportedExchange,
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


def content(one: ImportedExchange) -> tuple[Any, ...]:
    """What every format holds."""
    headers = grouped(one.asked), grouped(one.headers)
    return one.method, one.url, one.body, one.status, one.reason, one.answer, *headers


@given(st.lists(EXCHANGES, min_size=1, max_size=4))
def test_a_cassette_comes_back(exchanges: list[ImportedExchange]) -> None:
    data = cassette_writing.write(exchanges)
    assert [content(each) for each in cassettes.read(data).exchanges] == [content(each) for each in exchanges]
    theirs = yamlserializer.deserialize(data.decode())["interactions"]
    for each, item in zip(exchanges, theirs, strict=True):
        text = item["response"]["body"]["string"]
        assert (text if isinstance(text, bytes) else text.encode()) == each.answer


@given(st.lists(EXCHANGES, min_size=1, max_size=4))
def test_a_cassette_in_json_comes_back_or_is_refused(exchanges: list[ImportedExchange]) -> None:
    try:
        data = cassette_writing.write(exchanges, as_json=True)
    except InteropError:
        assert any(not _is_text(body) for each in exchanges for body in (each.body, each.answer))
        return
    assert [content(each) for each in cassettes.read(data).exchanges] == [content(each) for each in exchanges]


@given(st.lists(EXCHANGES, min_size=1, max_size=4), st.booleans())
def test_an_archive_comes_back_in_order_with_its_times(exchanges: list[ImportedExchange], packed: bool) -> None:
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
def test_plain_json_comes_back_whole(exchanges: list[ImportedExchange]) -> None:
    assert list(plain_json.read(plain_json.write(exchanges, {})).exchanges) == exchanges


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
    data = cassette_writing.write([ImportedExchange("GET", "http://h/", headers=headers, answer=packed, client=client)])
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
    made = exchange("here", ImportedExchange("GET", "http://h/", headers=headers, answer=answer))
    assert (made.answer, made.remarks) == (kept, remark)
    assert header(made.headers, "content-length") == str(len(kept))
    assert header(made.headers, "content-encoding") == ("" if DECODED in remark else encoding)


def _packed(one: ImportedExchange) -> ImportedExchange:
    headers = (*one.headers, ("Content-Encoding", "gzip"))
    answer = gzip.compress(one.answer, 6, mtime=0) if one.answer else b""
    return exchange(
        "here",
        ImportedExchange(
            **{name: getattr(one, name) for name in one.__slots__} | {"headers": headers, "answer": answer}
        ),
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


# --- rows of evaluations ---------------------------------------------------------------------------------------------

TEXTS = st.text(max_size=12)
CALLS = st.lists(
    st.tuples(st.sampled_from(["find", "send"]), st.dictionaries(st.text(max_size=3), st.integers())), max_size=2
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=settings().max_examples // 6,
    deadline=None,
)
@given(st.lists(st.tuples(TEXTS, CALLS), min_size=1, max_size=3), st.sampled_from([0, 0.5]))
def test_model_calls_come_back_as_one_run(said: list[tuple[str, Any]], warm: float) -> None:
    spans = [run_of(1, "chain", "desk", {"q": 1}, {"a": 1}, end_time=at(59))]
    messages: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    for number, (text, called) in enumerate(said, 2):
        calls = [
            {"id": f"c{number}{nth}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            for nth, (name, given) in enumerate(called)
        ]
        answer = {"role": "assistant", "content": text or "-", **({"tool_calls": calls} if calls else {})}
        asked = {"model": "m", "temperature": warm, "messages": list(messages)}
        spans.append(run_of(number, "llm", "chat", asked, {"choices": [{"message": answer, "finish_reason": "stop"}]}))
        messages += [answer, *({"role": "tool", "tool_call_id": each["id"], "content": "got"} for each in calls)]
    with TemporaryDirectory() as folder, open_store(f"{folder}/.reenact") as store:
        first = _arrived(store, Path(folder), "langsmith", json.dumps(spans).encode())
        written = write("evals", store.open(first))
        again = _arrived(store, Path(folder), "evals", written.data)
        assert written.exchanges == len(said)
        assert [_told(each) for each in _readings(store, again)] == [_told(each) for each in _readings(store, first)]
        assert again.totals.tools == sum(len(called) for _, called in said)


def _arrived(store: Store, folder: Path, form: str, data: bytes) -> Run:
    path = folder / form
    path.write_bytes(data)
    found, origin = read(form, path, ReaderOptions())
    (made,) = import_runs(store, found, origin, who=Who(), policy=Policy(), clock=CLOCK, entropy=ENTROPY)
    return made.run


def _readings(store: Store, run: Run) -> list[Reading]:
    recording = store.open(run)
    models = [each for each in recording.events() if each.kind == "model"]
    return [reading_in(recording.body(each.request), recording.body(each.answer)) for each in models]


def _told(reading: Reading) -> tuple[Any, ...]:
    """What a replay looks at, and what was asked beside it."""
    calls = [(each["id"], each["name"], data_of(each["arguments"])) for each in reading.tool_calls]
    return digest_of(lines_of(reading)), reading.model_asked, reading.text, calls, reading.params["temperature"]
