"""The guard of a replaying process: contact that the audit hook reports is refused, named and counted.

Connections, processes, signals and other changes of the machine are contact. So are changes of files that no scratch
protects.

The hook sees the actions of Python code, and its look-ups of C functions. It learns of sockets that a C library opens
by itself only where a seam reports them (``seams.contacts.native``). ``replaying.isolation`` cuts off the rest where
the system permits.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType

from reenact.errors import Halt
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.replaying.world_changes import CHANGING, Reaches
from reenact.seams import audit_hook, lanes
from reenact.seams.callers import module_of, whose
from reenact.seams.contacts import (
    CONTACTS,
    OPENING,
    opens_to_write,
    ours,
    place_of,
    sets_the_system,
    target_of,
    word_of,
)

_ASKED = "ctypes.dlsym"
_NATIVE = frozenset(
    (
        *("connect", "send", "sendto", "sendmsg", "getaddrinfo", "system", "popen", "fork", "vfork", "clone"),
        *("posix_spawn", "posix_spawnp", "execv", "execve", "execvp", "execl", "execlp"),
    )
)
"""Functions of C libraries that Python code may not use."""

NATIVE_UNFILTERED = _NATIVE | frozenset(
    (
        *("kill", "killpg", "tgkill", "sigqueue", "pidfd_send_signal", "ptrace", "setpriority", "prlimit"),
        *("mount", "umount", "umount2", "sethostname", "setdomainname", "settimeofday", "clock_settime", "adjtimex"),
        *("mq_open", "mq_unlink", "shm_open", "shm_unlink", "reboot", "init_module", "delete_module"),
    )
)
"""Functions that Python code may not use where the system does not refuse the system calls behind them."""

_ALONE = frozenset(("process", "priority", "limit", "clock", "host name", "kernel setting"))
"""Kinds of contact whose target follows in the message without a word between."""
_THROUGH = frozenset(("reenact.seams.file_contents", "reenact.seams.contacts", "reenact.replaying.folder_moves"))
"""Our modules that act, or report, on behalf of others."""

_HEARD = frozenset((*CONTACTS, _ASKED, *CHANGING))
"""The audit events that the guard checks."""


def _nothing() -> bool:
    """A replay permits no contact."""
    return False


@dataclass(slots=True)
class Guard:
    """Refuses contact with the world while it is armed.

    Attributes:
        refused: The refused contacts, with the place in the agent's code.
        halt: Called with a text on the agent's attempt; returns the exception to raise.
        reaches: Gives the path in the world that an event would change; None where files may be changed.
        native: The C functions that Python code may not use.
        permits: Whether the performer of a call may touch the world now: a fork uses it.
    """

    refused: list[str] = field(default_factory=list)
    halt: Callable[[str], Halt] | None = None
    armed: bool = False
    permits: Callable[[], bool] = _nothing
    reaches: Reaches | None = None
    native: frozenset[str] = _NATIVE

    def __call__(self, event: str, args: tuple[object, ...], frame: FrameType | None) -> None:
        """Refuse an audit event, or let it through."""
        if event == _ASKED:
            if args[1] not in self.native:
                return
            words = f"native function {args[1]}"
        elif event in CHANGING and not (event in CONTACTS and sets_the_system(args)):
            path = self._changed(event, args, frame)
            if not path:
                return
            words = f"change of the file {path}"
        elif ours(event, args, frame):
            return
        else:
            what, target = word_of(event, args), target_of(event, args)
            words = f"{what} {target}" if what in _ALONE else f"{what} to {target}"
        if lanes.listening() is None and self.permits():
            return
        words += f" at {place_of()}"
        self.refused.append(words)
        if lanes.listening() is not None and self.halt is not None:
            raise self.halt(words)
        raise PermissionError(f"refused while replaying: {words}")

    def _changed(self, event: str, args: tuple[object, ...], frame: FrameType | None) -> str:
        """The path in the world that the agent is about to change; empty where there is none."""
        if self.reaches is None or lanes.listening() is None:
            return ""
        if event == OPENING and not opens_to_write(args):
            return ""
        if frame is None:  # the interpreter itself
            return ""
        module = module_of(frame)
        if whose(module) == "ours" and module not in _THROUGH:
            return ""
        return self.reaches(event, args)


GUARD = Guard()


def arm(halt: Callable[[str], Halt]) -> Guard:
    """Refuse from now on."""
    GUARD.refused.clear()
    GUARD.halt = halt
    GUARD.armed = True
    audit_hook.subscribe(_HEARD, GUARD.__call__)
    return GUARD


def disarm() -> None:
    """Let everything through again."""
    audit_hook.unsubscribe(_HEARD, GUARD.__call__)
    GUARD.armed = False
    GUARD.halt = None
    GUARD.permits = _nothing
    GUARD.reaches = None
    GUARD.native = _NATIVE
