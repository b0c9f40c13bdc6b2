"""Damaged and hostile files of traces: what can be read is imported, what cannot is named, and memory stays bounded."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reenact.abc.store import Store
from reenact.errors import InteropError
from reenact.interop.file_formats import read
from reenact.interop.originals import LARGEST_HELD
from reenact.interop.otlp import otlp_documents, reader
from reenact.interop.otlp.trace_columns import ORPHANS
from reenact.interop.readers import ReaderOptions
from tests.interop.conftest import Bring, Tried
from tests.interop.spans import chat, lines, span, text, tool
from tests.noting import noting


def left(run: Any) -> list[str]:
    return list(run.capture["import"]["left"])


def test_half_a_file_of_lines_is_imported_as_far_as_it_goes(bring: Bring) -> None:
    whole = lines(chat(1), tool(2), tool(3))
    (run,) = bring("otlp", whole[:-80])
    assert run.totals.events == 3, "two spans, and what came in"
    assert len(left(run)) == 1
    assert left(run)[0].startswith("line 3: this is no JSON")


def test_half_a_document_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "half"
    path.write_text(text(chat(1), tool(2))[:-30])
    with pytest.raises(InteropError, match="holds no span that can be read") as raised:
        read("otlp", path, ReaderOptions())
    assert "this is no JSON" in str(raised.value.cause)


DEEP = 100_000


@pytest.mark.parametrize(
    "deep",
    [
        '{"arrayValue":{"values":[' * DEEP + "]}}" * DEEP,
        '{"kvlistValue":{"values":[{"key":"a","value":' * (DEEP // 2) + "}]}}" * (DEEP // 2),
        "[" * DEEP + "]" * DEEP,
    ],
)
def test_a_line_that_is_nested_too_deeply_costs_that_line(bring: Bring, deep: str) -> None:
    bad = text(span(9, "deep")).replace('"attributes": []', f'"attributes": [{{"key": "d", "value": {deep}}}]')
    assert len(bad) > DEEP
    (run,) = bring("otlp", lines(chat(1)) + bad + "\n" + lines(tool(2)))
    assert (run.totals.models, run.totals.tools) == (1, 1)
    assert left(run) == ["line 2: it is nested too deeply"]


def test_content_that_is_nested_too_deeply_stays_a_text(bring: Bring, store: Store) -> None:
    deep = "[" * DEEP + "]" * DEEP
    (run,) = bring("otlp", text(chat(1, says={"gen_ai.input.messages": deep}), tool(2, says={"input.value": deep})))
    assert (run.totals.models, run.totals.tools) == (1, 1)
    assert left(run) == []


def test_depth_between_what_json_and_what_we_bear_costs_that_span(bring: Bring) -> None:
    """The parser bears more levels than a walk of ours does."""
    for levels in (50, 100, 150, 200, 300):
        value = '{"arrayValue": {"values": [' * levels + '{"intValue": 7}' + "]}}" * levels
        bad = json.dumps(span(9, "deep")).replace(
            '"attributes": []', f'"attributes": [{{"key": "d", "value": {value}}}]'
        )
        (run,) = bring("otlp", text(chat(1, at=levels), span(8, "bad")).replace(json.dumps(span(8, "bad")), bad))
        assert run.totals.models == 1
        assert run.totals.events + len(left(run)) == 3


@pytest.mark.parametrize(
    "damage",
    [
        {"spanId": ""},
        {"spanId": "0" * 16},
        {"traceId": 7},
        {"traceId": None},
        {"spanId": "no such id; drop table"},
    ],
)
def test_a_span_without_ids_is_left_and_named(bring: Bring, damage: dict[str, Any]) -> None:
    (run,) = bring("otlp", text(chat(1), {**tool(2), **damage}))
    assert (run.totals.models, run.totals.tools) == (1, 0)
    assert left(run) == ["line 1, span 2: a span without ids"]


@pytest.mark.parametrize(
    "damage",
    [
        {"attributes": "none"},
        {"attributes": [1, None, {"key": 7}, {"value": {}}, {"key": "a"}]},
        {"attributes": [{"key": "gen_ai.usage.input_tokens", "value": {"stringValue": "many"}}]},
        {"attributes": [{"key": "gen_ai.input.messages", "value": {"intValue": "x"}}]},
        {"startTimeUnixNano": "soon", "endTimeUnixNano": []},
        {"startTimeUnixNano": "9" * 40},
        {"startTimeUnixNano": -5, "endTimeUnixNano": 1e400},
        {"events": {"name": 7}, "status": "bad", "name": {"a": 1}},
        {"parentSpanId": 12, "status": {"code": [2]}},
    ],
)
def test_a_span_with_damaged_parts_loses_those_alone(bring: Bring, damage: dict[str, Any]) -> None:
    (run,) = bring("otlp", text(chat(1), {**span(2, "a"), **damage}))
    assert run.totals.events == 3
    assert left(run) == []


MESSAGES: list[Any] = [
    7, None, True, "", "plain", [], [[]], {}, [None], [7], ["a"], [{"role": None}], [{"role": "user", "content": 7}],
    [{"role": "user", "parts": {"a": 1}}], [{"role": "user", "parts": [None, 7, [], {"type": 7}]}], {"messages": 7},
    {"messages": [[["a"]]]}, [{"role": "assistant", "tool_calls": {"a": 1}}], [{"tool_calls": [None, 7, {}]}],
    [{"role": "tool", "tool_call_id": 7}], {"choices": []}, {"choices": [None]}, {"choices": [{"message": None}]},
    {"candidates": [{"content": {"parts": None}}]}, {"output": [None, {"type": "message", "content": None}]},
    {"role": "user", "content": {"type": "text", "text": {"a": 1}}}, [{"message": {"message": {}}}],
    {"generations": [[]]}, {"content": "a"}, [{"role": "x", "content": [{"toolResult": {"content": {"a": 1}}}]}],
    {"system": [{"a": 1}], "messages": ["a"], "tools": [None, 7, {"function": 7}], "config": {"tools": 7}},
]  # fmt: skip


@pytest.mark.parametrize("name", ["input_messages", "input", "attributes"])
def test_no_shape_of_messages_costs_the_span(bring: Bring, store: Store, name: str) -> None:
    made = []
    for number, value in enumerate(MESSAGES, 1):
        says = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
        if name == "input_messages":
            says |= {"gen_ai.input.messages": json.dumps(value), "gen_ai.output.messages": json.dumps(value)}
            says |= {"gen_ai.tool.definitions": json.dumps(value), "gen_ai.system_instructions": json.dumps(value)}
        elif name == "input":
            says |= {"input.value": json.dumps(value), "output.value": json.dumps(value)}
        else:
            says |= {"llm.input_messages.0.message.content": json.dumps(value), "llm.input_messages.0": "both"}
            says |= {"llm.output_messages.0.message": json.dumps(value), "llm.tools.0": json.dumps(value)}
        made.append(span(number, "chat", says=says, at=number * 5))
    (run,) = bring("otlp", text(*made))
    assert (run.totals.models, left(run)) == (len(MESSAGES), [])


def test_keys_of_other_languages_are_plain_keys(bring: Bring, store: Store) -> None:
    says = {"__proto__": "x", "constructor": {"__class__": 1}, "llm.input_messages.0.__proto__.role": "user"}
    (run,) = bring("otlp", text(span(1, "a", says=says)))
    first, *_ = store.open(run).events()
    assert first.attributes["span"]["attributes"]["__proto__"] == "x"


def test_a_bomb_of_gzip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range((LARGEST_HELD >> 20) + 2):
            file.write(b" " * (1 << 20))
    with pytest.raises(InteropError, match=r"bomb\.gz cannot be unpacked"):
        read("otlp", path, ReaderOptions())


def test_a_file_in_gzip_is_read(bring: Bring, tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.write(lines(chat(1), tool(2)))
    (run,) = bring("otlp", path)
    assert run.totals.events == 3


def test_a_line_that_is_too_long_is_left(bring: Bring, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_documents, "LARGEST", 4000)
    long = text(tool(2, says={"gen_ai.tool.call.result": "x" * 5000}))
    (run,) = bring("otlp", lines(chat(1)) + long + "\n" + lines(tool(3)))
    assert (run.totals.models, run.totals.tools) == (1, 1)
    assert left(run) == ["line 2: it is longer than 0 MiB"]


def test_lines_of_metrics_are_left_and_named(bring: Bring) -> None:
    (run,) = bring("otlp", lines(chat(1)) + '{"resourceMetrics": []}\n')
    assert left(run) == ["line 2: it holds no span (it has resourceMetrics)"]


@pytest.mark.parametrize(
    "data", [b"", b"   \n", b"no json", b"{}", b"[]", b"\x0a\xff\xff\xff\xff\x0f", b"\0\0\0\x05hello"]
)
def test_what_is_no_trace_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "none"
    path.write_bytes(data)
    with pytest.raises(InteropError):
        read("otlp", path, ReaderOptions())


def test_options_that_are_about_exchanges_are_refused(desk: Tried) -> None:
    (desk.folder / "traces.json").write_text(text(chat(1)))
    ended = desk.reenact("import", "otlp", "traces.json", "--only", "https://a/")
    assert (ended.code, b"--only, --url and --param have no effect on otlp" in ended.err) == (2, True)


def test_a_file_that_is_written_meanwhile_is_refused(bring: Bring, tmp_path: Path, store: Store) -> None:
    path = tmp_path / "growing.jsonl"
    path.write_text(lines(chat(1)))
    (found,), _ = read("otlp", path, ReaderOptions())
    path.write_text(lines(chat(1), tool(2)))
    with pytest.raises(InteropError, match="changes while it is read"):
        list(found.items)  # type: ignore[union-attr]


def test_standard_input_is_a_file(desk: Tried) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "reenact", "--json", "import", "otlp", "-"],
        input=lines(chat(1), tool(2)).encode(),
        cwd=desk.folder,
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout)["totals"]["events"] == 3


def test_many_left_parts_are_counted_rather_than_listed(bring: Bring) -> None:
    (run,) = bring("otlp", lines(chat(1)) + "{bad\n" * 400)
    assert len(left(run)) == 51
    assert left(run)[-1] == "and 350 more"


def test_a_long_chain_and_a_wide_tree_are_read(bring: Bring, store: Store) -> None:
    chain = [span(n, "deep", n - 1) for n in range(1, 3001)]
    (run,) = bring("otlp", lines(*reversed(chain)))
    events = [each for each in store.open(run).events() if each.kind == "step"]
    assert len(events) == 3000
    assert [each.parent for each in events[1:]] == list(range(2999))
    assert ORPHANS not in run.capture["import"]["remarks"]


# The peak is the kernel's ``VmHWM``: ``ru_maxrss`` begins at the size of the process that started this one.
MEASURED = """
import sys
from pathlib import Path
from reenact.interop.file_formats import read
from reenact.interop.readers import ReaderOptions
(found,), _ = read("otlp", Path(sys.argv[1]), ReaderOptions())
count = sum(1 for _ in found.items)
print(count, next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_memory_hardly_grows_with_the_number_of_spans(tmp_path: Path) -> None:
    peaks = []
    for many in (2_000, 22_000):
        path = tmp_path / f"{many}.jsonl"
        with path.open("w") as file:
            for number in range(1, many + 1):
                file.write(lines(tool(number, number // 7, says={"pad": "x" * 400})))
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, str(path)], capture_output=True, text=True, check=True, timeout=300
        )
        count, peak = map(int, done.stdout.split())
        assert count == many
        peaks.append(peak * 1024)
    grown = (peaks[1] - peaks[0]) / 20_000
    assert grown < 180, f"{grown:.0f} bytes a span: a million of them and the interpreter need more than 256 MiB"


def test_many_traces_in_one_document_parse_it_a_few_times_only(
    bring: Bring, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = []
    real = otlp_documents.read_at
    monkeypatch.setattr(reader, "_SMALL", 0)
    monkeypatch.setattr(otlp_documents, "read_at", noting(real, lambda *given: parsed.append(given[2])))
    runs = bring("otlp", text(*(tool(n, trace=f"{n:032x}") for n in range(1, 41))))
    assert len(runs) == 40
    assert len(parsed) <= 3, "once for the order, once for the content, once for what came in"
    for number, run in enumerate(runs, 1):
        recording = store.open(run)
        *_, original = recording.events()
        kept = json.loads(recording.body(original.answer))
        assert [each["scopeSpans"][0]["spans"][0]["traceId"] for each in kept["resourceSpans"]] == [f"{number:032x}"]
