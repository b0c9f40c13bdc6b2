"""The side of a warm interpreter: one that has booted and stops there, and goes on as often as it is asked to.

It is started like any program that is replayed, and stops in the boot, before the program's first line: the seams are
in place and nothing of the agent is imported. For each program that its parent asks for it forks; the child takes over
what is its own (environment, arguments, standard streams, the private directory of its boot), boots, and runs the
program as an interpreter of its own would. No child sees what another one did: each starts from the same state.

Parent and interpreter talk in JSON, a message at a time over a socket: ``Asked`` with the standard streams as
descriptors, answered by the child's ``pid``, and by its ``status`` when it has ended.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, NoReturn

from reenact.seams import wiring
from reenact.seams.setting import variables_now

__all__ = ["CHANNEL", "STREAMS", "receive", "send", "serve"]

CHANNEL: Final = "channel"
"""Name of the instruction that says which descriptor the socket is."""

STREAMS: Final = 3
"""How many descriptors a request brings: standard input, output and error."""

_MARKS: Final = ("reenact.seams.tools", "reenact.seams.steps", "reenact.seams.models")
"""What agents use of ours in their own code."""

_PR_SET_PDEATHSIG: Final = 1
_LENGTH: Final = 8


def send(channel: socket.socket, message: Mapping[str, Any], descriptors: tuple[int, ...] = ()) -> None:
    """Send one message, with descriptors.

    Raises:
        OSError: The other side is gone.
    """
    data = json.dumps(message).encode()
    head = len(data).to_bytes(_LENGTH, "big")
    if descriptors:
        socket.send_fds(channel, [head], list(descriptors))
        channel.sendall(data)
    else:
        channel.sendall(head + data)


def receive(channel: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """The next message and its descriptors; None when the other side is gone."""
    try:
        head, descriptors, _, _ = socket.recv_fds(channel, _LENGTH, STREAMS)
        head += _exactly(channel, _LENGTH - len(head)) if head else b""
        data = _exactly(channel, int.from_bytes(head, "big")) if head else b""
    except (OSError, EOFError):
        return None
    return (json.loads(data), descriptors) if head else None


def _exactly(channel: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = channel.recv(size - len(parts))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)


def serve(instructions: Mapping[str, Any], beginner: str) -> str:
    """Fork a child for each program that is asked for, until the parent is gone; returns in a child only.

    Args:
        instructions: What this process was started with: ``channel``.
        beginner: Name of the module that will begin the session in a child, imported ahead; its ``rehearse`` does what
            each child would do alike.

    Returns:
        The private directory of the boot that the child is to go on with.

    Cost: the import of what replays, once; a fork for each program.
    """
    channel = socket.socket(fileno=int(instructions[CHANNEL]))
    wiring.install()
    beginning = import_module(beginner)
    for name in _MARKS:
        import_module(name)
    wiring.rehearse()
    beginning.rehearse()
    killed_with_parent = _bound_to_parent()
    fork = os.fork
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page of what they share
    ours = os.getpid()
    while True:
        received = receive(channel)
        if received is None:
            _gone()
        asked, streams = received
        child = fork()
        if child == 0:
            killed_with_parent(ours)
            channel.close()
            atexit.register(_let_go)
            return _become(asked, streams)
        for descriptor in streams:
            os.close(descriptor)
        try:
            send(channel, {"pid": child})
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            send(channel, {"status": status})
        except OSError:
            _gone()


def _gone() -> NoReturn:
    """The parent has ended, or wants nothing more."""
    os._exit(0)


def _become(asked: Mapping[str, Any], streams: list[int]) -> str:
    """Take over what an interpreter would have been started with."""
    for descriptor, own in enumerate(streams):
        os.dup2(own, descriptor)
        os.close(own)
    _set(asked["environment"])
    sys.argv[1:] = asked["arguments"]
    sys.orig_argv += asked["arguments"]
    return str(asked["place"])


def _set(environment: Mapping[str, str]) -> None:
    """Make the variables of this process those, in their order; most are already."""
    now = dict(variables_now())  # most are what they were when this process was forked
    if list(now) != list(environment):
        os.environ.clear()
        now.clear()
    for name, value in environment.items():
        if now.get(name) != value:
            os.environ[name] = value
    time.tzset()


def _let_go() -> None:
    """At the very end of a child, after its session: leave what it shares as it is.

    An interpreter that ends takes every module apart, and each page that it touches is copied first: that costs more
    than the fork. What holds itself, and no collection looks at any more, is left alone."""
    held: list[Any] = [dict(sys.modules)]
    held.append(held)
    for name in held[0].keys() - {"sys", "builtins", "__main__"}:
        del sys.modules[name]
    gc.freeze()


def _bound_to_parent() -> Callable[[int], None]:
    """What a child calls so that it is ended when this process is, where the system can do that."""
    if sys.platform != "linux":
        return lambda ours: None
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)

    def bind(ours: int) -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != ours:  # it has ended in between
            os._exit(1)

    return bind
