"""The wire format of OpenAI's responses, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Mapping

from reenact.facts.answers.asks import (
    Ask,
    BadAsk,
    ModelAnswer,
    OfferedTool,
    ToolResult,
    ToolUse,
    Turn,
    arguments_of,
    limit_of,
    model_of,
    number_of,
    seed_of,
    text_of,
)
from reenact.facts.answers.openai_chat import answered_by, error, headers
from reenact.facts.answers.seeded_choices import pieces
from reenact.facts.answers.wire_formats import Recall, Stamp, WireFormat, asked_tokens, named_event, said_tokens, slices
from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass


def read(body: Mapping[str, Json], call: int, day: int, recall: Recall) -> Ask:
    """The request as an ``Ask``; raises ``BadAsk`` if the provider would refuse it."""
    previous = body.get("previous_response_id")
    earlier = recall(str(previous)) if previous else ()
    if earlier is None:
        raise BadAsk(f"Previous response with id '{previous}' not found.")
    items = body.get("input")
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    if not isinstance(items, list):
        raise BadAsk("'input' must be a string or an array")
    system, turns = _conversation(items, earlier)
    form = (body.get("text") or {}).get("format") or {}
    choice = body.get("tool_choice")
    return Ask(
        model=model_of(body),
        system="\n".join(filter(None, [body.get("instructions") or "", system])),
        turns=turns,
        tools=tuple(
            OfferedTool(tool["name"], tool.get("parameters") or {})
            for tool in body.get("tools") or ()
            if tool.get("type") == "function"
        ),
        choice=str(choice["name"])
        if isinstance(choice, dict)
        else {"required": "any", "none": "none"}.get(str(choice), "auto"),
        temperature=number_of(body, "temperature", 1.0),
        seed=seed_of(body),
        max_tokens=limit_of(body, "max_output_tokens"),
        schema=form.get("schema") if form.get("type") == "json_schema" else None,
        stream=bool(body.get("stream")),
        call=call,
        day=day,
    )


def _conversation(items: list[Json], earlier: tuple[Turn, ...]) -> tuple[str, tuple[Turn, ...]]:
    system: list[str] = []
    turns = list(earlier)
    names: dict[str, str] = {}
    for item in items:
        kind, role = item.get("type", "message"), item.get("role")
        if kind == "function_call":
            names[item["call_id"]] = item["name"]
            turns.append(Turn("assistant", uses=(ToolUse(item["name"], arguments_of(item["arguments"])),)))
        elif kind == "function_call_output":
            name = names.get(item["call_id"]) or _last_unanswered(turns)
            turns.append(Turn("tool", results=(ToolResult(name, text_of(item["output"])),)))
        elif kind != "message":
            continue  # reasoning and hosted tools: clients hand them back, and no script looks at them
        elif role in {"system", "developer"}:
            system.append(text_of(item.get("content")))
        elif role in {"user", "assistant"}:
            turns.append(Turn(role, text_of(item.get("content"))))
        else:
            raise BadAsk(f"invalid value for role: {role!r}")
    return "\n".join(system), tuple(turns)


def _last_unanswered(turns: list[Turn]) -> str:
    """The name of the first requested tool without a result in a remembered conversation. Ids of calls are not
    remembered."""
    uses = [use.name for turn in turns for use in turn.uses]
    results = sum(len(turn.results) for turn in turns)
    return uses[results] if results < len(uses) else ""


@dataclass(frozen=True, slots=True)
class _ResponseWriter:
    ask: Ask
    answer: ModelAnswer
    body: Mapping[str, Json]
    id: str
    message_id: str
    call_ids: tuple[tuple[str, str], ...]
    created_s: int
    model: str

    def whole(self) -> Json:
        """The body of the answer when it is not streamed."""
        asked, said = asked_tokens(self.ask), said_tokens(self.answer)
        usage = {
            "input_tokens": asked,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": said,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": asked + said,
        }
        cut = {"reason": "max_output_tokens"} if self.answer.cut else None
        status = "incomplete" if self.answer.cut else "completed"
        return self._response(status, self._items(), usage=usage, incomplete_details=cut, completed_at=self.created_s)

    def frames(self) -> list[bytes]:
        """The events of the stream, each as it goes over the wire."""
        opened = self._response("in_progress", [])
        events: list[dict[str, Json]] = [
            {"type": "response.created", "response": opened},
            {"type": "response.in_progress", "response": opened},
        ]
        for at, item in enumerate(self._items()):
            events += _EVENTS.get(item["type"], _item_events)(at, item)
        whole = self.whole()
        events.append({"type": f"response.{whole['status']}", "response": whole})
        return [named_event({**event, "sequence_number": number}) for number, event in enumerate(events)]

    def _items(self) -> list[dict[str, Json]]:
        items: list[dict[str, Json]] = [dict(item) for item in self.answer.reasoning]
        if self.answer.text or not self.answer.uses:
            text = {"type": "output_text", "annotations": [], "logprobs": [], "text": self.answer.text}
            status = "incomplete" if self.answer.cut else "completed"
            items.append(
                {"id": self.message_id, "type": "message", "status": status, "content": [text], "role": "assistant"}
            )
        for (identity, call_id), use in zip(self.call_ids, self.answer.uses, strict=True):
            call = {
                "id": identity,
                "type": "function_call",
                "status": "completed",
                "call_id": call_id,
                "name": use.name,
            }
            items.append({**call, "arguments": json.dumps(use.arguments)})
        return items

    def _response(self, status: str, output: list[dict[str, Json]], **end: Json) -> dict[str, Json]:
        asked = self.body
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created_s,
            "status": status,
            "background": False,
            "completed_at": None,
            "error": None,
            "incomplete_details": None,
            "instructions": asked.get("instructions"),
            "max_output_tokens": asked.get("max_output_tokens"),
            "max_tool_calls": None,
            "model": self.model,
            "output": output,
            "parallel_tool_calls": asked.get("parallel_tool_calls", True),
            "previous_response_id": asked.get("previous_response_id"),
            "reasoning": {"effort": None, "summary": None},
            "service_tier": "default",
            "store": asked.get("store", True),
            "temperature": self.ask.temperature,
            "text": asked.get("text") or {"format": {"type": "text"}, "verbosity": "medium"},
            "tool_choice": asked.get("tool_choice", "auto"),
            "tools": asked.get("tools") or [],
            "top_logprobs": 0,
            "top_p": asked.get("top_p", 1.0),
            "truncation": "disabled",
            "usage": None,
            "user": None,
            "metadata": asked.get("metadata") or {},
            **end,
        }


def _text_events(at: int, item: Mapping[str, Json]) -> list[dict[str, Json]]:
    part = item["content"][0]
    place = {"item_id": item["id"], "output_index": at, "content_index": 0}
    events: list[dict[str, Json]] = [
        {
            "type": "response.output_item.added",
            "output_index": at,
            "item": {**item, "status": "in_progress", "content": []},
        },
        {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
    ]
    events += [
        {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
        for piece in pieces(part["text"])
    ]
    return [
        *events,
        {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []},
        {"type": "response.content_part.done", **place, "part": part},
        {"type": "response.output_item.done", "output_index": at, "item": item},
    ]


def _call_events(at: int, item: Mapping[str, Json]) -> list[dict[str, Json]]:
    place = {"item_id": item["id"], "output_index": at}
    opened = {**item, "status": "in_progress", "arguments": ""}
    return [
        {"type": "response.output_item.added", "output_index": at, "item": opened},
        *(
            {"type": "response.function_call_arguments.delta", **place, "delta": part}
            for part in slices(item["arguments"])
        ),
        {"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]},
        {"type": "response.output_item.done", "output_index": at, "item": item},
    ]


def _item_events(at: int, item: Mapping[str, Json]) -> list[dict[str, Json]]:
    """The events of an item that is sent unchanged, such as reasoning."""
    return [
        {"type": "response.output_item.added", "output_index": at, "item": item},
        {"type": "response.output_item.done", "output_index": at, "item": item},
    ]


_EVENTS = {"message": _text_events, "function_call": _call_events}


def write(ask: Ask, answer: ModelAnswer, body: Mapping[str, Json], stamp: Stamp) -> _ResponseWriter:
    """The answer in this dialect."""
    new = [(stamp.hex("fc_", 50), stamp.id("call_", 24)) for _ in answer.uses]
    items = stamp.kept.items
    call_ids = tuple((items.get(at) or item, stamp.call(at, call)) for at, (item, call) in enumerate(new))
    identity, message = stamp.kept.id or stamp.hex("resp_", 50), items.get("message") or stamp.hex("msg_", 50)
    model = stamp.kept.model or answered_by(ask.model)
    return _ResponseWriter(ask, answer, body, identity, message, call_ids, stamp.created_s, model)


DIALECT = WireFormat("/v1/responses", read, write, error, headers, ("authorization", "api-key"))
