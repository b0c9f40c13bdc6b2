"""Process id, parent's id and host name: a replay gives the recorded ones.

These are constants of a run, kept with its environment. The standard library reads the process id to find out whether
it was forked, and gets the real id. A log record, which shows the id, gets the recorded one. A signal that the program
sends to itself under its recorded id reaches it.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from reenact.facts.call import Json
from reenact.seams.lanes import listening
from reenact.seams.rebinding import Rebinding

__all__ = ["facts", "meant", "rebinding"]

_SHOWN: Final = frozenset({"logging", "__main__"})
"""Modules of the standard library that show the process id to a person."""

_getpid = os.getpid
_getppid = os.getppid
_gethostname = socket.gethostname
_uname: Callable[..., Any] | None = getattr(os, "uname", None)


def facts() -> dict[str, Json]:
    """The process and host facts that a run keeps. Takes about 2 µs."""
    return {"pid": _getpid(), "ppid": _getppid(), "host": _gethostname()}


def _kept(key: str) -> Any:
    """The recorded constant; None without a session, or where it was not kept."""
    lane = listening()
    if lane is None:
        return None
    environment: Mapping[str, Any] = lane.session.run.environment
    return environment.get(key)


def _told(frame: Any) -> bool:
    """Whether the caller gets the recorded id."""
    top = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return top in _SHOWN or (top != "reenact" and top not in sys.stdlib_module_names)


def getpid() -> int:
    """``os.getpid``."""
    kept = _kept("pid")
    return kept if isinstance(kept, int) and _told(sys._getframe(1)) else _getpid()


def getppid() -> int:
    """``os.getppid``."""
    kept = _kept("ppid")
    return kept if isinstance(kept, int) and _told(sys._getframe(1)) else _getppid()


def gethostname() -> str:
    """``socket.gethostname``."""
    kept = _kept("host")
    return kept if isinstance(kept, str) else _gethostname()


def uname() -> Any:
    """``os.uname``: the machine's own, under the recorded name."""
    assert _uname is not None
    real, kept = _uname(), _kept("host")
    return type(real)((real[0], kept, *real[2:])) if isinstance(kept, str) else real


def meant(pid: int) -> int:
    """The id of the process that is meant: the recorded id means this process."""
    return _getpid() if pid == _kept("pid") else pid


rebinding = Rebinding()
rebinding.add(os, "getpid", _getpid, getpid)
rebinding.add(os, "getppid", _getppid, getppid)
rebinding.add(socket, "gethostname", _gethostname, gethostname)
if _uname is not None:
    rebinding.add(os, "uname", _uname, uname)
