"""One use of ``record``: its begin, its suspensions, and its end."""

from __future__ import annotations

import atexit
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.abc.store import Store
from reenact.errors import Halt, UsageError
from reenact.facts.call import RETURN, Call, Effect, Failure, Kind, Value
from reenact.facts.interruptions import by_signal_handler, let_through
from reenact.facts.lazy_dataclass import replace
from reenact.facts.policy import Policy
from reenact.facts.record import RunClosed, RunOpened
from reenact.facts.run import Run, Status, kept_in
from reenact.facts.values import describe_error, encode
from reenact.recording.active_run import ActiveRun, active, current
from reenact.recording.policies import configured_policy
from reenact.recording.recording_opening import OpenRun, Who, evidence_of, interpreter, new_run, status_of
from reenact.recording.writer import Receipt
from reenact.seams import background, lanes, stdout, wiring
from reenact.seams.async_backends import cancelled
from reenact.seams.declared_files import file_digests
from reenact.seams.entry_arguments import undeclared_of
from reenact.seams.unfollowed_actions import require_lock
from reenact.store import borrow_store, give_back

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


Rest = Callable[[], Exception | None] | None
"""The rest of the work at the end of a block, a function that returns an error; None without such work."""


PATIENCE_S = 1.0
"""How long a coroutine waits until its run is written."""
LAST_WAIT_S = 30.0
"""How long a process waits at its end for each run that is still being written."""
_UNKNOWN = ActiveRun(id="")
"""The run in the agent's hands where the recorder could not even say which it is."""

_unwritten: set[Receipt] = set()


def _warn(fault: Exception | None) -> None:
    """Warn of the gaps of the recording. Where warnings are turned into errors, the text is printed, because the agent
    is not at fault."""
    if fault is None:
        return
    text = f"the recording is incomplete: {fault}"
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=5)
    except RuntimeWarning:
        print(f"reenact: {text}", file=sys.stderr)


class Block:
    """The work of ``record`` between its begin and its end."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._token: Any = None
        self.run: Run = Run(id="")

    def enter(self) -> ActiveRun:
        """Begin to listen. Where that fails, the block runs unrecorded."""
        run = _UNKNOWN
        try:
            run = active(self.run)
            self.resume()
            self._token = current.set(run)
        except Exception as error:
            if self.failed(error):
                raise
            _warn(error)
        return run

    def resume(self) -> None:
        """Run on in the block's lane."""
        self._stack.enter_context(self.listen())

    def suspend(self) -> None:
        """Hand control to code outside the block (between two items of a generator)."""
        self._stack.close()

    def listen(self) -> AbstractContextManager[None]:
        """A scope in which this thread runs in the block's lane."""
        raise NotImplementedError

    def failed(self, error: Exception) -> bool:
        """Whether an error of ours must be raised: a replay cannot go on after it."""
        raise NotImplementedError

    def finish(self, error: BaseException | None, result: Any) -> Rest:
        """Note how the block ended; returns the rest of the work, which waits for the disk and returns an error."""
        raise NotImplementedError

    def leave(self, error: BaseException | None, result: Any) -> None:
        """Stop listening, write the end, and wait until it is written."""
        rest = self._left(error, result)
        if rest is not None:
            _warn(rest())

    async def left(self, error: BaseException | None, result: Any) -> None:
        """Do the work of ``leave`` for a coroutine: the loop goes on while the end is written. A cancellation is not
        held up.

        A coroutine that is being closed may not wait, and a coroutine with an unknown driver cannot. A loop that never
        rests leaves the writer hardly any time. The coroutine then goes on after a second, and the end is written
        later."""
        rest = self._left(error, result)
        closed = not (error is None or isinstance(error, (Exception, *cancelled())))
        if rest is None:
            return
        if closed or not lanes.is_carried():
            _warn(rest())
            return
        waited, written = Receipt(durable=False), Receipt(durable=False)
        faults: list[Exception | None] = []

        def write() -> None:
            lanes.adopt_thread(None)  # our own thread is no strand of the agent
            try:
                faults.append(rest())
            except Exception as fault:
                faults.append(fault)
            finally:
                waited.settle(True)
                written.settle(True)
                _unwritten.discard(written)

        _unwritten.add(written)
        background.start(write)
        with lanes.inside(None):
            loop = lanes.running_loop()
            bound = loop.call_later(PATIENCE_S, waited.settle, True) if loop is not None else None
            await waited
        if bound is not None:
            bound.cancel()
        _warn(faults[0] if faults else None)

    def _left(self, error: BaseException | None, result: Any) -> Rest:
        """Stop listening, and note how the block ended."""
        try:
            self._stack.close()
        except Exception as fault:
            if self.failed(fault):
                raise
        if self._token is not None:
            try:
                current.reset(self._token)
            except ValueError:  # the block was entered in another context
                current.set(None)
        return self.finish(error, result)


