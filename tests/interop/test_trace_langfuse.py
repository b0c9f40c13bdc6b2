"""Spans that Langfuse's own client has made of functions: each call is told once, and an agent replays against it."""

from __future__ import annotations

import json
from pathlib import Path

import openai

import reenact
from reenact.abc.store import Store
from tests.interop.conftest import Bring

WRITTEN = Path(__file__).parent / "written" / "langfuse-5.0.4.pb"
"""Spans as the client exports them: ``desk`` (``@observe(as_type="agent")``) asks a model, calls ``find_order(7)``
(``@observe(as_type="tool")``), and asks the model again. The tests' environment has no Langfuse."""


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


def test_a_tool_whose_arguments_are_told_by_their_place_is_one_call(bring: Bring, store: Store) -> None:
    (run,) = bring("otlp", WRITTEN)
    assert (run.user, run.session, run.totals.models, run.totals.tools) == ("u7", "s9", 2, 1)
    replayed = reenact.replay(run, entry=answer, store=store)
    assert (replayed.output, replayed.matched, replayed.unused) == ("It is lost.", 3, 0)
