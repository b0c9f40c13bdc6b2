"""The places of spans in a file of one format: its documents, the pieces of each, the span of a piece.

In every format a trace is a tree of spans, under some name (spans, observations, runs, events). So one reader
(``reader``) orders, merges and bounds them, and a format only defines this layout.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final, Protocol

from reenact.interop.otlp.otlp_documents import DocumentPlace, Pages, SkippedDocument, form_of
from reenact.interop.otlp.spans import Span, raw_spans, span_of


class Documents(Protocol):
    """The documents of a file, each found again by its place."""

    def places(self, file: BinaryIO) -> Iterator[DocumentPlace | SkippedDocument]:
        """The place of each document, in order, and the parts that cannot be read."""

    def name(self, place: DocumentPlace) -> str:
        """The name of a document in messages."""

    def read(self, file: BinaryIO, place: DocumentPlace) -> Any | SkippedDocument:
        """A document as data, or why it cannot be read."""

    def raw(self, file: BinaryIO, place: DocumentPlace) -> bytes | None:
        """The bytes of a document, with the end of its line; None if it is no text."""


class Layout(Protocol):
    """The layout of spans in a format. It is made for each file."""

    @property
    def source(self) -> str:
        """Name of the format."""

    @property
    def piece(self) -> str:
        """The format's word for a span."""

    @property
    def retold(self) -> bool:
        """Whether several spans may describe one call, so that they are merged."""

    def documents(self, file: BinaryIO) -> Documents:
        """The documents of a file.

        Raises:
            InteropError: The file is not of this format.
        """

    def pieces(self, document: Any) -> Iterator[Any]:
        """The pieces of a document, one for each span, unparsed."""

    def span(self, piece: Any) -> Span | str:
        """The span of a piece, or a text that says why the piece is no span. On damaged data it may raise any error."""

    def joined(self, pieces: list[Any]) -> Any:
        """A document that holds only some pieces of another document."""


class Otlp:
    """Traces of OpenTelemetry."""

    source: Final = "otlp"
    piece: Final = "span"
    retold: Final = True

    def documents(self, file: BinaryIO) -> Documents:
        """The documents of a file in JSON, JSON Lines or protobuf."""
        return Pages(form_of(file))

    def pieces(self, document: Any) -> Iterator[Any]:
        """Each span and each log record, with its resource and scope."""
        return raw_spans(document)

    def span(self, piece: Any) -> Span | str:
        """The span of a piece in OTLP's form."""
        return span_of(*piece)

    def joined(self, pieces: list[Any]) -> Any:
        """A document of some spans and log records, each with its resource and scope."""
        groups: dict[str, list[Any]] = {}
        for resource, scope, one in pieces:
            log = "body" in one or "severityNumber" in one
            outer, inner, leaf = _LOGS if log else _SPANS
            groups.setdefault(outer, []).append({"resource": resource, inner: [{"scope": scope, leaf: [one]}]})
        return groups


_SPANS: Final = ("resourceSpans", "scopeSpans", "spans")
_LOGS: Final = ("resourceLogs", "scopeLogs", "logRecords")


def line(document: Any) -> bytes:
    """A document as a line of JSON."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def held_by(document: Any) -> str:
    """The content of a document, for the message that it has no span."""
    names = ", ".join(sorted(map(str, document))[:4])[:80] if isinstance(document, Mapping) else ""
    return f"it has {names}" if names else type(document).__name__
