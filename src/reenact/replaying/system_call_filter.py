"""The filter of a replaying process: system calls that would reach beyond it are answered with an error.

A table has the refused calls and their exceptions. It becomes a program that the system runs before each call
(*seccomp*). The program never ends a process. It holds also for all processes that this one starts, and cannot be
removed. The numbers are those of x86-64 and ARM64. On other machines there is no filter, and the report says so.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

from reenact.facts.lazy_dataclass import dataclass

_NEW_NAMESPACES: Final = 0x7E020000
_THREAD: Final = 0x00010000
_UNIX: Final = 1
_VSOCK: Final = 40
_TIOCSTI: Final = 0x5412
_TIOCLINUX: Final = 0x541C
_GROUP: Final = 1
_USER: Final = 2

OWN: Final = -1
"""Stands for the id of this process."""


@dataclass(frozen=True, slots=True)
class Ban:
    """A system call that is refused.

    Attributes:
        name: Its name.
        x86_64: Its number on x86-64; -1 where there is none.
        aarch64: Its number on ARM64; -1 where there is none.
        error: The number of the error that it answers.
        strikes: Arguments, by position, each with the value for which the call is refused; empty: refused for any
            values.
        flags: An argument, by position, and bits: the call is refused if any of them is set.
        needs: An argument, by position, and bits: the call is refused if none of them is set.
        spares: Arguments, by position, each with the value for which the call is let through, unless a strike refuses
            it.
    """

    name: str
    x86_64: int
    aarch64: int
    error: int = errno.EPERM
    strikes: tuple[tuple[int, int], ...] = ()
    flags: tuple[int, int] | None = None
    needs: tuple[int, int] | None = None
    spares: tuple[tuple[int, int], ...] = ()


_TO_ITSELF: Final = ((0, OWN), (1, 0))
"""A signal to this process, or the signal 0, which only checks whether a process exists."""

_OF_ITSELF: Final = ((0, 0), (0, OWN))
_DONE: Final = 0

RULES: Final = (
    # signals
    Ban("kill", 62, 129, spares=_TO_ITSELF),
    Ban("tgkill", 234, 131, spares=((0, OWN), (2, 0))),
    Ban("tkill", 200, 130, spares=((1, 0),)),
    Ban("rt_sigqueueinfo", 129, 138, spares=_TO_ITSELF),
    Ban("rt_tgsigqueueinfo", 297, 240, spares=((0, OWN), (2, 0))),
    Ban("pidfd_send_signal", 424, 424, spares=((1, 0),)),
    # other processes
    Ban("ptrace", 101, 117),
    Ban("process_vm_writev", 311, 271),
    Ban("pidfd_getfd", 438, 438),
    Ban("process_madvise", 440, 440),
    Ban("setpriority", 141, 140, strikes=((0, _GROUP), (0, _USER)), spares=((1, 0), (1, OWN))),
    Ban("prlimit64", 302, 261, spares=((0, 0), (0, OWN), (2, 0))),
    # The id of a thread of the program is not known here: a call for a thread does nothing, and reports success.
    Ban("sched_setparam", 142, 118, _DONE, spares=_OF_ITSELF),
    Ban("sched_setscheduler", 144, 119, _DONE, spares=_OF_ITSELF),
    Ban("sched_setaffinity", 203, 122, _DONE, spares=_OF_ITSELF),
    Ban("sched_setattr", 314, 274, _DONE, spares=_OF_ITSELF),
    Ban("ioprio_set", 251, 30, _DONE, spares=((1, 0), (1, OWN))),
    # mounts and namespaces
    Ban("mount", 165, 40),
    Ban("umount2", 166, 39),
    Ban("pivot_root", 155, 41),
    Ban("open_tree", 428, 428),
    Ban("move_mount", 429, 429),
    Ban("fsopen", 430, 430),
    Ban("fsconfig", 431, 431),
    Ban("fsmount", 432, 432),
    Ban("fspick", 433, 433),
    Ban("mount_setattr", 442, 442),
    Ban("setns", 308, 268),
    Ban("unshare", 272, 97, flags=(0, _NEW_NAMESPACES)),
    Ban("clone", 56, 220, flags=(0, _NEW_NAMESPACES)),
    Ban("clone3", 435, 435, errno.ENOSYS),  # its flags lie in memory, unseen; threads then start with ``clone``
    Ban("open_by_handle_at", 304, 265),
    # the machine
    Ban("settimeofday", 164, 170),
    Ban("clock_settime", 227, 112),
    Ban("sethostname", 170, 161),
    Ban("setdomainname", 171, 162),
    Ban("reboot", 169, 142),
    Ban("swapon", 167, 224),
    Ban("swapoff", 168, 225),
    Ban("acct", 163, 89),
    Ban("quotactl", 179, 60),
    Ban("quotactl_fd", 443, 443),
    Ban("init_module", 175, 105),
    Ban("finit_module", 313, 273),
    Ban("delete_module", 176, 106),
    Ban("kexec_load", 246, 104),
    Ban("kexec_file_load", 320, 294),
    Ban("iopl", 172, -1),
    Ban("ioperm", 173, -1),
    Ban("bpf", 321, 280),
    Ban("add_key", 248, 217),
    Ban("request_key", 249, 218),
    Ban("keyctl", 250, 219),
    # not covered by any namespace
    Ban("socket", 41, 198, errno.EAFNOSUPPORT, strikes=((0, _VSOCK),)),
    Ban("ioctl", 16, 29, strikes=((1, _TIOCSTI), (1, _TIOCLINUX))),
    Ban("io_uring_setup", 425, 425, errno.ENOSYS),  # this submits operations that no filter sees
)
"""The refused system calls. All others are allowed."""

ALONE: Final = (
    # If two rules name one call, the first decides, so these rules come before the others.
    Ban("execve", 59, 221),
    Ban("execveat", 322, 281),
    Ban("fork", 57, -1),
    Ban("vfork", 58, -1),
    Ban("clone", 56, 220, flags=(0, _NEW_NAMESPACES), needs=(0, _THREAD)),
    Ban("socket", 41, 198, errno.EAFNOSUPPORT, strikes=((0, _UNIX), (0, _VSOCK))),  # a socket's path leads to a service
)
"""Further refused system calls for foreign code: it may start no process, and reach no service of this machine."""

_MACHINES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_LOAD, _EQUAL, _AT_LEAST, _ANY_OF, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW: Final = 0x7FFF0000
_ERROR: Final = 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_X32: Final = 0x40000000
_NO_NEW_PRIVILEGES: Final = 38
_SET_SECCOMP: Final = 22
_FILTER: Final = 2

_Line = tuple[int, int, int, int]


def program(machine: str, own: int, *, rules: Sequence[Ban] = RULES) -> bytes:
    """The program of the filter for a kind of machine; empty where there is none.

    Args:
        machine: The name in ``os.uname``.
        own: The id of this process.
        rules: The refused calls.
    """
    architecture = _MACHINES.get(machine)
    if architecture is None:
        return b""
    refused = (_RETURN, 0, 0, _ERROR | errno.ENOSYS)
    lines: list[_Line] = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, architecture), refused, (_LOAD, 0, 0, _NUMBER)]
    if machine == "x86_64":
        lines += [(_AT_LEAST, 0, 1, _X32), refused]
    for rule in rules:
        number = getattr(rule, machine)
        if number >= 0:
            block = [*_judged(rule, own)]
            lines += [(_EQUAL, 0, len(block), number), *block]
    lines.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def _judged(rule: Ban, own: int) -> Iterable[_Line]:
    """The program lines for one call; they always end in a verdict."""
    refuse, allow = (_RETURN, 0, 0, _ERROR | rule.error), (_RETURN, 0, 0, _ALLOW)
    for position, value in rule.strikes:
        yield from (_argument(position), (_EQUAL, 0, 1, value), refuse)
    if rule.flags is not None:
        yield from (_argument(rule.flags[0]), (_ANY_OF, 0, 1, rule.flags[1]), refuse)
    if rule.needs is not None:
        yield from (_argument(rule.needs[0]), (_ANY_OF, 1, 0, rule.needs[1]), refuse)
    for position, value in rule.spares:
        yield from (_argument(position), (_EQUAL, 0, 1, own if value == OWN else value), allow)
    judged_by_value = rule.strikes or rule.flags is not None or rule.needs is not None
    yield allow if judged_by_value and not rule.spares else refuse


def _argument(position: int) -> _Line:
    """Load the lower half of an argument: on both machines it comes first in memory."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * position)


