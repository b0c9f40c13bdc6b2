"""A process as calls: how each is named and keyed, and the crossing of those that return a value."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any, Final, TypeVar

from reenact.facts.call import Call, Effect, Json, Kind
from reenact.facts.values import revealed, sealed
from reenact.facts.variables import is_secret
from reenact.seams.lanes import Lane
from reenact.seams.source import calling_line
from reenact.seams.switchboard import cross

T = TypeVar("T")

RULE: Final = "process/1"
"""Key of all that concerns a process: the whole head and body. The head names the start by its event."""

PYTHON: Final = "{python}"
"""Stands for the path of the running interpreter: it differs from one environment to the next."""

PROBES: Final = frozenset({"ctypes.util", "platform", "uuid", "sysconfig"})
"""Modules of the standard library that start small programs to look at the machine: never recorded, never refused."""

_DEPTH: Final = 12


def probes(frame: FrameType | None) -> bool:
    """Whether a module of the standard library looks at the machine it runs on (``ldconfig``, ``uname``)."""
    for _ in range(_DEPTH):
        if frame is None:
            return False
        if frame.f_globals.get("__name__") in PROBES:
            return True
        frame = frame.f_back
    return False


def text_of(value: Any) -> str:
    """A word of a command line (text, bytes or a path) as text."""
    return os.fsdecode(value) if isinstance(value, (str, bytes, os.PathLike)) else str(value)


def command_of(args: Any) -> list[str] | str:
    """``args`` of ``Popen`` as data: a list of words, or the one line that was given."""
    if isinstance(args, (str, bytes, os.PathLike)):
        return _portable(text_of(args))
    return [_portable(text_of(word)) for word in args]


def _portable(word: str) -> str:
    return PYTHON if word == sys.executable else word


def name_of(command: list[str] | str, shell: bool) -> str:
    """The name of the program for people: its file name; for a shell's line its first word."""
    if isinstance(command, str):
        words: Sequence[str] = command.split() if shell else [command]
    else:
        words = command[0].split() if shell and command else command
    first = words[0] if words else ""
    if first == PYTHON:
        return "python"
    return os.path.basename(first.rstrip("/")) or "process"


def place_of(cwd: Any) -> str:
    """The working directory, relative to ours where it lies below it."""
    if cwd is None:
        return "."
    place, here = os.path.abspath(text_of(cwd)), os.getcwd()
    inside = place == here or place.startswith(here.rstrip(os.sep) + os.sep)
    return os.path.relpath(place, here) if inside else place


def changes_of(environment: Mapping[Any, Any] | None) -> dict[str, Json]:
    """The variables that a child has and we have not: name to a digest of the value; credentials by name alone.

    Missing variables are left out: our own environment differs from machine to machine."""
    if environment is None:
        return {}
    changed: dict[str, Json] = {}
    for raw_name, raw_value in environment.items():
        name, value = text_of(raw_name), text_of(raw_value)
        if os.environ.get(name) == value:
            continue
        changed[name] = "credential" if is_secret(name) else _digest(name, value)
    return dict(sorted(changed.items()))


def _digest(name: str, value: str) -> str:
    """The digest of a value, short on purpose: enough to see a change, too little to tell the value."""
    text = f"{name}={value}".encode("utf-8", "surrogateescape")
    return hashlib.blake2b(text, digest_size=4, person=b"reenact-env").hexdigest()


def start(command: list[str] | str, shell: bool, facts: Mapping[str, Json]) -> Call:
    """The start of a process as a call.

    Args:
        command: From ``command_of``.
        shell: Whether a shell interprets it.
        facts: The other facts that decide: ``cwd``, ``environment``, which streams are pipes.
    """
    asked = {"command": command, **({"shell": True} if shell else {}), **facts}
    return _call(name_of(command, shell), Effect.WRITE, {}, asked)


def shares(lane: Lane, call: Call) -> None:
    """Name as gaps the output streams that the process of a start shares with this one: what it writes is not seen."""
    for name in sorted({"stdout", "stderr"}.difference(json.loads(call.body))):
        lane.session.gap(f"inherited {name}", call.name)


def further(program: str, what: str, of: int, effect: Effect = Effect.READ, asked: Json = None) -> Call:
    """A further call that concerns a process.

    Args:
        program: Its name.
        what: ``stdin``, ``stdout``, ``stderr``, ``wait``, ``poll``, ``communicate``, ``signal`` …
        of: The event of its start.
        effect: Its effect.
        asked: The request, as JSON.
    """
    return _call(f"{program} {what}", effect, {"of": of}, asked)


def _call(name: str, effect: Effect, head: Mapping[str, Json], asked: Json) -> Call:
    body = b"" if asked is None else json.dumps(asked, separators=(",", ":")).encode()
    media = "application/json" if body else ""
    return Call(Kind.PROCESS, name, effect, RULE, head, body, media, source=calling_line(3))


def written(data: bytes) -> dict[str, Json]:
    """Bytes written to a process, readable in a divergence."""
    try:
        return {"written": data.decode()}
    except UnicodeDecodeError:
        return {"hex": data.hex()}


def ask(lane: Lane, describe: Callable[[], Call], perform: Callable[[], T]) -> T:
    """One crossing whose answer is a value or an exception.

    Args:
        lane: From ``lanes.listening()``.
        describe: Makes the call.
        perform: Does it.
    """
    answered: T = cross(lane, describe, perform, sealed, revealed)
    return answered
