"""A conversation without spans, as the calls in it: each answer of a model, each result of a tool."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass
from reenact.interop.otlp.names import as_said
from reenact.interop.rows.call_items import listing, mapping, text
from reenact.interop.trace_messages import message as neutral
from reenact.interop.trace_values import opened

ROOM: Final = 24 << 20
"""The most bytes of messages in all model calls of one conversation: each call repeats all messages before it."""
LEFT: Final = "left"
"""The attribute of a model call whose messages are not repeated, with the reason."""
_TOO_LONG: Final = f"its messages: with those of the calls before it they come to more than {ROOM >> 20} MiB"


@dataclass(frozen=True, slots=True)
class ConversationCall:
    """A call inside a conversation.

    Attributes:
        at: Its position among the messages.
        name: The tool, or ``answer``.
        attributes: Its attributes.
        error: The failure of a tool; empty without one.
    """

    at: int
    name: str
    attributes: Mapping[str, Json]
    error: str = ""


class Room:
    """The bytes of a conversation that may still be repeated."""

    def __init__(self) -> None:
        self._left = ROOM
        self._sizes: dict[int, int] = {}

    def told(self, messages: list[Any]) -> bool:
        """Whether some messages may be repeated once more; if so, they are counted."""
        for each in messages:
            if id(each) not in self._sizes:
                self._sizes[id(each)] = _size(each)
        size = sum(self._sizes[id(each)] for each in messages)
        if size > self._left:
            return False
        self._left -= size
        return True

    def attributes(self, dialect: str, messages: list[Any]) -> dict[str, Json]:
        """The messages of a model's request, as attributes; if they are too long, a mark that they are left out."""
        if self.told(messages):
            return as_said(dialect, input_messages=messages)
        return {f"{dialect}.{LEFT}": _TOO_LONG}


def _size(message: Any) -> int:
    try:
        return len(json.dumps(message))
    except (RecursionError, ValueError, TypeError):
        return ROOM


def turns(dialect: str, messages: list[Any], model: str = "", tools: Json = None) -> Iterator[ConversationCall]:
    """The calls inside a conversation, in order.

    Args:
        dialect: The dialect of their attributes' names.
        messages: The messages, in any shape that ``messages`` reads.
        model: The model that answers; empty where it is not known.
        tools: The offered tools.
    """
    room = Room()
    asked: dict[str, Mapping[str, Json]] = {}
    for at, one in enumerate(messages):
        said = mapping(one)
        role = text(said.get("role"))
        if role == "assistant":
            calls = mapping(neutral(one)).get("tool_calls")
            asked |= {str(each["id"]): each for each in listing(calls) if each.get("id")}
            found = as_said(dialect, operation="model", output_messages=[one], model_asked=model or None, tools=tools)
            yield ConversationCall(at, "answer", found | room.attributes(dialect, messages[:at]))
        elif role in ("tool", "function"):
            own = text(said.get("tool_call_id"))
            call = asked.get(own) or {}
            name = text(said.get("name")) or text(said.get("function")) or str(call.get("name") or "") or "tool"
            error = mapping(said.get("error"))
            found = as_said(
                dialect,
                operation="tool",
                tool_name=name,
                tool_id=own or None,
                tool_arguments=opened(call.get("arguments")),
                tool_result=said.get("content"),
                error_type=text(error.get("type")) or None,
            )
            yield ConversationCall(at, name, found, text(error.get("message")) or text(error.get("type")))
