"""The side of a warm interpreter: an interpreter that has booted and waits, and forks on demand.

It is started like any program that is replayed, and stops in the boot, before the program's first line: the seams are
in place and nothing of the agent is imported. Its parent then orders *twins*, one for each program that runs at the
same time. A start takes most of a second, a fork almost no time. A twin forks a child for each program. The child gets
its own environment, arguments, standard streams and boot directory, boots, and runs the program as a fresh interpreter
would. No child sees the effects of another child: each starts from the same state.

The processes talk in JSON over sockets, one message at a time. The parent sends the interpreter a twin's end of a
socket, as a descriptor; the answer is the twin's ``pid``. It also sends ``ended``, the ``pid`` of a twin that has
ended; the answer is that twin's ``status``. The parent sends a twin the program, with its standard streams as
descriptors; the answer is the child's ``pid``, and the child's ``status`` when it has ended.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, NoReturn

from reenact.seams import wiring
from reenact.seams.boot.bound_children import bound_to_parent
from reenact.seams.boot.program import take_over
from reenact.seams.process_setting import variables_now

__all__ = ["CHANNEL", "STREAMS", "receive", "send", "serve"]

CHANNEL: Final = "channel"
"""Name of the instruction that says which descriptor the socket is."""

STREAMS: Final = 3
"""How many descriptors a request brings: standard input, output and error."""

_MARKS: Final = ("reenact.seams.tools", "reenact.seams.step_scopes", "reenact.seams.models")
"""The modules of ours that agents use in their own code."""

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
    """Fork twins, and in them a child for each ordered program, until the parent has ended. Returns only in a child.

    Args:
        instructions: The instructions for this process: ``channel``.
        beginner: Name of the module that will begin the session in a child, imported in advance; its ``rehearse`` does
            the work that is the same in each child.

    Returns:
        The private directory of the boot that the child is to go on with.

    Cost: the import of the replaying modules, once; a fork for each program.
    """
    control = socket.socket(fileno=int(instructions[CHANNEL]))
    wiring.install()
    wiring.load()
    beginning = import_module(beginner)
    for name in _MARKS:
        import_module(name)
    wiring.rehearse()
    beginning.rehearse()
    killed_with_parent = bound_to_parent()
    fork = os.fork
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page that the processes share
    channel = _twins(control, fork)
    ours = os.getpid()
    words = len(sys.orig_argv)
    while True:
        received = receive(channel)
        if received is None:
            _gone()
        asked, streams = received
        try:
            pid = fork()
            if pid == 0:
                killed_with_parent(ours)
                channel.close()
                take_over(_let_go)
                return _become(asked, streams, words)
            for descriptor in streams:
                os.close(descriptor)
            send(channel, {"pid": pid})
            send(channel, {"status": os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])})
        except OSError:
            _gone()


def _twins(control: socket.socket, fork: Callable[[], int]) -> socket.socket:
    """Fork a twin on each order. Returns only in a twin, with the socket for its orders."""
    alive: set[int] = set()
    while True:
        received = receive(control)
        if received is None:
            for twin in alive:  # the twins end too; their processor time counts after the wait
                os.waitpid(twin, 0)
            _gone()
        asked, descriptors = received
        try:
            if "ended" in asked:
                alive.discard(asked["ended"])
                send(control, {"status": os.waitstatus_to_exitcode(os.waitpid(asked["ended"], 0)[1])})
                continue
            twin = fork()
            if twin == 0:
                control.close()
                return socket.socket(fileno=descriptors[0])
            os.close(descriptors[0])
            alive.add(twin)
            send(control, {"pid": twin})
        except OSError:
            _gone()


def _gone() -> NoReturn:
    """End this process: the parent has ended, or needs nothing more."""
    os._exit(0)


def _become(asked: Mapping[str, Any], streams: list[int], words: int) -> str:
    """Take over the settings of an interpreter's start. ``words``: the length of its command line up to the program."""
    for descriptor, own in enumerate(streams):
        os.dup2(own, descriptor)
        os.close(own)
    _set(asked["environment"])
    sys.argv[1:] = asked["arguments"]
    sys.orig_argv[words:] = asked["arguments"]
    return str(asked["place"])


def _set(environment: Mapping[str, str]) -> None:
    """Give this process exactly these environment variables, in their order."""
    now = dict(variables_now())  # most have not changed since this process was forked
    if list(now) != list(environment):
        os.environ.clear()
        now.clear()
    for name, value in environment.items():
        if now.get(name) != value:
            os.environ[name] = value
    time.tzset()


def _let_go() -> None:
    """At the very end of a child, after its session: leave the shared memory unchanged.

    An ending interpreter takes every module apart, and each page that it touches is copied first. This costs more than
    the fork. Objects in cycles of references, which no collection looks at any more, are left alone."""
    held: list[Any] = [dict(sys.modules)]
    held.append(held)
    for name in held[0].keys() - {"sys", "builtins", "__main__"}:
        del sys.modules[name]
    gc.freeze()
