"""Makes an exchange from the facts of a file: checked, with a body and headers that agree.

Other tools keep a body as it was on the wire, or decoded, or parsed, but always the original headers. A client would
decode a decoded body once more. So the body is encoded again if that is possible here; if not, the headers no longer
name the encoding. Each such change is remarked.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlsplit

from reenact.facts.compression import Decoder, undo
from reenact.facts.lazy_dataclass import replace
from reenact.facts.lazy_regex import lazy_regex
from reenact.interop.exchanges import Headers, ImportedExchange, header
from reenact.interop.file_refusal import refused

MOST_HEADERS: Final = 256
LONGEST_HEADERS: Final = 256 << 10
LARGEST_DECODED: Final = 24 << 20

ENCODED = "the body was kept decoded, and is encoded again as its headers say"
DECODED = "the body was kept decoded, so its headers no longer name a content-encoding"
LENGTH = "content-length is that of the body in the file"

_TOKEN = lazy_regex(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNWRITTEN = lazy_regex(r"[\0\r\n]")
_SPACE = lazy_regex(r"[\x00-\x20\x7f]")
_BODILESS: Final = frozenset({204, 304})
_ENCODERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gzip": lambda body: gzip.compress(body, 6, mtime=0),
    "x-gzip": lambda body: gzip.compress(body, 6, mtime=0),
    "deflate": lambda body: zlib.compress(body, 6),
}
_GZIP: Final = b"\x1f\x8b"


def exchange(where: str, raw: ImportedExchange, *, decoded: bool | None = None) -> ImportedExchange:
    """A checked exchange.

    Args:
        where: The place in the file, for the message of a refusal.
        raw: The facts in the file.
        decoded: Whether the body of the answer is decoded already; None: look at the body.

    Raises:
        InteropError: The facts are no HTTP exchange, or only a part of one.
    """
    method = _method(where, raw.method)
    url = _url(where, raw.url)
    if not 200 <= raw.status <= 599:
        cause = "it never got an answer" if raw.status == 0 else "only final answers of HTTP can be given again"
        raise refused(f"its status is {raw.status}", cause, where=where)
    asked, headers = _headers(where, raw.asked), _headers(where, raw.headers)
    if header(headers, "content-type").startswith("application/grpc"):
        raise refused("it is a gRPC call", "its status stands in trailers, which are not in the file", where=where)
    checked = replace(raw, method=method, url=url, asked=asked, headers=headers)
    return _agreed(checked, decoded)


def _method(where: str, method: Any) -> str:
    if not isinstance(method, str) or not _TOKEN.fullmatch(method) or len(method) > 32:
        raise refused(f"{str(method)[:40]!r} is no method", "no HTTP request, or a damaged file", where=where)
    return method.upper()


def _url(where: str, url: Any) -> str:
    try:
        parts = urlsplit(url) if isinstance(url, str) and not _SPACE.search(url) else None
        good = parts is not None and parts.scheme.lower() in ("http", "https") and bool(parts.hostname)
        good = good and (parts is None or parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good:
        raise refused(f"{str(url)[:80]!r} is no address of HTTP", "it is relative, or of another protocol", where=where)
    return str(url)


def _headers(where: str, pairs: Iterable[tuple[Any, Any]]) -> Headers:
    made = []
    size = 0
    for name, value in pairs:
        if isinstance(name, str) and name.startswith(":"):
            continue  # HTTP/2 writes the request line like this
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise refused(f"{str(name)[:40]!r} is no name of a header", "a damaged file", where=where)
        text = _text(where, name, value)
        size += len(name) + len(text)
        made.append((name, text))
        if len(made) > MOST_HEADERS or size > LONGEST_HEADERS:
            limits = f"{MOST_HEADERS}, or {LONGEST_HEADERS >> 10} KiB of them"
            raise refused(f"it has more headers than {limits}", "made to exhaust its reader", where=where)
    return tuple(made)


def _text(where: str, name: str, value: Any) -> str:
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise refused(f"the header {name} has no text as its value", "a damaged file", where=where)
    text = str(value).strip()
    if _UNWRITTEN.search(text):
        raise refused(f"the header {name} holds a line break", "no header does: a damaged file", where=where)
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("latin-1")  # the bytes that a client would have sent
    return text


def _agreed(raw: ImportedExchange, decoded: bool | None) -> ImportedExchange:
    """The exchange with an answer whose headers and body agree."""
    headers, answer, remarks = raw.headers, raw.answer, list(raw.remarks)
    encoding = header(headers, "content-encoding").strip().lower()
    if encoding not in ("", "identity") and answer and (_is_decoded(encoding, answer) if decoded is None else decoded):
        encode = _ENCODERS.get(encoding)
        if encode is None:
            headers = _without(headers, "content-encoding")
        else:
            answer = encode(answer)
        remarks.append(DECODED if encode is None else ENCODED)
    length = header(headers, "content-length")
    bodiless = raw.method == "HEAD" or raw.status in _BODILESS
    if length and not bodiless and length != str(len(answer)):
        if header(headers, "transfer-encoding"):
            headers = _without(headers, "content-length")
        else:
            headers = tuple(
                (name, str(len(answer)) if name.lower() == "content-length" else value) for name, value in headers
            )
        remarks.append(LENGTH)
    return replace(raw, headers=headers, answer=answer, remarks=tuple(remarks))


def _is_decoded(encoding: str, body: bytes) -> bool:
    """Whether a body does not have the form of its content encoding, so that it must have been decoded."""
    if encoding in ("gzip", "x-gzip"):
        return not body.startswith(_GZIP)
    if Decoder(encoding).known:
        undone = undo(encoding, body, LARGEST_DECODED)
        return undone is None or not undone.whole
    try:
        body.decode()
    except UnicodeDecodeError:
        return False  # encoded, and its decoder is not installed
    return True


def _without(headers: Headers, name: str) -> Headers:
    return tuple(pair for pair in headers if pair[0].lower() != name)


def date_us(headers: Headers) -> int | None:
    """The server's time when it answered, in microseconds since the epoch."""
    try:
        return int(parsedate_to_datetime(header(headers, "date")).timestamp() * 1_000_000)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
