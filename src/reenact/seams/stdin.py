"""Standard input: questions are crossings keyed by their prompt, and so is each raw read, by its name alone.

``input()`` is a question, answered by a person at a terminal (whom the C library reads, past ``sys.stdin``) or by a
line of ``sys.stdin``; a replay gives each question its own answer, in any order. Text that was read in advance for a
question is kept with its answer, so that later reads continue at the right place.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import sys
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any, Final

from reenact.facts.call import Call, Effect, Failure, Kind, Value
from reenact.facts.values import describe_error, restore_error
from reenact.seams import descriptors
from reenact.seams.lanes import Lane, listening
from reenact.seams.rebinding import Rebinding
from reenact.seams.stdout import buffer_size
from reenact.seams.switchboard import begin
from reenact.seams.waits import outside

__all__ = ["INPUT_RULE", "PROMPT_RULE", "is_ours", "rebinding", "take_over"]

INPUT_RULE: Final = "stdin/1"
"""Key of a raw read: its name alone. The requested size is left out, because the buffer chooses it, not the agent."""

PROMPT_RULE: Final = "prompt/1"
"""Key of a question: its prompt, which is the body."""

_ENDED: Final = "EOF when reading a line"
"""The error text of ``input`` at the end of standard input, where there is no terminal."""

_real_read = os.read
_real_input = builtins.input


def _crossed(lane: Lane, call: Call, perform: Callable[[], bytes]) -> bytes:
    """One crossing whose answer is bytes. If a read fails or is ended by a signal, this is its outcome."""
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
    """One raw read of standard input, by any caller."""
    lane = listening()
    if lane is None:
        return perform()
    return _crossed(lane, Call(Kind.INPUT, "stdin", Effect.READ, INPUT_RULE), perform)


class RawInput(io.FileIO):
    """The raw layer of standard input."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd, "rb", closefd=False)
        self._ahead = b""
        self._asked: Callable[[int], bytes] | None = None
        self._owed = 0

    def _more(self, size: int) -> bytes:
        """Read from the system. This is a crossing, unless a question is being answered, which is a crossing itself."""
        if self._asked is not None:
            return self._asked(size)
        return _read(lambda: outside(io.FileIO.read, self, size) or b"")

    def answer(self, line: Callable[[], str]) -> tuple[str, bytes]:
        """Read one line for a question. Returns it with the bytes that were read from the system for it."""
        chunks: list[bytes] = []

        def ask(size: int) -> bytes:
            chunks.append(outside(io.FileIO.read, self, size) or b"")
            return chunks[-1]

        self._asked = ask
        try:
            return line(), b"".join(chunks)
        except UnicodeError as error:
            raise _NoText(b"".join(chunks), error) from None
        finally:
            self._asked = None

    def catch_up(self, line: Callable[[], str], chunk: bytes) -> None:
        """Go to the position of the stream after a recorded answer: feed the data that was read then, and pass over a
        line. If questions come in another order, lines that are still missing are skipped when they come.
        """
        self._ahead += chunk
        self._owed += 1
        self._asked = lambda size: b""
        try:
            while self._owed and line():
                self._owed -= 1
        finally:
            self._asked = None

    def readinto(self, buffer: Any, /) -> int:
        """One read of the operating system, or its recorded answer."""
        view = memoryview(buffer).cast("B")
        if not self._ahead:
            self._ahead = self._more(len(view))
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
        """Read everything up to the end."""
        parts = [self._ahead]
        self._ahead = b""
        while True:
            part = self._more(io.DEFAULT_BUFFER_SIZE)
            if not part:
                return b"".join(parts)
            parts.append(part)

    def isatty(self) -> bool:
        """Whether the stream is a terminal; in a replay, whether it was one when it was recorded."""
        return os.isatty(self.fileno())


class _Answers:
    """The replacements for ``input`` and ``os.read``: bound methods, which stay plain callables in a class."""

    __slots__ = ()

    def input(self, prompt: object = "", /) -> str:
        """``input``: a question to a person at a terminal, or a read of standard input."""
        lane = listening()
        if lane is None:
            return _real_input(prompt)
        person = _is_asked_at_a_terminal(lane)
        raw = None if person else _our_raw()
        if not person and raw is None and ("stdin" in _taken or sys.stdout is None):
            return _real_input(prompt)
        asked = str(prompt)
        body = asked.encode("utf-8", "surrogateescape")
        call = Call(Kind.HUMAN, "input", Effect.READ, PROMPT_RULE, {"prompt": asked}, body, "text/plain")
        if raw is not None:
            return _line_for(raw, lane, call, asked)
        if not person:
            _show(asked)
        answered = _crossed(lane, call, lambda: _question(asked if person else ""))
        kind, text = answered[:1], answered[1:].decode("utf-8", "surrogateescape")
        if kind == b"-":
            raise EOFError(*(() if person else (_ENDED,)))
        return text

    def read(self, fd: int, size: int, /) -> bytes:
        """``os.read``."""
        if fd == 0 and "stdin" in _taken:
            return _read(lambda: outside(_real_read, fd, size))
        return descriptors.read(fd, lambda: _real_read(fd, size))

    def __deepcopy__(self, _memo: object) -> _Answers:
        return self


