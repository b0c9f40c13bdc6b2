"""Sessions of Claude Code: rows made from the published schema of its files (v2.1.1), whole and damaged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reenact.abc.store import Store
from reenact.errors import InteropError
from reenact.facts.call import Failure
from reenact.facts.trace_runs import Grade, graded
from reenact.interop.file_formats import read
from reenact.interop.readers import ReaderOptions, reader
from reenact.interop.rows.row_reader import REPEATED
from reenact.timetravel.gist import answer_of, question_of
from tests.interop.conftest import Bring, Tried

SESSION = "0f5f8a2c-6c1e-4c1e-9a43-1d2f8f0e7b11"
DEEP = 100_000


def row(number: int, kind: str, message: Any = None, **more: Any) -> dict[str, Any]:
    """A row as the schema has it."""
    made: dict[str, Any] = {
        "parentUuid": f"{number - 1:08x}-0000-4000-8000-000000000000" if number > 1 else None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/desk",
        "sessionId": SESSION,
        "version": "2.1.1",
        "gitBranch": "main",
        "type": kind,
        "uuid": f"{number:08x}-0000-4000-8000-000000000000",
        "timestamp": f"2026-01-08T10:00:{number:02d}.500Z",
    }
    return made | ({"message": message} if message is not None else {}) | more


def asks(number: int, content: Any, **more: Any) -> dict[str, Any]:
    return row(number, "user", {"role": "user", "content": content}, **more)


def answers(number: int, parts: list[Any], name: str = "msg_1", stop: str | None = "end_turn", **more: Any) -> Any:
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 2}
    message: dict[str, Any] = {"id": name, "type": "message", "role": "assistant", "model": "claude-opus-4-5-20251101"}
    message |= {"content": parts, "stop_reason": stop, "stop_sequence": None, "usage": usage}
    return row(number, "assistant", message, requestId=f"req_{name}", **more)


def says(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def calls(number: int, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": given}


def result(number: int, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": content, **more}


def lines(*rows: Any) -> str:
    return "".join(json.dumps(each) + "\n" for each in rows)


ROWS = (
    {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": False},
    asks(1, "Which tests fail?"),
    answers(2, [{"type": "thinking", "thinking": "run them", "signature": "s"}], stop=None),
    answers(3, [says("I run them.")], stop=None),
    answers(4, [calls(1, command="pytest -q")], stop="tool_use"),
    asks(5, [result(1, "1 failed: test_refund")], toolUseResult={"stdout": "1 failed"}),
    answers(6, [calls(2, command="cat test_refund.py")], "msg_2", "tool_use"),
    asks(7, [result(2, "no such file", is_error=True)]),
    answers(8, [says("test_refund fails.")], "msg_3"),
    row(9, "system", subtype="turn_duration", durationMs=7000),
)


def test_a_session_is_one_run_whose_answers_are_model_calls(bring: Bring, store: Store) -> None:
    (run,) = bring("claude-code", lines(*ROWS))
    assert (run.agent, run.version, run.session) == ("claude-code", "2.1.1", SESSION)
    assert (run.totals.models, run.totals.tools) == (3, 2), "the parts of an answer are one call"
    assert run.totals.tokens_out == 15, "what each part repeats is counted once"
    recording = store.open(run)
    events = list(recording.events())
    assert [each.kind for each in events] == ["model", "tool", "model", "tool", "model", "step", "note"]
    first = json.loads(recording.body(events[0].answer))
    assert (first["text"], first["thinking"], first["finish"]) == ("I run them.", "run them", "tool_use")
    assert first["tool_calls"] == [{"id": "toolu_1", "name": "Bash", "arguments": {"command": "pytest -q"}}]
    assert question_of(recording) == "Which tests fail?"
    assert answer_of(recording) == "test_refund fails."
    assert json.loads(recording.body(events[1].request)) == {"command": "pytest -q"}
    assert json.loads(recording.body(events[1].answer)) == "1 failed: test_refund"
    assert isinstance(events[3].outcome, Failure)
    assert run.capture["import"]["left"] == [
        "line 1: a row of type 'file-history-snapshot' that names no session",
    ]


def test_it_says_of_each_part_what_the_rows_do_not_hold(bring: Bring, store: Store) -> None:
    (run,) = bring("claude-code", lines(*ROWS))
    model, tool, *_ = store.open(run).events()
    exact, semantic, absent = Grade.EXACT, Grade.SEMANTIC, Grade.ABSENT
    assert graded(model) == {
        "model": exact, "provider": exact, "system": absent, "messages": semantic, "tools": absent,
        "parameters": absent, "answer": semantic, "usage": exact, "times": semantic,
    }  # fmt: skip
    assert graded(tool)["result"] is semantic


def test_the_same_session_again_is_the_run_that_is_there(bring: Bring, store: Store, tmp_path: Path) -> None:
    (first,) = bring("claude-code", lines(*ROWS))
    (again,) = bring("claude-code", lines(*ROWS, ROWS[2]))
    assert again.id == first.id
    (found,), _ = read("claude-code", tmp_path / "recorded", ReaderOptions())
    assert dict(found.remarks) == {REPEATED: 1}  # type: ignore[arg-type]
    kept = [store.open(first).body(each.answer) for each in store.open(first).events() if each.name == "original"]
    assert b"".join(kept).count(b"\n") == len(ROWS) - 1


def test_a_subagent_and_a_second_session_keep_to_themselves(bring: Bring, store: Store) -> None:
    side: dict[str, Any] = {"isSidechain": True, "agentId": "a1"}
    other = {**asks(1, "Another"), "sessionId": "other"}
    rows = (*ROWS, asks(10, "Look there", **side), answers(11, [says("There.")], "msg_s", **side), other)
    main, second = sorted(bring("claude-code", lines(*rows)), key=lambda run: -run.totals.models)
    assert (main.totals.models, second.session) == (4, "other")
    recording = store.open(main)
    asked = [json.loads(recording.body(each.request)) for each in recording.events() if each.kind == "model"]
    assert [each["text"] for each in asked[-1]["messages"]] == ["Look there"]


def test_half_a_file_is_imported_as_far_as_it_goes(bring: Bring) -> None:
    whole = lines(*ROWS)
    (run,) = bring("claude-code", whole[: whole.rindex("turn_duration")])
    assert (run.totals.models, run.totals.tools) == (3, 2)
    assert run.capture["import"]["left"][-1].startswith("line 10: this is no JSON")


@pytest.mark.parametrize(
    "bad",
    [
        "[" * DEEP + "]" * DEEP, "7", "null", "[]", '{"resourceSpans": []}', '{"sessionId": 7}', "{",
    ],
)  # fmt: skip
def test_a_row_that_is_none_costs_that_row(bring: Bring, bad: str) -> None:
    (run,) = bring("claude-code", lines(*ROWS[1:]) + bad + "\n" + lines(asks(12, "and?")))
    assert run.totals.models == 3
    assert len(run.capture["import"]["left"]) == 1


@pytest.mark.parametrize("content", [7, None, [7, None, {}], [{"type": 7}], [{"type": "tool_use", "id": 7}], {"a": 1}])
def test_no_shape_of_content_costs_the_session(bring: Bring, content: Any) -> None:
    odd = answers(12, content, "msg_9", __proto__={"a": 1}, message_={"constructor": 1})
    odd_row = {**asks(13, content), "timestamp": "soon", "parentUuid": 7, "uuid": []}
    (run,) = bring("claude-code", lines(*ROWS[1:], odd, odd_row, row(14, "user", 7), row(15, "assistant", [])))
    assert (run.totals.models, run.capture["import"]["left"]) == (4, [])


@pytest.mark.parametrize("levels", [50, 150, 300, 900])
def test_depth_that_json_bears_costs_that_row_alone(bring: Bring, levels: int) -> None:
    deep = json.dumps(asks(12, "deep")).replace('"deep"', '[{"a": ' * levels + "7" + "}]" * levels)
    (run,) = bring("claude-code", lines(*ROWS[1:]) + deep + "\n")
    assert run.totals.models == 3


def test_a_file_of_another_format_is_refused_and_named(tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_text('{"resourceSpans": [{}]}\n')
    with pytest.raises(InteropError) as raised:
        read("claude-code", path, ReaderOptions())
    assert "looks like otlp" in str(raised.value.cause)
    assert reader("claude-code").fits(lines(*ROWS).encode())


def test_the_command_imports_it(desk: Tried) -> None:
    (desk.folder / "session.jsonl").write_text(lines(*ROWS))
    ended = desk.reenact("import", "claude-code", "session.jsonl")
    assert (ended.code, b"3 model calls, 2 tool calls" in ended.out) == (0, True)
    kit = desk.reenact("kit", "@")
    assert b"absent" in kit.out


# The peak is the kernel's ``VmHWM``: ``ru_maxrss`` begins at the size of the process that started this one.
MEASURED = """
import sys
from pathlib import Path
from reenact.interop.file_formats import read
from reenact.interop.readers import ReaderOptions
(found,), _ = read("claude-code", Path(sys.argv[1]), ReaderOptions())
count = sum(1 for _ in found.items)
print(count, next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_a_huge_session_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "huge.jsonl"
    with path.open("w") as file:
        for number in range(20_000):
            file.write(lines(answers(number % 50, [says("x" * 10_000)], f"msg_{number}")))
    assert path.stat().st_size > 200 << 20
    done = subprocess.run([sys.executable, "-c", MEASURED, str(path)], capture_output=True, text=True, check=True)
    count, peak = map(int, done.stdout.split())
    assert count == 20_000
    assert peak * 1024 <= 256 << 20
