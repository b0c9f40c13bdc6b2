"""Reads a plain file of bounded size that a child has left.

Foreign code may leave a link, a pipe or a device instead."""

from __future__ import annotations

import os
import stat
from typing import Final

__all__ = ["read_plain"]

MOST: Final = 1 << 30
"""Bytes that are read at most."""


def read_plain(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a plain file.

    Raises:
        OSError: The file does not exist, is no plain file, or is too large.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_size > MOST:
            raise OSError(f"{path} is no plain file")
        return file.read(MOST)
