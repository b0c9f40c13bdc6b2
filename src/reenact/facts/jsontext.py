"""JSON text, written by one shared encoder, and read without the checks that ``json.loads`` makes for other input.

``json.JSONEncoder.encode`` makes the encoder in C again at each call. For small data, making it costs more than using
it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from json import encoder as _json
from typing import Any

scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # of the class for long, and missing in the stubs
"""The core of ``json.loads``: gives the value that begins at a place, and the place after it. For a small value it
takes a third of the time. Only for text that we made; raises StopIteration where no value begins."""


def parsed(text: str) -> Any:
    """``json.loads`` for text that seldom has spaces or surrounding text.

    Raises:
        ValueError: The text is not JSON.
    """
    try:
        value, end = scan(text, 0)
    except StopIteration:
        end = -1
    return value if end == len(text) else json.loads(text)


def writer(*, ascii_only: bool, nan: bool, spaced: bool = False) -> Callable[[Any], str]:
    """A function that gives compact JSON text for data.

    Args:
        ascii_only: Write other characters as escapes, so that any string survives, lone surrogates included.
        nan: Write numbers that JSON does not have, as Python's own reader reads them; else they raise ValueError.
        spaced: Write a space after each comma and colon.

    Returns:
        A function; it raises TypeError or ValueError for values that are not JSON-able, including data that contains
        itself.
    """
    comma, colon = (", ", ": ") if spaced else (",", ":")
    plain = json.JSONEncoder(ensure_ascii=ascii_only, allow_nan=nan, separators=(comma, colon))
    make = getattr(_json, "c_make_encoder", None)
    if make is None:  # the interpreter has no accelerator in C
        return plain.encode
    escape = _json.encode_basestring_ascii if ascii_only else _json.encode_basestring
    encode = make(None, plain.default, escape, None, colon, comma, False, False, nan)

    def text(data: object) -> str:
        try:
            return "".join(encode(data, 0))
        except RecursionError:
            raise ValueError("the data contains itself, or is nested too deeply") from None

    return text
