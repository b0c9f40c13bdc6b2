"""No format's reader needs more than 256 MiB, however large its file is: measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reenact.interop.foreign_documents import _TOKEN, MOST_TOKENS
from tests.interop.spans import chat
from tests.interop.test_logs_of_claude_code import answers, says
from tests.interop.test_logs_of_providers import NOVA, invocation
from tests.interop.trees import INSPECT, LANGFUSE, SAID, SAMPLE, TAU, TELLS, chosen, observation, run

MOST = 256 << 20
ROWS = 2_500
WORDS = "words that fill a row, and are told. " * 160
PAD = WORDS * 6
"""36 KB, so that all rows are 90 MB: more than may be held with the interpreter, as they are and as they were read."""
SMALL = "words. " * 10
"""For a document, which is held: many small values take the most memory."""

# The peak is the kernel's ``VmHWM``: ``ru_maxrss`` begins at the size of the process that started this one.
MEASURED = """
import sys
from pathlib import Path
from reenact.interop.file_formats import read
from reenact.interop.readers import ReaderOptions
found, _ = read(sys.argv[1], Path(sys.argv[2]), ReaderOptions())
runs = items = 0
for each in found:
    runs += 1
    items += sum(1 for _ in each.items) if hasattr(each, "items") else len(each.exchanges)
    size = sum(map(len, each.original)) if hasattr(each, "original") else 0
