"""Contact with the world as the audit hook sees it: which events are contact, how each is named, and which code made
it.

Two listeners use this: the one that names gaps while recording, and the guard of a replay. Some contact is invisible to
every hook of the interpreter (a C library's own socket); a seam that knows of it tells both listeners with ``native``.
``machine_actions`` tells of functions that change the machine. Files count as contact where no scratch protects them:
``writing`` tells of changes for which the interpreter raises no audit event.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, Final

from reenact.seams import project_paths
from reenact.seams.callers import module_of, whose
from reenact.seams.lanes import listening
from reenact.seams.process_setting import folder_now
from reenact.seams.processes.process_calls import command_of, name_of, probes
from reenact.seams.source import calling_line

_ATTACH: Final = 24
_GRANTED: Final = 0

NATIVE: Final = "reenact.native"
"""Our own audit event: contact that a C library makes by itself. Arguments: the library, and what it reaches."""

DATABASE: Final = "reenact.database"
"""Our own audit event: a driver connects to a database. Arguments: the driver, and the database."""

ACTING: Final = "reenact.acting"
"""Our own audit event: the machine or another process is about to be changed. Arguments: the kind, and its object."""

WRITING: Final = "reenact.writing"
"""Our own audit event: a path is about to be made or changed. Arguments: the path."""

OPENING: Final = "open"
"""The interpreter's event of a file that is opened. Writing a file that is a setting of the system is contact."""

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
    "os.kill": "signal",
    "os.killpg": "signal",
    "socket.sethostname": "host name",
    "resource.prlimit": "limit",
    ACTING: "effect",
    OPENING: "kernel setting",
}
"""The name of the contact that each audit event reports."""

_COPY: Final = "a copy of this process"
_LOOPBACK: Final = ("127.", "::1", "localhost")
_STARTERS: Final = frozenset({"multiprocessing.popen_fork", "multiprocessing.forkserver"})
_STARTING: Final = frozenset({"os.fork", "socket.connect"})
_WRAPPED: Final = 5
"""Our frames that may lie between a function and its caller."""
_TOPS_OF_CHILDREN: Final = frozenset({"subprocess", "multiprocessing", "concurrent", "asyncio"})
"""Modules that send signals to processes that they started. The start itself was already named or refused."""
_SETTINGS: Final = ("/proc/", "/sys/")
_OF_OWN: Final = ("/proc/self/fd/", "/proc/self/comm", "/proc/self/task/")
"""Paths that are settings of this process alone, or are no settings at all."""
_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
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


def acting(what: str, target: str) -> None:
    """Say that the machine, or another process, is about to be changed: named in a recording, refused in a replay.

    Raises:
        Halt: The calling strand is being replayed.
    """
    sys.audit(ACTING, what, target)


def writing(path: Any) -> None:
    """Report a change of a path without an audit event, before it. A replay refuses it if it reaches the world."""
    sys.audit(WRITING, path)


def word_of(event: str, args: tuple[Any, ...]) -> str:
    """The name of a kind of contact."""
    return str(args[0]) if event == ACTING else CONTACTS[event]


