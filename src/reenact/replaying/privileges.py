"""The privileges of a replaying process: the process keeps those over files and ids, and gives up those over the
system.

A program that root runs may change parts of the system that no folder and no namespace holds. In a replay it may not; a
program of any other user has no such privileges, and gets none from the user namespace that a replay takes.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from typing import Any, Final

_VERSION: Final = 0x20080522
_SET_BOUND: Final = 24
_AMBIENT: Final = 47
_CLEAR_AMBIENT: Final = 4
_KNOWN: Final = 64

KEPT: Final = {
    "chown": 0,
    "dac_override": 1,
    "dac_read_search": 2,
    "fowner": 3,
    "fsetid": 4,
    "setgid": 6,
    "setuid": 7,
    "setpcap": 8,
    "linux_immutable": 9,
    "net_bind_service": 10,
    "ipc_lock": 14,
    "ipc_owner": 15,
    "sys_chroot": 18,
    "sys_nice": 23,
    "sys_resource": 24,
    "lease": 28,
    "setfcap": 31,
}
"""Privileges over files, ids and the process itself, by the numbers of the system."""


def held() -> int:
    """The privileges that this process may use, as bits; 0 where the system has no privileges of this kind."""
    return _read(_libc())[1] if sys.platform == "linux" else 0


def give_up(before: int) -> str:
    """Keep the privileges of ``KEPT`` that the process had ``before``, and no others, for good: also in processes that
    it starts.

    Returns:
        Why the others stay; empty where they are gone.
    """
    if sys.platform != "linux":
        return "not on this system"
    libc = _libc()
    kept = before & sum(1 << number for number in KEPT.values())
    none = [ctypes.c_ulong(0)] * 3
    for number in range(_KNOWN):
        if not kept >> number & 1:
            libc.prctl(_SET_BOUND, ctypes.c_ulong(number), *none)  # refused if unknown or not permitted
    libc.prctl(_AMBIENT, ctypes.c_ulong(_CLEAR_AMBIENT), *none)
    effective, permitted, _ = _read(libc)
    words = (effective & kept, permitted & kept, 0)
    halves = [word >> shift & 0xFFFFFFFF for shift in (0, 32) for word in words]
    if libc.capset(_head(), struct.pack("=6I", *halves)) != 0:
        return os.strerror(ctypes.get_errno()).lower()
    return ""


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _head() -> Any:
    return ctypes.create_string_buffer(struct.pack("=Ii", _VERSION, 0))


def _read(libc: Any) -> tuple[int, int, int]:
    """The effective, permitted and inheritable privileges, as bits."""
    data = ctypes.create_string_buffer(24)
    if libc.capget(_head(), data) != 0:
        return 0, 0, 0
    words = struct.unpack("=6I", data.raw)
    effective, permitted, inheritable = (words[each] | words[each + 3] << 32 for each in range(3))
    return effective, permitted, inheritable
