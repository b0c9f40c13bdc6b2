"""Reaching: which changes of files that Python code makes would reach the world.

Where scratch stands before a path none does. Elsewhere a change is refused by name, but for what a replay may do
without harm: to write to a device, to open what would only fail, and to make temporary files, which are its own from
then on and are taken away at its end. Where no scratch can be laid at all a program may write below its own folder: an
agent that keeps a log there could not be replayed otherwise. The last line says that files are not isolated.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from typing import Any, Final

from reenact.replaying.isolation import Isolation
from reenact.replaying.temporaries import take_away
from reenact.seams.contacts import OPENING, WRITING
from reenact.seams.file_changes import CHANGES
from reenact.seams.places import text_of

_BIND: Final = "socket.bind"
_ATTRIBUTES: Final = ("os.setxattr", "os.removexattr")
CHANGING: Final = frozenset((*CHANGES, WRITING, _BIND, *_ATTRIBUTES))
"""Audit events that tell of a change of a file, before it is made."""

_MAKES: Final = frozenset((OPENING, "os.mkdir", "os.rename", "os.link", "os.symlink", WRITING, _BIND))
_FOLLOWS: Final = frozenset((OPENING, WRITING, "os.chmod", "os.chown", "os.truncate", "os.utime", *_ATTRIBUTES))
"""What changes the file that a link leads to, and not the link."""
_TABLES: Final = f"{os.sep}__pycache__{os.sep}"
_TEMPORARY: Final = ("/tmp", "/var/tmp", "/usr/tmp")
_DEVICES: Final = ("/dev/", "/proc/")


class Reach:
    """What would reach the world.

    Args:
        isolation: What of it is in force.
        own: Folders of the program.
    """

    def __init__(self, isolation: Isolation, own: Iterable[str] = ()) -> None:
        self._isolation = isolation
        self._own = tuple(map(os.path.realpath, own)) if isolation.scratch is None else ()
        named = [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")]  # to ask ``tempfile`` draws a name
        self._temporary = tuple({os.path.realpath(each) for each in (*named, *_TEMPORARY) if os.path.isdir(each)})
        self._made: set[str] = set()

    def changed(self, event: str, args: tuple[Any, ...]) -> str:
        """The path in the world that an event is about to change; empty where there is none."""
        if event == _BIND:
            return self._judged(args[1], None, event, args) if isinstance(args[1], (str, bytes)) else ""
        if event == WRITING or event in _ATTRIBUTES:
            return self._judged(args[0], None, event, args)
        if event == "os.link" and (found := self._judged(args[0], args[2], event, args)):  # its other name changes it
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
        if event == OPENING and (args[2] & os.O_EXCL if there else not args[2] & os.O_CREAT):  # it only fails
            return ""
        if any(_below(place, each) for each in (*self._own, *self._made)):
            return ""
        if event in _MAKES and not there and any(_below(place, each) for each in self._temporary):
            self._made.add(place)
            return ""
        return place

    def _place(self, path: Any, folder: Any) -> str:
        """Where a path lies when links above it are followed; empty where it is no path."""
        text = text_of(path)
        if not text or text.startswith("\0"):
            return ""
        if isinstance(folder, int) and folder >= 0 and not os.path.isabs(text):
            try:
                text = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), text)
            except OSError:
                return ""
        return os.path.join(os.path.realpath(os.path.dirname(text) or "."), os.path.basename(text))

    def clear(self) -> None:
        """Take away what it has made."""
        for place in sorted(self._made, reverse=True):
            if os.path.lexists(place):
                take_away(place)


def _below(place: str, folder: str) -> bool:
    return place == folder or place.startswith(folder.rstrip(os.sep) + os.sep)


def _is_device(place: str) -> bool:
    """Whether it takes what is written and keeps nothing: a terminal, ``/dev/null``, a pipe."""
    try:
        mode = os.stat(place).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode) or "/fd/" in place


Reaches = Callable[[str, tuple[Any, ...]], str]
"""Gives the path in the world that an audit event is about to change, or nothing."""
