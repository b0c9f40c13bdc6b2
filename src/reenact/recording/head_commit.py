"""The revision of the program, read from git's own files.

A recorded process does not start git: if the program waits for any child, it would get ours. ``recording.git`` runs git
in the parent of a recorded command.
"""

from __future__ import annotations

import os
from typing import Final

from reenact.facts.call import Json

REVISION = "kit.revision"
"""Name of the note with ``commit``, ``branch``, ``root``, and where git itself was asked ``dirty``, ``changed``,
``untracked``, ``diff`` and ``whole`` (whether the diff is complete)."""
ANSWERED = "revision.json"
"""The file in the boot's private directory to which the parent writes git's answers."""
_UPWARDS: Final = 64
_HEAD_BYTES: Final = 4096
_PACKED_BYTES: Final = 8 << 20
_HASH_LENGTHS: Final = (40, 64)


def read_commit(folder: str) -> dict[str, Json]:
    """The commit that is checked out around a folder, read from git's own files. About 0.1 ms; starts nothing.

    Args:
        folder: Where the program runs.

    Returns:
        ``commit``, ``branch`` (``HEAD`` where none is checked out), ``root``; empty where there is no repository.
    """
    try:
        root, git = _repository(os.path.abspath(folder))
        if not git:
            return {}
        head = _text(os.path.join(git, "HEAD"))
        if not head.startswith("ref: "):
            return {"commit": head, "branch": "HEAD", "root": root} if len(head) in _HASH_LENGTHS else {}
        name = head.removeprefix("ref: ")
        commit = _reference(git, name)
        return {"commit": commit, "branch": name.removeprefix("refs/heads/"), "root": root} if commit else {}
    except (OSError, ValueError):
        return {}


def _repository(folder: str) -> tuple[str, str]:
    """The nearest folder upwards that is a working tree, and the folder of its git files; empty without one."""
    for _ in range(_UPWARDS):
        place = os.path.join(folder, ".git")
        if os.path.isdir(place):
            return folder, place
        if os.path.isfile(place):  # a worktree or submodule
            target = _text(place).removeprefix("gitdir: ")
            return folder, os.path.join(folder, target)
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return "", ""


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read(_HEAD_BYTES).strip()


def _reference(git: str, name: str) -> str:
    common = git
    if os.path.isfile(os.path.join(git, "commondir")):
        common = os.path.join(git, _text(os.path.join(git, "commondir")))
    for place in (git, common):
        path = os.path.join(place, *name.split("/"))
        if os.path.isfile(path):
            return _text(path)
    packed = os.path.join(common, "packed-refs")
    if os.path.isfile(packed) and os.path.getsize(packed) <= _PACKED_BYTES:
        with open(packed, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                if line.endswith(f" {name}\n"):
                    return line.partition(" ")[0]
    return ""
