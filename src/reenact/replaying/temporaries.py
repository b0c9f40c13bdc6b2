"""Temporary files in a replay: what the recorded run left behind on this machine gives way in the scratch.

Their names are chance, which is frozen: a replay draws the name that the recorded run drew. Where that run left its
file behind, ``tempfile`` would find it there and draw another, and whatever is told that name would differ. So the
leftover is taken away before it is met, but only where what is written goes to scratch: the world keeps its own.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence

from reenact.replaying.covering import within
from reenact.seams import lanes

_EVENTS = frozenset({"tempfile.mkstemp", "tempfile.mkdtemp"})


def give_way(folders: Sequence[str], keep: Sequence[str]) -> None:
    """Let leftovers give way from now on, for the life of this process.

    Args:
        folders: Below which what is written goes to scratch.
        keep: Folders among them that do not.
    """
    if not folders:
        return

    def hook(event: str, args: tuple[object, ...]) -> None:
        if event not in _EVENTS or not isinstance(args[0], (str, bytes)):
            return
        path = os.path.abspath(os.fsdecode(args[0]))
        if not os.path.lexists(path):
            return
        place = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        kept = any(within(place, os.path.realpath(each)) for each in keep)
        if not kept and any(within(place, each) for each in folders):
            with lanes.inside(None):
                take_away(place)

    sys.addaudithook(hook)


def take_away(path: str) -> None:
    """Remove a file, or a folder with all that is in it; what cannot be removed stays."""
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    except OSError:
        pass  # another name is drawn, and the difference is told
