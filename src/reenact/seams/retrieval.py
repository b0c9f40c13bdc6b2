"""The documents that a retriever found, in one neutral reading: id, score, content and source of each chunk.

The reading is derived from the exact result; an unknown shape has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reenact.facts.call import Json
from reenact.facts.shapes import dictionary_of, shape_of, slots_of
from reenact.facts.values import encode, jsonable

CONTENT_LIMIT = 2_000
"""The most characters of a chunk's content in the reading; the result itself is kept whole."""
CHUNK_LIMIT = 200

_IDS = ("id", "chunk_id", "doc_id", "document_id", "_id", "id_", "node_id", "key")
_SCORES = ("score", "relevance_score", "similarity", "_score", "distance", "relevance")
_CONTENTS = ("page_content", "content", "text", "chunk", "document", "body", "passage")
_SOURCES = ("source", "url", "file", "path", "title")
_LISTS = ("documents", "results", "chunks", "matches", "hits", "nodes", "docs")


def chunks(result: Any) -> list[Json] | None:
    """The chunks of a result; None when its shape is not known. No code of the agent is called."""
    items = _listed(result)
    if items is None:
        return None
    read = [_chunk(item) for item in items[:CHUNK_LIMIT]]
    found = [chunk for chunk in read if chunk is not None]
    return found if len(found) == len(read) else None


def _listed(result: Any) -> list[Any] | None:
    kind = type(result)
    if kind is list or kind is tuple:
        return list(result)
    fields = _fields(result)
    for name in _LISTS:
        if type(fields.get(name)) is list or type(fields.get(name)) is tuple:
            return list(fields[name])
    return None


def _fields(item: Any) -> Mapping[str, Any]:
    """The fields of a dictionary or record."""
    cls = type(item)
    if issubclass(cls, dict):
        return {key: value for key, value in dict.items(item) if type(key) is str}
    shape = shape_of(cls)
    return {**slots_of(item, shape), **dictionary_of(item, shape)} if shape.settled else {}


def _chunk(item: Any) -> Json | None:
    score: Any = None
    if type(item) is tuple and len(item) == 2:
        item, score = (item[0], item[1]) if _is_number(item[1]) else (item[1], item[0])
        if not _is_number(score):
            return None
    if type(item) is str:
        return _reading(None, score, item, None)
    fields = _fields(item)
    for inner in ("node", "document", "doc"):  # a hit that wraps its document
        if inner in fields and _fields(fields[inner]):
            fields = {**_fields(fields[inner]), **{key: value for key, value in fields.items() if key != inner}}
    extra = fields.get("metadata")
    metadata: Mapping[str, Any] = extra if type(extra) is dict else {}
    content = _first(_CONTENTS, fields, metadata)
    identity = _first(_IDS, fields, metadata)
    if content is None and identity is None:
        return None
    if score is None:
        score = _first(_SCORES, fields, metadata)
    return _reading(identity, score, content, _first(_SOURCES, fields, metadata))


def _first(names: tuple[str, ...], *places: Mapping[str, Any]) -> Any:
    return next((place[name] for place in places for name in names if place.get(name) is not None), None)


def _is_number(value: Any) -> bool:
    return issubclass(type(value), (int, float)) and type(value) is not bool


def _reading(identity: Any, score: Any, content: Any, source: Any) -> Json:
    reading: dict[str, Json] = {}
    for name, value in (("id", identity), ("score", score), ("content", content), ("source", source)):
        if value is None:
            continue
        shown = jsonable(encode(value).body)
        reading[name] = shown[:CONTENT_LIMIT] if isinstance(shown, str) else shown
    return reading