print(runs, items, next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def measured(form: str, path: Path) -> tuple[int, int, int]:
    """Runs and items of a file, and the most memory that it took to read them."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, form, str(path)], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]
    runs, items, peak = map(int, done.stdout.split())
    return runs, items, peak * 1024


def message(number: int, pad: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": f"{number}: {pad}"}]


def completion(number: int, pad: str) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": pad}}
    used = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": f"c{number}", "object": "chat.completion", "created": 1_767_000_000 + number, "model": "gpt-4o",
            "choices": [choice], "usage": used, "messages": message(number, "?")}  # fmt: skip


def otlp(number: int, pad: str) -> Any:
    told = [{"role": "user", "parts": [{"type": "text", "content": pad}]}]
    one = chat(number + 1, 1, says={"gen_ai.input.messages": json.dumps(told)})
    return {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}


def openai(number: int, pad: str) -> Any:
    body = {"model": "gpt-4o", "messages": message(number, pad)}
    return {"custom_id": f"r{number}", "method": "POST", "url": "/v1/chat/completions", "body": body}


def anthropic(number: int, pad: str) -> Any:
    said = {"id": f"m{number}", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": pad}], "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
    return {"custom_id": f"r{number}", "result": {"type": "succeeded", "message": said}}


def bedrock(number: int, pad: str) -> Any:
    asked = {"messages": [{"role": "user", "content": [{"text": f"{number}: {pad}"}]}]}
    came = {"output": {"message": {"role": "assistant", "content": [{"text": "so"}]}}, "stopReason": "end_turn"}
    return invocation(number % 60, "Converse", NOVA, asked, came, requestId=f"r-{number}")


def vertex(number: int, pad: str) -> Any:
    asked = {"contents": [{"role": "user", "parts": [{"text": f"{number}: {pad}"}]}]}
    came = {"candidates": [{"content": {"role": "model", "parts": [{"text": "so"}]}}]}
    return {"endpoint": "projects/p/locations/e", "logging_time": f"2026-01-08 10:00:{number % 60:02d} UTC",
            "request_id": str(number), "model": "gemini", "api_method": "generateContent",
            "full_request": asked, "full_response": came}  # fmt: skip


def mlflow(number: int, pad: str) -> Any:
    from tests.interop.test_logs_of_mlflow import SPANS, trace

    made = json.loads(json.dumps(trace(*SPANS)).replace("Where is order 7?", pad))
    made["info"]["trace_id"] = f"tr-{number}"
    return made


def evals(number: int, pad: str) -> Any:
    return {"item": {"input": message(number, pad), "ideal": "so"}}


def langfuse(number: int, pad: str) -> Any:
    return {**observation(2, "GENERATION", "chat", message(number, pad), TELLS), "id": f"{number + 2:016x}"}


def langsmith(number: int, pad: str) -> Any:
    return run(number + 1, "llm", "ChatOpenAI", {"messages": message(number, pad)}, chosen(TELLS, number),
               start_time="2026-01-08T10:00:00Z", end_time="2026-01-08T10:00:01Z")  # fmt: skip


def claude_code(number: int, pad: str) -> Any:
    return answers(number % 50, [says(pad)], f"msg_{number}")


Make = Callable[[int, str], Any]
LINES: dict[str, Make] = {
    "otlp": otlp, "openai": openai, "anthropic": anthropic, "bedrock": bedrock, "vertex": vertex, "mlflow": mlflow,
    "evals": evals, "langfuse": langfuse, "langsmith": langsmith, "claude-code": claude_code,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
@pytest.mark.parametrize("form", LINES)
def test_a_large_file_of_lines_is_never_held(tmp_path: Path, form: str) -> None:
    path = tmp_path / "large.jsonl"
    with path.open("w") as file:
        for number in range(ROWS):
            file.write(json.dumps(LINES[form](number, PAD)) + "\n")
    runs, items, peak = measured(form, path)
    assert items >= ROWS, (runs, items)
    assert peak <= MOST, f"{peak >> 20} MiB"


def document(form: str) -> Iterator[str]:
    """One document of nearly as many bytes and values as are read, piece by piece."""
    size = values = 0
    if form == "inspect":
        whole, pieces = json.dumps({"eval": INSPECT["eval"], "samples": ["HERE"]}), _samples()
    elif form == "langfuse":
        whole = json.dumps({**LANGFUSE, "observations": ["HERE"]})
        pieces = (json.dumps(langfuse(number, SMALL)) for number in range(1 << 30))
    elif form == "messages":
        whole = json.dumps(["HERE"])
        pieces = (json.dumps({**TAU[0], "task_id": number}) for number in range(1 << 30))
    else:
        whole = json.dumps(["HERE"] if form == "langsmith" else {"data": ["HERE"]})
        make = LINES[form]
        pieces = (json.dumps(make(number, SMALL)) for number in range(1 << 30))
    before, after = whole.split('"HERE"')
    yield before
    for number, piece in enumerate(pieces):
        size += len(piece) + 2
        values += sum(1 for _ in _TOKEN.finditer(piece.encode())) + 1
        if size > 31 << 20 or values > MOST_TOKENS - 1000:
            break
        yield (", " if number else "") + piece
    yield after


def _samples() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield json.dumps({**SAMPLE, "id": f"s{number}", "uuid": f"U{number}"})


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
@pytest.mark.parametrize("form", ["inspect", "langfuse", "langsmith", "messages", "openai", "bedrock", "evals"])
def test_the_largest_document_that_is_read_fits(tmp_path: Path, form: str) -> None:
    path = tmp_path / "large.json"
    with path.open("w") as file:
        file.writelines(document(form))
    runs, items, peak = measured(form, path)
    assert items > 1000, (runs, items)
    assert peak <= MOST, f"{peak >> 20} MiB"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_a_large_archive_of_inspect_is_never_held(tmp_path: Path) -> None:
    path = tmp_path / "large.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({**INSPECT, "samples": None}))
        for number in range(600):
            sample = {**SAMPLE, "id": f"s{number}", "uuid": f"U{number}", "target": PAD * 3}
            archive.writestr(f"samples/s{number}_epoch_1.json", json.dumps(sample))
    runs, _, peak = measured("inspect", path)
    assert runs == 600
    assert peak <= MOST, f"{peak >> 20} MiB"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_conversations_up_to_the_limit_fit(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    with path.open("w") as file:
        for number in range(3_400):
            file.write(json.dumps({"messages": [*message(number, WORDS), *SAID[1:], TELLS]}) + "\n")
    runs, _, peak = measured("messages", path)
    assert runs == 3_400
    assert peak <= MOST, f"{peak >> 20} MiB"