def name_of_signal(number: Any) -> str:
    """The name of a signal for people."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def opens_to_write(args: tuple[Any, ...]) -> bool:
    """Whether a file is opened to be written."""
    return isinstance(args[2], int) and bool(args[2] & _WRITES)


def sets_the_system(args: tuple[Any, ...]) -> bool:
    """Whether a file opened for writing is a setting of the system or of another process. Costs 0.2 µs a file."""
    path = args[0]
    if not opens_to_write(args) or not isinstance(path, (str, bytes)):
        return False
    text = os.fsdecode(path)
    return text.startswith(_SETTINGS) and not text.startswith(_OF_OWN)


def ours(event: str, args: tuple[Any, ...], frame: FrameType | None) -> bool:
    """Whether an event that looks like contact does not count: the standard library looks at its own machine, one
    process makes a pair of sockets, a look-up already has an address, or a datagram goes along a connection that was
    named."""
    judge = _NO_CONTACT.get(event)
    if judge is not None and judge(args, frame):
        return True
    return (event in _STARTING and _starts_a_child(frame)) or probes(frame)


_NO_CONTACT: Final[Mapping[str, Callable[[tuple[Any, ...], Any], bool]]] = {
    "socket.getaddrinfo": lambda args, _: _is_address(args[0]),
    "socket.gethostbyname": lambda args, _: _is_address(args[0]),
    # ``http.server`` looks up the name of the address that it binds
    "socket.gethostbyaddr": lambda args, _: _host(args[0]).startswith(_LOOPBACK),
    "sqlite3.connect": lambda args, frame: in_memory(args[0]) or whose(module_of(frame)) == "ours",
    "socket.sendmsg": lambda args, _: not args or args[-1] is None,
    "socket.connect": lambda _, frame: frame is not None and frame.f_code.co_name in _PAIRS,
    OPENING: lambda args, _: not sets_the_system(args),
    "os.kill": lambda args, frame: args[1] == 0 or args[0] == os.getpid() or _signals_its_child(frame),
    "os.killpg": lambda args, frame: args[1] == 0 or _signals_its_child(frame),
    "resource.prlimit": lambda args, _: args[0] in (0, os.getpid()) or args[2] is None,
}
"""Conditions under which an event is no contact, by its arguments and the frame that causes it."""


def target_of(event: str, args: tuple[Any, ...]) -> str:
    """The target of a contact, in words: an address, a host, the name of a program but never its arguments."""
    told = _TARGETS.get(event)
    if told is not None:
        return told(args)
    if event.startswith("socket."):
        return _address(args[-1])
    second = event == "os.spawn" or args[0] is None or (event == "subprocess.Popen" and args[1] is not None)
    return _program(args[1] if second else args[0])


def _named(args: tuple[Any, ...]) -> str:
    return " to ".join(str(part) for part in args if part)


_TARGETS: Final[Mapping[str, Callable[[tuple[Any, ...]], str]]] = {
    NATIVE: _named,
    DATABASE: _named,
    ACTING: lambda args: str(args[1]),
    "os.fork": lambda _: _COPY,
    "os.forkpty": lambda _: _COPY,
    "os.kill": lambda args: f"process {args[0]} ({name_of_signal(args[1])})",
    "os.killpg": lambda args: f"group {args[0]} ({name_of_signal(args[1])})",
    "resource.prlimit": lambda args: f"of process {args[0]}",
    OPENING: lambda args: os.fsdecode(args[0]),
    "socket.sethostname": lambda args: os.fsdecode(args[0]),
    "sqlite3.connect": lambda args: os.path.basename(project_paths.text_of(args[0]) or ""),
    "socket.getaddrinfo": lambda args: _host(args[0]),
    "socket.gethostbyname": lambda args: _host(args[0]),
}
"""The functions that name the target of an event, by its arguments; other targets are an address or a program."""


def place_of() -> str:
    """``file:line`` of the agent's code that makes the contact, with a relative path below the working directory."""
    line = calling_line(3)
    if line is None:
        return "an unknown place"
    here = os.path.join(folder_now(), "")
    return line[len(here) :] if len(here) > 1 and line.startswith(here) else line


def _starts_a_child(frame: Any) -> bool:
    """Whether ``multiprocessing`` starts a child here. Its own seam has already named or refused this start."""
    for _ in range(_WRAPPED):
        if frame is None:
            return False
        if module_of(frame) in _STARTERS:
            return True
        frame = frame.f_back
    return False


def _signals_its_child(frame: Any) -> bool:
    """Whether the standard library signals a process that it has started."""
    while frame is not None and module_of(frame).startswith("reenact."):
        frame = frame.f_back
    return frame is not None and module_of(frame).partition(".")[0] in _TOPS_OF_CHILDREN


def _is_address(host: Any) -> bool:
    """Whether a host is written as a number, or is this machine's own wildcard: then no name is looked up."""
    text = _host(host) if host else ""
    return not text or ":" in text or text.replace(".", "").isdecimal()


def in_memory(database: Any) -> bool:
    """Whether a database of SQLite lives in memory, or in a file that has no name."""
    text = project_paths.text_of(database)
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


def watch_attached(connection: Any) -> None:
    """Report the files that a connection to a database in memory reaches, while there are listeners.

    ``ATTACH`` and ``VACUUM INTO`` reach files without an audit event. SQLite asks an authorizer about both. Ours stays
    until the program sets its own, because a connection has only one.
    """
    connection.set_authorizer(_authorize)


def _authorize(action: int, first: Any, *_: Any) -> int:
    """SQLite's authorizer. It does not get the name of a file that is given as a parameter."""
    if action == _ATTACH and listening() is not None and not (first is not None and in_memory(first)):
        database("sqlite3", os.path.basename(first) if first else "a file that it attaches")
    return _GRANTED
