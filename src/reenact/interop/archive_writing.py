"""Exchanges as an HTTP archive (HAR 1.2), which browsers, proxies and load testers open."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from reenact.interop.exchanges import Headers, ImportedExchange, decoded, header

UNDECODABLE: Final = "answers whose content-encoding cannot be undone here"


def write(exchanges: Iterable[ImportedExchange], version: str, comment: str) -> bytes:
    """An archive of exchanges.

    Args:
        exchanges: The exchanges, in order; those that ``decoded`` cannot decode are left out.
        version: The version of this library, for ``creator``.
        comment: The origin of the exchanges.
    """
    entries = []
    for each in exchanges:
        body = decoded(each)
        if body is not None:
            entries.append(_entry(each, body))
    log = {
        "version": "1.2",
        "creator": {"name": "reenact", "version": version},
        "entries": entries,
        "comment": comment,
    }
    return json.dumps({"log": log}, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace") + b"\n"


def _entry(exchange: ImportedExchange, body: bytes) -> dict[str, Any]:
    moment = datetime.fromtimestamp((exchange.at_us or 0) / 1_000_000, UTC)
    wait, whole = exchange.first_us / 1000, exchange.ended_us / 1000
    return {
        "startedDateTime": moment.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "time": whole,
        "request": _request(exchange),
        "response": _response(exchange, body),
        "cache": {},
        "timings": {"send": 0, "wait": wait, "receive": max(0.0, whole - wait)},
    }


def _request(exchange: ImportedExchange) -> dict[str, Any]:
    made: dict[str, Any] = {
        "method": exchange.method,
        "url": exchange.url,
        "httpVersion": exchange.version,
        "cookies": _cookies(header(exchange.asked, "cookie")),
        "headers": _named(exchange.asked),
        "queryString": [
            {"name": name, "value": value}
            for name, value in parse_qsl(urlsplit(exchange.url).query, keep_blank_values=True)
        ],
        "headersSize": -1,
        "bodySize": len(exchange.body),
    }
    if exchange.body:
        text, encoding = _text(exchange.body)
        made["postData"] = {"mimeType": header(exchange.asked, "content-type"), "text": text}
        if encoding:
            made["postData"]["_encoding"] = encoding  # HAR has no field for the encoding of a request
    return made


def _response(exchange: ImportedExchange, body: bytes) -> dict[str, Any]:
    text, encoding = _text(body)
    content: dict[str, Any] = {
        "size": len(body),
        "mimeType": header(exchange.headers, "content-type"),
        "text": text,
    }
    if encoding:
        content["encoding"] = encoding
    if len(body) != len(exchange.answer):
        content["compression"] = len(body) - len(exchange.answer)
    return {
        "status": exchange.status,
        "statusText": exchange.reason,
        "httpVersion": exchange.version,
        "cookies": [each for value in _all(exchange.headers, "set-cookie") for each in _cookies(value)],
        "headers": _named(exchange.headers),
        "content": content,
        "redirectURL": header(exchange.headers, "location"),
        "headersSize": -1,
        "bodySize": len(exchange.answer),
    }


def _text(body: bytes) -> tuple[str, str]:
    """A body as text, and the encoding of that text: ``base64`` for bytes that are no text, else empty."""
    try:
        return body.decode(), ""
    except UnicodeDecodeError:
        return base64.b64encode(body).decode(), "base64"


def _named(headers: Headers) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers]


def _all(headers: Headers, name: str) -> list[str]:
    return [value for found, value in headers if found.lower() == name]


def _cookies(text: str) -> list[dict[str, str]]:
    try:
        jar = SimpleCookie(text)
    except CookieError:
        return []
    return [{"name": name, "value": morsel.value} for name, morsel in jar.items()]
