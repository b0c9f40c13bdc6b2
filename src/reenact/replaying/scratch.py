"""The scratch of an isolated process: how much of the files that it covers a program has changed."""

from __future__ import annotations

import os
from typing import Final

from reenact.seams.boot.aside import set_aside

UPPER: Final = "upper"
"""How the folders in it begin that take what is written below a folder which an overlay covers."""
_COMPILED: Final = "__pycache__"


class Scratch:
    """A file system in memory that overlays are laid of. It is held by a descriptor, for its folder may be gone.

    Args:
        path: Where it is mounted.
    """

    def __init__(self, path: str) -> None:
        self._descriptor = set_aside(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        self._counted = self._written = -1

    def written(self) -> int:
        """How many files and empty folders there are in it: what is made, changed or taken away in a folder that it
        covers is one more. What Python compiles for itself does not count.

        Cost: a system call; a walk through all of it where that says that there is more or less than before.
        """
        found = os.fstatvfs(self._descriptor)
        counted = found.f_files - found.f_ffree
        if counted != self._counted:
            self._counted, self._written = counted, self._walked()
        return self._written

    def _walked(self) -> int:
        written = 0
        for path, folders, files, _ in os.fwalk(dir_fd=self._descriptor):
            if path == os.curdir:  # beside them there are ways to what they cover, which is the world
                folders[:] = [each for each in folders if each.startswith(UPPER)]
                continue
            if os.path.basename(path) == _COMPILED:
                written += sum(".pyc" not in each for each in files)
                continue
            laid = path.count(os.sep) == 1
            written += len(files) + (not laid and not folders and not files)
        return written
