"""Isolation of a replaying process: a network namespace without a way out, and folders whose writes go to scratch.

Linux only, and only where the system permits it; what is in force is said, and so is why something is not. Done before
the program's first line, while the process has one thread. The scratch is memory of this process's own mounts: it is
gone when the process ends, and the parent never sees it.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reenact.replaying.scratch import UPPER, Scratch

_NEWNS: Final = 0x00020000
_NEWUSER: Final = 0x10000000
_NEWNET: Final = 0x40000000
_MS_BIND: Final = 0x1000
_MS_REC: Final = 0x4000
_MS_PRIVATE: Final = 0x40000
_MNT_DETACH: Final = 2
_SIOCGIFFLAGS: Final = 0x8913
_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 0x1
_NO_FILES: Final = frozenset(("proc", "sysfs", "devpts", "cgroup", "cgroup2", "mqueue"))
NETWORK: Final = "network namespace"
OVERLAY: Final = "scratch overlay"


@dataclass(frozen=True, slots=True)
class Isolation:
    """What of it is in force.

    Attributes:
        network: Whether the process is in a network namespace of its own.
        folders: Folders below which what is written goes to scratch.
        no_network: Why not, where it is not.
        no_files: Why not, where some folder that it should be is not.
        scratch: Where what is written goes; None where it goes to the world.
    """

    network: bool = False
    folders: tuple[str, ...] = ()
    no_network: str = ""
    no_files: str = ""
    scratch: Scratch | None = None

    @property
    def whole(self) -> bool:
        """Whether all of it is in force."""
        return self.network and self.scratch is not None and not self.no_files

    def words(self) -> tuple[str, ...]:
        """As a report names it."""
        network = NETWORK if self.network else f"no {NETWORK} ({self.no_network})"
        files = [f"{OVERLAY} ({' '.join(self.folders)})"] if self.folders else []
        if self.no_files:
            files.append(f"files not isolated ({self.no_files})")
        return (network, *files)


def folders_of(cwd: str, root: str, environment: Any) -> tuple[str, ...]:
    """The folders a program may write below without being told to: its own, its user's and that of temporary files.

    Args:
        cwd: Its working directory.
        root: Root of its project; left out where the working directory is not below it.
        environment: Its environment.
    """
    found = [cwd]
    if within(cwd, root):
        found.append(root)
    found += [environment.get("HOME", ""), environment.get("TMPDIR", "/tmp"), "/var/tmp"]
    return outermost(os.path.realpath(folder) for folder in found if folder.startswith("/") and os.path.isdir(folder))


def outermost(folders: Iterable[str]) -> tuple[str, ...]:
    """Folders without those that lie in another; the root of all is none."""
    every = sorted(set(folders) - {"/"})
    return tuple(each for each in every if not any(within(each, other) for other in every if other != each))


def within(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def isolate(folders: Sequence[str], keep: Sequence[str], scratch: str) -> Isolation:
    """Isolate this process as far as the system permits.

    Args:
        folders: From ``folders_of``.
        keep: Folders that stay as they are, because we write there ourselves: the store, the place of the report.
        scratch: An empty folder, below one of ``keep``.

    Returns:
        What is in force. Never raises.

    Cost: some milliseconds.
    """
    if sys.platform != "linux":
        return Isolation(no_network="not on this system", no_files="not on this system")
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        ours = os.stat(".").st_uid == os.geteuid()
        refused, alone = _unshared(libc)
        if refused:
            return Isolation(no_network=refused, no_files=refused)
        network = _without_network(libc)
        if alone and not ours:  # nothing in it could be copied to scratch: its owner does not exist in here
            return Isolation(not network, (), network, "the working directory belongs to another user")
    except Exception as error:  # the replay goes on, and says what it lacks
        return Isolation(no_network=str(error), no_files=str(error))
    try:
        overlays = _Overlays(libc, scratch, keep)
        files, why = overlays.lay(folders)
    except Exception as error:
        return Isolation(not network, (), network, str(error))
    return Isolation(not network, files, network, why, overlays.held if files else None)


# --- namespaces ------------------------------------------------------------------------------------------------------


def _unshared(libc: Any) -> tuple[str, bool]:
    """Take mounts of our own; where that needs a user namespace, take one that leaves user and group as they are.

    Gives why not (empty when done), and whether it took a user namespace."""
    if _call(libc.unshare, _NEWNS) == "":
        return _call(libc.mount, b"none", b"/", None, _MS_REC | _MS_PRIVATE, None), False
    user, group = os.geteuid(), os.getegid()
    if not _succeeds(lambda: _with_user(libc, user, group)):
        return "user namespaces are not permitted", True
    return _with_user(libc, user, group), True


def _with_user(libc: Any, user: int, group: int) -> str:
    refused = _call(libc.unshare, _NEWUSER | _NEWNS)
    if refused:
        return refused
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return _call(libc.mount, b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)


def _succeeds(attempt: Any) -> bool:
    """Whether something works, tried out in a child: half done it could not be undone here."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if attempt() == "" else 1)
        except BaseException:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def _without_network(libc: Any) -> str:
    """Take a network of our own: a loopback, and nothing behind it."""
    refused = _call(libc.unshare, _NEWNET)
    if refused:
        return refused
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:  # a program may listen to itself, as it did
        asking = struct.pack("16sH14s", b"lo", 0, b"")
        flags = struct.unpack("16sH14s", fcntl.ioctl(asked, _SIOCGIFFLAGS, asking))[1]
        fcntl.ioctl(asked, _SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", flags | _IFF_UP, b""))
    return ""


def _call(function: Any, *args: Any) -> str:
    """A system call; gives its error in words, empty when it went well."""
    if function(*args) == 0:
        return ""
    return os.strerror(ctypes.get_errno()).lower()


# --- files -----------------------------------------------------------------------------------------------------------


class _Overlays:
    """Lays scratch over folders.

    Args:
        libc: The C library.
        scratch: Where the scratch is mounted.
        keep: Folders that stay as they are.

    Attributes:
        held: The scratch; None while there is none.
    """

    held: Scratch | None = None

    def __init__(self, libc: Any, scratch: str, keep: Sequence[str]) -> None:
        self._libc = libc
        self._scratch = os.path.realpath(scratch)
        self._keep = outermost(os.path.realpath(folder) for folder in keep)
        self._made = 0

    def lay(self, folders: Sequence[str]) -> tuple[tuple[str, ...], str]:
        """The folders covered, and why others are not."""
        wanted = [each for each in folders if not any(within(each, kept) for kept in self._keep)]
        here = os.getcwd()
        open_ = next((kept for kept in self._keep if within(os.path.realpath(here), kept)), "")
        why = f"{open_}: the store lies among them" if open_ else ""
        if not wanted:
            return (), why or "there is no folder to cover"
        refused = self._mount(b"tmpfs", self._scratch, b"tmpfs", 0, b"mode=0700")
        if refused:
            return (), refused
        self.held = Scratch(self._scratch)
        os.chdir(self._scratch)  # what is in there keeps its short names, also where its path will be covered
        try:
            return self._laid(wanted, why)
        finally:
            os.chdir(here)

    def _laid(self, wanted: Sequence[str], why: str) -> tuple[tuple[str, ...], str]:
        mounted = [each for each in _mounted() if not within(each, self._scratch)]
        below_one = [folder for folder in self._keep if any(within(folder, each) for each in wanted)]
        kept = [(folder, self._bound(folder)) for folder in below_one if os.path.isdir(folder)]
        below = {folder: [(each, self._bound(each)) for each in _parts(folder, mounted)] for folder in wanted}
        covered: list[str] = []
        try:
            for folder, parts in below.items():
                reasons = [self._covered(part, lower) for part, lower in parts]
                why = why or next(filter(None, reasons), "")
                if not reasons[0]:
                    covered.append(folder)
            for folder, held in kept:
                if any(within(folder, each) for each in covered):
                    self._must(self._mount(held.encode(), folder, None, _MS_BIND, None), f"{folder} cannot be kept")
        except OSError as error:  # what we write ourselves must arrive: rather no scratch than a lost report
            for each in reversed(covered):
                self._libc.umount2(os.fsencode(each), _MNT_DETACH)
            return (), str(error)
        return tuple(covered), why

    def _bound(self, folder: str) -> str:
        """Another way to what is in a folder now."""
        place = self._place("held")
        self._must(self._mount(os.fsencode(folder), place, None, _MS_BIND, None), f"{folder} cannot be held")
        return place

    def _must(self, refused: str, what: str) -> None:
        if refused:
            raise OSError(f"{what}: {refused}")

    def _covered(self, folder: str, lower: str) -> str:
        """Lay scratch over one folder; where that is refused it stays as it was, and why is given."""
        upper, work = self._place(UPPER), self._place("work")
        os.chmod(upper, os.stat(lower).st_mode & 0o7777)
        plain = f"lowerdir={lower},upperdir={upper},workdir={work}"
        refused = ""
        for options in (plain + ",redirect_dir=on", plain, plain + ",userxattr"):  # the first lets folders be renamed
            refused = self._mount(b"overlay", folder, b"overlay", 0, options.encode())
            if not refused:
                return ""
        self._mount(lower.encode(), folder, None, _MS_BIND, None)
        return f"{folder}: {refused}"

    def _place(self, sort: str) -> str:
        self._made += 1
        place = f"{sort}{self._made}"
        os.mkdir(place, 0o700)
        return place

    def _mount(self, source: bytes, target: str, kind: bytes | None, flags: int, options: bytes | None) -> str:
        return _call(self._libc.mount, source, os.fsencode(target), kind, ctypes.c_ulong(flags), options)


def _parts(folder: str, mounted: Iterable[str]) -> list[str]:
    """The folder itself, and every file system mounted below it, outer ones first: an overlay shows only its own."""
    below = {each for each in mounted if each != folder and within(each, folder) and os.path.isdir(each)}
    return sorted({folder} | below)


def _mounted() -> list[str]:
    """Where file systems with files are mounted, as this process sees them."""
    found = []
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            fields = line.split(" ")
            if fields[fields.index("-") + 1] not in _NO_FILES:
                target = fields[4]
                if "\\" in target:
                    target = target.encode("utf-8", "surrogateescape").decode("unicode_escape")
                found.append(target)
    return found
