"""Deltas: which strings of one event of a stream go on in the strings of later ones.

An answer that comes event by event may be cut anywhere, even in the middle of a credential. The strings that belong
together stand in the same place of their events: under the same names, in objects of the same index or item.
"""

from __future__ import annotations

from typing import NamedTuple

from reenact.facts.credentials import protected
from reenact.facts.lazy_regex import lazy_regex

_TOKEN = lazy_regex(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"|[{}\[\],]|(?<=:)\s{0,8}(-?\d{1,20})')
_TELLS_APART = frozenset((
    *(b"index", b"output_index", b"content_index", b"summary_index", b"item_id", b"contentBlockIndex", b"choice"),
    *(b"outputIndex", b"call_id", b"tool_call_id"),
))  # fmt: skip
_NO_DELTA = frozenset((
    *(b"id", b"object", b"model", b"type", b"role", b"event", b"status", b"finish_reason", b"service_tier"),
    b"created_at",
    *(b"stop_reason", b"provider", b"modelVersion", b"responseId", b"finishReason", b"p", b"created", b"version"),
))  # fmt: skip
_MOST_TOKENS = 20_000


class Leaf(NamedTuple):
    """A string of an event: its channel, and the place of its text between the quotes."""

    group: tuple[bytes, ...]
    start: int
    end: int


def leaves(text: bytes) -> list[Leaf]:
    """The strings in a JSON text that may go on in a later event, in order."""
    names: list[bytes] = []  # the names of the containers around
    objects: list[int] = []
    mapping: list[bool] = []
    apart: dict[int, list[bytes]] = {}
    found: list[tuple[tuple[bytes, ...], tuple[int, ...], int, int]] = []
    name = b""
    made = 0
    for count, token in enumerate(_TOKEN.finditer(text)):
        if count > _MOST_TOKENS:
            return []
        sign = token[0][:1]
        if sign in (b"{", b"["):
            names.append(name)
            mapping.append(sign == b"{")
            made += 1
            objects.append(made)
            name = b""
        elif sign in (b"}", b"]"):
            if not names:
                return []
            name = names.pop()
            mapping.pop()
            objects.pop()
        elif token[1] is not None and mapping and mapping[-1] and _is_name(text, token.end()):
            name = token[1]
        elif token[2] is not None:
            if name in _TELLS_APART and objects:
                apart.setdefault(objects[-1], []).append(token[2])
        elif sign == b'"':
            if name in _TELLS_APART and objects:
                apart.setdefault(objects[-1], []).append(token[1])
            elif name not in _NO_DELTA and not protected(name.decode("latin-1")):
                found.append(((*names, name), tuple(objects), *token.span(1)))
    return [
        Leaf((*path, *(each for one in around for each in apart.get(one, ()))), start, end)
        for path, around, start, end in found
    ]


def _is_name(text: bytes, at: int) -> bool:
    return text[at : at + 8].lstrip()[:1] == b":"