def refuse_system_calls(*, alone: bool = False) -> str:
    """Refuse the system calls from now on, for this process and the processes that it starts. Called while the process
    has one thread.

    Args:
        alone: Whether the process may neither start processes nor reach a service.

    Returns:
        Why the calls are not refused; empty where they are.

    Cost: well below a millisecond; about 0.1 µs for each system call from then on.
    """
    if sys.platform != "linux":
        return "not on this system"
    machine = os.uname().machine
    code = program(machine, os.getpid(), rules=(*(ALONE if alone else ()), *_rules_here()))
    if not code or sys.maxsize < 1 << 32:
        return f"not on {machine}"
    libc: Any = ctypes.CDLL(None, use_errno=True)
    held = ctypes.create_string_buffer(code, len(code))
    given = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(held)))
    none = [ctypes.c_ulong(0)] * 3
    libc.prctl(_NO_NEW_PRIVILEGES, ctypes.c_ulong(1), *none)  # without this, or a privilege, the system takes no filter
    if libc.prctl(_SET_SECCOMP, ctypes.c_ulong(_FILTER), ctypes.byref(given), *none[:2]) != 0:
        return os.strerror(ctypes.get_errno()).lower()
    return ""


def _rules_here() -> Sequence[Ban]:
    """The rules for this system: a C library other than GNU's sends a thread its signals by the thread's id alone."""
    try:
        gnu = bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (ValueError, OSError, AttributeError):
        gnu = False
    return RULES if gnu else [rule for rule in RULES if rule.name != "tkill"]
