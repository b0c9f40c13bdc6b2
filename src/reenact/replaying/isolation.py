"""Isolation of a replaying process: no network, files that go to scratch, no privileges, no calls that reach further.

It works on Linux only, and only where the system permits it. The report names the means in force, and says why the
others are not. It is done before the program's first line, while the process has one thread. Each means is independent:
where the system refuses one, the others are still used. The scratch is memory in this process's own mounts: it is gone
when the process ends, and the parent never sees it.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.replaying import privileges
from reenact.replaying.disk_cover import NOTHING, CoveredFiles, DiskCover, outermost, within
from reenact.replaying.hidden_folders import HiddenFolders
from reenact.replaying.replay_report import CALLS, EVERYWHERE, NETWORK, OVERLAY
from reenact.replaying.scratch_copy import Copy
from reenact.replaying.system_call_filter import refuse_system_calls
from reenact.seams.boot.folders import PREFIX, is_made

_NEWNS: Final = 0x00020000
_NEWIPC: Final = 0x08000000
_NEWUSER: Final = 0x10000000
_NEWNET: Final = 0x40000000
_MS_REC: Final = 0x4000
_MS_PRIVATE: Final = 0x40000
_SIOCGIFFLAGS: Final = 0x8913
_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 0x1
COPY: Final = "scratch copy of what Python code writes"
PYTHON_ONLY: Final = "Python calls only"
_NOT_HERE: Final = "not on this system"


@dataclass(frozen=True, slots=True)
class Isolation:
    """The active parts of the isolation.

    Attributes:
        network: Whether the process is in a network namespace of its own.
        cover: The folders whose writes go to scratch.
        calls: Whether system calls that reach further are refused.
        no_network: The reason, if the process is in no network of its own.
        no_files: The reason, if a folder is not covered that should be.
        no_calls: The reason, if these calls are not refused.
        no_privileges: The reason, if system privileges are still held.
        copy: The target of writes of Python code; None with a cover, or where they go to the world.
    """

    network: bool = False
    cover: CoveredFiles = NOTHING
    calls: bool = False
    no_network: str = ""
    no_files: str = ""
    no_calls: str = ""
    no_privileges: str = ""
    copy: Copy | None = None

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders below which writes go to scratch."""
        return tuple(folder for folder, _ in self.cover.folders)

    @property
    def scratch(self) -> bool:
        """Whether writes go to scratch; False where they go to the world."""
        return self.cover.scratch

    @property
    def whole(self) -> bool:
        """Whether the network and all files are isolated."""
        return self.network and self.scratch and not self.no_files

    @property
    def missing(self) -> str:
        """The missing parts (network, files, processes, privileges) where all are required; empty if none is
        missing."""
        found = {
            f"the network ({self.no_network})": self.network,
            f"files ({self.no_files or 'what lies below home and project stays readable'})": self.whole
            and self.cover.sealed
            and bool(self.cover.hidden),
            f"processes ({self.no_calls})": self.calls,
            f"privileges ({self.no_privileges})": not self.no_privileges,
        }
        return ", ".join(what for what, cut in found.items() if not cut)

    def hides(self, path: str) -> bool:
        """Whether a write to a path goes to scratch."""
        within_one = any(within(path, folder) for folder in self.folders)
        return within_one and not any(within(path, folder) for folder in self.cover.opened)

    def words(self) -> tuple[str, ...]:
        """The isolation in the words of a report."""
        found = [NETWORK if self.network else f"no {NETWORK} ({self.no_network})"]
        if self.scratch:
            found.append(f"{OVERLAY} ({self._reach()})")
        if self.copy is not None:
            found.append(COPY)
        if self.no_files:
            found.append(f"files not isolated ({self.no_files})")
        found.append(CALLS if self.calls else f"system calls not filtered ({self.no_calls})")
        if self.no_privileges:
            found.append(f"privileges kept ({self.no_privileges})")
        if not (self.network or self.calls or self.scratch):
            return (PYTHON_ONLY, *found)
        return tuple(found)

    def _reach(self) -> str:
        """The covered folders, and the folders that stay open, in words."""
        if not self.cover.sealed:
            return " ".join(self.folders)
        opened = dict.fromkeys(_lasting(folder) for folder in self.cover.opened)
        return "; open: ".join((EVERYWHERE, " ".join((*opened, "devices"))))


