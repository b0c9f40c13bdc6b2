"""Facts that requests reveal about each other: tool calls without a row, and calls of one conversation."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Final

from reenact.facts.call import Json
from reenact.interop.questions import conversation
from reenact.interop.rows.call_items import tool_call
from reenact.interop.trace_values import opened
from reenact.interop.traces import TraceItem

_PENDING: Final = 4096
_OPEN: Final = 50_000


class OpenToolCalls:
    """The tool calls that a model has asked for, until the next model call has their results."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, Mapping[str, Json]] = OrderedDict()

    def before(self, item: TraceItem) -> Iterator[TraceItem]:
        """The calls that were answered before a model call; the model call's messages show them."""
        assert item.reading is not None
        for message in item.reading.messages:
            results = message.get("tool_results") if isinstance(message, Mapping) else None
            for result in results if isinstance(results, list) else ():
                call = self._waiting.pop(str(result.get("id")), None) if isinstance(result, Mapping) else None
                if call is not None:
                    yield _told(call, result.get("text"))
        for call in item.reading.tool_calls:
            if isinstance(call, Mapping) and call.get("id"):
                self._waiting[str(call["id"])] = call
                if len(self._waiting) > _PENDING:
                    self._waiting.popitem(last=False)

    def rest(self) -> Iterator[TraceItem]:
        """The tool calls that no later model call answers."""
        for call in self._waiting.values():
            yield _told(call, None)


def _told(call: Mapping[str, Json], result: Json) -> TraceItem:
    return tool_call(str(call.get("name") or "tool"), str(call.get("id")), opened(call.get("arguments")), result)


class Conversations:
    """Finds requests that continue an earlier one: their messages begin with all of its messages."""

    def __init__(self) -> None:
        self._open: OrderedDict[bytes, str] = OrderedDict()

    def run_of(self, request: Json, own: str) -> str:
        """The run of a request: the run of the conversation that it continues, or else its own."""
        asked = conversation(request)
        states = [blake2b(asked.system.encode("utf-8", "surrogatepass"), digest_size=12).digest()]
        for message in asked.messages:
            text = json.dumps(message, sort_keys=True).encode("utf-8", "surrogatepass")
            states.append(blake2b(states[-1] + text, digest_size=12).digest())
        run = own
        for state in reversed(states[1:-1]):
            if state in self._open:
                run = self._open.pop(state)
                break
        if len(states) > 1:
            self._open[states[-1]] = run
            if len(self._open) > _OPEN:
                self._open.popitem(last=False)
        return run
