"""Request-response logs of Vertex AI, as BigQuery rows in JSON: a row for each call, of Gemini or of Claude.

A row names no run. A call whose messages continue those of an earlier call belongs to the same run. Where the log
samples, turns are missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

from reenact.facts.call import Json
from reenact.facts.lazy_regex import lazy_regex
from reenact.interop.rows.call_items import LoggedCall, listing, mapping, microseconds, model_call, since, text
from reenact.interop.rows.linked_calls import Conversations, OpenToolCalls
from reenact.interop.rows.row_reader import Belongs, Row, Teller
from reenact.interop.trace_values import opened
from reenact.interop.traces import Facts, TraceItem

SOURCE: Final = "vertex"

_LIKE: Final = lazy_regex(rb'"(?:full_request|request_payload)"')
_PLACE: Final = lazy_regex(r"projects/[^/]+/locations/([^/]+)")


def fits(head: bytes) -> bool:
    """Whether a file with this beginning looks like rows of a request-response log."""
    return _LIKE.search(head) is not None


class VertexRows:
    """The rows of request-response logs."""

    source: Final = SOURCE

    def __init__(self) -> None:
        self._conversations = Conversations()

    def belongs(self, row: Row) -> Belongs | str:
        """A row belongs to the run of its conversation."""
        own = str(row.get("request_id") or "")
        if not own or not ("full_request" in row or "request_payload" in row):
            return "no row of a request"
        return Belongs(
            self._conversations.run_of(_asked(row), own), f"request {own}", microseconds(row.get("logging_time"))
        )

    def facts(self, row: Row) -> Facts:
        """The format alone: a row names no user."""
        return Facts(SOURCE)

    def teller(self, began_us: int | None) -> Teller:
        """Reads each row as a model call, and its tool calls from the messages of the next row."""
        return _ConversationState(began_us)


class _ConversationState:
    """A conversation while its rows are read."""

    def __init__(self, began_us: int | None) -> None:
        self._began_us = began_us
        self._tools = OpenToolCalls()

    def told(self, rows: list[Row]) -> Iterator[TraceItem]:
        """The model call of a row."""
        item = model_call(self._held(rows[0]))
        yield from self._tools.before(item)
        yield item

    def rest(self) -> Iterator[TraceItem]:
        """The tool calls that no later row answers."""
        return self._tools.rest()

    def _held(self, row: Row) -> LoggedCall:
        names = ("request_id", "endpoint", "deployed_model_id", "api_method", "model_version", "metadata", "otel_log")
        return LoggedCall(
            _address(row),
            _asked(row),
            _came(row),
            span=str(row.get("request_id")),
            start_us=since(microseconds(row.get("logging_time")), self._began_us),
            rest={name: row[name] for name in names if row.get(name)},
        )


def _address(row: Row) -> str:
    """The address of the request: that of the protocol, with the location that the row names."""
    path = text(row.get("endpoint")) + "/" + text(row.get("model"))
    place = _PLACE.search(path)
    region = place[1] if place else "global"
    model = quote(text(row.get("model")).rpartition("/")[2] or "model", safe="@.")
    host = "aiplatform" if region == "global" else f"{region}-aiplatform"
    claude = isinstance(mapping(_asked(row)).get("messages"), list)
    end = f"anthropic/models/{model}:rawPredict" if claude else f"google/models/{model}:generateContent"
    return f"https://{host}.googleapis.com/v1/projects/p/locations/{region}/publishers/{end}"


def _asked(row: Row) -> Json:
    """The request: the first payload, if there are several."""
    whole = opened(row.get("full_request"))
    if isinstance(whole, dict):
        return whole
    payloads = listing(row.get("request_payload"))
    first = opened(payloads[0]) if payloads else None
    return first if isinstance(first, dict) else None


def _came(row: Row) -> Json:
    """The response; the payloads of a stream are its pieces."""
    whole = opened(row.get("full_response"))
    if isinstance(whole, (dict, list)):
        return whole
    payloads = [opened(each) for each in listing(row.get("response_payload"))]
    return payloads[0] if len(payloads) == 1 else payloads or None
