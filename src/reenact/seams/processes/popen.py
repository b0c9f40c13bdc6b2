"""``subprocess.Popen``, and with it ``run``, ``call``, ``check_output``, ``getoutput`` and ``os.popen``.

The methods of the class itself are replaced, so that subclasses and ``isinstance`` stay what they are. In a replay the
constructor runs as always, pipes included, except the one method that starts the child.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Final

from reenact.abc.session import Frozen, Live
from reenact.facts.call import Call, Effect, End, EndKind, Failure, Json, Value
from reenact.facts.errors_as_data import describe_error
from reenact.facts.values import encode, revealed
from reenact.seams.lanes import Lane, listening
from reenact.seams.patching import replace
from reenact.seams.processes import child_runs, process_calls
from reenact.seams.processes.late_start import STREAMS, AgentProcess, late_process, pipes_of, starter, take_pipes
from reenact.seams.processes.pipes import PipeInput, PipeOutput, rewrapped
from reenact.seams.processes.process_calls import ask, further
from reenact.seams.processes.tracked_processes import track
from reenact.seams.switchboard import begin, guarded

_UNDER: Final = "_reenact_process"


def patch(module: ModuleType) -> None:
    """Hook the class."""
    popen: Any = module.Popen
    replace(popen, "__init__", lambda original: _starting(module, original))
    replace(popen, "communicate", lambda original: _communicating(module, original))
    replace(popen, "wait", lambda original: _waiting(module, original))
    replace(popen, "poll", _polling)
    replace(popen, "send_signal", _signalling)
    if sys.platform == "win32":
        replace(popen, "terminate", _ending)
        replace(popen, "kill", _ending)


# --- starting --------------------------------------------------------------------------------------------------------


def _starting(module: Any, original: Any) -> Any:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807 - it takes that one's place
        lane = listening()
        if lane is None or process_calls.probes(sys._getframe(1)):
            original(self, *args, **options)
            return
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if caller.startswith(("asyncio.", "uvloop")):  # a transport of the agent's own, which no seam reads
            lane.session.gap("process", "loop.subprocess_exec")
            original(self, *args, **options)
            return
        asked = guarded(lane, lambda: _asked(module, signature.bind(self, *args, **options).arguments))
        crossing = begin(lane, lambda: asked.call) if asked is not None else None
        if asked is None or crossing is None or crossing.mode == "rerun":
            original(self, *args, **options)
            return
        process = AgentProcess(asked.call.name, crossing.event, crossing.mode == "frozen")
        if crossing.mode == "live":
            start = functools.partial(original, self, *args, **options)
            heir = None if asked.shell else child_runs.environment_for(lane, asked.args, asked.environment)
            if heir is not None:
                given = signature.bind(self, *args, **options)
                given.arguments["env"] = heir
                start = functools.partial(original, *given.args, **given.kwargs)
            _start(self, crossing, start)
        else:
            _pretend(self, crossing, lambda: original(self, *args, **options))
        guarded(lane, lambda: process_calls.shares(lane, asked.call))
        guarded(lane, lambda: _attach(self, process, asked.bufsize))
        if crossing.mode == "frozen":
            bound = signature.bind(self, *args, **options).arguments
            again = starter(module, lane, original, bound, asked.shell)
            if again is not None:
                adopt = functools.partial(take_pipes, pipes_of(self))
                process.later = late_process(crossing, asked.args, again, adopt)

    return __init__


class _StartArguments:
    """The arguments of one start, by name and in their final form."""

    __slots__ = ("args", "bufsize", "call", "environment", "shell")

    def __init__(self, call: Call, given: Mapping[str, Any]) -> None:
        self.call = call
        self.args = given.get("args")
        self.bufsize: int = given.get("bufsize", -1)
        self.environment = given.get("env")
        self.shell = bool(given.get("shell")) or given.get("executable") is not None


def _asked(module: Any, given: Mapping[str, Any]) -> _StartArguments:
    shell = bool(given.get("shell"))
    command = process_calls.command_of(given.get("args"))
    facts: dict[str, Json] = {"cwd": process_calls.place_of(given.get("cwd"))}
    executable = given.get("executable")
    if executable is not None:
        facts["executable"] = process_calls.command_of(executable)
    changes = process_calls.changes_of(given.get("env"))
    if changes:
        facts["environment"] = changes
    names = {module.PIPE: "pipe", module.DEVNULL: "nothing", module.STDOUT: "stdout"}
    for name in STREAMS:
        target = given.get(name)
        if target is not None:
            facts[name] = names.get(target, "file") if isinstance(target, int) else "file"
    return _StartArguments(process_calls.start(command, shell, facts), given)


def _start(popen: Any, crossing: Live, start: Callable[[], None]) -> None:
    crossing.ready().wait()
    try:
        with crossing.enter():
            start()
    except Exception as error:
        crossing.settle(Failure(describe_error(error))).wait()
        raise
    except BaseException:
        crossing.dropped(End(EndKind.CANCELLED))
        raise
    crossing.settle(Value(encode({"pid": popen.pid}).body)).wait()


def _pretend(popen: Any, crossing: Frozen, start: Callable[[], None]) -> None:
    """Run the constructor without a child: its pipes are real, without another end."""
    pid = revealed(crossing.outcome().wait())["pid"]
    order = list(inspect.signature(type(popen)._execute_child).parameters)[1:]

    def execute(*args: Any, **options: Any) -> None:
        given = {**dict(zip(order, args, strict=False)), **options}
        ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        popen._close_pipe_fds(*(given[name] for name in ends))
        popen._child_created = True
        popen.pid = pid

    popen._execute_child = execute
    try:
        start()
    finally:
        del popen._execute_child


def _attach(popen: Any, process: AgentProcess, bufsize: int) -> None:
    """Put our raw layer below the streams in the agent's hands."""
    setattr(popen, _UNDER, process)
    track(popen.pid, process)
    for name, make in zip(STREAMS, (PipeOutput, PipeInput, PipeInput), strict=True):
        stream = getattr(popen, name)
        if stream is not None:
            raw = functools.partial(make, of=process, what=name)
            setattr(popen, name, rewrapped(stream, 0 if bufsize == 0 else bufsize, raw))