def _write_out() -> None:
    """At the end of the process, wait for runs that are still being written."""
    for written in list(_unwritten):
        written.wait(LAST_WAIT_S)


def _forked() -> None:
    """In a forked child: forget the runs that its parent is writing."""
    _unwritten.clear()


atexit.register(_write_out)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class RootBlock(Block):
    """The block of a run of its own."""

    def __init__(self, opened: OpenRun, call: Call | None, files: Sequence[str] = ()) -> None:
        super().__init__()
        self._opened = opened
        self._files = files
        self.run = opened.run
        self._begun = ExitStack()
        self._listening = False
        self._pid = os.getpid()
        self.failure = ""
        """The reason why the run has failed although no error was raised."""
        if call is not None:
            session = opened.session
            try:
                session.decide(session.root, call)
            except Exception as error:
                if session.fault(error):
                    raise

    def listen(self) -> AbstractContextManager[None]:
        """A scope in which this thread runs in the root lane."""
        session = self._opened.session
        if self._listening:
            return lanes.inside(session.root)
        wiring.begin(session.run)
        self._begun.callback(wiring.end, session.run)
        context = session.begin()
        self._begun.callback(lanes.session_ended)
        self._begun.enter_context(stdout.watched())
        require_lock(session.root)
        self._listening = True
        return context

    def failed(self, error: Exception) -> bool:
        """Mark the recording as degraded. True only for an error of the program's own."""
        return self._opened.session.fault(error)

    def finish(self, error: BaseException | None, result: Any) -> Rest:
        """Stop listening; the rest of the work closes the log."""
        if os.getpid() != self._pid:
            return None  # a forked child leaves the block too: the run is its parent's
        try:
            self._begun.close()
            self._settle(error, result)
            self._opened.session.end()
        except Exception as fault:
            if self.failed(fault):
                raise
        ended_us = CLOCK.wall_us()

        def close() -> Exception | None:
            try:
                status, line = status_of(error)
                if self.failure and status is Status.OK:
                    status, line = Status.FAILED, self.failure
                files = file_digests(self.run.entry.cwd, self._files)
                capture = {**self._opened.run.capture, **evidence_of(error, self.run)}
                self._opened.close(status, ended_us, sampled=True, error=line, files=files, capture=capture)
            except Exception as fault:  # the run has ended well or badly by itself; only its recording is cut short
                let_through(fault)
                return fault
            return self._opened.session.unkept

        return close

    def _settle(self, error: BaseException | None, result: Any) -> None:
        """Keep the result or error of the entry point: a replay must end in the same way."""
        if self.run.entry.kind != "callable" or (error is not None and not isinstance(error, Exception)):
            return
        session = self._opened.session
        outcome = Value(encode(result).body) if error is None else Failure(describe_error(error))
        call = Call(Kind.OUTPUT, RETURN, Effect.NONE, "value/1", observed=True)
        crossing = session.decide(session.root, call)
        if crossing is not None and crossing.mode == "live":
            crossing.settle(outcome)


