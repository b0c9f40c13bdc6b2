"""Cassettes of VCR.py, of its older versions, and of their relatives: read as exchanges.

Version 1 is read in YAML and JSON, and the older form: a list whose requests have protocol, host, port and path in
separate fields. An httpx answer is read in both shapes: ``body.string``, and ``content`` beside ``status_code``. Bodies
that a serializer has parsed (``parsed_body``), and the ``http_interactions`` of Ruby's VCR and of Betamax are read too.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from reenact.errors import InteropError
from reenact.facts.imported_runs import PARSED
from reenact.interop.exchange_assembly import date_us, exchange
from reenact.interop.exchanges import ExchangesOfRun, ImportedExchange
from reenact.interop.file_refusal import refused
from reenact.interop.foreign_documents import read_document

_PORTS: Final = {"http": 80, "https": 443}


def read(data: bytes, only: str = "") -> ExchangesOfRun:
    """The exchanges of a cassette.

    Args:
        data: The file.
        only: Leave out exchanges whose address does not begin with this text, unread.

    Raises:
        InteropError: The file is no cassette, or an exchange cannot be read (it is named).
    """
    document = read_document(data)
    source, items = _items(document)
    chosen = [(f"exchange {number}", item) for number, item in enumerate(items) if _meant(item, only)]
    if not chosen:
        what = "the cassette holds no exchange" + (f" at {only}" if only else "")
        raise refused(what, "nothing was recorded into it" if not items else "--only names another address")
    found = tuple(_exchange(where, item) for where, item in chosen)
    clocks = [each.at_us if each.at_us is not None else date_us(each.headers) for each in found]
    return ExchangesOfRun(source, found, next((clock for clock in clocks if clock is not None), None))


def _items(document: Any) -> tuple[str, list[Any]]:
    """The sort of the cassette, and its exchanges."""
    if isinstance(document, list):
        if document and not all(isinstance(item, Mapping) and "request" in item for item in document):
            raise refused("the list holds something else than requests and responses", "no cassette")
        return "vcr (before 1.0)", document
    keys = ""
    if isinstance(document, Mapping):
        keys = ", ".join(sorted(map(str, document))[:5])[:120]
        for name, source in (("interactions", "vcr 1"), ("http_interactions", "vcr (Ruby, Betamax)")):
            items = document.get(name)
            if items is None:
                continue
            version = document.get("version", 1) if name == "interactions" else 1
            if version != 1:
                raise refused(f"the cassette is of version {str(version)[:20]}", "written by a newer VCR.py")
            if not isinstance(items, list):
                raise refused(f"{name} is no list", "a damaged cassette")
            return source, items
    raise refused(
        "this is no cassette: it has no interactions" + (f" (it has {keys})" if keys else ""),
        "a file of another tool: reenact import har, or reenact import messages",
    )


def _meant(item: Any, only: str) -> bool:
    """Whether an exchange is to be imported. One that cannot be judged counts, so that it is refused by name."""
    asked = item.get("request") if isinstance(item, Mapping) else None
    if not only or not isinstance(asked, Mapping):
        return True
    try:
        return str(_address("", asked)).startswith(only)
    except InteropError:
        return True


def _exchange(where: str, item: Any) -> ImportedExchange:
    if not isinstance(item, Mapping):
        raise refused("it is no mapping", "a damaged cassette", where=where)
    if "request" not in item and ("direction" in item or "kind" in item):
        raise refused("it is a message of a WebSocket", "only HTTP exchanges are imported", where=where)
    asked, answered = _mapping(where, item, "request"), _mapping(where, item, "response")
    remarks: list[str] = []
    status, reason = _status(where, answered)
    raw = ImportedExchange(
        method=asked.get("method", ""),
        url=_address(where, asked),
        asked=tuple(_pairs(where, asked.get("headers"))),
        body=_body(where, asked, remarks),
        status=status,
        reason=reason,
        headers=tuple(_pairs(where, answered.get("headers"))),
        answer=_body(where, answered, remarks),
        version=_version(answered),
        at_us=_recorded_at(item),
        remarks=tuple(dict.fromkeys(remarks)),
    )
    return exchange(where, raw)


def _mapping(where: str, item: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = item.get(name)
    if not isinstance(found, Mapping):
        raise refused(f"it has no {name}", "a damaged cassette", where=where)
    return found


def _address(where: str, asked: Mapping[str, Any]) -> Any:
    """The URL, also where its parts are given separately."""
    if "uri" in asked or "url" in asked:
        return asked.get("uri", asked.get("url"))
    parts = [asked.get(name) for name in ("protocol", "host", "path")]
    if not all(isinstance(part, str) for part in parts):
        raise refused("its request has no address", "a damaged cassette", where=where)
    protocol, host, path = parts
    port = asked.get("port")
    apart = "" if port is None or port == _PORTS.get(str(protocol)) else f":{port}"
    return f"{protocol}://{host}{apart}{path}"


def _status(where: str, answered: Mapping[str, Any]) -> tuple[int, str]:
    status: Any = answered.get("status", answered.get("status_code"))
    reason: Any = ""
    if isinstance(status, Mapping):
        status, reason = status.get("code"), status.get("message")
    if isinstance(status, str) and status.isascii() and status.isdigit() and len(status) == 3:
        status = int(status)
    if isinstance(status, bool) or not isinstance(status, int):
        raise refused("its response has no status", "a damaged cassette", where=where)
    text = reason if isinstance(reason, str) else ""
    return status, text if text.isprintable() and len(text) < 500 else ""


def _pairs(where: str, headers: Any) -> Iterable[tuple[Any, Any]]:
    """The names and values of headers, from any of the shapes in which cassettes keep them."""
    if headers is None:
        return
    if isinstance(headers, Mapping):
        for name, values in headers.items():
            for value in values if isinstance(values, list) else [values]:
                yield name, value
        return
    if isinstance(headers, list) and len(headers) == 1 and _is_pairs(headers[0]):
        headers = headers[0]  # the members of a frozen set
    if not isinstance(headers, list):
        raise refused("its headers are neither a mapping nor a list", "a damaged cassette", where=where)
    for line in headers:
        if isinstance(line, list) and len(line) == 2:
            name = line[0]
            for value in line[1] if isinstance(line[1], list) else [line[1]]:
                yield name, value
        elif isinstance(line, str) and ":" in line:
            name, _, value = line.partition(":")
            yield name.strip(), value.strip()
        else:
            raise refused("one of its headers has no name", "a damaged cassette", where=where)


def _is_pairs(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, list) and len(each) == 2 for each in value)


def _body(where: str, side: Mapping[str, Any], remarks: list[str]) -> bytes:
    """The bytes of a body, from any of the shapes in which cassettes keep it."""
    if side.get("parsed_body") is not None:
        remarks.append(PARSED)
        try:
            return json.dumps(side["parsed_body"]).encode()
        except (TypeError, ValueError, RecursionError):
            raise refused("its parsed_body is not JSON", "a damaged cassette", where=where) from None
    body = side.get("body", side.get("content"))
    if isinstance(body, Mapping):
        encoded = body.get("base64_string")
        if encoded is not None:
            return _decoded(where, encoded)
        charset = body.get("encoding")
        body = body.get("string")
        if isinstance(body, str) and isinstance(charset, str):
            return _in_charset(where, body, charset)
    if body is None:
        return b""
    pieces = body if isinstance(body, list) else [body]
    return b"".join(_bytes(where, piece) for piece in pieces)


def _bytes(where: str, text: Any) -> bytes:
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise refused("its body is neither text nor bytes", "a serializer of its own, or damage", where=where)
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise refused("its body is no text of Unicode", "a damaged cassette", where=where) from None


_CHARSETS: Final = frozenset(
    {"utf-8", "us-ascii", "ascii", "iso-8859-1", "latin-1", "latin1", "ascii-8bit", "windows-1252"}
)


def _in_charset(where: str, text: str, charset: str) -> bytes:
    """A text in its declared charset; a text that does not fit into it has been transcoded, and is UTF-8."""
    name = charset.lower()
    if name not in _CHARSETS:
        raise refused(f"its body is in {charset[:40]!r}", "a charset that is not read", where=where)
    if name in ("ascii-8bit", "us-ascii", "ascii"):
        name = "utf-8"
    try:
        return text.encode(name)
    except UnicodeEncodeError:
        return _bytes(where, text)


def _decoded(where: str, text: Any) -> bytes:
    try:
        return base64.b64decode("".join(_bytes(where, text).decode("ascii").split()), validate=True)
    except (binascii.Error, UnicodeDecodeError):
        raise refused("its body is no base64", "a damaged cassette", where=where) from None


def _version(answered: Mapping[str, Any]) -> str:
    for name in ("http_version", "protocol", "version"):
        text = str(answered.get(name) or "").strip().upper()
        if text:
            text = text if text.startswith("HTTP/") else f"HTTP/{text}"
            return text if text in ("HTTP/1.0", "HTTP/1.1", "HTTP/2", "HTTP/2.0", "HTTP/3") else ""
    return ""


def _recorded_at(item: Mapping[str, Any]) -> int | None:
    text = item.get("recorded_at")
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return date_us((("date", text),))
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1_000_000)
