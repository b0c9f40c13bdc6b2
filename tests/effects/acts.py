"""The agent of the table of effects: performs the kinds that the file ``kinds`` in ``WORLD`` names, one after another.

It says how each has ended, as the name of the error number where there is one.
"""

from __future__ import annotations

import ctypes
import dbm
import errno
import mmap
import os
import platform
import resource
import signal
import socket
import sqlite3
import struct
import sys
from collections.abc import Callable
from typing import Any

W = os.environ["WORLD"]
LIBC = ctypes.CDLL(None, use_errno=True)
NUMBERS = {
    "kill": (62, 129),
    "fork": (57, 220),
    "mount": (165, 40),
    "umount2": (166, 39),
    "ptrace": (101, 117),
    "settimeofday": (164, 170),
    "init_module": (175, 105),
    "setpriority": (141, 140),
    "mq_open": (240, 180),
    "connect": (42, 203),
    "sethostname": (170, 161),
    "unshare": (272, 97),
    "keyctl": (250, 219),
    "io_uring_setup": (425, 425),
    "exit": (231, 94),
}
KINDS: dict[str, Callable[[], object]] = {}


def kind(act: Callable[[], object]) -> Callable[[], object]:
    """A kind of effect."""
    KINDS[act.__name__] = act
    return act


def at(name: str) -> str:
    """A path in the world."""
    return os.path.join(W, name)


def pid() -> int:
    """The process that nothing may happen to."""
    with open(at("pid")) as file:
        return int(file.read())


def syscall(name: str, *args: object) -> int:
    """A raw system call."""
    number = NUMBERS[name][platform.machine() != "x86_64"]
    given = [ctypes.c_long(each) if isinstance(each, int) else each for each in args]
    found: int = LIBC.syscall(ctypes.c_long(number), *given)
    if found < 0:
        raise OSError(ctypes.get_errno(), name)
    return found


@kind
def kill() -> None:
    os.kill(pid(), signal.SIGUSR1)


@kind
def killpg() -> None:
    os.killpg(pid(), signal.SIGUSR1)


@kind
def kill_through_pidfd() -> None:
    signal.pidfd_send_signal(os.pidfd_open(pid()), signal.SIGUSR1)


@kind
def kill_asked_of_c() -> None:
    if LIBC.kill(pid(), signal.SIGUSR1):
        raise OSError(ctypes.get_errno(), "kill")


@kind
def kill_raw() -> None:
    syscall("kill", pid(), int(signal.SIGUSR1))


@kind
def fork_exec() -> None:
    import _posixsubprocess

    read, write = os.pipe()
    words = [b"/bin/sh", b"-c", os.fsencode(f"echo > {at('by-exec')}")]
    rest = (-1, -1, -1, -1, -1, -1, read, write, True, False, -1, None, None, None, -1, None)
    more = (False,) if sys.version_info < (3, 14) else ()
    fork_exec: Any = _posixsubprocess.fork_exec  # what it takes depends on the version
    child = fork_exec(words, words[:1], True, (write,), None, None, *rest, *more)
    os.close(write)
    os.read(read, 100)
    os.waitpid(child, 0)


@kind
def fork_raw() -> None:
    given = (int(signal.SIGCHLD), 0, 0, 0, 0) if platform.machine() != "x86_64" else ()
    child = syscall("fork", *given)
    if child == 0:
        os.close(os.open(at("by-fork"), os.O_CREAT | os.O_WRONLY))
        syscall("exit", 0)
    os.waitpid(child, 0)


@kind
def create() -> None:
    with open(at("created"), "w") as file:
        file.write("x")


@kind
def create_by_descriptor() -> None:
    os.close(os.open(at("opened"), os.O_CREAT | os.O_WRONLY))


@kind
def create_in_c() -> None:
    found = LIBC.creat(os.fsencode(at("native")), 0o600)
    if found < 0:
        raise OSError(ctypes.get_errno(), "creat")


@kind
def append() -> None:
    with open(at("to-append"), "a") as file:
        file.write("x")


@kind
def unlink() -> None:
    os.unlink(at("to-unlink"))


@kind
def rename() -> None:
    os.rename(at("to-rename"), at("by-rename"))


@kind
def rename_folder() -> None:
    os.rename(at("full"), at("by-rename_folder"))


@kind
def mkdir() -> None:
    os.mkdir(at("made"))


@kind
def rmdir() -> None:
    os.rmdir(at("empty"))


@kind
def chmod() -> None:
    os.chmod(at("to-chmod"), 0o611)


