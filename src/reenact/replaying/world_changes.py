"""Finds the file changes of Python code that would reach the world.

No change of a path that scratch protects reaches it. Elsewhere a change is refused, except harmless ones: a write to a
device, an open that would only fail, and temporary files, which the replay then owns and removes at its end. Where no
scratch is possible, ``replaying.file_redirection`` has replaced the functions that most programs call. The changes that
are seen here were not made through those functions.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from typing import Any, Final

from reenact.replaying.disk_cover import within
from reenact.replaying.isolation import Isolation
from reenact.replaying.temporaries import MadeFiles
from reenact.seams.contacts import OPENING, WRITING
from reenact.seams.file_changes import CHANGES
from reenact.seams.project_paths import text_of

_BIND: Final = "socket.bind"
_ATTRIBUTES: Final = ("os.setxattr", "os.removexattr")
CHANGING: Final = frozenset((*CHANGES, WRITING, _BIND, *_ATTRIBUTES))
"""The audit events that announce a change of a file."""

_MAKES: Final = frozenset((OPENING, "os.mkdir", "os.rename", "os.link", "os.symlink", WRITING, _BIND))
_FOLLOWS: Final = frozenset((OPENING, WRITING, "os.chmod", "os.chown", "os.truncate", "os.utime", *_ATTRIBUTES))
"""Events that change the target of a link, and not the link."""
_TABLES: Final = f"{os.sep}__pycache__{os.sep}"
_DEVICES: Final = ("/dev/", "/proc/")


class Reach:
    """Finds changes that would reach the world.

    Args:
        isolation: The active isolation.
        made: The temporary files of the replay.
        own: Our folders, in which changes of a program do not reach the world.
    """

    def __init__(self, isolation: Isolation, made: MadeFiles, own: Iterable[str] = ()) -> None:
        self._isolation = isolation
        self._own = tuple(map(os.path.realpath, own))
        self._made = made

    def changed(self, event: str, args: tuple[Any, ...]) -> str:
        """The path in the world that an event is about to change; empty where there is none."""
        if event == _BIND:
            return self._judged(args[1], None, event, args) if isinstance(args[1], (str, bytes)) else ""
        if event == WRITING or event in _ATTRIBUTES:
            return self._judged(args[0], None, event, args)
        if event == "os.link" and (found := self._judged(args[0], args[2], event, args)):  # the new name can change it
            return found
        for path, folder in CHANGES[event](args):
            found = self._judged(path, folder, event, args)
            if found:
                return found
        return ""

    def _judged(self, path: Any, folder: Any, event: str, args: tuple[Any, ...]) -> str:
        place = self._place(path, folder)
        if event in _FOLLOWS:
            place = place and os.path.realpath(place)
        if not place or _TABLES in place or self._isolation.hides(place):
            return ""
        if place.startswith(_DEVICES) and _is_device(place):
            return ""
        there = os.path.lexists(place)
        if event == OPENING and (args[2] & os.O_EXCL if there else not args[2] & os.O_CREAT):  # the open only fails
            return ""
        if any(within(place, each) for each in self._own) or self._made.holds(place):
            return ""
        return "" if event in _MAKES and not there and self._made.takes(place) else place

    def _place(self, path: Any, folder: Any) -> str:
        """Where a path lies when links above it are followed; empty where the value is no path."""
        text = text_of(path)
        if not text or text.startswith("\0"):
            return ""
        if isinstance(folder, int) and folder >= 0 and not os.path.isabs(text):
            try:
                text = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), text)
            except OSError:
                return ""
        return os.path.join(os.path.realpath(os.path.dirname(text) or "."), os.path.basename(text))


def _is_device(place: str) -> bool:
    """Whether a place keeps no written data: a terminal, ``/dev/null``, a pipe."""
    try:
        mode = os.stat(place).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode) or "/fd/" in place


Reaches = Callable[[str, tuple[Any, ...]], str]
"""Gives the path in the world that an audit event is about to change; empty where there is none."""
