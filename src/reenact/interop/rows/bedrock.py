"""Invocation logs of Amazon Bedrock: a row for each call, with the bodies of request and response.

A row names no run. A call whose messages continue those of an earlier call belongs to the same run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

from reenact.facts.call import Json
from reenact.interop.rows.call_items import LoggedCall, mapping, microseconds, model_call, since, text
from reenact.interop.rows.linked_calls import Conversations, OpenToolCalls
from reenact.interop.rows.row_reader import Belongs, Row, Teller
from reenact.interop.trace_values import opened
from reenact.interop.traces import Facts, TraceItem, Wrong

SOURCE: Final = "bedrock"

_METHODS: Final = {
    "Converse": "converse",
    "ConverseStream": "converse",
    "InvokeModel": "invoke",
    "InvokeModelWithResponseStream": "invoke-with-response-stream",
}


def fits(head: bytes) -> bool:
    """Whether a file with this beginning looks like an invocation log."""
    return b"ModelInvocationLog" in head


class Invocations:
    """The rows of invocation logs."""

    source: Final = SOURCE

    def __init__(self) -> None:
        self._conversations = Conversations()

    def belongs(self, row: Row) -> Belongs | str:
        """A row belongs to the run of its conversation."""
        said = _row(row)
        own = text(said.get("requestId"))
        if said.get("operation") not in _METHODS or not own:
            return f"no call of a model ({str(said.get('operation') or said.get('schemaType') or 'unknown')[:40]})"
        run = self._conversations.run_of(mapping(said.get("input")).get("inputBodyJson"), own)
        return Belongs(run, f"request {own}", microseconds(said.get("timestamp")))

    def facts(self, row: Row) -> Facts:
        """The role of the caller, and the session, if the request's metadata name one."""
        said = _row(row)
        data = mapping(said.get("requestMetadata"))
        session = next((text(data[name]) for name in ("session", "sessionId", "session_id") if name in data), "")
        return Facts(SOURCE, user=text(mapping(said.get("identity")).get("arn")), session=session)

    def teller(self, began_us: int | None) -> Teller:
        """Reads each row as a model call, and its tool calls from the messages of the next row."""
        return _ConversationState(began_us)


def _row(row: Row) -> Row:
    """A row, also from an event of CloudWatch that holds the row as a text."""
    inner = opened(row.get("message")) if "schemaType" not in row else None
    return inner if isinstance(inner, dict) else row


class _ConversationState:
    """A conversation while its rows are read."""

    def __init__(self, began_us: int | None) -> None:
        self._began_us = began_us
        self._tools = OpenToolCalls()

    def told(self, rows: list[Row]) -> Iterator[TraceItem]:
        """The model call of a row."""
        item = model_call(self._held(_row(rows[0])))
        yield from self._tools.before(item)
        yield item

    def rest(self) -> Iterator[TraceItem]:
        """The tool calls that no later row answers."""
        return self._tools.rest()

    def _held(self, row: Row) -> LoggedCall:
        given, came = mapping(row.get("input")), mapping(row.get("output"))
        region = text(row.get("region")) or "us-east-1"
        method = _METHODS[text(row.get("operation"))]
        model = quote(text(row.get("modelId")), safe=":.")
        code = text(row.get("errorCode"))
        names = ("requestId", "accountId", "operation", "requestMetadata", "inferenceRegion")
        rest: dict[str, Json] = {name: row[name] for name in names if row.get(name)}
        rest |= {each: side[each] for side in (given, came) for each in side if each.endswith("S3Path")}
        return LoggedCall(
            f"https://bedrock-runtime.{region}.amazonaws.com/model/{model}/{method}",
            given.get("inputBodyJson"),
            came.get("outputBodyJson"),
            error=Wrong(code, code) if code else None,
            span=text(row.get("requestId")),
            start_us=since(microseconds(row.get("timestamp")), self._began_us),
            rest=rest,
        )
