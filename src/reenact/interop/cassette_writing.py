"""Exchanges as a cassette of VCR.py (version 1), in YAML or JSON: what VCR.py itself plays back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from reenact.errors import InteropError
from reenact.interop import yamltext
from reenact.interop.exchanges import Exchange, Headers


def write(exchanges: Iterable[Exchange], *, as_json: bool = False) -> bytes:
    """A cassette.

    Args:
        exchanges: In order.
        as_json: For VCR.py's JSON serializer, which holds texts alone; YAML otherwise.

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


def _interaction(exchange: Exchange) -> dict[str, Any]:
    """One exchange. VCR.py tells no body from an empty one, and sees an empty one in every request of httpx."""
    return {
        "request": {
            "body": _text(exchange.body) if exchange.body or exchange.client.startswith("httpx") else None,
            "headers": _grouped(exchange.asked),
            "method": exchange.method,
            "uri": exchange.url,
        },
        "response": {
            "body": {"string": _text(exchange.answer)},
            "headers": _grouped(exchange.headers),
            "status": {"code": exchange.status, "message": exchange.reason},
        },
    }


def _text(body: bytes) -> str | bytes:
    """Text where it is one, as VCR.py does."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body


def _grouped(headers: Headers) -> dict[str, list[str]]:
    """Each name once, in the spelling it came in first, with all its values."""
    spelled: dict[str, str] = {}
    grouped: dict[str, list[str]] = {}
    for name, value in headers:
        grouped.setdefault(spelled.setdefault(name.lower(), name), []).append(value)
    return grouped
