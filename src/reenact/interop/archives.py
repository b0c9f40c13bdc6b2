"""HTTP archives (HAR 1.2) of browsers and proxies, read as exchanges.

An archive holds bodies decoded and headers as they were, times to the millisecond, and often more than HTTP: requests
that were blocked, WebSockets, answers without their bodies. Such entries are refused by name; ``--only`` leaves them
out.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode

from reenact.facts.imported_runs import RESENT
from reenact.interop.exchange_assembly import exchange
from reenact.interop.exchanges import ExchangesOfRun, ImportedExchange
from reenact.interop.file_refusal import refused
from reenact.interop.foreign_documents import read_json

_BEFORE_ANSWER: Final = ("blocked", "dns", "connect", "send", "wait")
_BODILESS: Final = frozenset({204, 304})


def read(data: bytes, only: str = "") -> ExchangesOfRun:
    """The exchanges of an archive, in the order in which they began.

    Args:
        data: The file.
        only: Leave out entries whose address does not begin with this text, unread.

    Raises:
        InteropError: The file is no archive, or an entry cannot be read (it is named).
    """
    log = _log(read_json(data))
    entries = log.get("entries")
    if not isinstance(entries, list):
        raise refused("the archive has no list of entries", "a damaged archive")
    chosen = [(f"entry {number}", entry) for number, entry in enumerate(entries) if _meant(entry, only)]
    if not chosen:
        what = "the archive holds no entry" + (f" at {only}" if only else "")
        raise refused(what, "nothing was recorded into it" if not entries else "--only names another address")
    found = [_entry(where, entry) for where, entry in chosen]
    if all(each.at_us is not None for each in found):
        found.sort(key=lambda each: each.at_us or 0)
    version = log.get("version")
    return ExchangesOfRun(f"har {version}" if version in ("1.1", "1.2") else "har", tuple(found), found[0].at_us)


def _log(document: Any) -> Mapping[str, Any]:
    if isinstance(document, Mapping):
        log = document.get("log")
        if isinstance(log, Mapping):
            return log
        if "request" in document and "response" in document:
            return {"entries": [document]}
    raise refused("this is no HTTP archive: it has no log", "a file of another tool: reenact import vcr, or messages")


def _meant(entry: Any, only: str) -> bool:
    """Whether an entry is to be imported. An entry that cannot be judged counts, so that it is refused by name."""
    asked: Any = entry.get("request") if isinstance(entry, Mapping) else None
    return not only or not isinstance(asked, Mapping) or str(asked.get("url")).startswith(only)


def _entry(where: str, entry: Any) -> ImportedExchange:
    asked, answered = (_mapping(where, entry, name) for name in ("request", "response"))
    if entry.get("_webSocketMessages") is not None or answered.get("status") == 101:
        raise refused("it is a WebSocket", "only HTTP exchanges are imported", where=where)
    status = answered.get("status")
    if isinstance(status, bool) or not isinstance(status, int):
        raise refused("its response has no status", "a damaged archive", where=where)
    remarks: list[str] = []
    reason = answered.get("statusText")
    at_us = _moment(entry.get("startedDateTime"))
    first_us, ended_us = _times(entry)
    raw = ImportedExchange(
        method=asked.get("method", ""),
        url=asked.get("url", ""),
        asked=tuple(_pairs(where, asked)),
        body=_posted(where, asked, remarks),
        status=status,
        reason=reason if isinstance(reason, str) and reason.isprintable() else "",
        headers=tuple(_pairs(where, answered)),
        answer=_content(where, asked, answered),
        version=_version(answered.get("httpVersion")),
        at_us=at_us,
        first_us=first_us,
        ended_us=ended_us,
        remarks=tuple(remarks),
    )
    return exchange(where, raw, decoded=True)


def _mapping(where: str, entry: Any, name: str) -> Mapping[str, Any]:
    found = entry.get(name) if isinstance(entry, Mapping) else None
    if not isinstance(found, Mapping):
        raise refused(f"it has no {name}", "a damaged archive", where=where)
    return found


def _pairs(where: str, side: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    headers = side.get("headers", [])
    if not isinstance(headers, list):
        raise refused("its headers are no list", "a damaged archive", where=where)
    for each in headers:
        if not isinstance(each, Mapping):
            raise refused("one of its headers has no name", "a damaged archive", where=where)
        value = each.get("value")
        if isinstance(value, str) and "\n" in value:  # a browser joins repeated headers
            for line in value.split("\n"):
                yield each.get("name"), line
        else:
            yield each.get("name"), value


def _posted(where: str, asked: Mapping[str, Any], remarks: list[str]) -> bytes:
    """The body of a request."""
    posted = asked.get("postData")
    if posted is None:
        return b""
    if not isinstance(posted, Mapping):
        raise refused("its postData is no object", "a damaged archive", where=where)
    text, params = posted.get("text"), posted.get("params")
    if isinstance(text, str) and (text or not params):
        return _bytes(where, text, posted.get("encoding", posted.get("_encoding")))
    kind = str(posted.get("mimeType") or "").partition(";")[0].strip().lower()
    if not isinstance(params, list) or kind != "application/x-www-form-urlencoded":
        raise refused("the body of its request was not kept", "only its parameters stand in the archive", where=where)
    if not all(isinstance(each, Mapping) for each in params):
        raise refused("its parameters have no names", "a damaged archive", where=where)
    remarks.append(RESENT)
    return urlencode([(str(each.get("name", "")), str(each.get("value", ""))) for each in params]).encode()


def _content(where: str, asked: Mapping[str, Any], answered: Mapping[str, Any]) -> bytes:
    """The decoded body of an answer."""
    content = _mapping(where, answered, "content")
    text = content.get("text")
    if isinstance(text, str):
        return _bytes(where, text, content.get("encoding"))
    size = content.get("size", 0)
    bodiless = asked.get("method") == "HEAD" or answered.get("status") in _BODILESS
    if not bodiless and isinstance(size, int | float) and size > 0:
        raise refused(
            f"the body of its answer ({size} bytes) was not kept",
            "exported without contents, or too large: --only ADDRESS leaves others out",
            where=where,
        )
    return b""


def _bytes(where: str, text: str, encoding: Any) -> bytes:
    try:
        if encoding == "base64":
            return base64.b64decode("".join(text.split()), validate=True)
        return text.encode()
    except (binascii.Error, UnicodeEncodeError):
        raise refused("a body of it is no base64, or no text", "a damaged archive", where=where) from None


def _version(text: Any) -> str:
    named = str(text or "").strip().upper()
    named = {"H2": "HTTP/2", "HTTP/2.0": "HTTP/2", "H3": "HTTP/3"}.get(named, named)
    return named if named in ("HTTP/1.0", "HTTP/1.1", "HTTP/2", "HTTP/3") else ""


def _moment(text: Any) -> int | None:
    """Microseconds since the epoch of an ISO 8601 text."""
    if not isinstance(text, str) or len(text) > 64:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1_000_000)
    except (ValueError, OverflowError):
        return None


def _times(entry: Mapping[str, Any]) -> tuple[int, int]:
    """Microseconds from the beginning of an entry to the head of its answer, and to its end."""
    timings: Any = entry.get("timings")
    spent = [_ms(timings.get(name)) for name in _BEFORE_ANSWER] if isinstance(timings, Mapping) else []
    ended = _ms(entry.get("time"))
    first = min(sum(spent), ended)
    return round(first * 1000), round(ended * 1000)


def _ms(value: Any) -> float:
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
    return float(value) if known else 0.0
