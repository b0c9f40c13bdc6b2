"""The wire format of OpenAI's chat completions, whole and streamed."""

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
    digest,
    limit_of,
    model_of,
    number_of,
    seed_of,
    text_of,
)
from reenact.facts.answers.seeded_choices import pieces
from reenact.facts.answers.wire_formats import Recall, Stamp, WireFormat, asked_tokens, encoded, said_tokens, slices
from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.lazy_regex import lazy_regex


def read(body: Mapping[str, Json], call: int, day: int, recall: Recall) -> Ask:
    """The request as an ``Ask``; raises ``BadAsk`` if the provider would refuse it."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadAsk("'messages' must be a non-empty array")
    system, turns = _conversation(messages)
    form = body.get("response_format") or {}
    return Ask(
        model=model_of(body),
        system=system,
        turns=turns,
        tools=tuple(
            OfferedTool(tool["function"]["name"], tool["function"].get("parameters") or {})
            for tool in body.get("tools") or ()
            if tool.get("type") == "function"
        ),
        choice=_choice(body.get("tool_choice")),
        temperature=number_of(body, "temperature", 1.0),
        seed=seed_of(body),
        max_tokens=limit_of(body, "max_completion_tokens", "max_tokens"),
        schema=form["json_schema"].get("schema") if form.get("type") == "json_schema" else None,
        stream=bool(body.get("stream")),
        call=call,
        day=day,
    )


def _conversation(messages: list[Json]) -> tuple[str, tuple[Turn, ...]]:
    system: list[str] = []
    turns: list[Turn] = []
    names: dict[str, str] = {}
    for message in messages:
        role, text = message.get("role"), text_of(message.get("content"))
        if role in {"system", "developer"}:
            system.append(text)
        elif role == "user":
            turns.append(Turn("user", text))
        elif role == "assistant":
            made = [(made["id"], made["function"]) for made in message.get("tool_calls") or () if "function" in made]
            names.update((identity, function["name"]) for identity, function in made)
            uses = tuple(ToolUse(function["name"], arguments_of(function["arguments"])) for _, function in made)
            turns.append(Turn("assistant", text, uses))
        elif role == "tool":
            identity = str(message.get("tool_call_id"))
            if identity not in names:
                raise BadAsk("messages with role 'tool' must be a response to a preceding message with 'tool_calls'")
            turns.append(Turn("tool", results=(ToolResult(names[identity], text),)))
        else:
            raise BadAsk(f"invalid value for role: {role!r}")
    return "\n".join(system), tuple(turns)


def _choice(choice: Json) -> str:
    if isinstance(choice, dict):
        return str(choice["function"]["name"])
    return {"required": "any", "none": "none"}.get(str(choice), "auto")


def answered_by(model: str) -> str:
    """The dated model name that the provider gives in its answer, even if the requested name has no date."""
    return model if re.search(r"\d{4}-\d{2}-\d{2}$", model) else f"{model}-2025-08-07"


@dataclass(frozen=True, slots=True)
class _ChatWriter:
    ask: Ask
    answer: ModelAnswer
    include_usage: bool
    id: str
    call_ids: tuple[str, ...]
    created_s: int
    model: str
    at_once: bool = False

    def whole(self) -> Json:
        """The body of the answer when it is not streamed."""
        message: dict[str, Json] = {
            "role": "assistant",
            "content": self.answer.text or None,
            "refusal": None,
            "annotations": [],
        }
        for disclosed in self.answer.reasoning:
            message |= disclosed
        if self.answer.uses:
            message["tool_calls"] = [
                {
                    "id": identity,
                    "type": "function",
                    "function": {"name": use.name, "arguments": json.dumps(use.arguments)},
                }
                for identity, use in zip(self.call_ids, self.answer.uses, strict=True)
            ]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._finish()}
        return {**self._top("chat.completion"), "choices": [choice], "usage": self._usage()}

    def frames(self) -> list[bytes]:
        """The events of the stream, each as it goes over the wire."""
        deltas: list[dict[str, Json]] = [
            {"role": "assistant", "content": "" if self.answer.text else None, "refusal": None}
        ]
        deltas += list(self.answer.reasoning)
        deltas += [{"content": piece} for piece in pieces(self.answer.text)]
        for at, (identity, use) in enumerate(zip(self.call_ids, self.answer.uses, strict=True)):
            function = {"name": use.name, "arguments": json.dumps(use.arguments) if self.at_once else ""}
            deltas.append({"tool_calls": [{"index": at, "id": identity, "type": "function", "function": function}]})
            if self.at_once:
                continue
            deltas += [
                {"tool_calls": [{"index": at, "function": {"arguments": part}}]}
                for part in slices(json.dumps(use.arguments))
            ]
        chunks = [self._chunk([_choice_of(delta, None)]) for delta in deltas]
        chunks.append(self._chunk([_choice_of({}, self._finish())]))
        if self.include_usage:
            chunks.append({**self._chunk([]), "usage": self._usage()})
        return [b"data: " + encoded(chunk) + b"\n\n" for chunk in chunks] + [b"data: [DONE]\n\n"]

    def _chunk(self, choices: list[Json]) -> dict[str, Json]:
        chunk = {**self._top("chat.completion.chunk"), "choices": choices}
        return {**chunk, "usage": None} if self.include_usage else chunk

    def _top(self, kind: str) -> dict[str, Json]:
        top: dict[str, Json] = {"id": self.id, "object": kind, "created": self.created_s, "model": self.model}
        if self.ask.counted:  # tokens do not count where no model has answered
            top |= {"service_tier": "default", "system_fingerprint": f"fp_{digest(self.model).hex()[:10]}"}
        return top

    def _finish(self) -> str:
        return "tool_calls" if self.answer.uses else "length" if self.answer.cut else "stop"

    def _usage(self) -> dict[str, Json]:
        asked, said = asked_tokens(self.ask), said_tokens(self.answer)
        return {
            "prompt_tokens": asked,
            "completion_tokens": said,
            "total_tokens": asked + said,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": 0,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }


def _choice_of(delta: Mapping[str, Json], finish: str | None) -> dict[str, Json]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def write(ask: Ask, answer: ModelAnswer, body: Mapping[str, Json], stamp: Stamp) -> _ChatWriter:
    """The answer in this dialect."""
    include_usage = bool((body.get("stream_options") or {}).get("include_usage"))
    call_ids = tuple(stamp.call(at, stamp.id("call_", 24)) for at, _ in enumerate(answer.uses))
    identity = stamp.kept.id or stamp.id("chatcmpl-", 29)
    model = stamp.kept.model or answered_by(ask.model)
    return _ChatWriter(ask, answer, include_usage, identity, call_ids, stamp.created_s, model)


def write_at_once(ask: Ask, answer: ModelAnswer, body: Mapping[str, Json], stamp: Stamp) -> _ChatWriter:
    """The answer in this dialect; in a stream, each tool call is one piece, which every client can read."""
    return replace(write(ask, answer, body, stamp), at_once=True)


def error(status: int, message: str, request_id: str) -> Json:
    """The provider's error body."""
    kinds = {400: "invalid_request_error", 401: "invalid_request_error", 429: "requests"}
    codes = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
    return {
        "error": {
            "message": message,
            "type": kinds.get(status, "server_error"),
            "param": None,
            "code": codes.get(status),
        }
    }


def headers(stamp: Stamp) -> tuple[tuple[str, str], ...]:
    """Header lines that the provider sends with every answer."""
    return (
        ("x-request-id", stamp.hex("req_", 32)),
        ("openai-organization", "scripted"),
        ("openai-processing-ms", "12"),
        ("openai-version", "2020-10-01"),
    )


DIALECT = WireFormat(
    "/v1/chat/completions",
    read,
    write,
    error,
    headers,
    ("authorization", "api-key"),
    lazy_regex(r"(?:/openai|/api)?/v1/chat/completions"),
)
