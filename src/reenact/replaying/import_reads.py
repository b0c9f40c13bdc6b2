"""Import reads: what installed modules read while they are imported, in a process that programs share.

Such a module is imported once there, and reads the clock or draws a number only then. The recording of a later program
has that read too, in front of what the program itself reads; so it is passed over, and each is handed its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

Importing = Callable[[FrameType | None], bool]
"""Says whether a frame runs because an installed module is being imported."""


class ImportReads:
    """Which reads have been made that way, by lane, its last call, source, and how many reads since."""

    def __init__(self) -> None:
        self._importing: Importing | None = None
        self._made: set[tuple[str, int, str, int]] = set()

    def begin(self, importing: Importing) -> None:
        """Note them from now on."""
        self._importing = importing

    def next(self, path: str, position: int, source: str, at: int) -> int:
        """Which of the recorded reads is the next one that somebody makes.

        Args:
            path: The lane that reads.
            position: Its last call.
            source: What it reads.
            at: How many of these reads have been handed out, or passed over.

        Cost: where nothing is noted, next to nothing; else a look at each frame of the strand.
        """
        if self._importing is None:
            return at
        while (path, position, source, at) in self._made:
            at += 1
        if self._importing(sys._getframe(1)):
            self._made.add((path, position, source, at))
        return at


IMPORT_READS = ImportReads()
"""Those of this process."""
