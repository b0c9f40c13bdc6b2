"""The model calls of a run as rows of OpenAI Evals: the request is the item, the answer is the sample."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from reenact.abc.store import Recording
from reenact.facts.call import Json, Kind
from reenact.facts.evals_mark import MARK
from reenact.facts.event import Event
from reenact.facts.imported_runs import times_known
from reenact.facts.reading import Reading
from reenact.facts.trace_runs import is_original
from reenact.interop.otlp.run_spans import reading_told
from reenact.replaying.ambient_replay import clock_of

VECTORS: Final = "calls of models for vectors"
FUNCTIONS: Final = "calls of models in the process"
PARTS: Final = "parts of messages that are no text (images, files, reasoning)"
WIRE: Final = "model calls as they crossed the wire: bytes, headers, pieces of streams"
PROTOCOL: Final = "model calls of another provider or protocol, told as chat completions of OpenAI"
TOOLS: Final = "calls of tools as events: their arguments and results are in the rows around them"
NAMES: Final = "names of user, tenant and session"
UNFINISHED: Final = "model calls whose answer is not whole"

_SAMPLED: Final = ("temperature", "top_p", "seed", "max_completion_tokens")


def rows(recording: Recording, lost: Counter[str]) -> Iterator[bytes]:
    """The rows of a run, one for each model call, in order.

    Args:
        recording: The run.
        lost: Counts the facts of the run that the rows lack, in words.
    """
    run = recording.run
    began_us = clock_of(run)[0] if times_known(run) else None
    for event in recording.events():
        reading = reading_told(recording, event, inline=True)
        why = _unfit(event, reading)
        if reading is None or why:
            lost[why] += bool(why)
            continue
        if event.call.kind is Kind.HTTP:
            lost[WIRE] += 1
        lost[PROTOCOL] += (reading.dialect, reading.provider) != ("openai.chat", "openai")
        if reading.partial and reading.error is None:
            lost[UNFINISHED] += 1
        mark: dict[str, Json] = {"run": run.id, "event": event.number, "agent": run.agent, "version": run.version}
        if began_us is not None:
            ended = event.ended_us if event.ended_us is not None else event.issued_us
            mark |= {"at_us": began_us + event.issued_us, "ended_us": began_us + ended}
        item = {"input": _messages(reading, lost), "tools": [_tool(each) for each in reading.tools]}
        row = {"item": {**item, MARK: mark}, "sample": _sample(reading, lost)}
        yield json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace") + b"\n"
    lost[NAMES] += sum(bool(each) for each in (run.user, run.tenant, run.session))


def _unfit(event: Event, reading: Reading | None) -> str:
    """Why an event is no row; empty for a row, and for an event that other rows contain."""
    if reading is None:
        if event.call.kind is Kind.TOOL:
            return TOOLS
        return "" if is_original(event.call) else f"events of kind {event.kind}"
    if reading.sort == "embedding":
        return VECTORS
    return FUNCTIONS if reading.dialect == "function" else ""


def _sample(reading: Reading, lost: Counter[str]) -> dict[str, Json]:
    """The answer of the model, and its parameters."""
    lost[PARTS] += bool(reading.thinking)
    said: dict[str, Json] = {"role": "assistant", "content": reading.text or None}
    calls = [_call(each) for each in reading.tool_calls if isinstance(each, Mapping)]
    if calls:
        said["tool_calls"] = calls
    params = {name: each for name, each in reading.params.items() if name != "fingerprint"}
    sample: dict[str, Json] = {"model": reading.model_asked or reading.model_answered, "parameters": params}
    sample |= {name: params[name] for name in _SAMPLED if name in params}
    if reading.error is not None:
        error = reading.error
        return sample | {"error": {"code": str(error.get("type") or "error"), "message": error.get("message") or ""}}
    usage = reading.usage
    return sample | {
        "model_answered": reading.model_answered,
        "id": reading.response_id,
        "output": [said],
        "output_text": reading.text,
        "output_tools": calls,
        "finish_reason": reading.finish or None,
        "usage": {
            "prompt_tokens": usage.get("tokens_in", 0),
            "completion_tokens": usage.get("tokens_out", 0),
            "total_tokens": usage.get("tokens_in", 0) + usage.get("tokens_out", 0),
        },
    }


def _messages(reading: Reading, lost: Counter[str]) -> list[Json]:
    """A conversation as messages of chat completions."""
    made: list[Json] = [{"role": "system", "content": reading.system}] if reading.system else []
    for one in reading.messages:
        if not isinstance(one, Mapping):
            continue
        lost[PARTS] += bool(one.get("thinking")) + bool(one.get("other"))
        results = [each for each in one.get("tool_results") or () if isinstance(each, Mapping)]
        made += [{"role": "tool", "tool_call_id": each.get("id"), "content": each.get("text")} for each in results]
        calls = [_call(each) for each in one.get("tool_calls") or () if isinstance(each, Mapping)]
        text, role = one.get("text"), str(one.get("role") or "user")
        if calls:
            made.append({"role": role, "content": text or None, "tool_calls": calls})
        elif text or not results:
            made.append({"role": role, "content": text})
    return made


def _call(call: Mapping[str, Any]) -> Json:
    given = call.get("arguments")
    arguments = given if isinstance(given, str) else json.dumps({} if given is None else given, ensure_ascii=False)
    function = {"name": call.get("name"), "arguments": arguments}
    return {"id": call.get("id"), "type": "function", "function": function}


def _tool(offered: Json) -> Json:
    """An offered tool in the form of chat completions; a hosted tool is unchanged."""
    if not isinstance(offered, Mapping) or not offered.get("name") or "type" in offered:
        return offered
    function = {"name": offered["name"], "description": offered.get("description") or ""}
    return {"type": "function", "function": {**function, "parameters": offered.get("schema") or {}}}
