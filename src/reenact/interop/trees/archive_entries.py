"""Files in a ZIP archive as the documents of a file: unpacked one at a time, within bounds, zstandard too."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, BinaryIO, Final

from reenact.errors import InteropError
from reenact.interop.file_refusal import refused
from reenact.interop.foreign_documents import read_json
from reenact.interop.otlp.otlp_documents import LARGEST, DocumentPlace, SkippedDocument

MAGIC: Final = b"PK\x03\x04"

_TAIL: Final = 22 + 65_535
_END: Final = struct.Struct("<4s4H2LH")
_DIRECTORY: Final = 16 << 20
"""Most bytes of an archive's list of its files."""
_LOCAL: Final = struct.Struct("<4s5H3L2H")
_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93
_ENCRYPTED: Final = 1
_PIECE: Final = 16 << 10


class ArchiveEntries:
    """The files below a folder of an archive. Each is read as a document: the common facts, and a list with this file.

    Args:
        file: The archive.
        folder: The folder whose files are documents.
        heads: The files with the common facts, the best first.

    Raises:
        InteropError: The file is no archive that can be read.
    """

    def __init__(self, file: BinaryIO, folder: str, heads: tuple[str, ...]) -> None:
        _check(file)
        try:
            infos = {each.filename: each for each in zipfile.ZipFile(file).infolist()}
        except (zipfile.BadZipFile, ValueError, OSError, EOFError, struct.error, NotImplementedError) as error:
            raise refused(f"the archive cannot be read: {error}", "it is damaged, or half a file") from None
        self._names = [name for name in infos if name.startswith(folder) and name.endswith(".json")]
        self._list = folder.rstrip("/")
        self._infos = infos
        head = next((name for name in heads if name in infos), "")
        found = self._read(file, head, infos[head].header_offset, infos[head].compress_size) if head else {}
        self._head: Mapping[str, Any] = found if isinstance(found, Mapping) else {}

    def places(self, file: BinaryIO) -> Iterator[DocumentPlace | SkippedDocument]:
        """The places of the files, in the order of the archive, and the files that are too large."""
        for number, name in enumerate(self._names):
            info = self._infos[name]
            if max(info.compress_size, info.file_size) > LARGEST:
                yield SkippedDocument(name, f"it is larger than {LARGEST >> 20} MiB")
            else:
                yield DocumentPlace(info.header_offset, info.compress_size, number)

    def name(self, place: DocumentPlace) -> str:
        """The name of a file in the archive."""
        return self._names[place.number]

    def read(self, file: BinaryIO, place: DocumentPlace) -> Any | SkippedDocument:
        """One file with the common facts, or the reason why it cannot be read."""
        found = self._read(file, self.name(place), place.at, place.size)
        return found if isinstance(found, SkippedDocument) else {**self._head, self._list: [found]}

    def raw(self, file: BinaryIO, place: DocumentPlace) -> bytes | None:
        """None: the files are packed in the archive."""
        return None

    def _read(self, file: BinaryIO, name: str, at: int, size: int) -> Any | SkippedDocument:
        try:
            return read_json(_unpacked(file, at, size))
        except InteropError as error:
            if "pip install" in (error.next_command or ""):
                raise
            return SkippedDocument(name, error.message)


def _check(file: BinaryIO) -> None:
    """Refuse an archive whose list of files does not fit into memory; a list beyond 4 GiB is not read.

    Raises:
        InteropError: The archive is too large, or the file is no archive.
    """
    size = file.seek(0, 2)
    file.seek(max(0, size - _TAIL))
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END.size:
        raise refused("the archive has no list of its files", "it is half a file, or still being written")
    length = _END.unpack_from(tail, at)[5]
    if length > _DIRECTORY or tail[max(at - 20, 0) : max(at - 16, 0)] == b"PK\x06\x07":
        raise refused("the archive holds more files than are read", "split it, and import the parts")
    file.seek(0)


def _unpacked(file: BinaryIO, at: int, size: int) -> bytes:
    """A file of an archive.

    Raises:
        InteropError: The file is damaged or too large, or its compression is not supported here.
    """
    file.seek(at)
    head = file.read(_LOCAL.size)
    if len(head) < _LOCAL.size or not head.startswith(MAGIC):
        raise refused("it does not stand where the list of files says", "a damaged archive")
    fields = _LOCAL.unpack(head)
    flags, method, lead = fields[2], fields[3], fields[9] + fields[10]
    if flags & _ENCRYPTED:
        raise refused("it is encrypted", "no log of Inspect is")
    file.seek(lead, 1)
    feed = _feed(method)
    made = bytearray()
    while size > 0 and (piece := file.read(min(size, _PIECE))):
        size -= len(piece)
        try:
            made += feed(piece)
        except Exception as error:  # each library has errors of its own, and all mean the same
            raise refused(f"it cannot be unpacked ({type(error).__name__})", "a damaged archive") from None
        if len(made) > LARGEST:
            raise refused(f"it is larger than {LARGEST >> 20} MiB", "made to exhaust its reader, or a very long run")
    return bytes(made)


def _feed(method: int) -> Callable[[bytes], bytes]:
    """The function that unpacks piece by piece.

    Raises:
        InteropError: The method is not supported here.
    """
    if method == _STORED:
        return lambda data: data
    if method == _DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress
    if method != _ZSTANDARD:
        raise refused(f"it is packed by method {method}", "made by another tool than Inspect")
    try:
        made: Any = import_module("zstandard").ZstdDecompressor().decompressobj(read_across_frames=True).decompress
    except ImportError:
        raise refused(
            "the archive is packed with zstandard, which is not installed",
            "newer versions of Inspect use it, and reenact itself does not need it",
            next_command="pip install zstandard",
        ) from None
    feed: Callable[[bytes], bytes] = made
    return feed
