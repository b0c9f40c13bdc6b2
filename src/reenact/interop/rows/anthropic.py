"""Files of Anthropic's API: requests and results of a message batch, and messages that were kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from reenact.facts.lazy_regex import lazy_regex
from reenact.interop.rows.call_items import LoggedCall, mapping, model_call, text
from reenact.interop.rows.row_reader import Belongs, Row, Teller
from reenact.interop.traces import Facts, TraceItem, Wrong

SOURCE: Final = "anthropic"

_URL: Final = "https://api.anthropic.com/v1/messages"
_LIKE: Final = lazy_regex(rb'"custom_id".*"(?:params|result)"', re.DOTALL)


def fits(head: bytes) -> bool:
    """Whether a file with this beginning looks like a message batch."""
    return _LIKE.search(head) is not None


class Batches:
    """The rows of Anthropic's files: a batch is one run, in the order of its requests if they are in the file."""

    source: Final = SOURCE

    def belongs(self, row: Row) -> Belongs | str:
        """All rows are one run. A request and its result share the request's name as key; a message has its id."""
        custom = text(row.get("custom_id"))
        if custom and (isinstance(row.get("params"), Mapping) or isinstance(row.get("result"), Mapping)):
            return Belongs("", f"custom {custom}")
        if row.get("type") == "message" and text(row.get("id")):
            return Belongs("", f"message {row['id']}")
        return "no request and no result of a message batch, and no message"

    def facts(self, row: Row) -> Facts:
        """The user, where a request names one."""
        return Facts(SOURCE, user=text(mapping(mapping(row.get("params")).get("metadata")).get("user_id")))

    def teller(self, began_us: int | None) -> Teller:
        """Reads each request with its result as a model call."""
        return _BatchState()


class _BatchState:
    """A batch while its rows are read."""

    def told(self, rows: list[Row]) -> Iterator[TraceItem]:
        """The model call of a request and its result."""
        asked = next((row["params"] for row in rows if isinstance(row.get("params"), Mapping)), None)
        result = next((mapping(row["result"]) for row in rows if isinstance(row.get("result"), Mapping)), {})
        message = result.get("message") if result else rows[0] if rows[0].get("type") == "message" else None
        kind = text(result.get("type"))
        error = None
        if result and kind != "succeeded":
            inner = mapping(result.get("error"))
            inner = mapping(inner.get("error")) or inner
            error = Wrong(text(inner.get("type")) or kind or "error", text(inner.get("message"))[:2000] or kind)
        span = text(rows[0].get("custom_id")) or text(rows[0].get("id"))
        yield model_call(LoggedCall(_URL, asked, message, error=error, span=span))

    def rest(self) -> Iterator[TraceItem]:
        """No items, because the requests of a batch do not follow one another."""
        return iter(())
