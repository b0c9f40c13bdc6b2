"""Leftovers: the places in the finished bytes of a bundle where a value remains that was removed from a run.

The bytes are searched as a reader of the file gets them: each text in each line, and each content with a member of its
own. They are also searched after decoding, for each encoding that the gate knows.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from reenact.facts.credential_search import spot
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.text_spans import CredentialSpan, SearchExhausted
from reenact.facts.views import HEAD, is_media

Sought = Callable[[bytes], list[CredentialSpan]]
"""Returns the places of known values in a text."""

_PLACES: Final = {
    "call": "the request",
    "answer": "the answer",
    "head": "the answer",
    "segment": "the answer",
    "stream-end": "the answer",
    "state": "the state",
    "note": "the evidence",
    "reads": "what it read of its surroundings",
    "gap": "what escaped",
    "printed": "its output",
}
_NAME = lazy_regex(rb'"([\w.-]{1,64})\\{0,7}"\s{0,4}:\s{0,4}\\{0,7}"?[^":]{0,200}\Z')


@dataclass(frozen=True, slots=True)
class Leftover:
    """A value that should have been removed.

    Attributes:
        member: The part of the bundle that holds it.
        place: Its place, for display; empty if it belongs to no record.
        event: The number of the event that the value belongs to; None without one.
        field: The name of the field that holds the value; empty for a field without a name, and in media, which no rule
            reads.
    """

    member: str
    place: str = ""
    event: int | None = None
    field: str = ""


def leftover(members: Mapping[str, bytes], sought: Sought) -> Leftover | None:
    """The first remaining value.

    Args:
        members: Names and contents of all parts of a bundle.
        sought: Returns the places of known values.
    """
    for name, data in members.items():
        if not name.endswith((".jsonl", ".json")):
            at = _found(data, sought)
            if at is not None:
                return _of_blob(members, name, _field(data, at))
            continue
        for line, texts in _texts(data):
            if _found(b"\n".join(text for _, text in texts), sought) is None:
                continue
            for field, text in texts:
                at = _found(text, sought)
                if at is not None:
                    return _placed(name, line, "" if is_media(text[:HEAD]) else _field(text, at) or field)
        if sought(data):  # the value is in the name of a field
            return Leftover(name)
    return None


def _found(text: bytes, sought: Sought) -> int | None:
    """The position of the first value in a text, zero for a value inside an encoding; None without one."""
    plain = sought(text)
    if plain:
        return plain[0].start
    behind: list[CredentialSpan] = []

    def look(view: bytes) -> list[CredentialSpan]:
        behind.extend(sought(view))
        return []

    with suppress(SearchExhausted):
        spot(text, look)
    return 0 if behind else None


def _texts(data: bytes) -> Iterator[tuple[bytes, list[tuple[str, bytes]]]]:
    """Lines of JSON, and every text of each with the name of its field."""
    for line in data.splitlines():
        with suppress(ValueError, RecursionError):
            yield line, list(_leaves(json.loads(line), ""))


def _leaves(value: Any, field: str) -> Iterator[tuple[str, bytes]]:
    if isinstance(value, str):
        yield field, value.encode("utf-8", "surrogatepass")
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _leaves(each, name)
    elif isinstance(value, list):
        if len(value) == 1 and isinstance(value[0], str):  # such a list holds bytes that are no text
            with suppress(ValueError):
                yield field, b64decode(value[0], validate=True)
        for each in value:
            yield from _leaves(each, field)


def _field(text: bytes, at: int) -> str:
    if is_media(text[:HEAD]):
        return ""
    named = _NAME.search(text, max(0, at - 300), at)
    return named[1].decode() if named is not None else ""


def _placed(member: str, line: bytes, field: str) -> Leftover:
    record = json.loads(line)
    if not isinstance(record, dict) or "is" not in record:
        return Leftover(member, "", None, field)
    event = record.get("event")
    if not isinstance(event, int):
        event = None
    name = _PLACES.get(str(record["is"]), "the run itself")
    return Leftover(member, name if event is None else f"{name} of event {event}", event, field)


def _of_blob(members: Mapping[str, bytes], blob: str, field: str) -> Leftover:
    """A leftover in a separately stored content, with the place of the record that names the content."""
    digest = blob.rpartition("/")[2].encode()
    for name, data in members.items():
        for line in data.splitlines() if name.endswith(".jsonl") and digest in data else ():
            if digest in line:
                found = _placed(name, line, field)
                return Leftover(blob, found.place, found.event, field)
    return Leftover(blob, "", None, field)
