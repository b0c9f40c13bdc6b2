"""Exchanges as a cassette of VCR.py (version 1), in YAML or JSON, which VCR.py can play back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from reenact.errors import InteropError
from reenact.interop import yamltext
from reenact.interop.exchanges import Headers, ImportedExchange, decoded, header

_AS_THEY_CAME: Final = ("httpx", "http.client")
_DECODED: Final = ("urllib3", "aiohttp")


def write(exchanges: Iterable[ImportedExchange], *, as_json: bool = False) -> bytes:
    """A cassette.

    Args:
        exchanges: The exchanges, in order.
        as_json: Write it for VCR.py's JSON serializer, which holds texts alone; else YAML.

    Raises:
        InteropError: A body is no text, and JSON was asked for; or PyYAML is not installed.
    """
    cassette = {"interactions": [_interaction(each) for each in exchanges], "version": 1}
    if not as_json:
        return yamltext.write(cassette)
    try:
        return json.dumps(cassette, indent=4).encode() + b"\n"
    except TypeError:
        raise InteropError(
            "a body of the run is no text, and a cassette in JSON holds texts alone",
            cause="images, or bodies that are compressed",
            next_command="reenact export vcr @ -o cassette.yaml",
        ) from None


def _interaction(exchange: ImportedExchange) -> dict[str, Any]:
    """One exchange, as VCR.py would have seen it from the client that made it.

    VCR.py does not tell a missing body from an empty one, and sees an empty one in every request of httpx. For urllib3
    (requests) and aiohttp it keeps decoded bodies with the original headers; for others, bodies as they came. Where the
    client is not known, the body is decoded and its headers name no encoding: every client can read that.
    """
    answer, headers = exchange.answer, exchange.headers
    body = None if exchange.client.startswith(_AS_THEY_CAME) else decoded(exchange)
    if body is not None and header(headers, "content-encoding"):
        if exchange.client not in _DECODED:
            headers = tuple(pair for pair in headers if pair[0].lower() not in ("content-encoding", "content-length"))
        answer = body
    return {
        "request": {
            "body": _text(exchange.body) if exchange.body or exchange.client.startswith("httpx") else None,
            "headers": _grouped(exchange.asked),
            "method": exchange.method,
            "uri": exchange.url,
        },
        "response": {
            "body": {"string": _text(answer)},
            "headers": _grouped(headers),
            "status": {"code": exchange.status, "message": exchange.reason},
        },
    }


def _text(body: bytes) -> str | bytes:
    """A body as text if it is text, else as bytes: VCR.py does the same."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body


def _grouped(headers: Headers) -> dict[str, list[str]]:
    """The headers by name: each name once, in its first spelling, with all its values."""
    spelled: dict[str, str] = {}
    grouped: dict[str, list[str]] = {}
    for name, value in headers:
        grouped.setdefault(spelled.setdefault(name.lower(), name), []).append(value)
    return grouped
