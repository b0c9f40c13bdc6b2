"""The raw layer of a process's streams in the agent's hands: data that is read is noted or replayed; each write is a
call.

The buffering and decoding above stay the standard library's own. Reads of a blocking pipe are one packed stream. Each
read of a non-blocking pipe is a call of its own, since *nothing yet* is an answer too.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from reenact.abc.session import Frozen, Live
from reenact.facts.call import Effect, End, EndKind
from reenact.facts.errors_as_data import describe_error, restore_error
from reenact.seams import descriptors
from reenact.seams.lanes import Lane, listening
from reenact.seams.processes.channels import ProcessChannel
from reenact.seams.processes.process_calls import ask, further, written
from reenact.seams.stdout import buffer_size
from reenact.seams.switchboard import begin

T = TypeVar("T")

READ_AT_ONCE = 65_536
"""The size of a read that wants all data, in bytes: the capacity of a pipe."""


class PipeOwner(Protocol):
    """The part of a process that a pipe knows."""

    program: str
    event: int
    played: bool

    def begin(self) -> None:
        """Start the process before its first live use, where its start was answered from a recording."""


class _Pipe(io.RawIOBase):
    """The common part of both directions: the real file below, which keeps the descriptor.

    Args:
        inner: The file that ``Popen`` opened.
        of: The process.
        what: ``stdin``, ``stdout`` or ``stderr``.
    """

    def __init__(self, inner: io.FileIO, of: PipeOwner, what: str) -> None:
        super().__init__()
        self._inner = inner
        self._of = of
        self._what = what
        self.name = inner.name
        self.mode = inner.mode

    def fileno(self) -> int:
        """The descriptor; from now on the agent may read and write past us."""
        fd = self._inner.fileno()
        if listening() is not None:
            descriptors.know(fd, ProcessChannel(self._of.program, self._of.event, self._what, self._of.begin))
        return fd

    def isatty(self) -> bool:
        """A pipe is no terminal."""
        return False

    def close(self) -> None:
        """Close the descriptor."""
        if not self.closed:
            try:
                super().close()
            finally:
                descriptors.forget(self._inner.fileno())
                self._inner.close()

    def _begun(self, perform: Callable[[], T]) -> T:
        """Perform an operation on a process that exists."""
        self._of.begin()
        return perform()

    def _blocks(self) -> bool:
        return not hasattr(os, "get_blocking") or os.get_blocking(self._inner.fileno())


class PipeOutput(_Pipe):
    """Standard input of a process: each write is a call that must match."""

    def writable(self) -> bool:
        """True, unless the pipe is closed."""
        return not self._closed_check()

    def _closed_check(self) -> bool:
        if self.closed:
            raise ValueError("I/O operation on closed file")
        return False

    def write(self, data: Any, /) -> int | None:
        """Write, or compare with what was written."""
        self._closed_check()
        lane = listening()
        if lane is None:
            return len(data) if self._of.played else self._inner.write(data)
        whole = bytes(data)
        of = self._of
        return ask(
            lane,
            lambda: further(of.program, self._what, of.event, Effect.WRITE, written(whole)),
            lambda: self._begun(lambda: self._inner.write(whole)),
        )


class PipeInput(_Pipe):
    """Standard output or error of a process."""

    def __init__(self, inner: io.FileIO, of: PipeOwner, what: str) -> None:
        super().__init__(inner, of, what)
        self._crossing: Live | Frozen | None = None
        self._ahead = b""
        self._ended = False

    def readable(self) -> bool:
        """True, unless the pipe is closed."""
        if self.closed:
            raise ValueError("I/O operation on closed file")
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        """One read, or its recorded answer."""
        view = memoryview(buffer).cast("B")
        if not self._ahead:
            data = self._next(len(view))
            if data is None:
                return None
            self._ahead = data
        part, self._ahead = self._ahead[: len(view)], self._ahead[len(view) :]
        view[: len(part)] = part
        return len(part)

    def readall(self) -> bytes:
        """Read everything up to the end."""
        parts = [self._ahead]
        self._ahead = b""
        while data := self._next(READ_AT_ONCE):
            parts.append(data)
        return b"".join(parts)

    def close(self) -> None:
        """Close the stream before its end."""
        if not self.closed and self._crossing is not None and not self._ended:
            self._ended = True
            if self._crossing.mode == "live":
                self._crossing.dropped(End(EndKind.CLOSED))
            else:
                self._crossing.dropped()
        super().close()

    def _next(self, size: int) -> bytes | None:
        """The next data, at most ``size`` bytes while recording; empty at the end."""
        if self.closed:
            raise ValueError("read of closed file")
        if self._ended:
            return b""
        lane = listening()
        if lane is None:
            return b"" if self._of.played else self._inner.read(size)
        of = self._of
        if not self._blocks():
            return ask(
                lane,
                lambda: further(of.program, self._what, of.event),
                lambda: self._begun(lambda: self._inner.read(size)),
            )
        if self._crossing is None:
            crossing = begin(lane, lambda: further(of.program, self._what, of.event))
            if crossing is None or crossing.mode == "rerun":
                return self._inner.read(size)
            self._crossing = crossing
            if crossing.mode == "live":
                crossing.ready().wait()
                crossing.head({"stream": self._what, "framing": "payload", "headers": []}).wait()
            else:
                crossing.head().wait()
        if self._crossing.mode == "live":
            return self._taped(lane, self._crossing, size)
        return self._played(self._crossing)

    def _taped(self, lane: Lane, crossing: Live, size: int) -> bytes:
        try:
            with crossing.enter():
                self._of.begin()
                data = self._inner.read(size) or b""
        except Exception as error:
            self._ended = True
            crossing.end(End(EndKind.ERROR, describe_error(error))).wait()
            raise
        if data:
            crossing.segment(data).wait()
        else:
            self._ended = True
            crossing.end(End(EndKind.EOF)).wait()
        return data

    def _played(self, crossing: Frozen) -> bytes:
        part = crossing.part().wait()
        if isinstance(part, bytes):
            return part
        self._ended = True
        if part.error is not None:
            raise restore_error(part.error)
        return b""


def rewrapped(stream: Any, bufsize: int, make: Callable[[io.FileIO], _Pipe]) -> Any:
    """The same stream, text or binary and with the same buffer, on our raw layer.

    Args:
        stream: The stream that ``Popen`` made of a pipe.
        bufsize: The argument of ``Popen``.
        make: Makes the raw layer.
    """
    told: dict[str, Any] | None = None
    if isinstance(stream, io.TextIOWrapper):
        names = ("encoding", "errors", "line_buffering", "write_through")
        told = {name: getattr(stream, name) for name in names}
        stream = stream.detach()
    raw: Any = stream if isinstance(stream, io.FileIO) else stream.detach()
    ours: Any = make(raw)
    if raw is not stream:
        size = bufsize if bufsize > 1 else buffer_size(raw)
        ours = io.BufferedWriter(ours, size) if isinstance(ours, PipeOutput) else io.BufferedReader(ours, size)
    return ours if told is None else io.TextIOWrapper(ours, **told)
