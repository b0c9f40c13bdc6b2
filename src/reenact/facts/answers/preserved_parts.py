"""The parts of a model's recorded answer that a replacement keeps: ids, the model's name, signed reasoning.

A provider refuses a conversation whose signatures are gone, and a client refuses an answer whose ids do not match. So
the text may be changed, but these parts may not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from reenact.facts.answers.wire_formats import InheritedParts
from reenact.facts.call import Json
from reenact.facts.dialects.dialect import listing, mapping, text
from reenact.facts.reading import Reading

_DISCLOSED: Final = ("reasoning_content", "reasoning", "reasoning_details")


def kept_of(reading: Reading, documents: Sequence[Mapping[str, Json]], *, streamed: bool) -> InheritedParts:
    """The kept parts of a recorded answer.

    Args:
        reading: The reading of the answer.
        documents: Its one body, or the events of its stream.
        streamed: Whether the answer is a stream.
    """
    calls = tuple(text(call.get("id")) for call in reading.tool_calls)
    found = _OF.get(reading.dialect, _nothing)(documents, streamed)
    return InheritedParts(id=reading.response_id, model=reading.model_answered, calls=calls, **found)


def _nothing(documents: Sequence[Mapping[str, Json]], streamed: bool) -> dict[str, Json]:
    return {}


def _chat(documents: Sequence[Mapping[str, Json]], streamed: bool) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for document in documents:
        choice = mapping((listing(document.get("choices")) or [None])[0])
        message = mapping(choice.get("delta" if streamed else "message"))
        for name in _DISCLOSED:
            if message.get(name):
                found[name] = found[name] + message[name] if name in found else message[name]
    return {"reasoning": (found,)} if found else {}


def _responses(documents: Sequence[Mapping[str, Json]], streamed: bool) -> dict[str, Json]:
    if streamed:
        output = [mapping(each["item"]) for each in documents if each.get("type") == "response.output_item.done"]
    else:
        output = [mapping(item) for item in listing(documents[0].get("output"))]
    items: dict[int | str, str] = {}
    calls = [item for item in output if item.get("type") == "function_call"]
    items.update({at: text(item.get("id")) for at, item in enumerate(calls)})
    for item in output:
        if item.get("type") == "message":
            items["message"] = text(item.get("id"))
    return {"items": items, "reasoning": tuple(dict(item) for item in output if item.get("type") == "reasoning")}


def _anthropic(documents: Sequence[Mapping[str, Json]], streamed: bool) -> dict[str, Json]:
    blocks: dict[Json, dict[str, Json]] = {}
    if streamed:
        for event in documents:
            if event.get("type") == "content_block_start":
                blocks[event["index"]] = dict(mapping(event.get("content_block")))
            elif event.get("type") == "content_block_delta":
                block, delta = blocks.setdefault(event["index"], {}), mapping(event.get("delta"))
                for name in ("thinking", "signature"):
                    if isinstance(delta.get(name), str):
                        block[name] = text(block.get(name)) + delta[name]
    else:
        blocks = dict(enumerate(dict(mapping(block)) for block in listing(documents[0].get("content"))))
    kinds = ("thinking", "redacted_thinking")
    return {"reasoning": tuple(block for block in blocks.values() if block.get("type") in kinds)}


def _gemini(documents: Sequence[Mapping[str, Json]], streamed: bool) -> dict[str, Json]:
    parts: list[Mapping[str, Json]] = []
    for document in documents:
        candidate = mapping((listing(document.get("candidates")) or [None])[0])
        parts += map(mapping, listing(mapping(candidate.get("content")).get("parts")))
    calls = [part for part in parts if mapping(part.get("functionCall"))]
    thought = tuple(dict(part) for part in parts if part.get("thought") is True)
    said = [part for part in parts if part.get("thought") is not True and "functionCall" not in part]
    signed = [text(part.get("thoughtSignature")) for part in said if part.get("thoughtSignature")]
    return {
        "reasoning": thought,
        "signatures": tuple(text(part.get("thoughtSignature")) for part in calls),
        "signature": signed[-1] if signed else "",
    }


def _converse(documents: Sequence[Mapping[str, Json]], streamed: bool) -> dict[str, Json]:
    if not streamed:
        message = mapping(mapping(documents[0].get("output")).get("message"))
        blocks = [mapping(block) for block in listing(message.get("content"))]
        return {"reasoning": tuple(dict(block) for block in blocks if "reasoningContent" in block)}
    found: dict[Json, dict[str, Json]] = {}
    for event in documents:
        block_event = mapping(event.get("contentBlockDelta")) or event
        delta = mapping(mapping(block_event.get("delta")).get("reasoningContent"))
        for name, value in delta.items():
            block = found.setdefault(block_event.get("contentBlockIndex"), {})
            told = block if name == "redactedContent" else block.setdefault("reasoningText", {})
            told[name] = text(told.get(name)) + text(value)
    return {"reasoning": tuple({"reasoningContent": block} for block in found.values())}


_OF: Final[Mapping[str, Callable[[Sequence[Mapping[str, Json]], bool], dict[str, Json]]]] = {
    "openai.chat": _chat,
    "openai.responses": _responses,
    "anthropic.messages": _anthropic,
    "google.gemini": _gemini,
    "bedrock.converse": _converse,
    "bedrock.invoke": _converse,
}
