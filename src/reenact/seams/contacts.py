"""Contact with the world as the audit hook sees it: which events are contact, in which words, and who made it.

Two hooks ask here: the one that names gaps while recording, and the guard of a replay. A seam that knows of contact
which no hook of the interpreter can see (a C library's own socket) tells both with ``native``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, Final

from reenact.seams import places
from reenact.seams.callers import module_of, whose
from reenact.seams.http.source import calling_line
from reenact.seams.processes.asking import command_of, name_of, probes
from reenact.seams.setting import folder_now

NATIVE: Final = "reenact.native"
"""Our own audit event: contact that a C library makes by itself. Arguments: the library, and what it reaches."""

DATABASE: Final = "reenact.database"
"""The same for a database: its driver, and the database."""

CONTACTS: Final[Mapping[str, str]] = {
    "socket.connect": "connection",
    "socket.sendto": "datagram",
    "socket.sendmsg": "datagram",
    "socket.getaddrinfo": "name look-up",
    "socket.gethostbyname": "name look-up",
    "socket.gethostbyaddr": "name look-up",
    "socket.getnameinfo": "name look-up",
    "subprocess.Popen": "process",
    "os.system": "process",
    "os.exec": "process",
    "os.posix_spawn": "process",
    "os.spawn": "process",
    "os.startfile": "process",
    "os.fork": "process",
    "os.forkpty": "process",
    "pty.spawn": "process",
    "_winapi.CreateProcess": "process",
    "sqlite3.connect": "database",
    NATIVE: "native connection",
    DATABASE: "database",
}
"""Audit event to what it is called."""

_LOOK_UPS: Final = frozenset({"socket.getaddrinfo", "socket.gethostbyname"})
_WITHOUT_A_COMMAND: Final = frozenset({"os.fork", "os.forkpty"})
_LOOPBACK: Final = ("127.", "::1", "localhost")
_STARTERS: Final = frozenset({"multiprocessing.popen_fork", "multiprocessing.forkserver"})
_STARTING: Final = frozenset({"os.fork", "socket.connect"})
_WRAPPED: Final = 5
"""Frames of ours that may lie between a function and who calls it."""
_PAIRS: Final = frozenset({"socketpair", "_fallback_socketpair"})


def native(library: str, target: str = "") -> None:
    """Say that a C library is about to reach the world by itself: named in a recording, refused in a replay.

    Raises:
        Halt: The calling strand is being replayed.
    """
    sys.audit(NATIVE, library, target)


def database(driver: str, name: str) -> None:
    """Say that a driver is about to connect to a database: named in a recording, refused in a replay.

    Raises:
        Halt: The calling strand is being replayed.
    """
    sys.audit(DATABASE, driver, name)


def ours(event: str, args: tuple[Any, ...]) -> bool:
    """Whether what looks like contact is none of the agent's: the standard library looking at its own machine, a pair
    of sockets of one process, a look-up of what is an address already, a datagram along a connection that was named."""
    if event in _LOOK_UPS and _is_address(args[0]):
        return True
    if event == "socket.gethostbyaddr" and _host(args[0]).startswith(_LOOPBACK):
        return True  # ``http.server`` asks for the name of what it binds
    if event == "sqlite3.connect":
        return in_memory(args[0]) or whose(module_of(sys._getframe(2))) == "ours"
    if event == "socket.sendmsg" and (not args or args[-1] is None):
        return True
    if event == "socket.connect" and sys._getframe(2).f_code.co_name in _PAIRS:
        return True
    return (event in _STARTING and _starts_a_child(sys._getframe(2))) or probes(3)


def target_of(event: str, args: tuple[Any, ...]) -> str:
    """What is contacted, in words: an address, a host, the name of a program and never its arguments."""
    if event in (NATIVE, DATABASE):
        return " to ".join(str(part) for part in args if part)
    if event in _WITHOUT_A_COMMAND:
        return "a copy of this process"
    if event == "sqlite3.connect":
        return os.path.basename(places.text_of(args[0]) or "")
    if event.startswith("socket."):
        return _host(args[0]) if event in _LOOK_UPS else _address(args[-1])
    second = event == "os.spawn" or args[0] is None or (event == "subprocess.Popen" and args[1] is not None)
    return _program(args[1] if second else args[0])


def place_of() -> str:
    """``file:line`` of the agent's code that makes the contact; one below the working directory by its path there."""
    line = calling_line(3)
    if line is None:
        return "an unknown place"
    here = os.path.join(folder_now(), "")
    return line[len(here) :] if len(here) > 1 and line.startswith(here) else line


def _starts_a_child(frame: Any) -> bool:
    """Whether ``multiprocessing`` starts a child here: its seam has named that, or refused it."""
    for _ in range(_WRAPPED):
        if frame is None:
            return False
        if module_of(frame) in _STARTERS:
            return True
        frame = frame.f_back
    return False


def _is_address(host: Any) -> bool:
    """Whether a host is written as a number, or is this machine's own wildcard: nobody is asked for it."""
    text = _host(host) if host else ""
    return not text or ":" in text or text.replace(".", "").isdecimal()


def in_memory(database: Any) -> bool:
    """Whether a database of SQLite lives in memory, or in a file that has no name."""
    text = places.text_of(database)
    return text is not None and (text in ("", ":memory:") or text.startswith("file::memory:") or "mode=memory" in text)


def _host(host: Any) -> str:
    return os.fsdecode(host) if isinstance(host, (str, bytes)) else str(host)


def _address(address: Any) -> str:
    if isinstance(address, (str, bytes)):
        return os.fsdecode(address).replace("\0", "@")
    if isinstance(address, tuple) and len(address) >= 2:
        host = str(address[0])
        return f"[{host}]:{address[1]}" if ":" in host else f"{host}:{address[1]}"
    return repr(address)


def _program(command: Any) -> str:
    if isinstance(command, (str, bytes, os.PathLike)):
        return name_of(command_of(command), True)
    return name_of(command_of(command), False)
