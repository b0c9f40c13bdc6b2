"""Temporary files in a replay: leftovers of the recorded run on this machine are removed in the scratch.

Their names are random, and chance is frozen: a replay draws the recorded name again. If the run left its file behind,
``tempfile`` would find it and draw another name, and all uses of that name would differ. So the leftover is removed
first, but only where writes go to scratch: the file in the world stays.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import Final

from reenact.replaying.disk_cover import within
from reenact.seams import audit_hook, lanes

_FOLDERS: Final = ("/tmp", "/var/tmp", "/usr/tmp")
_EVENTS = frozenset({"tempfile.mkstemp", "tempfile.mkdtemp"})


def give_way(folders: Sequence[str], keep: Sequence[str]) -> None:
    """Remove leftovers when a name is drawn, from now on, for the life of this process.

    Args:
        folders: The folders below which writes go to scratch.
        keep: Folders among them whose writes go to the disk itself.
    """
    if not folders:
        return

    def heard(_: str, args: tuple[object, ...], __: FrameType | None) -> None:
        if not isinstance(args[0], (str, bytes)):
            return
        path = os.path.abspath(os.fsdecode(args[0]))
        if not os.path.lexists(path):
            return
        place = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        kept = any(within(place, os.path.realpath(each)) for each in keep)
        if not kept and any(within(place, each) for each in folders):
            with lanes.inside(None):
                take_away(place)

    audit_hook.subscribe(_EVENTS, heard)


class MadeFiles:
    """Temporary files that a replay makes on the disk itself. They belong to the replay, and are removed at its end.

    Args:
        spared: The program's own folders below the temporary folder: files made there are not temporary.
    """

    def __init__(self, spared: Iterable[str] = ()) -> None:
        named = [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")]  # ``tempfile`` would draw a name
        self._folders = tuple({os.path.realpath(each) for each in (*named, *_FOLDERS) if os.path.isdir(each)})
        self._spared = tuple(map(os.path.realpath, spared))
        self._made: set[str] = set()

    def takes(self, place: str) -> bool:
        """Whether a file made at a missing path is temporary; from then on it belongs to the replay."""
        if any(within(place, each) for each in self._spared) or not any(within(place, each) for each in self._folders):
            return False
        self._made.add(place)
        return True

    def holds(self, place: str) -> bool:
        """Whether a path was made as a temporary file, or lies below one."""
        return any(within(place, each) for each in self._made)

    def clear(self) -> None:
        """Remove the made files."""
        for place in sorted(self._made, reverse=True):
            if os.path.lexists(place):
                take_away(place)


def take_away(path: str) -> None:
    """Remove a file, or a folder with its contents. A path that cannot be removed stays."""
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    except OSError:
        pass  # ``tempfile`` draws another name, and the difference is reported
