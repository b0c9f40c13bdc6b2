"""The guard of a replaying process: connections and processes are refused by the audit hook, named and counted.

An audit hook cannot be removed once added, so it asks a switch. It sees what Python code does, and which functions it
asks a C library for; of the sockets that such a library opens by itself it learns only where a seam says so
(``seams.contacts.native``), and ``replaying.isolation`` cuts off the rest where the system permits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from reenact.errors import Halt
from reenact.seams import lanes
from reenact.seams.contacts import CONTACTS, ours, place_of, target_of

_ASKED = "ctypes.dlsym"
_NATIVE = frozenset(
    (
        *("connect", "send", "sendto", "sendmsg", "getaddrinfo", "system", "popen", "fork", "vfork", "clone"),
        *("posix_spawn", "posix_spawnp", "execv", "execve", "execvp", "execl", "execlp"),
    )
)
"""What Python code may not ask a C library for."""

_HEARD = frozenset((*CONTACTS, _ASKED))
"""What the guard looks at. Every other audit event costs the agent one look into this set."""


def _nothing() -> bool:
    """A replay permits no contact."""
    return False


@dataclass(slots=True)
class Guard:
    """Refuses contact with the world while it is armed.

    Attributes:
        refused: What was refused, with the place in the agent's code.
        halt: Called with the words for what the agent itself tried; gives what to raise in its place.
        permits: Whether whoever performs a call for the agent may touch the world just now: a fork asks it.
    """

    refused: list[str] = field(default_factory=list)
    halt: Callable[[str], Halt] | None = None
    armed: bool = False
    permits: Callable[[], bool] = _nothing

    def __call__(self, event: str, args: tuple[object, ...]) -> None:
        """The audit hook."""
        if event not in _HEARD or not self.armed:
            return
        if event == _ASKED:
            if args[1] not in _NATIVE:
                return
            words = f"native function {args[1]}"
        elif ours(event, args):
            return
        else:
            what, target = CONTACTS[event], target_of(event, args)
            words = f"{what} {target}" if what == "process" else f"{what} to {target}"
        if lanes.listening() is None and self.permits():
            return
        words += f" at {place_of()}"
        self.refused.append(words)
        if lanes.listening() is not None and self.halt is not None:
            raise self.halt(words)
        raise PermissionError(f"refused while replaying: {words}")


GUARD = Guard()
_added = False


def arm(halt: Callable[[str], Halt]) -> Guard:
    """Refuse from now on."""
    global _added
    if not _added:
        sys.addaudithook(GUARD.__call__)  # bound, which is half the price of looking it up at each event
        _added = True
    GUARD.refused.clear()
    GUARD.halt = halt
    GUARD.armed = True
    return GUARD


def disarm() -> None:
    """Let everything through again."""
    GUARD.armed = False
    GUARD.halt = None
    GUARD.permits = _nothing
