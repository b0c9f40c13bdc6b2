"""Folders that a process with foreign code sees empty, except for the files that Python needs.

This module decides, and ``disk_cover`` applies it. Only the interpreter and its installed packages stay readable.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from reenact.facts.lazy_dataclass import dataclass
from reenact.seams import trust

_OURS: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_DEVICES: Final = ("null", "zero", "full", "random", "urandom", "shm")
_SERVICES: Final = ("/dev", "/run", "/var/run")
"""Devices, by which a privileged user can read whole disks, and the sockets of services."""
_LIBRARIES: Final = ("stdlib", "platstdlib", "purelib", "platlib")
_INSTALLED: Final = ("site-packages", "dist-packages")


@dataclass(frozen=True, slots=True)
class HiddenFolders:
    """Folders that are empty, and the readable files in them.

    Attributes:
        folders: The folders; none of them is the root.
        shown: The files and folders below them that stay visible.
    """

    folders: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()


def private_folders(project: str) -> tuple[str, ...]:
    """The folders of this user: the home, the project, the working directory, and the folder of the sealing key.

    Args:
        project: Root of the project.
    """
    found = {project, os.getcwd(), os.path.dirname(str(trust.key_path())), os.path.expanduser("~")}
    try:
        import pwd

        found.add(pwd.getpwuid(os.getuid()).pw_dir)
    except (ImportError, KeyError):  # another system, or a user without an entry
        pass
    return tuple(sorted({os.path.realpath(each) for each in found if os.path.isabs(each)}))


def hidden_of(private: Sequence[str], needed: Sequence[str]) -> HiddenFolders:
    """The folders that this process sees empty.

    Args:
        private: The result of ``private_folders``.
        needed: Further files that it may read.

    Raises:
        OSError: A folder is the root, which cannot be hidden.
    """
    folders = [each for each in private if os.path.isdir(each)]
    if os.sep in folders:
        raise OSError("home or project is the root of the file system, and that cannot be hidden")
    services = [os.path.realpath(each) for each in _SERVICES if os.path.isdir(each)]
    devices = [f"/dev/{each}" for each in _DEVICES]
    shown = [*_interpreter(folders), *map(os.path.realpath, needed)]
    return HiddenFolders(tuple(sorted({*folders, *services})), tuple(sorted({*shown, *devices})))


def _interpreter(folders: Iterable[str]) -> Iterable[str]:
    """The interpreter's own trees; of a tree that holds a folder to be hidden, only the libraries."""
    for prefix in {os.path.realpath(each) for each in (sys.prefix, sys.base_prefix)}:
        if not any(Path(folder).is_relative_to(prefix) for folder in folders):
            yield prefix
    yield from (os.path.realpath(path) for name, path in sysconfig.get_paths().items() if name in _LIBRARIES)
    yield os.path.realpath(sysconfig.get_config_var("LIBDIR") or os.path.dirname(os.__file__))
    yield from (os.path.realpath(each) for each in sys.path if os.path.basename(each) in _INSTALLED)
    yield _OURS
