"""Traces that come in: what the import of a span costs, through the gate into a store, on one core."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.facts import credential_search
from reenact.facts.policy import Policy
from reenact.interop.file_formats import read
from reenact.interop.importing import import_runs
from reenact.interop.readers import ReaderOptions
from reenact.interop.traces import Trace
from reenact.recording.recording_opening import Who
from reenact.store import open_store

_TRACE = 200
"""Spans of a trace."""


def _value(value: Any) -> dict[str, Any]:
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def _span(number: int, *, content: bool) -> dict[str, Any]:
    trace, first = number // _TRACE, number % _TRACE == 0
    says: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.response.model": "gpt-4o-mini-2024",
        "gen_ai.response.id": f"chatcmpl-{number}",
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 5,
        "server.address": "api.openai.com",
        "server.port": 443,
    }
    if content:
        text = f"Where is order {number}, and why has it not come? " * 50
        says["gen_ai.input.messages"] = json.dumps([{"role": "user", "parts": [{"type": "text", "content": text}]}])
    return {
        "traceId": f"{trace + 1:032x}",
        "spanId": f"{number + 1:016x}",
        "parentSpanId": "" if first else f"{trace * _TRACE + 1:016x}",
        "name": "chat gpt-4o-mini",
        "kind": 3,
        "startTimeUnixNano": str(10**18 + number * 10**6),
        "endTimeUnixNano": str(10**18 + number * 10**6 + 500_000),
        "attributes": [{"key": name, "value": _value(value)} for name, value in says.items()],
    }


def _write(file: Path, size: int, *, content: bool) -> None:
    with file.open("w") as out:
        for first in range(0, size, _TRACE):
            spans = [_span(number, content=content) for number in range(first, first + _TRACE)]
            out.write(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}) + "\n")


def _imported(size: int, *, content: bool) -> tuple[float, float]:
    """Microseconds of processor a span, and milliseconds a MiB."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "traces.jsonl")
        _write(file, size, content=content)
        begin = time.process_time_ns()
        with open_store(str(Path(folder, ".reenact"))) as store:
            found, origin = read("otlp", file, ReaderOptions())
            import_runs(store, found, origin, who=Who(), policy=Policy(), clock=CLOCK, entropy=ENTROPY)
        took = time.process_time_ns() - begin
        return took / size / 1e3, took / 1e6 / (file.stat().st_size / (1 << 20))


def _read(size: int) -> float:
    """Milliseconds of processor that the reader alone takes for a MiB of spans with content: no gate, no store."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "traces.jsonl")
        _write(file, size, content=True)
        begin = time.process_time_ns()
        found, _ = read("otlp", file, ReaderOptions())
        for each in found:
            if isinstance(each, Trace):
                sum(1 for _ in each.items)
                sum(map(len, each.original))
        return (time.process_time_ns() - begin) / 1e6 / (file.stat().st_size / (1 << 20))


def import_traces(size: int) -> Mapping[str, float]:
    """Microseconds of processor for a span of 1 KB without content, and milliseconds for a MiB of spans with content:
    with the standard library, and with the gate's optional scanner where it is installed; and what the reader takes
    alone of the latter."""
    with patch.object(credential_search._NEEDLES, "within", lambda text: text.find):
        span, _ = _imported(size, content=False)
        _, content = _imported(size // 2, content=True)
    scanned, _ = _imported(size, content=False)
    _, scanned_content = _imported(size // 2, content=True)
    read_alone = _read(size // 2)
    return {
        "span_us": span,
        "mib_ms": content,
        "scanned_us": scanned,
        "scanned_mib_ms": scanned_content,
        "read_mib_ms": read_alone,
    }