def _is_asked_at_a_terminal(lane: Lane) -> bool:
    """Whether questions are asked at a terminal, where the prompt is no output of the program. A recorded block has not
    replaced standard input: its process had a terminal if that is noted, or a notebook asks in its place."""
    if "stdin" not in _taken:
        told = lane.session.run.environment.get("streams") or {}
        terminal = all((told.get(name) or {}).get("tty") for name in ("stdin", "stdout"))
        return terminal or not isinstance(_real_input, BuiltinFunctionType)
    try:
        return sys.stdin.isatty() and sys.stdout.isatty()
    except (AttributeError, OSError, ValueError):
        return False


def _show(prompt: str) -> None:
    """Print a prompt, as ``input`` does where there is no terminal."""
    with contextlib.suppress(Exception):
        sys.stderr.flush()
    sys.stdout.write(prompt)
    sys.stdout.flush()


def _question(prompt: str) -> bytes:
    """Ask the person at the terminal. The first byte of the result says whether there was an answer."""
    try:
        text: str = outside(_real_input, prompt)
        return b"+" + text.encode("utf-8", "surrogateescape")
    except EOFError:
        return b"-"


class _NoText(Exception):
    """A line of standard input cannot be decoded as text in its encoding."""

    def __init__(self, chunk: bytes, error: UnicodeError) -> None:
        super().__init__(chunk)
        self.chunk = chunk
        self.error = error


def _our_raw() -> RawInput | None:
    """The raw layer below ``sys.stdin``, if we have made that stream and a prompt can be shown; else None."""
    stream: Any = sys.stdin
    if "stdin" not in _taken or stream is not _taken["stdin"][1] or sys.stdout is None or sys.stderr is None:
        return None
    raw: RawInput = stream.buffer.raw
    return raw


def _line_for(raw: RawInput, lane: Lane, call: Call, prompt: str) -> str:
    """Answer a question from a pipe or a file: print the prompt and read a line, as ``input`` does."""
    _show(prompt)
    performed: list[str] = []
    faults: list[UnicodeError] = []

    def perform() -> bytes:
        try:
            line, chunk = raw.answer(sys.stdin.readline)
        except _NoText as fault:
            faults.append(fault.error)
            return b"?\n" + fault.chunk
        performed.append(line)
        told = line.removesuffix("\n").encode("utf-8", "surrogateescape")
        return (b"+" + told if line else b"-") + b"\n" + chunk

    answered = _crossed(lane, call, perform)
    if faults:
        raise faults[0]
    kind, text, chunk = _parted(answered)
    if not performed:
        raw.catch_up(sys.stdin.readline, chunk)  # a line that cannot be decoded fails here, as in the recording
    if kind == b"-":
        raise EOFError(_ENDED)
    return text


def _parted(answered: bytes) -> tuple[bytes, str, bytes]:
    """An answer: its kind, its text, and the bytes that were read from the system for it."""
    text, _, chunk = answered[1:].partition(b"\n")
    return answered[:1], text.decode("utf-8", "surrogateescape"), chunk


_taken: dict[str, tuple[Any, Any]] = {}
_answers = _Answers()
rebinding = Rebinding()
rebinding.add(builtins, "input", _real_input, _answers.input)
rebinding.add(os, "read", _real_read, _answers.read)


def is_ours() -> bool:
    """Whether standard input of this process is replaced by a stream, so that no person answers."""
    return "stdin" in _taken


def take_over(terminal: Any = None) -> bool:
    """Take over standard input of this process; nothing may have been read from it.

    Args:
        terminal: ``stdout.facts()`` of a recording, whose encoding is used instead of the real one.

    Returns:
        False when ``sys.stdin`` is not an ordinary stream on file descriptor 0; reads of it are then not recorded.
    """
    stream: Any = sys.stdin
    if "stdin" in _taken:
        return True
    rebinding.join()  # for the life of the process
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
