"""Standard input: each raw read is a crossing of its own, so that a replay supplies the same bytes and the same end.

A person who answers ``input()`` at a terminal is read by the C library, past ``sys.stdin``: there the crossing is the
question itself, keyed by the prompt.
"""

from __future__ import annotations

import builtins
import io
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

from reenact.facts.call import Call, Effect, Failure, Kind, Value
from reenact.facts.values import describe_error, restore_error
from reenact.seams import descriptors
from reenact.seams.lanes import Lane, listening
from reenact.seams.rebinding import Rebinding
from reenact.seams.stdout import buffer_size
from reenact.seams.switchboard import begin

__all__ = ["INPUT_RULE", "PROMPT_RULE", "give_back", "take_over", "unwatch", "watch"]

INPUT_RULE: Final = "stdin/1"
"""Key of a raw read: its name alone. How much was asked for is the buffer's choice, not the agent's."""

PROMPT_RULE: Final = "prompt/1"
"""Key of a question at the terminal: its prompt, which is the body."""

_real_read = os.read
_real_input = builtins.input


def _crossed(lane: Lane, call: Call, perform: Callable[[], bytes]) -> bytes:
    """One crossing whose answer is bytes. A read may fail, or be ended by a signal: that is its outcome then."""
    crossing = begin(lane, lambda: call)
    if crossing is None:
        return perform()
    if crossing.mode == "frozen":
        outcome = crossing.outcome().wait()
        if isinstance(outcome, Failure):
            raise restore_error(outcome.error)
        return outcome.body
    if crossing.mode == "live":
        crossing.ready().wait()
    try:
        with crossing.enter():
            data = perform()
    except BaseException as error:
        crossing.settle(Failure(describe_error(error))).wait()
        raise
    crossing.settle(Value(data, media="application/octet-stream")).wait()
    return data


def _read(perform: Callable[[], bytes]) -> bytes:
    """One raw read of standard input, by whoever is calling."""
    lane = listening()
    if lane is None:
        return perform()
    return _crossed(lane, Call(Kind.INPUT, "stdin", Effect.READ, INPUT_RULE), perform)


class RawInput(io.FileIO):
    """The raw layer of standard input."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd, "rb", closefd=False)
        self._ahead = b""

    def readinto(self, buffer: Any, /) -> int:
        """One read of the operating system, or its recorded answer."""
        view = memoryview(buffer).cast("B")
        if not self._ahead:
            self._ahead = _read(lambda: io.FileIO.read(self, len(view)) or b"")
        part, self._ahead = self._ahead[: len(view)], self._ahead[len(view) :]
        view[: len(part)] = part
        return len(part)

    def read(self, size: int | None = -1, /) -> bytes:
        """Like ``readinto``, into new bytes."""
        if size is None or size < 0:
            return self.readall()
        buffer = bytearray(size)
        return bytes(buffer[: self.readinto(buffer)])

    def readall(self) -> bytes:
        """Everything up to the end."""
        parts = [self._ahead]
        self._ahead = b""
        while True:
            part = _read(lambda: io.FileIO.read(self, io.DEFAULT_BUFFER_SIZE) or b"")
            if not part:
                return b"".join(parts)
            parts.append(part)

    def isatty(self) -> bool:
        """Whether this is, or was when it was recorded, a terminal."""
        return os.isatty(self.fileno())


class _Answers:
    """What stands for ``input`` and ``os.read``: bound methods, which stay plain callables where a class holds them."""

    __slots__ = ()

    def input(self, prompt: object = "", /) -> str:
        """``input``: a question to a person where there is a terminal, else a read of ``sys.stdin``."""
        lane = listening()
        if lane is None or not self._asks_a_person():
            return _real_input(prompt)
        asked = str(prompt)
        call = Call(Kind.HUMAN, "input", Effect.READ, PROMPT_RULE, {"prompt": asked}, asked.encode(), "text/plain")
        answered = _crossed(lane, call, lambda: _question(asked))
        kind, text = answered[:1], answered[1:].decode("utf-8", "surrogateescape")
        if kind == b"-":
            raise EOFError
        return text

    def _asks_a_person(self) -> bool:
        """At a terminal, and in a block whose standard input nobody has taken over."""
        if "stdin" not in _taken:
            return True
        try:
            return sys.stdin.isatty() and sys.stdout.isatty()
        except (AttributeError, OSError, ValueError):
            return False

    def read(self, fd: int, size: int, /) -> bytes:
        """``os.read``."""
        if fd == 0 and "stdin" in _taken:
            return _read(lambda: _real_read(fd, size))
        return descriptors.read(fd, lambda: _real_read(fd, size))

    def __deepcopy__(self, _memo: object) -> _Answers:
        return self


def _question(prompt: str) -> bytes:
    """Ask; the first byte says whether there was an answer."""
    try:
        return b"+" + _real_input(prompt).encode("utf-8", "surrogateescape")
    except EOFError:
        return b"-"


_taken: dict[str, tuple[Any, Any]] = {}
_answers = _Answers()
_rebinding = Rebinding(lambda name: name.partition(".")[0] == "reenact")
_rebinding.add(builtins, "input", _real_input, _answers.input)
_rebinding.add(os, "read", _real_read, _answers.read)


_lock = threading.Lock()
_watchers = 0


def watch() -> None:
    """One more recorded block: questions asked with ``input`` are crossings, wherever standard input comes from."""
    global _watchers
    with _lock:
        _watchers += 1
        _rebinding.apply()


def unwatch() -> None:
    """One block less: after the last, ``input`` is the builtin again."""
    global _watchers
    with _lock:
        _watchers -= 1
        if not _watchers and "stdin" not in _taken:
            _rebinding.undo()


def take_over(terminal: Any = None) -> bool:
    """Take over standard input of this process; nothing may have been read from it.

    Args:
        terminal: ``stdout.facts()`` of a recording, whose encoding is used instead of the real one.

    Returns:
        False when ``sys.stdin`` is not an ordinary stream on file descriptor 0; reads of it are then not recorded.
    """
    _rebinding.apply()
    stream: Any = sys.stdin
    if "stdin" in _taken:
        return True
    told = ((terminal or {}).get("stdin")) or {}
    try:
        raw = stream.buffer.raw
        if type(stream) is not io.TextIOWrapper or type(raw) is not io.FileIO or raw.fileno() != 0:
            return False
    except (AttributeError, OSError, ValueError):
        return False
    ours: Any = RawInput(0)
    ours.name = raw.name
    rebuilt = io.TextIOWrapper(
        io.BufferedReader(ours, buffer_size(raw)),
        encoding=told.get("encoding") or stream.encoding,
        errors=told.get("errors") or stream.errors,
        newline=None if sys.platform == "win32" else "\n",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
    rebuilt.mode = stream.mode  # type: ignore[misc]
    _taken["stdin"] = (stream, rebuilt)
    sys.stdin = rebuilt
    if sys.__stdin__ is stream:
        sys.__stdin__ = rebuilt  # type: ignore[misc]
    return True


def give_back() -> None:
    """Undo ``take_over``. What was read ahead is lost."""
    if not _watchers:
        _rebinding.undo()
    taken = _taken.pop("stdin", None)
    if taken is not None:
        stream, rebuilt = taken
        if sys.stdin is rebuilt:
            sys.stdin = stream
        if sys.__stdin__ is rebuilt:
            sys.__stdin__ = stream  # type: ignore[misc]