def _lasting(folder: str) -> str:
    """A folder under a name that is the same in each run: our temporary folders have random names."""
    return os.path.join(os.path.dirname(folder), f"{PREFIX}*") if is_made(folder) else folder


def own_folders(cwd: str, root: str, environment: Any) -> tuple[str, ...]:
    """The program's own folders: where it runs, and its project. The root of the file system and the user's home do not
    count.

    Args:
        cwd: Its working directory.
        root: Root of its project; left out where the working directory is not below it.
        environment: Its environment.
    """
    found = {os.path.realpath(folder) for folder in (cwd, root if within(cwd, root) else "") if folder}
    return tuple(sorted(found - {os.sep, os.path.realpath(environment.get("HOME") or os.sep)}))


def folders_of(cwd: str, root: str, environment: Any) -> tuple[str, ...]:
    """The folders below which a program may usually write: its own, its user's home, and the folder of temporary files.

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


def isolate(
    folders: Sequence[str], keep: Sequence[str], scratch: str, hidden: HiddenFolders | None = None, network: str = ""
) -> Isolation:
    """Isolate this process as far as the system permits.

    Args:
        folders: From ``folders_of``.
        keep: Folders that are not covered, because we write there ourselves: the store, the place of the report.
        scratch: An empty folder, below one of ``keep``.
        hidden: For foreign code: the folders that it does not see. It starts no process either.
        network: Why the process keeps its network; empty where it does not.

    Returns:
        The means that are in force. Never raises.

    Cost: some milliseconds.
    """
    if sys.platform != "linux":
        return Isolation(no_network=_NOT_HERE, no_files=_NOT_HERE, no_calls=_NOT_HERE)
    before = 0
    try:
        before = privileges.held()
        found = _namespaced(ctypes.CDLL(None, use_errno=True), folders, keep, scratch, hidden, network)
    except Exception as error:  # the replay goes on and names the missing isolation
        found = Isolation(no_network=str(error), no_files=str(error))
    try:
        found = replace(found, no_privileges=privileges.give_up(before))
        refused = refuse_system_calls(alone=hidden is not None)
    except Exception as error:
        refused = str(error)
    return replace(found, calls=not refused, no_calls=refused)


def _namespaced(
    libc: Any, folders: Sequence[str], keep: Sequence[str], scratch: str, hidden: HiddenFolders | None, network: str
) -> Isolation:
    """Isolate this process by namespaces of its own, with writes that go to scratch."""
    refused, alone = _unshared(libc, foreign=hidden is not None)
    if refused:
        return Isolation(no_network=refused, no_files=refused)
    network = network or _without_network(libc)
    _call(libc.unshare, _NEWIPC)  # message queues, and memory that processes share by a number
    try:
        cover = DiskCover(libc, scratch, keep, alone=alone, hidden=hidden).lay(folders)
    except Exception as error:  # the replay goes on without a cover, and its report says why
        return Isolation(not network, no_network=network, no_files=str(error))
    return Isolation(not network, cover, no_network=network, no_files=cover.left)


# --- namespaces ------------------------------------------------------------------------------------------------------


def _unshared(libc: Any, *, foreign: bool = False) -> tuple[str, bool]:
    """Take a mount namespace of our own. If that needs a user namespace, take one that keeps user and group.

    Foreign code always gets a user namespace: from there it cannot look into other processes of the same user.

    Returns why it failed (empty on success), and whether a user namespace was taken."""
    if not foreign and _call(libc.unshare, _NEWNS) == "":
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
    """Whether an attempt succeeds, tried in a child process: an attempt that fails halfway could not be undone here."""
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

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:  # a program may connect to itself
        asking = struct.pack("16sH14s", b"lo", 0, b"")
        flags = struct.unpack("16sH14s", fcntl.ioctl(asked, _SIOCGIFFLAGS, asking))[1]
        fcntl.ioctl(asked, _SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", flags | _IFF_UP, b""))
    return ""


def _call(function: Any, *args: Any) -> str:
    """Make a system call. Returns its error in words; empty on success."""
    if function(*args) == 0:
        return ""
    return os.strerror(ctypes.get_errno()).lower()
