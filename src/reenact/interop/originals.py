"""A file that is read more than once, and never as a whole: its parts are found again by their place."""

from __future__ import annotations

import hashlib
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from reenact.facts.compression import undo
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.interop.file_refusal import refused

LARGEST_HELD: Final = 64 << 20
"""The most bytes of a file that can be read only once (a pipe, a compressed file), unpacked, because they are held in
memory."""

_GZIP: Final = b"\x1f\x8b"
_PIPE: Final = "-"


def _untold(_: int) -> None:
    """Ignore progress, which no command shows here."""


@dataclass(frozen=True, slots=True)
class Original:
    """A file in its original form.

    Attributes:
        name: The name without its folder.
        path: The path; None for data in memory.
        data: The data in memory.
        stamp: The size and the time of the last change at the first read.
        told: Called with the number of bytes that were read for the first time, again and again.
    """

    name: str
    path: Path | None = None
    data: bytes = b""
    stamp: tuple[int, int] = (0, 0)
    told: Callable[[int], object] = field(default=_untold, compare=False)

    @property
    def size(self) -> int:
        """The size of the file, in bytes."""
        return len(self.data) if self.path is None else self.stamp[0]

    def open(self) -> BinaryIO:
        """The file from its beginning.

        Raises:
            InteropError: The file has changed since, or is gone.
        """
        if self.path is None:
            return io.BytesIO(self.data)
        try:
            file = self.path.open("rb")
            if _stamp(file) == self.stamp:
                return file
            file.close()
        except OSError as error:
            raise refused(f"{self.path} cannot be read: {error.strerror}", "its name, or its permissions") from None
        raise refused(f"{self.name} changes while it is read", "its tool still writes: import it when that is done")

    def digest(self) -> str:
        """SHA-256 of the file's bytes."""
        made = hashlib.sha256()
        with self.open() as file:
            while part := file.read(1 << 20):
                made.update(part)
        return made.hexdigest()


def original(path: Path) -> Original:
    """A file that can be read again; ``-`` is standard input.

    Raises:
        InteropError: The file cannot be read, is empty, or is too large to be held in memory where it must be.
    """
    if str(path) == _PIPE:
        data = sys.stdin.buffer.read(LARGEST_HELD + 1)
        if len(data) > LARGEST_HELD:
            raise refused(f"standard input holds more than {LARGEST_HELD >> 20} MiB", "write it into a file first")
        return _held("standard input", data)
    try:
        with path.open("rb") as file:
            head = file.read(2)
            if head == _GZIP:
                return _held(path.name, head + file.read(LARGEST_HELD))
            found = Original(path.name, path, stamp=_stamp(file))
    except OSError as error:
        raise refused(f"{path} cannot be read: {error.strerror}", "its name, or its permissions") from None
    if not found.stamp[0]:
        raise refused(f"{path.name} is empty", "nothing was recorded into it")
    return found


def _held(name: str, data: bytes) -> Original:
    if data.startswith(_GZIP):
        unpacked = undo("gzip", data, LARGEST_HELD)
        if unpacked is None or not unpacked.whole:
            raise refused(
                f"{name} cannot be unpacked", f"it is damaged, or more than {LARGEST_HELD >> 20} MiB: gunzip it"
            )
        data = unpacked.data
    if not data.strip():
        raise refused(f"{name} is empty", "nothing was recorded into it")
    return Original(name, None, data)


def _stamp(file: BinaryIO) -> tuple[int, int]:
    found = os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns
