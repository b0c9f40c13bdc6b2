"""Notes, in the run, the connections that a program itself accepts: their data is not recorded.

Requests of a known server are runs of their own (``seams.servers``), and their connections are not noted. A connection
of the program to itself is no gap, because its other end is recorded.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from reenact.seams import lanes
from reenact.seams.contacts import place_of
from reenact.seams.fd_dup import socket_at
from reenact.seams.lanes import Lane, listening
from reenact.seams.patching import replace
from reenact.seams.switchboard import guarded

ACCEPTED: Final = "accepted connection"
"""The name of the gap."""

_DESCRIPTORS = next((path for path in ("/proc/self/fd", "/dev/fd") if os.path.isdir(path)), "")


def install(name: Callable[[Any, str, str, str], object], is_named: Callable[[Any, str, str], bool]) -> None:
    """Look at each accepted connection until one comes from outside. Called once in a process.

    Args:
        name: Notes a gap of a session, once for each place. Its arguments: session, what, place, target.
        is_named: Whether no further gap of a place is to be noted. Its arguments: session, what, place.
    """

    def accepting(original: Callable[..., Any]) -> Callable[..., Any]:
        def accept(self: socket.socket) -> tuple[socket.socket, Any]:
            accepted: tuple[socket.socket, Any] = original(self)
            lane = listening()
            if lane is not None and lane.session.reaches_world:
                guarded(lane, partial(_look, lane, accepted, name, is_named))
            return accepted

        return accept

    replace(socket.socket, "accept", accepting, answers=False)


def _look(
    lane: Lane,
    accepted: tuple[socket.socket, Any],
    name: Callable[[Any, str, str, str], object],
    is_named: Callable[[Any, str, str], bool],
) -> None:
    place = place_of()
    if is_named(lane.session, ACCEPTED, place):  # looking at every descriptor would slow down a busy server
        return
    with lanes.inside(None):
        ours = _made_here(*accepted)
    if not ours:
        name(lane.session, ACCEPTED, place, "from the outside")


def _made_here(connection: socket.socket, peer: Any) -> bool:
    """Whether this process has the other end of a connection."""
    unix = getattr(socket, "AF_UNIX", None)
    if unix is not None and connection.family == unix:
        asked = getattr(socket, "SO_PEERCRED", None)
        if asked is None:
            return False
        credentials = connection.getsockopt(socket.SOL_SOCKET, asked, struct.calcsize("3i"))
        return bool(struct.unpack("3i", credentials)[0] == os.getpid())
    return any(_address_of(int(name)) == peer for name in os.listdir(_DESCRIPTORS or os.devnull))


def _address_of(descriptor: int) -> Any:
    """The address of a socket of this process; None for other descriptors."""
    try:
        with socket_at(descriptor) as found:
            return None if found is None else found.getsockname()
    except OSError:  # the socket has been closed meanwhile
        return None
