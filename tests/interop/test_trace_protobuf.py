"""Traces as protobuf, written with the protocol's own classes: the same runs as from JSON, also out of half a file."""

from __future__ import annotations

import base64
import copy
from pathlib import Path
from typing import Any

import pytest

from reenact.abc.store import Store
from reenact.errors import InteropError
from reenact.interop.file_formats import read
from reenact.interop.otlp import otlp_documents
from reenact.interop.readers import ReaderOptions
from tests.interop.conftest import Bring
from tests.interop.spans import chat, document, span, text, tool

json_format = pytest.importorskip("google.protobuf.json_format", reason="protobuf is not installed")
trace_pb2 = pytest.importorskip("opentelemetry.proto.trace.v1.trace_pb2", reason="opentelemetry-proto is not installed")


def message(*spans: dict[str, Any]) -> bytes:
    """Spans as a message of the protocol, whose printer has ids in base64."""
    made = copy.deepcopy(document(*spans))
    for each in made["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in each:
                each[name] = base64.b64encode(bytes.fromhex(each[name])).decode()
    data: bytes = json_format.ParseDict(made, trace_pb2.TracesData()).SerializeToString()
    return data


def framed(*messages: bytes) -> bytes:
    """Messages as the Collector's file exporter writes them: each behind its length."""
    return b"".join(len(each).to_bytes(4, "big") + each for each in messages)


SPANS = span(1, "invoke_agent desk"), chat(2, 1), tool(3, 1, error="no such order")


@pytest.mark.parametrize("form", ["one", "joined", "framed"])
def test_protobuf_and_json_of_one_trace_are_one_run(bring: Bring, store: Store, tmp_path: Path, form: str) -> None:
    (plain,) = bring("otlp", text(*SPANS))
    written = {
        "one": message(*SPANS),
        "joined": message(SPANS[0]) + message(*SPANS[1:]),
        "framed": framed(message(SPANS[0]), message(*SPANS[1:])),
    }[form]
    path = tmp_path / "traces.pb"
    path.write_bytes(written)
    (run,) = bring("otlp", path)
    assert run.id == plain.id
    assert run.totals.models == run.totals.tools == 1


def test_what_came_in_as_protobuf_is_kept_as_json(bring: Bring, store: Store, tmp_path: Path) -> None:
    path = tmp_path / "traces.pb"
    path.write_bytes(message(*SPANS))
    (run,) = bring("otlp", path)
    recording = store.open(run)
    *_, original = recording.events()
    (again,) = bring("otlp", recording.body(original.answer).decode())
    assert again.id == run.id


@pytest.mark.parametrize("form", ["joined", "framed"])
def test_half_a_file_is_imported_as_far_as_it_goes(bring: Bring, tmp_path: Path, form: str) -> None:
    parts = [message(each) for each in SPANS]
    data = b"".join(parts) if form == "joined" else framed(*parts)
    path = tmp_path / "half.pb"
    path.write_bytes(data[:-20])
    (run,) = bring("otlp", path)
    assert (run.totals.models, run.totals.tools) == (1, 0)
    (left,) = run.capture["import"]["left"]
    assert left.endswith("3: it is cut off: half a file")


def test_a_damaged_message_costs_that_message(bring: Bring, tmp_path: Path) -> None:
    path = tmp_path / "bad.pb"
    path.write_bytes(framed(message(SPANS[0]), b"\x0a\x05\x12\xff\xff\xff\xff", message(SPANS[1])))
    (run,) = bring("otlp", path)
    assert run.totals.models == 1
    assert run.capture["import"]["left"][0].startswith("message 2: this is no OTLP")


def test_a_message_that_is_nested_too_deeply_is_left(bring: Bring, tmp_path: Path) -> None:
    value = b"\x0a\x01x"
    for _ in range(2_000):
        value = b"\x2a" + _size(b"\x0a" + _size(value))  # an array of one value
    attribute = b"\x4a" + _size(b"\x0a\x01d\x12" + _size(value))
    bad = b"\x0a" + _size(b"\x12" + _size(b"\x12" + _size(b"\x0a\x10" + b"\1" * 16 + attribute)))
    path = tmp_path / "deep.pb"
    path.write_bytes(message(SPANS[1]) + bad)
    (run,) = bring("otlp", path)
    assert (run.totals.models, len(run.capture["import"]["left"])) == (1, 1)


def _size(data: bytes) -> bytes:
    """Data behind its length."""
    left, out = len(data), b""
    while left > 0x7F:
        out += bytes([left & 0x7F | 0x80])
        left >>= 7
    return out + bytes([left]) + data


def test_without_the_package_the_refusal_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, *args: Any) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(otlp_documents, "import_module", missing)
    path = tmp_path / "traces.pb"
    path.write_bytes(message(*SPANS))
    with pytest.raises(InteropError) as raised:
        read("otlp", path, ReaderOptions())
    assert raised.value.next_command == "pip install 'reenact[otel]'"
