"""Files whose content the policy keeps: an ``open`` for reading is a crossing, answered with the recorded content.

``open`` is replaced only while a run needs it (``Policy(file_contents=…)``), and with it ``pathlib`` and all other
users of ``io.open``. While recording, the bytes are noted, then the program gets the file itself. In a replay it gets a
file with the recorded bytes and the same name. A file that ``os.open`` opens is kept only by its hash.
"""

from __future__ import annotations

import builtins
import io
import os
import sys
import tempfile
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any, Final

from reenact.facts.call import Call, Effect, Failure, Kind, Value
from reenact.facts.errors_as_data import describe_error, restore_error
from reenact.seams import file_reads, project_paths
from reenact.seams.lanes import Lane, listening
from reenact.seams.rebinding import Rebinding
from reenact.seams.switchboard import begin, guarded

__all__ = ["rebinding"]

RULE: Final = "file/1"
"""Key of an opening: the path below the root."""

_open: Any = io.open


class _OpenFunction:
    """Replaces ``open``, and stays a plain callable where a class holds it: a bound method."""

    __slots__ = ()

    def open(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        """Open file and return a stream."""
        lane = listening()
        how = (buffering, encoding, errors, newline, closefd)
        name = None
        if lane is not None and opener is None:
            frame = sys._getframe(1)
            name = guarded(lane, lambda: _kept(lane, file, mode, frame))
        if lane is None or name is None:
            return _open(file, mode, *how, opener)
        call = Call(Kind.FILE, name, Effect.READ, RULE, {"path": name})
        crossing = begin(lane, lambda: call)
        if crossing is None or crossing.mode == "rerun":
            return _open(file, mode, *how)
        if crossing.mode == "frozen":
            return _supplied(crossing.outcome().wait(), (file, mode, *how))
        crossing.ready().wait()
        try:
            with crossing.enter():
                content = _content(file)
        except OSError as error:
            crossing.settle(Failure(describe_error(error))).wait()
            return _open(file, mode, *how)
        crossing.settle(Value(content, media="application/octet-stream")).wait()
        return _open(file, mode, *how)

    def __deepcopy__(self, _memo: object) -> _OpenFunction:
        return self


def _kept(lane: Lane, file: Any, mode: Any, frame: Any) -> str | None:
    """The name of a file whose content is kept; None for any other, and for one that the run has written itself."""
    patterns: Iterable[str] = lane.session.run.capture.get("file_contents") or ()
    text = project_paths.text_of(file)
    if not patterns or text is None or not isinstance(mode, str) or set(mode) - set("rbtU"):
        return None
    path = project_paths.absolute(text)
    name = project_paths.below(path, project_paths.root_of(lane.session.run))
    if name is None or project_paths.installed(path) or not any(fnmatchcase(name, pattern) for pattern in patterns):
        return None
    if file_reads.loads(frame) or file_reads.written(lane.session, name):
        return None
    return name if not lane.session.reaches_world or _fits(path) else None


def _fits(path: str) -> bool:
    """Whether a file is small enough to be kept; a missing file counts as small."""
    try:
        return os.path.getsize(path) <= file_reads.LARGEST and not os.path.isdir(path)
    except OSError:
        return True


def _content(file: Any) -> bytes:
    with _open(file, "rb") as stream:
        return bytes(stream.read())


def _supplied(outcome: Value | Failure, how: tuple[Any, ...]) -> Any:
    """A file of the recorded bytes that goes by the name it was opened under."""
    if isinstance(outcome, Failure):
        raise restore_error(outcome.error)
    content = outcome.body

    def stand_in(_path: Any, _flags: int) -> int:
        with tempfile.TemporaryFile() as copy:
            copy.write(content)
            copy.seek(0)
            return os.dup(copy.fileno())

    with file_reads.unseen():
        return _open(*how, stand_in)


_opening = _OpenFunction()
rebinding = Rebinding()
rebinding.add(builtins, "open", _open, _opening.open)
rebinding.add(io, "open", _open, _opening.open)
