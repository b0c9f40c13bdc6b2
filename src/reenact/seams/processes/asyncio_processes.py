"""asyncio's processes: ``create_subprocess_exec`` and ``create_subprocess_shell``, and so anyio's, built on them.

The process object is asyncio's own, or a subclass of it; the agent's streams are subclasses of asyncio's. They read the
next part only when the agent waits for it, in the agent's task. While recording they drain the streams of the real
transport; in a replay there is no transport.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

from reenact.abc.session import Frozen, Live, Turn
from reenact.facts.call import Call, Effect, End, EndKind, Failure, Json, Value
from reenact.facts.errors_as_data import describe_error, restore_error
from reenact.facts.values import encode, revealed, sealed
from reenact.seams.colours import in_coroutine
from reenact.seams.lanes import listening
from reenact.seams.late_resource import LateResource
from reenact.seams.patching import replace
from reenact.seams.processes import child_runs, process_calls
from reenact.seams.processes.late_start import STREAMS, late_process, later_coroutine, take_streams
from reenact.seams.processes.pipes import READ_AT_ONCE
from reenact.seams.processes.process_calls import ask, further
from reenact.seams.processes.tracked_processes import track
from reenact.seams.switchboard import across, begin, guarded
from reenact.seams.turns import rejoin_cancelled


def patch(module: ModuleType) -> None:
    """Hook the two functions, in both places where they are found."""
    replace(module.subprocess, "create_subprocess_exec", lambda original: _creating(original, shell=False))
    replace(module.subprocess, "create_subprocess_shell", lambda original: _creating(original, shell=True))
    for name in ("create_subprocess_exec", "create_subprocess_shell"):
        setattr(module, name, getattr(module.subprocess, name))


def _creating(original: Any, *, shell: bool) -> Any:
    @functools.wraps(original)
    async def create(*args: Any, **options: Any) -> Any:
        lane = listening()
        if lane is None:
            return await original(*args, **options)
        call = guarded(lane, lambda: _described(args, options, shell))
        crossing = begin(lane, lambda: call) if call is not None else None
        if call is None or crossing is None or crossing.mode == "rerun":
            return await original(*args, **options)
        limit = options.get("limit", 2**16)
        if crossing.mode == "frozen":
            process = await _pretend(call.name, crossing, options, limit)
            guarded(lane, lambda: process_calls.shares(lane, call))
            start = later_coroutine(lane, original, args, options, shell)
            if start is not None:
                process._reenact_later = late_process(
                    crossing, list(args), start, functools.partial(take_streams, process), asyncio.Lock()
                )
            return process
        heir = None
        if not shell and options.get("executable") is None:
            heir = child_runs.environment_for(lane, args, options.get("env"))
        given = options if heir is None else {**options, "env": heir}
        process = await _start(crossing, lambda: original(*args, **given))
        guarded(lane, lambda: process_calls.shares(lane, call))
        guarded(lane, lambda: _attach(process, call.name, crossing.event, limit))
        return process

    return create


def _described(args: tuple[Any, ...], options: dict[str, Any], shell: bool) -> Call:
    command = process_calls.command_of(args[0] if shell else args)
    facts: dict[str, Json] = {"cwd": process_calls.place_of(options.get("cwd"))}
    changes = process_calls.changes_of(options.get("env"))
    if changes:
        facts["environment"] = changes
    library = asyncio.subprocess
    names = {library.PIPE: "pipe", library.DEVNULL: "nothing", library.STDOUT: "stdout"}
    for name in STREAMS:
        target = options.get(name)
        if target is not None:
            facts[name] = names.get(target, "file") if isinstance(target, int) else "file"
    return process_calls.start(command, shell, facts)


async def _start(crossing: Live, start: Callable[[], Awaitable[Any]]) -> Any:
    await crossing.ready()
    try:
        with crossing.enter():
            process = await start()
    except Exception as error:
        await crossing.settle(Failure(describe_error(error)))
        raise
    except BaseException as error:
        crossing.dropped(End(EndKind.CANCELLED))
        await rejoin_cancelled(error)
        raise
    await crossing.settle(Value(encode({"pid": process.pid}).body))
    return process


async def _pretend(program: str, crossing: Frozen, options: dict[str, Any], limit: int) -> Any:
    pid = revealed(await crossing.outcome())["pid"]
    pipes = [name for name in STREAMS if options.get(name) == asyncio.subprocess.PIPE]
    process: Any = SeamProcess.__new__(SeamProcess)
    process.pid = pid
    process._loop = asyncio.get_running_loop()
    process._transport = _NoTransport()
    process._protocol = None
    process.stdin = process.stdout = process.stderr = None
    process._reenact_set(program, crossing.event, True)
    for name in pipes:
        setattr(process, name, _stream(process, name, None, limit))
    return process


def _attach(process: Any, program: str, event: int, limit: int) -> None:
    """Make the real object ours, and put our streams into its hands."""
    process.__class__ = SeamProcess
    process._reenact_set(program, event, False)
    for name in STREAMS:
        real = getattr(process, name)
        if real is not None:
            setattr(process, name, _stream(process, name, real, limit))


def _stream(process: SeamProcess, name: str, real: Any, limit: int) -> Any:
    if name == "stdin":
        return SeamWriter(process, real)
    return SeamReader(process, name, real, limit)


class _NoTransport:
    """Stands where the transport of a process that never ran would be."""

    def get_pipe_transport(self, _fd: int) -> _NoTransport:
        """Stands for the transport of a pipe: does nothing."""
        return self

    def get_extra_info(self, _name: str, default: Any = None) -> Any:
        """Give the default: nothing is known."""
        return default

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    resume_reading = pause_reading = close

    def is_closing(self) -> bool:
        """True: there is no transport that could be open."""
        return True


class SeamProcess(asyncio.subprocess.Process):
    """A process whose exit, signals and streams are crossings."""

    program: str
    event: int
    played: bool
    _reenact_code: int | None
    _reenact_later: LateResource | None = None

    def _reenact_set(self, program: str, event: int, played: bool) -> None:
        self.program = program
        self.event = event
        self.played = played
        self._reenact_code = None
        track(self.pid, self)

    def begin(self) -> None:
        """Called before a plain function is performed on the process, so that no wait is possible."""
        later = self._reenact_later
        if later is not None and later.real is None:
            raise later.failed(RuntimeError("its first call is not a coroutine, so it cannot wait for the start"))

    async def begun(self) -> None:
        """Called before a coroutine is performed on the process. Starts the process if that is still to be done."""
        if self._reenact_later is not None:
            await in_coroutine(self._reenact_later.begin())

    @property
    def returncode(self) -> int | None:
        """The exit status once it is known; until then, each look is a call."""
        if self._reenact_code is None:
            lane = listening()
            if lane is not None:
                describe = functools.partial(further, self.program, "poll", self.event)
                self._reenact_code = ask(lane, describe, self._looked)
            elif not self.played:
                return self._real_code()
        return self._reenact_code

    def _looked(self) -> int | None:
        self.begin()
        return self._real_code()

    def _real_code(self) -> int | None:
        return self._transport.get_returncode()  # type: ignore[attr-defined,no-any-return]

    async def wait(self) -> int:
        """Wait for the exit."""
        if self._reenact_code is None:
            lane = listening()
            if lane is None:
                return await super().wait()
            describe = functools.partial(further, self.program, "wait", self.event)
            wait = super().wait

            async def waited() -> int:
                await self.begun()
                return await wait()

            self._reenact_code = await across(lane, describe, waited, sealed, revealed)
        code: Any = self._reenact_code
        return code  # type: ignore[no-any-return]

    def send_signal(self, signal: int) -> None:
        """Send a signal."""
        self._signalled({"signal": int(signal)}, lambda: super(SeamProcess, self).send_signal(signal))

    def terminate(self) -> None:
        """Ask the process to end."""
        self._signalled({"signal": "terminate"}, super().terminate)

    def kill(self) -> None:
        """Kill the process."""
        self._signalled({"signal": "kill"}, super().kill)

    def _signalled(self, asked: Json, perform: Callable[[], None]) -> None:
        lane = listening()
        if lane is not None:

            def performed() -> None:
                self.begin()
                perform()

            ask(lane, lambda: further(self.program, "signal", self.event, Effect.WRITE, asked), performed)
        elif not self.played:
            perform()


class SeamReader(asyncio.StreamReader):
    """Standard output or error of a process.

    Args:
        of: The process.
        what: The name of the stream.
        real: The reader that the transport feeds; None in a replay.
        limit: The agent's limit.
    """

    def __init__(self, of: SeamProcess, what: str, real: asyncio.StreamReader | None, limit: int) -> None:
        super().__init__(limit=limit, loop=asyncio.get_running_loop())
        self._of = of
        self._what = what
        self._real = real
        self._crossing: Live | Frozen | None = None
        self._turn: Turn[Any] | None = None
        self._held = b""

    def __del__(self) -> None:
        if self._crossing is not None and not self.at_end():
            if self._crossing.mode == "live":
                self._crossing.dropped(End(EndKind.CLOSED))
            else:
                self._crossing.dropped()

    def leads_to(self, real: asyncio.StreamReader) -> None:
        """The process has been started now."""
        self._real = real

    def at_end(self) -> bool:
        """Whether the end of the stream has been handed over."""
        return bool(self._eof)  # type: ignore[attr-defined]

    async def read(self, n: int = -1) -> bytes:
        """Read as asyncio's reader does; arrived parts are read one by one."""
        return await super().read(n)

    async def _wait_for_data(self, func_name: str) -> None:
        """Wait for more data; every reading method of the class comes here."""
        crossing = await self._begun()
        if crossing is None:
            if self._real is None:
                self.feed_eof()
            else:
                self._fed(await self._real.read(READ_AT_ONCE))
        elif crossing.mode == "live":
            await self._taped(crossing)
        else:
            turn = self._turn = self._turn or crossing.part()  # a cancelled reader leaves the turn to the next one
            part = await turn
            self._turn = None
            if isinstance(part, bytes):
                self.feed_data(part)
            elif part.error is not None:
                self.set_exception(restore_error(part.error))  # type: ignore[arg-type]
            else:
                self.feed_eof()

    def _fed(self, data: bytes) -> None:
        if data:
            self.feed_data(data)
        else:
            self.feed_eof()

    async def _begun(self) -> Live | Frozen | None:
        if self._crossing is not None:
            return self._crossing
        lane = listening()
        if lane is None:
            return None
        crossing = begin(lane, lambda: further(self._of.program, self._what, self._of.event))
        if crossing is None or crossing.mode == "rerun":
            return None
        self._crossing = crossing
        if crossing.mode == "live":
            await crossing.ready()
            await crossing.head({"stream": self._what, "framing": "payload", "headers": []})
        else:
            await crossing.head()
        return crossing

    async def _taped(self, crossing: Live) -> None:
        turn = self._turn
        if turn is None:
            try:
                with crossing.enter():
                    await self._of.begun()
                    assert self._real is not None
                    data = self._held = await self._real.read(READ_AT_ONCE)
            except Exception as error:
                await crossing.end(End(EndKind.ERROR, describe_error(error)))
                raise
            except BaseException as error:
                await rejoin_cancelled(error)
                raise
            turn = self._turn = crossing.segment(data) if data else crossing.end(End(EndKind.EOF))
        await turn  # a cancelled reader leaves the turn and its result to the next one
        self._turn = None
        self._fed(self._held)


