"""The standard output streams: everything the agent prints is noted on its way out, unchanged and undelayed.

There are two ways, one for each kind of recording. A recorded *process* takes the streams over before any of its code
runs: the raw layer under ``sys.stdout`` and ``sys.stderr`` is replaced by one that notes the bytes that the operating
system accepted. So ``print``, ``sys.stdout.buffer`` and ``os.write`` are all seen, in the chunks in which they left. A
recorded *block* notes the text that its own lanes write to the present ``sys.stdout``.

A program may ask whether it writes to a terminal, and then print other text. The answer is part of the recording
(``facts``), and a replay gives the streams the same facts.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import io
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from reenact.facts.call import Json
from reenact.facts.interruptions import by_signal_handler, let_through
from reenact.seams import descriptors
from reenact.seams.lanes import listening
from reenact.seams.rebinding import Rebinding

__all__ = ["OutputDigest", "buffer_size", "facts", "flush", "rebinding", "take_over", "unwatch", "watch"]

OnBytes = Callable[[int, bytes], None]
"""Takes the stream (1 or 2) and bytes; its faults are swallowed."""

_NAMES: Final = {0: "stdin", 1: "stdout", 2: "stderr"}
_real_write = os.write
_real_isatty = os.isatty
_real_size: Callable[..., os.terminal_size] | None = getattr(os, "get_terminal_size", None)


class OutputDigest:
    """The digests of the output, one for each stream. A digest does not depend on how the output was split into writes.

    Args:
        key: Key of the digest, at most 64 bytes.
    """

    __slots__ = ("_hashes", "sizes")

    def __init__(self, key: bytes = b"") -> None:
        self._hashes = {stream: hashlib.blake2b(digest_size=32, key=key) for stream in (1, 2)}
        self.sizes = {1: 0, 2: 0}

    def update(self, stream: int, data: bytes) -> None:
        """Add data that was written to a stream."""
        self._hashes[stream].update(data)
        self.sizes[stream] += len(data)

    def hexdigest(self, stream: int) -> str:
        """Digest of everything so far."""
        return self._hashes[stream].hexdigest()


class RawOutput(io.FileIO):
    """The raw layer of an output stream: writes, then reports the written bytes."""

    def __init__(self, fd: int, told: _OutputListener) -> None:
        super().__init__(fd, "wb", closefd=False)
        self._told = told

    def write(self, data: Any, /) -> int:
        """Write, and report only the bytes that the operating system took."""
        count = self._told.unheard(data, lambda: io.FileIO.write(self, data))
        if count:
            self._told.note(self.fileno(), memoryview(data).cast("B")[:count])
        return count

    def isatty(self) -> bool:
        """Whether the stream is a terminal; in a replay, whether it was one when it was recorded."""
        return self._told.isatty(self.fileno())


class _OutputListener:
    """The listener to output, and the terminal that the program sees."""

    __slots__ = ("on_bytes", "terminal")

    def __init__(self) -> None:
        self.on_bytes: OnBytes | None = None
        self.terminal: Mapping[str, Json] | None = None

    def note(self, stream: int, data: memoryview) -> None:
        """Pass on a copy; a fault of the recorder ends here."""
        on_bytes = self.on_bytes
        if on_bytes is None or stream not in (1, 2):
            return
        try:
            on_bytes(stream, bytes(data))
        except Exception as error:
            let_through(error)
            self.on_bytes = None  # the listener has failed for good: the output itself goes on

    def unheard(self, data: Any, write: Callable[[], int]) -> int:
        """Call ``write``. A replay ignores its OSError, which the recorded program did not meet."""
        try:
            return write()
        except OSError:
            if self.terminal is None:
                raise
            return memoryview(data).nbytes

    def isatty(self, fd: int) -> bool:
        """``os.isatty``."""
        if self.terminal is not None and fd in _NAMES:
            return bool((self.terminal.get(_NAMES[fd]) or {}).get("tty"))
        return _real_isatty(fd)

    def get_terminal_size(self, fd: int = 1, /) -> os.terminal_size:
        """``os.get_terminal_size``."""
        if self.terminal is not None and fd in _NAMES:
            size = self.terminal.get("size")
            if not size or not self.isatty(fd):
                raise OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))
            return os.terminal_size(size)
        assert _real_size is not None
        return _real_size(fd)

    def write(self, fd: int, data: Any, /) -> int:
        """``os.write``."""
        count: int = descriptors.write(fd, data, lambda: self._plain_write(fd, data))
        if count and fd in (1, 2) and self.on_bytes is not None:
            self.note(fd, memoryview(data).cast("B")[:count])
        return count

    def _plain_write(self, fd: int, data: Any) -> int:
        write = functools.partial(_real_write, fd, data)
        return self.unheard(data, write) if fd in (1, 2) else write()

    def __deepcopy__(self, _memo: object) -> _OutputListener:
        return self


_told = _OutputListener()
rebinding = Rebinding()
rebinding.add(os, "write", _real_write, _told.write)
rebinding.add(os, "isatty", _real_isatty, _told.isatty)
if _real_size is not None:
    rebinding.add(os, "get_terminal_size", _real_size, _told.get_terminal_size)


def facts() -> dict[str, Json]:
    """The facts that the program can see of its standard streams: terminal or not, size, encoding, buffering."""
    seen: dict[str, Json] = {}
    for fd, name in _NAMES.items():
        stream = getattr(sys, name)
        if stream is None:
            seen[name] = None
            continue
        told = {key: getattr(stream, key, None) for key in ("encoding", "errors", "line_buffering", "write_through")}
        try:
            told["tty"] = _real_isatty(fd)
        except OSError:
            told["tty"] = False
        seen[name] = told
    seen["size"] = None
    for fd in _NAMES:
        try:
            if _real_size is not None:
                seen["size"] = list(_real_size(fd))
                break
        except OSError:
            continue
    return seen


_taken: dict[str, tuple[Any, Any]] = {}


def take_over(on_bytes: OnBytes, *, terminal: Mapping[str, Json] | None = None) -> list[str]:
    """Take over standard output and error of this process.

    Args:
        on_bytes: Called with everything written from now on, also by threads and at the interpreter's exit.
        terminal: ``facts()`` of a recording, which the program sees instead of the real terminal. Given only in a
            replay, where a write that fails is not reported to the program.

    Returns:
        Names of the streams that could not be taken over at the raw layer, and are watched instead.
    """
    _told.on_bytes = on_bytes
    _told.terminal = terminal
    watched = []
    for fd, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if stream is None or name in _taken:
            continue
        rebuilt = _rebuilt(stream, fd, name)
        if rebuilt is None:
            watched.append(name)
            _watch_one(stream, fd, lambda number, data: _told.note(number, memoryview(data)))
            continue
        _taken[name] = (stream, rebuilt)
        setattr(sys, name, rebuilt)
        if getattr(sys, f"__{name}__") is stream:
            setattr(sys, f"__{name}__", rebuilt)
    rebinding.join()  # for the life of the process
    return watched


def flush() -> None:
    """Flush standard output and error. A failure here happens again, and is reported, at the interpreter's exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            continue


