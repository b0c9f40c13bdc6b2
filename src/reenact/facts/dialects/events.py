"""Server-sent events: from the bytes of a stream to pairs of name and parsed data."""

from __future__ import annotations

import json
from collections.abc import Iterator

from reenact.facts.call import Json
from reenact.facts.lazy_regex import lazy_regex

_LINE = lazy_regex(rb"\r\n|\n|\r")


def events(body: bytes) -> Iterator[tuple[str, Json]]:
    """Events of a stream. Comments, ``[DONE]`` and an event that is cut off at the end are passed over.

    Raises:
        ValueError: the data of a complete event is no JSON.
    """
    name = ""
    data: list[bytes] = []
    for line in _LINE.split(body.removeprefix(b"\xef\xbb\xbf")):
        if not line:
            if data:
                joined = b"\n".join(data)
                if joined.strip() != b"[DONE]":
                    yield name, json.loads(joined)
            name, data = "", []
            continue
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode("utf-8", "replace")