def _crossed(popen: Any) -> tuple[AgentProcess | None, Lane | None]:
    """The process of an object, and the calling lane; None for a process that is not ours."""
    process: AgentProcess | None = getattr(popen, _UNDER, None)
    return process, None if process is None else listening()


# --- talking, waiting, signalling --------------------------------------------------------------------------------


def _communicating(module: Any, original: Any) -> Any:
    def communicate(self: Any, input: Any = None, timeout: Any = None) -> Any:  # noqa: A002 - its name
        process, lane = _crossed(self)
        if process is None or (lane is None and not process.played):
            return original(self, input, timeout)
        if lane is None:
            return None, None
        known: AgentProcess = process
        if self._communication_started and input:
            raise ValueError("Cannot send input after starting communication")
        asked: dict[str, Json] = {} if timeout is None else {"timeout": timeout}
        if input is not None:
            asked |= {"input": input} if isinstance(input, str) else process_calls.written(bytes(input))

        def perform() -> tuple[Any, Any, Any]:
            known.begin()
            stdout, stderr = original(self, input, timeout)
            return stdout, stderr, self.returncode

        try:
            stdout, stderr, self.returncode = ask(
                lane,
                lambda: further(process.program, "communicate", process.event, Effect.WRITE, asked or None),
                perform,
            )
        except module.TimeoutExpired as expired:
            expired.cmd = self.args
            self._communication_started = True
            raise
        except KeyboardInterrupt:
            _interrupted(self, process, lane)
            raise
        self._communication_started = True
        for name in STREAMS:
            stream = getattr(self, name)
            if stream is not None:
                _close_quietly(stream)
        return stdout, stderr

    return communicate


def _close_quietly(stream: Any) -> None:
    """Close a stream that ``communicate`` leaves open; nothing needs to be flushed any more."""
    try:
        stream.close()
    except (OSError, ValueError):
        return


def _waiting(module: Any, original: Any) -> Any:
    def wait(self: Any, timeout: float | None = None) -> Any:
        process, lane = _crossed(self)
        if process is None or self.returncode is not None or (lane is None and not process.played):
            return _where_it_runs(self, process, lambda real: original(real, timeout=timeout))
        if lane is None:
            return self.returncode
        asked = None if timeout is None else {"timeout": timeout}
        try:
            self.returncode = ask(
                lane,
                lambda: further(process.program, "wait", process.event, Effect.READ, asked),
                lambda: _on_real(self, process, lambda real: original(real, timeout=timeout)),
            )
        except module.TimeoutExpired as expired:
            expired.cmd = self.args
            raise
        except KeyboardInterrupt:
            _interrupted(self, process, lane)
            raise
        return self.returncode

    return wait


def _interrupted(popen: Any, process: AgentProcess, lane: Lane) -> None:
    """Record the exit status that ``subprocess`` may have seen after Ctrl-C in a wait, waiting a moment longer."""
    popen._sigint_wait_secs = 0
    call = further(process.program, "poll", process.event)
    popen.returncode = ask(lane, lambda: call, lambda: popen.returncode)


def _polling(original: Any) -> Any:
    def poll(self: Any) -> Any:
        process, lane = _crossed(self)
        if process is None or self.returncode is not None or (lane is None and not process.played):
            return _where_it_runs(self, process, original)
        if lane is not None:
            call = functools.partial(further, process.program, "poll", process.event)
            self.returncode = ask(lane, call, lambda: _on_real(self, process, original))
        return self.returncode

    return poll


def _signalling(original: Any) -> Any:
    def send_signal(self: Any, sig: int) -> Any:
        return _signalled(self, {"signal": int(sig)}, lambda real: original(real, sig))

    return send_signal


def _ending(original: Any) -> Any:
    def end(self: Any) -> Any:
        return _signalled(self, {"signal": original.__name__}, original)

    return end


def _where_it_runs(popen: Any, process: AgentProcess | None, perform: Callable[[Any], Any]) -> Any:
    """Perform a call on the process that runs, whose id may differ from the recorded id."""
    if process is None or process.real is None or popen.returncode is not None:
        return perform(popen)
    try:
        return perform(process.real)
    finally:
        popen.returncode = process.real.returncode


def _on_real(popen: Any, process: AgentProcess, perform: Callable[[Any], Any]) -> Any:
    """Start the real process where it does not run yet, and perform a call on it."""
    process.begin()
    return _where_it_runs(popen, process, perform)


def _signalled(popen: Any, asked: Json, perform: Callable[[Any], Any]) -> Any:
    process, lane = _crossed(popen)
    if process is None or popen.returncode is not None or (lane is None and not process.played):
        return _where_it_runs(popen, process, perform)
    if lane is None:
        return None

    known: AgentProcess = process

    def send() -> Any:
        _on_real(popen, known, perform)
        return popen.returncode

    popen.returncode = ask(lane, lambda: further(process.program, "signal", process.event, Effect.WRITE, asked), send)
    return None
