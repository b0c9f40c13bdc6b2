"""The container of a bundle: a zip file of one exact shape, sealed by a digest over all of its bytes.

Any unzip program reads it. This reader accepts only the writer's own form, byte for byte. The members are in order of
name without gaps. Each is compressed by *deflate*, after a header that agrees with the directory. There are no flags
and no extra fields, and the directory comes last. The comment of the file has the two format numbers, and a SHA-256
over every byte before the digest. So no byte can be altered, no data can be hidden between members or overlap another
member, and no member can appear twice. The result does not depend on the tolerance of a zip library. Nothing is ever
extracted to a path.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from reenact.errors import FormatTooNew, StoreError, UsageError
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.lazy_regex import lazy_regex
from reenact.store.bundles import limits

if TYPE_CHECKING:
    from collections.abc import Iterator

WRITTEN: Final = 1
"""The format that this code writes."""

OLDEST_READER: Final = 1
"""The oldest format whose reader can read what this code writes."""

_LEVEL: Final = 6
_METHOD: Final = 8
_DATE: Final = (1980, 1, 1, 0, 0, 0)
_DOS_DATE: Final = 33
_VERSION: Final = 20
_UNIX: Final = 3
_MODE: Final = 0o100644 << 16
_LOCAL: Final = struct.Struct("<4s5H3L2H")
_CENTRAL: Final = struct.Struct("<4s6H3L5H2L")
_END: Final = struct.Struct("<4s4H2LH")
_HEX: Final = 64
_COMMENT: Final = "reenact-bundle written={} reader={} sha256="
_SEAL: Final = lazy_regex(rb"reenact-bundle written=([0-9]{1,6}) reader=([0-9]{1,6}) sha256=")
_TAIL: Final = 256
_NAME: Final = lazy_regex(r"[a-z0-9][a-z0-9._-]{0,120}(/[a-z0-9][a-z0-9._-]{0,120}){0,3}")
_PIECE: Final = 1 << 18
"""The number of bytes that are read at a time. A smaller file is read only once, so that exactly the checked bytes are
used."""


@dataclass(frozen=True, slots=True)
class Member:
    """One member: the place of its compressed bytes, their number, the number of unpacked bytes, and their check
    sum."""

    start: int
    packed: int
    size: int
    crc: int


class Archive:
    """An open container whose seal and shape have been checked.

    Args:
        name: The name of the file in messages.
        file: The file, for reading.
        members: Its members, by name, in order.
        seal: The digest over the file, which has been checked.
        size: The number of bytes of the file.
    """

    def __init__(self, name: str, file: IO[bytes], members: Mapping[str, Member], seal: str, size: int) -> None:
        self.name = name
        self.members = members
        self.seal = seal
        self.size = size
        self._file = file

    def read(self, name: str) -> bytes:
        """One member, unpacked; never more bytes than the directory says.

        Raises:
            StoreError: The member does not agree with the directory.
        """
        member = self.members[name]
        self._file.seek(member.start)
        packed = self._file.read(member.packed)
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            data = unpacker.decompress(packed, member.size + 1)
        except zlib.error as error:
            raise refused(self.name, f"{name} cannot be unpacked ({error})") from None
        if len(data) != member.size or not unpacker.eof or unpacker.unused_data or unpacker.unconsumed_tail:
            raise refused(self.name, f"{name} does not unpack to the size that the directory gives")
        if zlib.crc32(data) != member.crc:
            raise refused(self.name, f"{name} does not agree with its check sum")
        return data


def refused(name: str, why: str) -> StoreError:
    """The error for a file that is no bundle, or a bundle that was changed after it was written."""
    return StoreError(
        f"{name} is refused: {why}",
        cause="the file was altered, cut or made by another program since `reenact pack` wrote it",
        next_command="reenact pack --help",
        path=name,
        reason=why,
    )


def write_archive(file: IO[bytes], members: Iterable[tuple[str, bytes]]) -> None:
    """Write a container.

    Args:
        file: An empty file, for writing and reading.
        members: Names and contents, in any order.

    Raises:
        StoreError: The file would be larger than a reader accepts.
    """
    comment = _COMMENT.format(WRITTEN, OLDEST_READER).encode()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, allowZip64=False, compresslevel=_LEVEL) as made:
        for name, data in sorted(members):
            info = zipfile.ZipInfo(name, _DATE)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = _UNIX
            info.external_attr = _MODE
            made.writestr(info, data, compresslevel=_LEVEL)
        made.comment = comment + b"0" * _HEX
    size = file.seek(0, os.SEEK_END)
    if size > limits.FILE:
        raise too_large(f"the file would have {size >> 20} MiB")
    digest = _digest(file, size - _HEX)
    file.seek(size - _HEX)
    file.write(digest)


def too_large(why: str) -> StoreError:
    """The error for a run that does not fit into a bundle."""
    return StoreError(
        f"the run is too large for a bundle: {why}",
        cause=f"a bundle holds up to {limits.CONTENT >> 20} MiB, so that it can be opened safely",
        next_command="reenact ls",
    )


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a container for the length of a block. The cost is one pass over its bytes.

    Raises:
        UsageError: There is no such file.
        FormatTooNew: A newer version of reenact wrote it.
        StoreError: The file was changed after it was written.
    """
    name = path.name
    try:
        regular = stat.S_ISREG(os.stat(path).st_mode)  # before opening: to open a pipe would wait for its other end
        file = open(path, "rb") if regular else None  # noqa: SIM115 - closed below, whatever happens in between
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(
            f"{path} cannot be read: {why}", cause="a typing mistake, or the file lies elsewhere", next_command="ls"
        ) from None
    if file is None:
        raise refused(name, "it is no file")
    with file:
        size = file.seek(0, os.SEEK_END)
        if size > limits.FILE:
            raise refused(name, f"it has {size >> 20} MiB, more than the {limits.FILE >> 20} that a bundle may have")
        held = _at_once(file) if size <= _PIECE else file
        size = held.seek(0, os.SEEK_END)
        end, seal = _check_seal(name, held, size)
        yield Archive(name, held, _directory(name, held, end), seal, size)


