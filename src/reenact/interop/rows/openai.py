"""Files of OpenAI's API: requests and results of a batch, stored completions and stored responses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from reenact.facts.call import Json
from reenact.facts.lazy_regex import lazy_regex
from reenact.interop.rows.call_items import LoggedCall, listing, mapping, microseconds, model_call, since, text
from reenact.interop.rows.linked_calls import OpenToolCalls
from reenact.interop.rows.row_reader import Belongs, Row, Teller
from reenact.interop.traces import Facts, TraceItem, Wrong

SOURCE: Final = "openai"

_BASE: Final = "https://api.openai.com"
_LIKE: Final = lazy_regex(
    rb'"custom_id".*"(?:body|response)"|"object"\s*:\s*"(?:chat\.completion|response)"', re.DOTALL
)
_CHAT: Final = "/v1/chat/completions"
_RESPONSES: Final = "/v1/responses"
_ANSWERED: Final = frozenset(
    {
        *("id", "object", "created", "created_at", "completed_at", "model", "status", "error", "incomplete_details"),
        *("choices", "output", "output_text", "usage", "system_fingerprint", "service_tier", "moderation"),
        *("metadata", "request_id", "input_items"),
    }
)
"""Fields of a stored answer that are not part of its request."""


def fits(head: bytes) -> bool:
    """Whether a file with this beginning looks like a batch or stored answers."""
    return b'"params"' not in head and _LIKE.search(head) is not None


class OpenAIRows:
    """The rows of files of OpenAI's API: a batch is one run, and each chain of stored answers is one."""

    source: Final = SOURCE

    def __init__(self) -> None:
        self._chains: dict[str, str] = {}

    def belongs(self, row: Row) -> Belongs | str:
        """A batch is one run, in which requests are matched with results by name. A response belongs to the run of the
        response before it, or of its conversation."""
        custom = text(row.get("custom_id"))
        if custom and (isinstance(row.get("body"), Mapping) or "response" in row or "error" in row):
            created = mapping(mapping(row.get("response")).get("body")).get("created")
            return Belongs("", f"custom {custom}", microseconds(created))
        kind, own = row.get("object"), text(row.get("id"))
        at_us = microseconds(row.get("created") or row.get("created_at"))
        if kind == "chat.completion" and own:
            return Belongs(own, "", at_us)
        if kind == "response" and own:
            before = text(row.get("previous_response_id"))
            said = text(mapping(row.get("conversation")).get("id"))
            run = said or self._chains.get(before) or own
            self._chains[own] = run
            return Belongs(run, "", at_us)
        return "no request or result of a batch, no chat completion and no response"

    def facts(self, row: Row) -> Facts:
        """The user, where a request names one."""
        body = mapping(row.get("body")) or row
        return Facts(SOURCE, user=text(body.get("safety_identifier")) or text(body.get("user")))

    def teller(self, began_us: int | None) -> Teller:
        """Reads each row, or each request with its result, as a model call."""
        return _ChainState(began_us)


class _ChainState:
    """A batch or a chain while its rows are read."""

    def __init__(self, began_us: int | None) -> None:
        self._began_us = began_us
        self._tools = OpenToolCalls()

    def told(self, rows: list[Row]) -> Iterator[TraceItem]:
        """The model call of a row, or of a request with its result; before it, the tool calls in its messages."""
        first = rows[0]
        chained = not first.get("custom_id")
        item = model_call(self._stored(first) if chained else self._of_batch(rows))
        if not chained:
            yield item
            return
        yield from self._tools.before(item)
        yield item

    def rest(self) -> Iterator[TraceItem]:
        """The tool calls that no later row answers."""
        return self._tools.rest()

    def _of_batch(self, rows: list[Row]) -> LoggedCall:
        asked = next((row for row in rows if isinstance(row.get("body"), Mapping)), {})
        result = next((row for row in rows if "response" in row or "error" in row), {})
        response = mapping(result.get("response"))
        body = response.get("body")
        status = response.get("status_code")
        error = mapping(result.get("error"))
        at_us = since(microseconds(mapping(body).get("created") or mapping(body).get("created_at")), self._began_us)
        path = text(asked.get("url")) or (_RESPONSES if mapping(body).get("object") == "response" else _CHAT)
        return LoggedCall(
            _BASE + path,
            asked.get("body"),
            body,
            status if isinstance(status, int) else 200,
            _wrong(error),
            span=text(rows[0].get("custom_id")),
            start_us=at_us,
            rest={"request_id": response.get("request_id")} if response.get("request_id") else {},
        )

    def _stored(self, row: Row) -> LoggedCall:
        chat = row.get("object") == "chat.completion"
        request: dict[str, Json] = {name: value for name, value in row.items() if name not in _ANSWERED}
        request["model"] = row.get("model")
        given = row.get("messages") if chat else _input(row)
        request["messages" if chat else "input"] = given if given is not None else []
        failed = mapping(row.get("error"))
        missing = () if given is not None else ("messages", "system") if chat else ("messages",)
        return LoggedCall(
            _BASE + (_CHAT if chat else _RESPONSES),
            request,
            row,
            error=Wrong(str(failed.get("code") or "error"), str(failed.get("message") or "")[:2000])
            if failed
            else None,
            span=text(row.get("id")),
            start_us=since(microseconds(row.get("created") or row.get("created_at")), self._began_us),
            end_us=since(microseconds(row.get("completed_at")), self._began_us),
            rest={"metadata": row["metadata"]} if row.get("metadata") else {},
            missing=missing,
        )


def _wrong(error: Mapping[str, Any]) -> Wrong | None:
    return Wrong(str(error.get("code") or "error"), str(error.get("message") or "")[:2000]) if error else None


def _input(row: Mapping[str, Any]) -> Json:
    """The input of a response, which the API gives beside it: a text, items, or a list of them, newest first."""
    given = row.get("input")
    if given is not None:
        return given
    items = row.get("input_items")
    if isinstance(items, Mapping):
        return listing(items.get("data"))
    return items if isinstance(items, list) else None
