"""The cover of a replaying process: all writes go to scratch, and folders that cannot be covered are read-only.

An overlay shows only one file system. So each of the topmost folders gets an overlay, and so does each file system that
is mounted below them. The lower layer is today's files, the upper one is memory of this process's own mounts. The rest
(the root itself, ``/proc``, ``/sys``, ``/dev``) is made read-only; devices stay as they are. Folders that we write to
are mounted again on top.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from reenact.facts.lazy_dataclass import dataclass
from reenact.replaying.hidden_folders import HiddenFolders

_MS_BIND: Final = 0x1000
_MS_REC: Final = 0x4000
_MNT_DETACH: Final = 2
_MOUNT_SETATTR: Final = 442
_READ_ONLY: Final = 1
_HERE: Final = -100
_RECURSIVE: Final = 0x8000
_SYSTEM: Final = frozenset(("proc", "sys", "dev"))
_SHARED_MEMORY: Final = "/dev/shm"
_QUEUES: Final = "/dev/mqueue"
_NO_FILES: Final = frozenset(
    (
        *("proc", "sysfs", "devpts", "devtmpfs", "cgroup", "cgroup2", "mqueue", "autofs", "securityfs", "debugfs"),
        *("tracefs", "configfs", "bpf", "pstore", "efivarfs", "hugetlbfs", "fusectl", "binfmt_misc", "nsfs"),
        *("rpc_pipefs", "selinuxfs"),
    )
)
_FAR: Final = ("nfs", "cifs", "smb", "9p", "ceph", "afs", "lustre", "gpfs", "fuse")
"""How names of file systems begin if another machine or program serves them: it may never answer."""
_WAYS: Final = ("redirect_dir=on,index=on,xino=off", "redirect_dir=on", "")
"""The options of an overlay in a process with privileges: folders can be renamed, and hard links stay links. The first
ones that the system takes are used."""
_WAYS_OF_A_USER: Final = ("userxattr,index=on,xino=off", "userxattr", "")
"""The options of an overlay in a user namespace, where it cannot rename folders (``replaying.folder_moves`` does)."""

_Held = Sequence[tuple[str, str]]
"""Paths, each with another path to the same folder."""


@dataclass(frozen=True, slots=True)
class CoveredFiles:
    """The covered folders.

    Attributes:
        folders: The folders below which writes go to scratch, each with its device.
        scratch: Whether anything is covered.
        opened: Our folders below them that stay as they are.
        left: Why the program's own folders, or other ones, are not covered; empty where all are covered.
        sealed: Whether everything else is read-only.
        hidden: Folders that are empty here.
    """

    folders: tuple[tuple[str, int], ...] = ()
    scratch: bool = False
    opened: tuple[str, ...] = ()
    left: str = ""
    sealed: bool = False
    hidden: tuple[str, ...] = ()


def outermost(folders: Iterable[str]) -> tuple[str, ...]:
    """Folders without those that lie inside another, and without the root of the file system."""
    every = sorted(set(folders) - {"/"})
    return tuple(each for each in every if not any(within(each, other) for other in every if other != each))


def within(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


NOTHING: Final = CoveredFiles()
"""The result where nothing is covered."""


class DiskCover:
    """Lays the cover.

    Args:
        libc: The C library.
        scratch: An empty folder, where the scratch is mounted.
        keep: Folders that are not covered, because we write there ourselves; the scratch lies below one of them.
        alone: Whether this process has privileges in a user namespace only.
        hidden: Paths that it must not see; None for a program that may read all that its user may.
    """

    def __init__(
        self, libc: Any, scratch: str, keep: Sequence[str], *, alone: bool, hidden: HiddenFolders | None = None
    ) -> None:
        self._hidden = hidden
        self._libc = libc
        self._scratch = os.path.realpath(scratch)
        self._keep = outermost(os.path.realpath(folder) for folder in keep)
        self._ways = _WAYS_OF_A_USER if alone else _WAYS
        self._alone = alone
        self._made = 0

    def lay(self, own: Sequence[str]) -> CoveredFiles:
        """Cover everything.

        Args:
            own: The folders that the program is most likely to write to.

        Raises:
            OSError: Nothing is covered, because a folder of ``keep`` cannot be kept.
        """
        wanted = [each for each in own if not any(within(each, kept) for kept in self._keep)]
        here = os.getcwd()
        open_ = next((kept for kept in self._keep if within(os.path.realpath(here), kept)), "")
        why = f"{open_}: the store lies among them" if open_ else ""
        refused = self._mount(b"tmpfs", self._scratch, b"tmpfs", 0, b"mode=0700")
        if refused:
            return CoveredFiles(left=refused)
        os.chdir(self._scratch)  # files in scratch keep their short names, even if the path to it will be covered
        try:
            return self._laid(wanted, why)
        finally:
            os.chdir(here)

    def _laid(self, own: Sequence[str], why: str) -> CoveredFiles:
        kept = [(folder, self._held(folder)) for folder in self._keep if os.path.isdir(folder)]
        lost = [folder for folder, lower in kept if not lower]
        if lost:
            raise OSError(f"{lost[0]} cannot be held")
        folders, shown = self._parts(own)
        parts = [(part, self._held(part)) for part in folders]
        beside = [(each, self._held(each)) for each in shown]
        covered: dict[str, int] = {}
        for part, lower in parts:
            reason = self._cover(part, lower) if lower else "it cannot be held"
            if not reason:
                covered[part] = os.stat(lower).st_dev
            elif part in own:
                why = why or f"{part}: {reason}"
        self._show(covered, beside, kept)
        gone = self._hide(self._hidden) if self._hidden is not None else ()
        sealed = bool(covered) and self._set("/", _RECURSIVE, _READ_ONLY, 0)
        if sealed:
            for each in (*covered, *(folder for folder, _ in kept)):
                self._set(each, 0, 0, _READ_ONLY)
        own_place = os.path.dirname(self._scratch)
        opened = tuple(folder for folder, _ in kept if not within(folder, own_place))
        return CoveredFiles(tuple(covered.items()), bool(covered), opened, why, sealed, gone)

    def _hide(self, hidden: HiddenFolders) -> tuple[str, ...]:
        """Make folders empty, except for the shown entries; then no path leads to files below a cover.

        Raises:
            OSError: A folder cannot be emptied.
        """
        shown = [*hidden.shown, *self._keep]
        below = [each for each in shown if os.path.exists(each) and any(within(each, f) for f in hidden.folders)]
        ways = [(each, self._held(each, whole=True)) for each in outermost(below)]
        for folder in hidden.folders:  # outer folders first: a folder that vanished with an outer one needs no cover
            if os.path.isdir(folder) and not any(within(folder, each) for each, _ in ways if each in self._keep):
                self._required(self._mount(b"tmpfs", folder, b"tmpfs", 0, b"mode=0755"), folder)
            for each, lower in ways:
                if within(each, folder) and not any(within(inner, each) for inner in hidden.folders if inner != folder):
                    self._required("" if lower else "it cannot be held", each)
                    self._laid_back(each, lower)
        for name in os.listdir("."):
            if name.startswith("held"):
                self._required("" if self._libc.umount2(name.encode(), _MNT_DETACH) == 0 else "it stays mounted", name)
                (os.rmdir if os.path.isdir(name) else os.unlink)(name)
        return hidden.folders

    def _laid_back(self, path: str, lower: str) -> None:
        """Show the readable files of a hidden folder at their paths."""
        if os.path.isdir(lower):
            os.makedirs(path, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        self._required(self._mount(lower.encode(), path, None, _MS_BIND | _MS_REC, None), path)

    def _required(self, refused: str, path: str) -> None:
        if refused:
            raise OSError(f"{path} cannot be hidden: {refused}")

    def _show(self, covered: dict[str, int], beside: _Held, kept: _Held) -> None:
        """Show again the paths that a cover would hide: mounts below it that are no folders, and the folders that we
        write to."""
        for each, lower in beside:
            if lower and any(within(each, part) for part in covered):
                self._mount(lower.encode(), each, None, _MS_BIND | _MS_REC, None)
        for folder, lower in kept:
            refused = self._mount(lower.encode(), folder, None, _MS_BIND | _MS_REC, None)
            if refused:  # our own files must arrive: a missing scratch is better than a lost report
                for each in reversed(covered):
                    self._libc.umount2(os.fsencode(each), _MNT_DETACH)
                raise OSError(f"{folder} cannot be kept: {refused}")
        if os.path.isdir(_QUEUES):
            self._mount(b"mqueue", _QUEUES, b"mqueue", 0, None)

    def _parts(self, own: Sequence[str]) -> tuple[list[str], list[str]]:
        """The folders to cover, outer ones first, and the mounts below them that are shown as they are.

        An overlay shows one file system, so each file system is a part. In a user namespace no file or folder of
        another owner can be changed, so there the folders that the program may write to are parts as well. A top folder
        stays uncovered if another machine's file system is mounted in it: a look at that may take for ever."""
        mounted = [*_mounted()]
        far = [place for place, kind in mounted if kind.startswith(_FAR)]
        tops = [
            each.path for each in os.scandir("/") if each.name not in _SYSTEM and each.is_dir(follow_symlinks=False)
        ]
        near = [top for top in tops if not any(within(each, top) for each in far) or any(within(o, top) for o in own)]
        found = {*near, *(own if self._alone else ())}
        if os.path.isdir(_SHARED_MEMORY) and not os.path.islink(_SHARED_MEMORY):
            found.add(_SHARED_MEMORY)
        shown = []
        for place, kind in mounted:
            if kind == "autofs" or place in found or not any(within(place, each) for each in near):
                continue
            if kind in _NO_FILES or not os.path.isdir(place):
                shown.append(place)
            else:
                found.add(place)
        inside = (*self._keep, self._scratch)
        return self._outside(found, inside), self._outside(shown, inside)

    def _outside(self, paths: Iterable[str], folders: Sequence[str]) -> list[str]:
        """The paths that lie in none of the folders, outer ones first."""
        return sorted({each for each in paths if not any(within(each, folder) for folder in folders)})

    def _held(self, path: str, *, whole: bool = False) -> str:
        """Another path to the present files of a folder; empty where the system refuses one. ``whole``: with the mounts
        below."""
        place = self._place("held")
        if not os.path.isdir(path):
            os.rmdir(place)
            os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o600))
        for flags in (
            (_MS_BIND | _MS_REC,) if whole else (_MS_BIND, _MS_BIND | _MS_REC)
        ):  # if a mount below it is locked, only all mounts can be taken
            if not self._mount(os.fsencode(path), place, None, flags, None):
                return place
        return ""

    def _cover(self, folder: str, lower: str) -> str:
        """Lay scratch over one folder. Returns the reason if the system refuses, else an empty text."""
        upper, work = self._place("upper"), self._place("work")
        os.chmod(upper, os.stat(lower).st_mode & 0o7777)
        self._owned(upper, lower)
        plain = f"lowerdir={lower},upperdir={upper},workdir={work}"
        refused = ""
        for options in self._ways:
            data = plain + (options and "," + options)
            refused = self._mount(b"overlay", folder, b"overlay", 0, data.encode())
            if not refused:
                return ""
        return refused

    def _owned(self, upper: str, lower: str) -> None:
        """Give a covered folder its former owner and times."""
        about = os.stat(lower)
        try:
            if (about.st_uid, about.st_gid) != (os.geteuid(), os.getegid()):
                os.chown(upper, about.st_uid, about.st_gid)
        except OSError:  # the owner does not exist in a user namespace
            pass
        os.utime(upper, ns=(about.st_atime_ns, about.st_mtime_ns))

    def _place(self, sort: str) -> str:
        self._made += 1
        place = f"{sort}{self._made}"
        os.mkdir(place, 0o700)
        return place

    def _mount(self, source: bytes, target: str, kind: bytes | None, flags: int, options: bytes | None) -> str:
        if self._libc.mount(source, os.fsencode(target), kind, ctypes.c_ulong(flags), options) == 0:
            return ""
        return os.strerror(ctypes.get_errno()).lower()

    def _set(self, path: str, how: int, added: int, taken: int) -> bool:
        """Set attributes of a mount. Returns whether the system can do this (Linux 5.12) and permits it."""
        asked = struct.pack("=4Q", added, taken, 0, 0)
        number, folder = ctypes.c_long(_MOUNT_SETATTR), ctypes.c_long(_HERE)
        size = ctypes.c_size_t(len(asked))
        return bool(self._libc.syscall(number, folder, os.fsencode(path), ctypes.c_ulong(how), asked, size) == 0)


def _mounted() -> Iterator[tuple[str, str]]:
    """The mount points that this process sees, each with its kind of file system."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            fields = line.split(" ")
            target = fields[4]
            if "\\" in target:
                target = target.encode("utf-8", "surrogateescape").decode("unicode_escape")
            yield target, fields[fields.index("-") + 1]