class SeamWriter(asyncio.StreamWriter):
    """Standard input of a process: each write is a call that must match.

    Args:
        of: The process.
        real: The writer of the transport; None in a replay.
    """

    def __init__(self, of: SeamProcess, real: asyncio.StreamWriter | None) -> None:
        self._of = of
        self._real = real
        self._transport: Any = real.transport if real is not None else _NoTransport()
        self._protocol = None
        self._reader = None
        self._loop = asyncio.get_running_loop()
        self._shut = False
        self._held = b""

    def write(self, data: Any) -> None:
        """Write, or compare with what was written."""
        lane = listening()
        real = self._real
        if lane is None:
            if real is not None:
                real.write(data)
            return
        whole, of = bytes(data), self._of
        ask(
            lane,
            lambda: further(of.program, "stdin", of.event, Effect.WRITE, process_calls.written(whole)),
            lambda: self._written(whole),
        )

    def _written(self, data: bytes) -> None:
        if self._real is not None:
            self._real.write(data)
        elif self._of._reenact_later is not None:  # held back until the process has been started
            self._held += data
            self._of._reenact_later.soon()

    def leads_to(self, real: asyncio.StreamWriter) -> None:
        """The process has been started now."""
        self._real = real
        self._transport = real.transport
        if self._held:
            real.write(self._held)
        if self._shut:
            real.close()

    def writelines(self, data: Any) -> None:
        """Write all the pieces."""
        self.write(b"".join(data))

    async def drain(self) -> None:
        """Wait until there is room; fails where the process no longer reads."""
        await self._asked("drain", lambda real: real.drain())

    async def wait_closed(self) -> None:
        """Wait until standard input is closed."""
        await self._asked("close", lambda real: real.wait_closed())

    async def _asked(self, what: str, perform: Callable[[Any], Awaitable[Any]]) -> None:
        lane, of = listening(), self._of

        async def act() -> None:
            await of.begun()
            if self._real is not None:
                await perform(self._real)

        if lane is None:
            await act()
            return
        await across(lane, lambda: further(of.program, what, of.event), act, sealed, revealed)

    def close(self) -> None:
        """Close standard input."""
        self._shut = True
        if self._real is not None:
            self._real.close()

    def can_write_eof(self) -> bool:
        """True: a pipe can."""
        return True

    def write_eof(self) -> None:
        """Close standard input."""
        self._shut = True
        if self._real is not None:
            self._real.write_eof()

    def is_closing(self) -> bool:
        """Whether the agent has closed standard input, or the pipe broke."""
        return self._shut if self._real is None else self._shut or self._real.is_closing()

    def __del__(self, *_: Any) -> None:
        """Do nothing: the writer of the transport has a finaliser of its own."""