class _ChildBlock(Block):
    """The block of a run inside a run, which has a lane of its own in its parent's log."""

    def __init__(self, lane: lanes.Lane, who: Who, policy: Policy) -> None:
        super().__init__()
        self._outer = lane
        name = who.name or "run"
        body = encode({"agent": who.name, "user": who.user, "session": who.session}).body
        self._crossing = lane.session.decide(
            lane, Call(Kind.STEP, name, Effect.NONE, "step/1", {"step": name, "run": True}, body, observed=True)
        )
        self._inner = lane
        if self._crossing is not None:
            with self._crossing.enter():  # type: ignore[union-attr]
                self._inner = lanes.current() or lane
        session: Any = lane.session
        self._put = getattr(session, "put", None)
        root: Run = getattr(session, "own_run", session.run)  # a fork answers for its parent's run, and writes its own
        run = replace(
            new_run(who, root.entry, policy, CLOCK, ENTROPY),
            parent=root.id,
            relation="child",
            lane=self._inner.path,
            origin_us=root.origin_us,
            capture={"require": list(policy.require)} if policy.require else {},
        )
        self.run = kept_in(run, root.home)
        if self._put is not None:
            session.child_began(self.run.lane)
            self._put(RunOpened(self.run))

    def listen(self) -> AbstractContextManager[None]:
        return lanes.inside(self._inner)

    def failed(self, error: Exception) -> bool:
        return self._outer.session.fault(error)

    def finish(self, error: BaseException | None, result: Any) -> Rest:
        try:
            self._end(error, result)
        except Exception as fault:
            if self.failed(fault):
                raise
        return None

    def _end(self, error: BaseException | None, result: Any) -> None:
        if self._crossing is not None and not isinstance(error, Halt):
            outcome = Value(encode(result).body) if error is None else Failure(describe_error(error))
            self._crossing.settle(outcome)  # type: ignore[union-attr]
        if self._put is not None:
            status, line = status_of(error)
            session: Any = self._outer.session
            capture = {**self.run.capture, **evidence_of(error, self.run)}
            ended = replace(self.run, status=status, error=line, ended_us=CLOCK.wall_us(), capture=capture)
            self._put(RunClosed(replace(ended, totals=session.child_ended(self.run.lane))))


def open_block(
    who: Who,
    store: str | Store | None,
    policy: Policy | None,
    function: Callable[..., Any] | None = None,
    arguments: Arguments | None = None,
) -> Block | None:
    """The block for one use of ``record``; None when nothing is to be, or can be, recorded.

    A store that cannot be opened or written costs the recording, with a warning, never the agent's run.

    Raises:
        UsageError: The store's URL is of a kind that does not exist.
    """
    if not who.agent and function is not None:
        who = replace(who, agent=function.__qualname__)
    lane = lanes.listening()
    if lane is not None and lanes.is_passive(lane):
        lane = None  # a test has stopped the clock; there is no run to be a child of
    if lane is None and os.environ.get("REENACT_DISABLE", "") not in ("", "0"):
        return None
    try:
        if lane is not None:
            return _ChildBlock(lane, who, policy or Policy())
        return _root_block(who, store, policy or configured_policy(), function, arguments)
    except UsageError:
        raise
    except Exception as error:
        if by_signal_handler(error) or (lane is not None and lane.session.fault(error)):
            raise
        warnings.warn(f"not recorded: {error}", RuntimeWarning, stacklevel=4)
        return None


def _root_block(
    who: Who,
    store: str | Store | None,
    policy: Policy,
    function: Callable[..., Any] | None,
    arguments: Arguments | None,
) -> Block:
    """The block that records a run of its own."""
    entry = interpreter("block")
    call = None
    if function is not None and arguments is not None:
        target_name, file = _address(function)
        entry = replace(entry, kind="callable", target=target_name, file=file)
        encoded = encode({"args": list(arguments[0]), "kwargs": arguments[1]})
        undeclared = undeclared_of(function, encoded)
        head = {"opaque": list(encoded.opaque)} | ({"undeclared": list(undeclared)} if undeclared else {})
        call = Call(Kind.INPUT, "arguments", Effect.NONE, "value/1", head, encoded.body, observed=True)
    run = new_run(who, entry, policy, CLOCK, ENTROPY)
    if store is not None and not isinstance(store, str):
        return RootBlock(OpenRun(run, store, policy, CLOCK), call, policy.files)
    borrowed = borrow_store(store)
    try:
        opened = OpenRun(run, borrowed, policy, CLOCK, lambda: give_back(borrowed))
    except BaseException:
        give_back(borrowed)
        raise
    return RootBlock(opened, call, policy.files)


def _address(function: Callable[..., Any]) -> tuple[str, str]:
    """The address by which a replay finds a function: ``module:qualname``, and the file that defines it."""
    module = function.__module__
    file = inspect.getsourcefile(function) or getattr(sys.modules.get(module), "__file__", "") or ""
    return f"{module}:{function.__qualname__}", os.path.abspath(file)
