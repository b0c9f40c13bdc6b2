"""A file of OTLP as single documents, each found again by its place: JSON, JSON Lines and protobuf.

The Collector's file exporter writes one document a line, or protobuf messages, each after its length. A saved request
is one document or message, with its resources as parts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from importlib import import_module
from typing import Any, BinaryIO, Final

from reenact.errors import InteropError
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.lazy_regex import lazy_regex
from reenact.interop.file_refusal import refused
from reenact.interop.foreign_documents import read_json
from reenact.interop.otlp.spans import raw_spans

LARGEST: Final = 32 << 20
"""Most bytes of one document."""

_TRIED: Final = 8
_FIELD: Final = 0x0A
"""First byte of a message whose first field is a message."""
_VARINT: Final = 10
_FRAME: Final = 4
_KNOWN: Final = lazy_regex(rb'"(?:resource_?[sS]pans|resource_?[lL]ogs|batches|trace_?[iI]d|context\.trace_id)"')


_MESSAGES: Final[Mapping[str, tuple[str, str]]] = {
    "resourceSpans": ("opentelemetry.proto.trace.v1.trace_pb2", "TracesData"),
    "resourceLogs": ("opentelemetry.proto.logs.v1.logs_pb2", "LogsData"),
}


class DocumentForm(StrEnum):
    """The form of the documents in a file."""

    WHOLE = "json"
    LINES = "json lines"
    MESSAGE = "protobuf"
    FRAMES = "protobuf, one message after another"


@dataclass(frozen=True, slots=True)
class DocumentPlace:
    """The place of a document: its first byte, its size, and its number in the file, from 1."""

    at: int
    size: int
    number: int

    def name(self, form: DocumentForm) -> str:
        """The name of the document."""
        return _name(form, self.number)


@dataclass(frozen=True, slots=True)
class SkippedDocument:
    """A part that cannot be read: its place, and the reason."""

    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


@dataclass(frozen=True, slots=True)
class Pages:
    """The documents of a file, all in one form."""

    form: DocumentForm

    def places(self, file: BinaryIO) -> Iterator[DocumentPlace | SkippedDocument]:
        """The places of the documents, and the parts that are no documents."""
        return places(file, self.form)

    def name(self, place: DocumentPlace) -> str:
        """The name of a document."""
        return place.name(self.form)

    def read(self, file: BinaryIO, place: DocumentPlace) -> Any | SkippedDocument:
        """One document, or the reason why it cannot be read."""
        return read_at(file, self.form, place)

    def raw(self, file: BinaryIO, place: DocumentPlace) -> bytes | None:
        """The bytes of one document in the file, with its line end; None where it is no text."""
        return raw(file, place) if self.form in (DocumentForm.WHOLE, DocumentForm.LINES) else None


def fits(head: bytes) -> bool:
    """Whether a file with this beginning looks like OTLP, or spans of an SDK."""
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text[:1] in (b"{", b"["):
        return _KNOWN.search(head) is not None
    return _is_message(head)


def form_of(file: BinaryIO) -> DocumentForm:
    """The form of the documents in a file, by its beginning.

    Raises:
        InteropError: The form is not known.
    """
    file.seek(0)
    head = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    if head[:1] in (b"{", b"["):
        return DocumentForm.LINES if _has_lines(file) else DocumentForm.WHOLE
    file.seek(0)
    head = file.read(64)
    if _is_message(head):
        return DocumentForm.MESSAGE
    if head[:1] == b"\0" and _is_message(head[_FRAME:]):
        return DocumentForm.FRAMES
    raise refused("this is no OTLP", "it is neither JSON nor protobuf of traces")


def json_form(file: BinaryIO) -> DocumentForm:
    """Whether a file of JSON is one document, or has one on each line."""
    file.seek(0)
    first = file.readline(LARGEST + 1).removeprefix(b"\xef\xbb\xbf").strip()
    file.seek(0)
    if first[:1] != b"{" and first[:1] != b"[":
        return DocumentForm.LINES if first else DocumentForm.WHOLE
    try:
        json.loads(first)
    except ValueError:
        return DocumentForm.WHOLE if len(first) < _OPENING else DocumentForm.LINES
    except RecursionError:
        return DocumentForm.LINES
    return DocumentForm.LINES if file.read(len(first) + 2).strip() != first or first[:1] == b"{" else DocumentForm.WHOLE


_OPENING: Final = 3
"""A document over several lines begins with a line that holds only a bracket; a longer line is a damaged row."""


def _has_lines(file: BinaryIO) -> bool:
    """Whether one of the first lines is a document of its own."""
    file.seek(0)
    for _ in range(_TRIED):
        line = file.readline(LARGEST + 1).removeprefix(b"\xef\xbb\xbf")
        if not line.strip() or len(line) > LARGEST or _KNOWN.search(line) is None:
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and next(raw_spans(found), None) is not None:
            return bool(file.readline(1)) or file.tell() <= LARGEST
    return False


def _is_message(head: bytes) -> bool:
    """Whether bytes begin like a resource in a message: a field with a length, and in it one or two more."""
    if head[:1] != b"\x0a":
        return False
    size, at = _varint(head, 1)
    return size > 1 and at < len(head) and head[at] in (0x0A, 0x12)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for byte in data[at : at + _VARINT]:
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
    return -1, at


def places(file: BinaryIO, form: DocumentForm) -> Iterator[DocumentPlace | SkippedDocument]:
    """The places of the documents of a file, in order, and the parts that are no documents."""
    if form is DocumentForm.WHOLE:
        size = file.seek(0, 2)
        too_large = SkippedDocument(
            "the file", f"it is one document of more than {LARGEST >> 20} MiB: write JSON Lines"
        )
        yield DocumentPlace(0, size, 1) if size <= LARGEST else too_large
    elif form is DocumentForm.LINES:
        yield from _lines(file)
    else:
        yield from _messages(file, form)


_NAMES: Final = {DocumentForm.LINES: "line", DocumentForm.MESSAGE: "resource", DocumentForm.FRAMES: "message"}


def _name(form: DocumentForm, number: int) -> str:
    return "the file" if form is DocumentForm.WHOLE else f"{_NAMES[form]} {number}"


def _lines(file: BinaryIO) -> Iterator[DocumentPlace | SkippedDocument]:
    at, number = 0, 0
    while True:
        file.seek(at)
        line = file.readline(LARGEST + 1)
        if not line:
            return
        number += 1
        start = at
        at += len(line)
        if len(line) > LARGEST:
            while line and not line.endswith(b"\n"):
                line = file.readline(1 << 20)
                at += len(line)
            yield SkippedDocument(_name(DocumentForm.LINES, number), f"it is longer than {LARGEST >> 20} MiB")
        elif line.strip():
            yield DocumentPlace(start, at - start, number)


def _messages(file: BinaryIO, form: DocumentForm) -> Iterator[DocumentPlace | SkippedDocument]:
    end, at, number = file.seek(0, 2), 0, 0
    while at < end:
        number += 1
        name, framed = _name(form, number), form is DocumentForm.FRAMES
        file.seek(at)
        head = file.read(_VARINT + 1)
        if framed:
            size, start = int.from_bytes(head[:_FRAME], "big"), at + _FRAME
        elif head[0] == _FIELD:
            size, used = _varint(head, 1)
            start = at + used
        else:
            yield SkippedDocument(name, f"byte {at} begins no resource: another message, or a damaged file")
            return
        at = start + size
        if size < 0 or at > end:
            yield SkippedDocument(name, "it is cut off: half a file")
            return
        yield (
            DocumentPlace(start, size, number)
            if size <= LARGEST
            else SkippedDocument(name, f"it is larger than {LARGEST >> 20} MiB")
        )


def document(file: BinaryIO, form: DocumentForm, place: DocumentPlace) -> Any:
    """The document at a place, as JSON.

    Raises:
        InteropError: The document cannot be read.
    """
    file.seek(place.at)
    data = file.read(place.size)
    if form in (DocumentForm.WHOLE, DocumentForm.LINES):
        return read_json(data.removeprefix(b"\xef\xbb\xbf"))
    return _message(data, form is DocumentForm.MESSAGE)


def raw(file: BinaryIO, place: DocumentPlace) -> bytes:
    """The bytes of a JSON document in the file, with its line end."""
    file.seek(place.at)
    return file.read(place.size).removeprefix(b"\xef\xbb\xbf").rstrip() + b"\n"


def _message(data: bytes, resource: bool) -> Mapping[str, Any]:
    """A protobuf message of a file as JSON: a message with all resources, or one resource alone."""
    if resource:
        return {"resourceSpans": [_told(data, _MESSAGES["resourceSpans"][0], "ResourceSpans")]}
    return decoded(data, "resourceSpans")


def decoded(data: bytes, field: str) -> Mapping[str, Any]:
    """A protobuf message as the JSON that a printer of protobuf makes.

    Args:
        data: A request, or a message of a file exporter: both have their resources in the same field.
        field: The list of the resources (``resourceSpans``, ``resourceLogs``).

    Raises:
        InteropError: The data is no such message, or the package that reads it is not installed.
    """
    return _told(data, *_MESSAGES[field])


def _told(data: bytes, module: str, name: str) -> Mapping[str, Any]:
    try:
        printer = import_module("google.protobuf.json_format")
        errors = import_module("google.protobuf.message")
        messages = import_module(module)
    except ImportError:
        raise refused(
            "reading protobuf needs opentelemetry-proto, which is not installed",
            "reenact itself does not need it",
            next_command="pip install 'reenact[otel]'",
        ) from None
    try:
        made = getattr(messages, name).FromString(data)
    except errors.DecodeError as error:
        raise refused("this is no OTLP", f"the message cannot be decoded: {error}") from None
    try:
        found: dict[str, Any] = printer.MessageToDict(made)
    except (RecursionError, ValueError) as error:
        raise refused("it cannot be told as JSON", f"{type(error).__name__}: nested too deeply, or damaged") from None
    return found


def read_at(file: BinaryIO, form: DocumentForm, place: DocumentPlace) -> Any | SkippedDocument:
    """The document at a place, or why it cannot be read.

    Raises:
        InteropError: No document of this form can be read here.
    """
    try:
        return document(file, form, place)
    except InteropError as error:
        if "pip install" in (error.next_command or ""):
            raise
        return SkippedDocument(place.name(form), error.message)
