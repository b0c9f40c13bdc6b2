"""How a replay of one run says that a call has no recorded answer, and which command to type next."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from shlex import quote
from typing import Any

from reenact.errors import Divergence, ForkError, UnreplayableRun
from reenact.facts.call import Call, Effect, Kind
from reenact.facts.ids import tail
from reenact.facts.imported_runs import is_imported
from reenact.facts.keys import Rules, canonical_body
from reenact.facts.lazy_dataclass import replace
from reenact.facts.run import Run, Status
from reenact.replaying import divergence as words
from reenact.replaying.matching import Miss
from reenact.replaying.tape import Tape
from reenact.seams.source import is_agents


class RunDivergences:
    """The divergences of one run.

    Args:
        run: The run.
        tape: Reads its recorded calls.
        rules: How two calls are compared.
        through: Tools whose own code runs in the replay.
    """

    __slots__ = ("_rules", "_run", "_tape", "_through")

    def __init__(self, run: Run, tape: Tape, rules: Rules, through: Sequence[str] = ()) -> None:
        self._through = through
        self._run = run
        self._tape = tape
        self._rules = rules

    def next(self, event: int | None) -> str:
        """The command that shows an event, or the run."""
        name = tail(self._run.id)
        return f"reenact show {name}:{event}" if event is not None else f"reenact show {name}"

    def of_run(self, command: str) -> str:
        """The command with this run's id. Code that decodes a value knows no run, and its command names the last
        run."""
        return " ".join(tail(self._run.id) if word == "@" else word for word in command.split(" "))

    def cannot_go_on(
        self, note: Callable[[Exception], object], message: str, *, cause: str, next_command: str = ""
    ) -> ForkError:
        """The error for a resource that was answered from the recording and cannot go on live, after ``note`` was told.
        The default next command is a fork from the start, which makes the resource again."""
        if not next_command:
            cause += "; a fork from the first event on makes it again"
            next_command = f"reenact fork {tail(self._run.id)}:0 --live all --dry-run"
        error = ForkError(message, cause=cause, next_command=next_command)
        note(error)
        return error

    def miss(self, miss: Miss, call: Call, path: str) -> Divergence:
        """The divergence for a call in the lane at ``path`` that no recorded call answers."""
        nearest = miss.nearest
        next_command = self._opening(call, path) or self.next(nearest.number if nearest is not None else None)
        if miss.reason == "renamed":
            return words.renamed(nearest, miss.names, path, call, next_command)
        if miss.reason == "ambiguous":
            return words.ambiguous(nearest, call, next_command)
        if self._run.status is Status.INTERRUPTED and next(self._tape.unused(), None) is None:
            last = self._run.interrupted_at
            return words.end_of_recording(last, self.next(last), call)
        if nearest is None or miss.reason == "added":
            return words.added(call, path, next_command, imported=is_imported(self._run))
        body = self._tape.body(nearest)
        if ignore := self._rules.ignore:  # the difference must not be in parts that are not compared
            call = replace(call, body=canonical_body(call.body, call.media, ignore))
            body = canonical_body(body, nearest.call.media, ignore)
        say = words.output_differs if call.kind is nearest.call.kind is Kind.OUTPUT else words.changed
        return say(nearest, body, call, next_command)

    def _opening(self, call: Call, path: str) -> str:
        """The command of a replay in which a tool may make unrecorded calls; empty if no tool makes this call, or the
        tool writes."""
        tools = (name for name in self._through if f">{name}#" in path and call.effect is Effect.READ)
        return next((f"reenact replay {tail(self._run.id)} --live {quote(name)}" for name in tools), "")


def waiting_place() -> str | None:
    """``file:line`` of the agent's code that the main thread is in; None where it is in none. May be called from any
    thread."""
    frame: Any = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and not is_agents(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}" if frame is not None else None


def no_caller_comes(run: Run, place: str) -> UnreplayableRun:
    """The error for the replay of a program that accepts connections itself: no caller comes any more.

    Args:
        run: The run.
        place: The place where the program accepts connections, or waits.
    """
    return UnreplayableRun(
        f"the program waits at {place} for a connection, and the data of accepted connections was not recorded",
        cause="requests are recorded below a server that is known (uvicorn, wsgiref, werkzeug), not at a plain socket",
        next_command=f"reenact show {tail(run.id)}",
        missing=("connections accepted",),
    )