@kind
def utime() -> None:
    os.utime(at("to-utime"), (1, 1))


@kind
def truncate() -> None:
    os.truncate(at("to-truncate"), 1)


@kind
def symlink() -> None:
    os.symlink("to-symlink", at("by-symlink"))


@kind
def hard_link() -> None:
    os.link(at("to-hard_link"), at("by-hard_link"))


@kind
def write_through_a_map() -> None:
    with open(at("to-write_through_a_map"), "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:1] = b"X"
        mapped.flush()


@kind
def fifo() -> None:
    os.mkfifo(at("fifo"))


@kind
def unix_socket() -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(at("bound"))


@kind
def unix_connection_raw() -> None:
    with socket.socket(socket.AF_UNIX) as made:
        address = struct.pack("=H", socket.AF_UNIX) + os.fsencode(at("listening")) + b"\0"
        syscall("connect", made.fileno(), address, len(address))


@kind
def shared_memory() -> None:
    import _posixshmem  # type: ignore[import-not-found]  # typeshed knows only what wraps it

    os.close(_posixshmem.shm_open("/" + os.environ["NAME"], os.O_CREAT | os.O_RDWR, mode=0o600))


@kind
def message_queue_raw() -> None:
    os.close(syscall("mq_open", os.environ["NAME"].encode(), os.O_CREAT | os.O_RDWR, 0o600, 0))


@kind
def sqlite_attach() -> None:
    with sqlite3.connect(":memory:") as made:
        made.execute("attach database ? as other", (at("attached.db"),))
        made.execute("create table other.t (a)")


@kind
def sqlite_vacuum_into() -> None:
    with sqlite3.connect(":memory:") as made:
        made.execute("create table t (a)")
        made.commit()
        made.execute("vacuum into ?", (at("vacuumed.db"),))


@kind
def dbm_cache() -> None:
    with dbm.open(at("cache"), "c") as made:
        made["a"] = "b"


def own_name() -> str:
    """The name that the machine has, so that to set it changes nothing."""
    with open("/proc/sys/kernel/hostname") as file:
        return file.read().strip()


@kind
def host_name() -> None:
    socket.sethostname(own_name())


@kind
def host_name_raw() -> None:
    name = own_name().encode()
    syscall("sethostname", name, len(name))


@kind
def priority() -> None:
    os.setpriority(os.PRIO_PROCESS, pid(), 5)


@kind
def priority_raw() -> None:
    syscall("setpriority", os.PRIO_PROCESS, pid(), 5)


@kind
def limit() -> None:
    resource.prlimit(pid(), resource.RLIMIT_CORE, (0, 0))


@kind
def oom_score() -> None:
    with open(f"/proc/{pid()}/oom_score_adj", "w") as file:
        file.write("500")


@kind
def unmount_the_cover_raw() -> None:
    """Takes the cover away from the folders it acts in, and writes there. Never where it would be the world's mounts:
    it does nothing unless this process has mounts of its own."""
    with open(at("mounts")) as file:
        if file.read() == os.readlink("/proc/self/ns/mnt"):
            return
    for folder in (os.getcwd(), W, "/opt", "/srv"):
        try:
            syscall("umount2", os.fsencode(folder), 2)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
    open(at("unmounted"), "w").close()


@kind
def trace_raw() -> None:
    syscall("ptrace", 0x4206, pid(), 0, 0)
    syscall("ptrace", 17, pid(), 0, 0)


@kind
def mount_raw() -> None:
    syscall("mount", b"none", os.fsencode(at("folder")), b"tmpfs", 0, None)
    syscall("umount2", os.fsencode(at("folder")), 2)  # a folder that was made for this, in every system


@kind
def time_of_day_raw() -> None:
    syscall("settimeofday", None, None)


@kind
def module_raw() -> None:
    syscall("init_module", None, 0, b"")


@kind
def raw_network() -> None:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()


@kind
def keyring_raw() -> None:
    syscall("keyctl", 0, -3, 1)


@kind
def ring_raw() -> None:
    os.close(syscall("io_uring_setup", 1, ctypes.create_string_buffer(120)))


if __name__ == "__main__":
    with open(at("kinds")) as asked:
        names = asked.read().split()
    for each in names:
        try:
            KINDS[each]()
            print(each, "done", flush=True)
        except Exception as error:  # its name is the answer that the test compares
            print(each, errno.errorcode.get(getattr(error, "errno", None) or 0, type(error).__name__), flush=True)
