"""One HTTP exchange between formats: the value that every reader makes and every writer takes."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

from reenact.facts.compression import undo
from reenact.facts.lazy_dataclass import dataclass, field, fields

_LARGEST: Final = 64 << 20

Headers = tuple[tuple[str, str], ...]
"""The names and values of headers as latin-1 text, in order; a name may occur more than once."""


@dataclass(frozen=True, slots=True)
class ImportedExchange:
    """A request and its answer.

    Attributes:
        method: The method, in capitals.
        url: The absolute URL.
        asked: Headers of the request.
        body: Its body, as it went over the wire.
        status, reason: The status and the reason of the answer; the reason is empty where it is not known.
        headers: The headers of the answer.
        answer: Its body before content decoding, without chunks.
        version: ``HTTP/1.1`` …; empty where it is not known.
        at_us: The time of the request, microseconds since the epoch; None where it is not known.
        first_us, ended_us: Microseconds from then to the head and to the end of the answer.
        remarks: The facts that the format lacks, or has in another form than the wire.
        client: The family of the client (``httpx``, ``urllib3`` …); empty where it is not known.
    """

    method: str
    url: str
    asked: Headers = ()
    body: bytes = b""
    status: int = 200
    reason: str = ""
    headers: Headers = ()
    answer: bytes = b""
    version: str = ""
    at_us: int | None = None
    first_us: int = 0
    ended_us: int = 0
    remarks: tuple[str, ...] = ()
    client: str = ""


@dataclass(frozen=True, slots=True)
class ExchangesOfRun:
    """The content of a file, or of a part of it, that becomes one run.

    Attributes:
        source: Format and version (``vcr 1``, ``har 1.2``, ``messages``).
        exchanges: The exchanges, in the order of the file.
        clock_us: The wall clock at the first exchange; None where it is not known.
        ignore: Named ignore rules for facts that the format lacks, so that they cannot be compared.
        label: The part of the file; empty for the whole file.
    """

    source: str
    exchanges: tuple[ImportedExchange, ...]
    clock_us: int | None = None
    ignore: Mapping[str, str] = field(default_factory=dict)
    label: str = ""

    def remarks(self) -> dict[str, int]:
        """The remarks on the exchanges, each with its number of exchanges."""
        counts: dict[str, int] = {}
        for exchange in self.exchanges:
            for remark in exchange.remarks:
                counts[remark] = counts.get(remark, 0) + 1
        return counts

    def digest(self) -> str:
        """A digest of the exchanges alone. It is the same for a copy of the file, and for a longer file with them."""
        found = blake2b(repr((self.source, self.clock_us, sorted(self.ignore.items()))).encode(), digest_size=8)
        for exchange in self.exchanges:
            for each in fields(exchange):
                value = getattr(exchange, each.name)
                found.update(b"%d:" % len(value) if isinstance(value, bytes) else f"{value!r};".encode())
                if isinstance(value, bytes):
                    found.update(value)
        return found.hexdigest()


def header(headers: Headers, name: str) -> str:
    """The first header of a (lower-case) name; empty without one."""
    for found, value in headers:
        if found.lower() == name:
            return value
    return ""


def decoded(exchange: ImportedExchange) -> bytes | None:
    """The answer's body with its content encoding undone; None where that cannot be done here."""
    encoding = header(exchange.headers, "content-encoding")
    if not encoding or not exchange.answer:
        return exchange.answer
    undone = undo(encoding, exchange.answer, _LARGEST)
    return undone.data if undone is not None and undone.whole else None