def _at_once(file: IO[bytes]) -> IO[bytes]:
    file.seek(0)
    return io.BytesIO(file.read())


def is_sealed(path: Path, seal: str) -> bool:
    """Whether a file is, byte for byte, the container that was opened with this seal. The cost is one pass over it."""
    try:
        if not path.is_file():  # to open a pipe would wait for its other end
            return False
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END) - _HEX
            if not 0 < size <= limits.FILE:
                return False
            found = _digest(file, size)
            return found == file.read(_HEX + 1) == seal.encode()
    except (OSError, ValueError):
        return False


def _check_seal(name: str, file: IO[bytes], size: int) -> tuple[int, str]:
    """Check the two format numbers and the digest. Returns the place of the end record, and the digest."""
    file.seek(max(size - _TAIL, 0))
    tail = file.read(_TAIL)
    seals = list(_SEAL.finditer(tail))
    if not seals:
        raise refused(name, "it does not end as a bundle does")
    found = seals[-1]
    written, reader = int(found[1]), int(found[2])
    if reader > WRITTEN:
        raise FormatTooNew(
            f"{name} is written in bundle format {written}; this version of reenact reads formats up to {WRITTEN}",
            cause=f"a newer reenact wrote it; a reader of format {reader} is needed",
            next_command="pip install --upgrade reenact",
            written=written,
            oldest_reader=reader,
            readable=WRITTEN,
        )
    if len(tail) - found.end() != _HEX:
        raise refused(name, "it does not end as a bundle does")
    if tail[found.end() :] != _digest(file, size - _HEX):
        raise refused(name, "its bytes are not those that were written: the digest over the file differs")
    end = size - _HEX - len(found[0]) - _END.size
    if end < 0:
        raise refused(name, "it is too short")
    return end, tail[found.end() :].decode()


def _digest(file: IO[bytes], size: int) -> bytes:
    """SHA-256 over the first bytes of a file, in hexadecimal."""
    file.seek(0)
    found = hashlib.sha256()
    left = size
    while left > 0:
        piece = file.read(min(left, _PIECE))
        if not piece:
            break
        found.update(piece)
        left -= len(piece)
    return found.hexdigest().encode()


def _directory(name: str, file: IO[bytes], end: int) -> dict[str, Member]:
    """The members of the container; each header is compared with the one that the writer makes."""
    file.seek(end)
    said = file.read(_END.size)
    _, _, _, _, count, length, start, comment = _END.unpack(said)
    if said != _END.pack(b"PK\x05\x06", 0, 0, count, count, length, start, comment) or start + length != end:
        raise refused(name, "its directory is not where it belongs")
    if not 0 < count <= limits.MEMBERS:
        raise refused(name, f"it has {count} files; allowed are 1 to {limits.MEMBERS}")
    if length > count * (_CENTRAL.size + 512):
        raise refused(name, f"its directory is too long for {count} files")
    file.seek(start)
    data = file.read(length)
    members: dict[str, Member] = {}
    at = place = total = 0
    before = ""
    for _ in range(count):
        if at + _CENTRAL.size > length:
            raise refused(name, "its directory ends too early")
        fields = _CENTRAL.unpack_from(data, at)
        crc, packed, size, width = fields[7:11]
        raw = data[at + _CENTRAL.size : at + _CENTRAL.size + width]
        text = raw.decode("ascii", "replace")
        if not _NAME.fullmatch(text) or text <= before:
            raise refused(name, f"a member is called {text[:80]!r}, out of order or in a way that no member is called")
        if fields[3] & 1:
            raise refused(name, f"{text} is encrypted")
        if fields[4] != _METHOD:
            raise refused(name, f"{text} is compressed by a method that is not used here ({fields[4]})")
        common = (_VERSION, 0, _METHOD, 0, _DOS_DATE, crc, packed, size, width)
        whole = _CENTRAL.pack(b"PK\x01\x02", _UNIX << 8 | _VERSION, *common, 0, 0, 0, 0, _MODE, place)
        local = _LOCAL.pack(b"PK\x03\x04", *common, 0) + raw
        file.seek(place)
        if data[at : at + _CENTRAL.size] != whole or len(raw) != width or file.read(len(local)) != local:
            raise refused(name, f"{text} is not described as it was written, or lies over another member")
        members[text] = Member(place + len(local), packed, size, crc)
        place += len(local) + packed
        at += _CENTRAL.size + width
        total += size
        before = text
        if total > limits.CONTENT:
            raise refused(name, f"it would unpack to more than {limits.CONTENT >> 20} MiB")
    if place != start or at != length:
        raise refused(name, "there are bytes between its members that belong to none")
    return members
