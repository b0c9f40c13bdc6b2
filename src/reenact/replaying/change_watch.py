"""Notices file changes of a replayed agent before they are made, where no scratch protects the files.

The writes of a separate process go to scratch; those of the calling process do not. A replay in the calling process is
stopped before it writes, and its caller starts a separate process instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from reenact.errors import Halt
from reenact.seams import audit_hook, lanes

_HEARD: Final = frozenset(
    (
        *("open", "os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink"),
        *("os.truncate", "os.utime", "os.setxattr", "os.removexattr", "os.chdir", "os.putenv", "os.unsetenv"),
        *("tempfile.mkstemp", "tempfile.mkdtemp", "signal.pthread_kill", "os.kill", "os.killpg"),
    )
)
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class ChangeWatch:
    """Stops a listening strand that is about to change files, the working directory or the environment."""

    def __init__(self) -> None:
        self._halt: Callable[[str], Halt] | None = None
        self._noticed: list[str] = []

    @contextmanager
    def on(self, halt: Callable[[str], Halt]) -> Iterator[list[str]]:
        """Watch for the length of the block.

        Args:
            halt: Called with a text on the attempt; returns the exception to raise.

        Returns:
            The attempts so far, in words.
        """
        self._halt, self._noticed = halt, []
        audit_hook.subscribe(_HEARD, self._heard)
        try:
            yield self._noticed
        finally:
            audit_hook.unsubscribe(_HEARD, self._heard)
            self._halt = None

    def _heard(self, event: str, args: tuple[object, ...], _: FrameType | None) -> None:
        halt = self._halt
        if halt is None or lanes.listening() is None:
            return
        if event == "open" and not _writes(args):
            return
        words = f"{event} {args[0] if args else ''}"
        self._noticed.append(words)
        raise halt(words)


CHANGE_WATCH = ChangeWatch()


def _writes(args: tuple[object, ...]) -> bool:
    path, flags = args[0], args[2]
    if isinstance(path, int) or path == os.devnull or not isinstance(flags, int) or not flags & _WRITING:
        return False
    text = os.fsdecode(path) if isinstance(path, (str, bytes)) else ""
    return f"{os.sep}__pycache__{os.sep}" not in text  # a file that an import leaves