def _rebuilt(stream: Any, fd: int, name: str) -> io.TextIOWrapper | None:
    """The same stream on our raw layer; None if it is not an ordinary stream on its own file descriptor."""
    try:
        buffer = stream.buffer
        raw = buffer if isinstance(buffer, io.FileIO) else buffer.raw
        if type(stream) is not io.TextIOWrapper or type(raw) is not io.FileIO or raw.fileno() != fd:
            return None
        stream.flush()
    except (AttributeError, OSError, ValueError):
        return None
    ours: Any = RawOutput(fd, _told)
    ours.name = raw.name
    told = ((_told.terminal or {}).get(name)) or {}
    rebuilt = io.TextIOWrapper(
        ours if buffer is raw else io.BufferedWriter(ours, buffer_size(raw)),
        encoding=told.get("encoding") or stream.encoding,
        errors=told.get("errors") or stream.errors,
        newline=None if sys.platform == "win32" else "\n",
        line_buffering=told.get("line_buffering", stream.line_buffering),
        write_through=told.get("write_through", stream.write_through),
    )
    rebuilt.mode = stream.mode  # type: ignore[misc]
    return rebuilt


def buffer_size(raw: io.FileIO) -> int:
    """The buffer size that ``open`` would choose for this file, so that the same number of bytes leaves at once."""
    size: int = getattr(raw, "_blksize", 0)
    if sys.version_info >= (3, 14):
        return max(min(size, 8192 * 1024), io.DEFAULT_BUFFER_SIZE)
    return size if size > 1 else io.DEFAULT_BUFFER_SIZE


_lock = threading.Lock()
_watched: dict[int, tuple[Any, Any, Any]] = {}
_watchers = 0


def watch() -> None:
    """One more recorded block has begun: the output of its lanes to the two streams goes to their sessions."""
    global _watchers
    with _lock:
        _watchers += 1
        for fd, name in ((1, "stdout"), (2, "stderr")):
            stream = getattr(sys, name)
            if stream is not None and id(stream) not in _watched:
                _watch_one(stream, fd, None)


def unwatch() -> None:
    """One block has ended. After the last one, the streams are the program's again."""
    global _watchers
    with _lock:
        _watchers -= 1
        if _watchers:
            return
        for stream, write, before in _watched.values():
            if vars(stream).get("write") is not write:
                continue
            if before is None:
                del stream.write
            else:
                stream.write = before
        _watched.clear()


@contextmanager
def watched() -> Iterator[None]:
    """Call ``watch``, and ``unwatch`` at the end of the block."""
    watch()
    try:
        yield
    finally:
        unwatch()


def _watch_one(stream: Any, fd: int, on_bytes: OnBytes | None) -> None:
    """Note the output to this stream object; without a listener, in the session of the writing lane."""
    original = stream.write
    before = getattr(stream, "__dict__", {}).get("write")

    def write(text: Any) -> Any:
        result = original(text)
        lane = None if on_bytes is not None else listening()
        if on_bytes is None and (lane is None or lane.quiet):
            return result
        try:
            data = _encoded(stream, text)
            if on_bytes is not None:
                on_bytes(fd, data)
            elif lane is not None:
                lane.session.printed(fd, data)
        except Exception as error:
            if by_signal_handler(error) or (lane is not None and lane.session.fault(error)):
                raise
        return result

    try:
        stream.write = write
    except (AttributeError, TypeError):
        return
    if on_bytes is None:
        _watched[id(stream)] = (stream, write, before)


def _encoded(stream: Any, text: Any) -> bytes:
    if isinstance(text, str):
        return text.encode(getattr(stream, "encoding", None) or "utf-8", getattr(stream, "errors", None) or "strict")
    return bytes(text)


def _silence() -> None:
    """In a forked child, note no output: the child is not part of this run."""
    _told.on_bytes = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_silence)
