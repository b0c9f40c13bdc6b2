"""Spans that Langfuse's own client makes of functions: each call is told once, and an agent replays against it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import openai
import pytest

import reenact
from reenact.abc.store import Store
from tests.interop.conftest import Bring

PROGRAM = """
import sys
from langfuse import Langfuse, observe, propagate_attributes
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

kept = InMemorySpanExporter()
client = Langfuse(tracer_provider=TracerProvider(), span_exporter=kept)
CALL = {"id": "c1", "type": "function", "function": {"name": "find_order", "arguments": '{"order": 7}'}}
MODEL = "gpt-4o-mini"
ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where is order 7?"}]


@observe(as_type="tool")
def find_order(order, depot="main"):
    return {"state": "lost"}


@observe(as_type="agent")
def desk(question):
    with client.start_as_current_observation(as_type="generation", name="chat", model=MODEL, input=ASKED) as one:
        one.update(output={"role": "assistant", "content": None, "tool_calls": [CALL]})
    find_order(7)
    said = [*ASKED, {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": '{"state": "lost"}'}]
    with client.start_as_current_observation(as_type="generation", name="chat", model=MODEL, input=said) as one:
        one.update(output="It is lost.")
    return "It is lost."


with propagate_attributes(user_id="u7", session_id="s9"):
    desk("Where is order 7?")
client.flush()
spans = {each.context.span_id: each for each in kept.get_finished_spans()}
with open(sys.argv[1], "wb") as file:
    file.write(encode_spans(list(spans.values())).SerializeToString())
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of spans that the client has made."""
    folder = tmp_path_factory.mktemp("langfuse")
    (folder / "desk.py").write_text(PROGRAM)
    keys = {"LANGFUSE_PUBLIC_KEY": "pk-none", "LANGFUSE_SECRET_KEY": "sk-none", "LANGFUSE_HOST": "http://127.0.0.1:9"}
    command = [sys.executable, "desk.py", "spans.pb"]
    subprocess.run(command, cwd=folder, env={**os.environ, **keys}, check=True, capture_output=True, timeout=120)
    return folder / "spans.pb"


@reenact.tool
def find_order(order: int, depot: str = "main") -> dict[str, str]:
    raise AssertionError("the tool's own code ran")


def answer() -> str:
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where is order 7?"}]
    client = openai.OpenAI(api_key="none", max_retries=0)
    while True:
        made = client.chat.completions.create(model="gpt-4o-mini", messages=said)  # type: ignore[arg-type]
        message = made.choices[0].message
        if not message.tool_calls:
            return str(message.content)
        said.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            found = find_order(**json.loads(call.function.arguments))  # type: ignore[union-attr]
            said.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(found)})


def test_a_tool_whose_arguments_are_told_by_their_place_is_one_call(bring: Bring, store: Store, written: Path) -> None:
    (run,) = bring("otlp", written)
    assert (run.user, run.session, run.totals.models, run.totals.tools) == ("u7", "s9", 2, 1)
    replayed = reenact.replay(run, entry=answer, store=store)
    assert (replayed.output, replayed.matched, replayed.unused) == ("It is lost.", 3, 0)
