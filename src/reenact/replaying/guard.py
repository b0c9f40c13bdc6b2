"""The guard of a replaying process: connections and processes are refused by the audit hook, named and counted.

An audit hook cannot be removed once added, so it asks a switch. It sees what Python code does; sockets that a C
library opens by itself it does not see.
"""

from __future__ import annotations

import ipaddress
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

from reenact.errors import Halt
from reenact.seams import lanes
from reenact.seams.processes.asking import probes

_CONTACTS = {
    "socket.connect": "connection",
    "socket.sendto": "datagram",
    "socket.sendmsg": "datagram",
    "socket.getaddrinfo": "name look-up",
    "socket.gethostbyname": "name look-up",
    "subprocess.Popen": "process",
    "os.system": "process",
    "os.exec": "process",
    "os.posix_spawn": "process",
    "os.spawn": "process",
    "os.startfile": "process",
    "pty.spawn": "process",
}
_LOOK_UPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname"})


def _needs_nobody(host: object) -> bool:
    """Whether a look-up asks no name server: an address in numbers, or this very machine."""
    if host in (None, "", "localhost", b"", b"localhost"):
        return True
    try:
        ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host))
    except ValueError:
        return False
    return True


@dataclass(slots=True)
class Guard:
    """Refuses contact with the world while it is armed.

    Attributes:
        refused: What was refused, with the place in the agent's code.
        halt: Called with the words for what the agent itself tried; gives what to raise in its place.
    """

    refused: list[str] = field(default_factory=list)
    halt: Callable[[str], Halt] | None = None
    armed: bool = False

    def __call__(self, event: str, args: tuple[object, ...]) -> None:
        """The audit hook."""
        if not self.armed or event not in _CONTACTS or (event in _LOOK_UPS and _needs_nobody(args[0])):
            return
        target = _target(event, args)
        if probes():
            return
        words = f"{_CONTACTS[event]} to {target}" if event.startswith("socket") else f"process {target}"
        words += f" at {_place()}"
        self.refused.append(words)
        if lanes.listening() is not None and self.halt is not None:
            raise self.halt(words)
        raise PermissionError(f"refused while replaying: {words}")


def _target(event: str, args: tuple[object, ...]) -> str:
    """What is contacted, in words."""
    if event == "socket.connect":
        address = args[1]
        if isinstance(address, (str, bytes)):
            return repr(address)
        return f"{address[0]}:{address[1]}" if isinstance(address, tuple) and len(address) >= 2 else repr(address)
    if event.startswith("socket."):
        return repr(args[0] if event in ("socket.getaddrinfo", "socket.gethostbyname") else args[-1])
    return repr(args[0])


def _place() -> str:
    for frame in reversed(traceback.extract_stack(limit=40)):
        name = frame.filename
        if "site-packages" in name or name.startswith((sys.base_prefix, "<")) or "reenact" in name:
            continue
        return f"{name}:{frame.lineno}"
    return "an unknown place"


GUARD = Guard()
_added = False


def arm(halt: Callable[[str], Halt]) -> Guard:
    """Refuse from now on."""
    global _added
    if not _added:
        sys.addaudithook(GUARD)
        _added = True
    GUARD.refused.clear()
    GUARD.halt = halt
    GUARD.armed = True
    return GUARD


def disarm() -> None:
    """Let everything through again."""
    GUARD.armed = False
    GUARD.halt = None
