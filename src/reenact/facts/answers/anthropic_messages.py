"""The wire format of Anthropic's messages, whole and streamed."""

from __future__ import annotations

import json
import re
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
from reenact.facts.answers.seeded_choices import pieces
from reenact.facts.answers.wire_formats import Recall, Stamp, WireFormat, asked_tokens, named_event, said_tokens, slices
from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass

_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def read(body: Mapping[str, Json], call: int, day: int, recall: Recall) -> Ask:
    """The request as an ``Ask``; raises ``BadAsk`` if the provider would refuse it."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadAsk("messages: at least one message is required")
    if body.get("max_tokens") is None:
        raise BadAsk("max_tokens: Field required")
    form = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    return Ask(
        model=model_of(body),
        system=text_of(body.get("system")),
        turns=_conversation(messages),
        tools=tuple(
            OfferedTool(tool["name"], tool["input_schema"])
            for tool in body.get("tools") or ()
            if "input_schema" in tool
        ),
        choice=_choice(body.get("tool_choice") or {}),
        temperature=number_of(body, "temperature", 1.0),
        seed=seed_of(body),
        max_tokens=limit_of(body, "max_tokens"),
        schema=form.get("schema"),
        stream=bool(body.get("stream")),
        call=call,
        day=day,
    )


def _conversation(messages: list[Json]) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    names: dict[str, str] = {}
    for message in messages:
        role, content = message.get("role"), message.get("content")
        if role not in {"user", "assistant"}:
            raise BadAsk(f'messages: unexpected role "{role}"')
        blocks = content if isinstance(content, list) else []
        made = [block for block in blocks if block.get("type") == "tool_use"]
        names.update((block["id"], block["name"]) for block in made)
        given = [block for block in blocks if block.get("type") == "tool_result"]
        if any(block["tool_use_id"] not in names for block in given):
            raise BadAsk("messages: `tool_result` block without a `tool_use` block of that id before it")
        results = tuple(ToolResult(names[block["tool_use_id"]], text_of(block.get("content"))) for block in given)
        if results:
            turns.append(Turn("tool", results=results))
        text = content if isinstance(content, str) else text_of([b for b in blocks if b not in made and b not in given])
        uses = tuple(ToolUse(block["name"], arguments_of(block["input"])) for block in made)
        if text or uses:
            turns.append(Turn(role, text, uses))
    return tuple(turns)


def _choice(choice: Mapping[str, Json]) -> str:
    kind = str(choice.get("type", "auto"))
    return str(choice["name"]) if kind == "tool" else kind


@dataclass(frozen=True, slots=True)
class _MessageWriter:
    ask: Ask
    answer: ModelAnswer
    id: str
    call_ids: tuple[str, ...]
    model: str

    def whole(self) -> Json:
        """The body of the answer when it is not streamed."""
        reason = "tool_use" if self.answer.uses else "max_tokens" if self.answer.cut else "end_turn"
        return {**self._message(said_tokens(self.answer)), "content": self._blocks(), "stop_reason": reason}

    def frames(self) -> list[bytes]:
        """The events of the stream, each as it goes over the wire."""
        events: list[dict[str, Json]] = [{"type": "message_start", "message": self._message(1)}]
        for at, block in enumerate(self._blocks()):
            events += _block_events(at, block)
            if at == 0:
                events.insert(2, {"type": "ping"})
        whole = self.whole()
        delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        usage = {key: value for key, value in whole["usage"].items() if key.endswith("_tokens")}
        events += [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]
        return [named_event(event) for event in events]

    def _blocks(self) -> list[dict[str, Json]]:
        blocks: list[dict[str, Json]] = [dict(block) for block in self.answer.reasoning]
        if self.answer.text or not self.answer.uses:
            blocks.append({"type": "text", "text": self.answer.text})
        for identity, use in zip(self.call_ids, self.answer.uses, strict=True):
            blocks.append({"type": "tool_use", "id": identity, "name": use.name, "input": dict(use.arguments)})
        return blocks

    def _message(self, said: int) -> dict[str, Json]:
        return {
            "model": self.model,
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {
                "input_tokens": asked_tokens(self.ask),
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
                "output_tokens": said,
                "service_tier": "standard",
            },
        }


def _block_events(at: int, block: Mapping[str, Json]) -> list[dict[str, Json]]:
    if block["type"] == "text":
        opened = {**block, "text": ""}
        deltas: list[dict[str, Json]] = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
    elif block["type"] == "thinking":
        opened = {**block, "thinking": "", "signature": ""}
        deltas = [
            {"type": "thinking_delta", "thinking": block.get("thinking", "")},
            {"type": "signature_delta", "signature": block.get("signature", "")},
        ]
    elif block["type"] != "tool_use":
        opened, deltas = dict(block), []
    else:
        opened = {**block, "input": {}}
        parts = ["", *slices(json.dumps(block["input"]))]
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
    return [
        {"type": "content_block_start", "index": at, "content_block": opened},
        *({"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": at},
    ]


def write(ask: Ask, answer: ModelAnswer, body: Mapping[str, Json], stamp: Stamp) -> _MessageWriter:
    """The answer in this dialect."""
    identity = stamp.kept.id or stamp.id("msg_01", 22)
    calls = tuple(stamp.call(at, stamp.id("toolu_01", 22)) for at, _ in enumerate(answer.uses))
    dated = ask.model if re.search(r"\d{8}$", ask.model) else f"{ask.model}-20251001"
    return _MessageWriter(ask, answer, identity, calls, stamp.kept.model or dated)


def error(status: int, message: str, request_id: str) -> Json:
    """The provider's error body."""
    kind = _ERRORS.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id}


def headers(stamp: Stamp) -> tuple[tuple[str, str], ...]:
    """Header lines that the provider sends with every answer."""
    return (
        ("request-id", stamp.id("req_01", 22)),
        ("anthropic-organization-id", "scripted"),
        ("anthropic-ratelimit-requests-limit", "4000"),
        ("anthropic-ratelimit-requests-remaining", "3999"),
    )


DIALECT = WireFormat("/v1/messages", read, write, error, headers, ("x-api-key", "authorization"))
