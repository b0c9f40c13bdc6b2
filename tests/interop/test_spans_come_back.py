"""What real files tell of models and tools is told again after it has left as spans and come back, in each dialect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reenact.abc.store import Store
from reenact.facts.call import Failure
from reenact.facts.conversations import data_of, lines_of
from reenact.facts.event import Event
from reenact.facts.policy import Policy
from reenact.facts.run import Run
from reenact.facts.trace_runs import is_original
from reenact.interop.file_formats import spans
from reenact.interop.otlp.outgoing_span import as_json, as_protobuf
from reenact.interop.otlp.run_spans import reading_told
from tests.interop.conftest import Bring

WRITTEN = Path(__file__).parent / "written"
FORMATS = {
    "inspect": "formats/inspect/*",
    "langfuse": "formats/langfuse/*",
    "langsmith": "formats/langsmith/*",
    "otlp": "formats/otlp-derived/*",
    "vcr": "wire/*.yaml",
    "mlflow": "",
}


def files(shared_data: Path, form: str) -> list[Path]:
    """The real files of a format."""
    found = sorted(shared_data.glob(FORMATS[form])) if FORMATS[form] else []
    return [*found, *sorted(WRITTEN.glob(f"{form}-*.json"))]


def told(store: Store, run: Run, *, tools: bool) -> list[Any]:
    """What the calls of a run were, by what a replay compares; ``tools``: those of tools too."""
    recording = store.open(run.id)
    found = []
    for event in recording.events():
        reading = None if is_original(event.call) else reading_told(recording, event, inline=True)
        if reading is not None:
            lines = [[_squeezed(part) for part in line] for line in lines_of(reading)]
            calls = [(each.get("name"), data_of(each.get("arguments"))) for each in reading.tool_calls]
            failed = bool(reading.error) or isinstance(event.outcome, Failure)
            names = reading.model_asked, reading.model_answered
            found.append(("model", names, lines, reading.text, calls, reading.usage, failed))
        elif tools and event.kind == "tool":
            found.append(_tool(recording, event))
    return found


def _tool(recording: Any, event: Event) -> Any:
    wrong = isinstance(event.outcome, Failure) and event.outcome.error.text
    bodies = [recording.body(each) if each is not None else b"" for each in (event.request, event.answer)]
    return "tool", event.name, wrong, bodies[0], b"" if wrong else bodies[1]


def _squeezed(part: Any) -> Any:
    return "".join(part.split()) if isinstance(part, str) else part


@pytest.mark.parametrize("dialect", ["otel", "openinference"])
@pytest.mark.parametrize("form", FORMATS)
def test_what_left_as_spans_tells_the_same(
    bring: Bring, store: Store, shared_data: Path, tmp_path: Path, form: str, dialect: str
) -> None:
    paths = files(shared_data, form)
    assert paths
    for number, path in enumerate(paths):
        for run in bring(form, path):
            made = spans(store.open(run.id), Policy(otel_content="inline", otel_dialect=dialect))
            left = tmp_path / ("left.json" if number % 2 else "left.pb")
            left.write_bytes(as_json([made.batch]) if number % 2 else as_protobuf([made.batch]))
            (back,) = bring("otlp", left)
            tools = form != "vcr"  # of exchanges the next request alone says what a tool gave
            assert told(store, back, tools=tools) == told(store, run, tools=tools), path.name


def test_no_model_is_made_up(bring: Bring, store: Store) -> None:
    message = {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "text", "text": "Lost."}]}
    row = {"custom_id": "r1", "result": {"type": "succeeded", "message": message}}
    (run,) = bring("anthropic", json.dumps(row) + "\n")
    for dialect in ("otel", "openinference"):
        made = spans(store.open(run.id), Policy(otel_content="inline", otel_dialect=dialect))
        (back,) = bring("otlp", as_json([made.batch]).decode())
        assert [each[1] for each in told(store, back, tools=False)] == [("", "")]
