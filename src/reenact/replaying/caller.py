"""Calls a recorded entry point again, in a process begun as a replay (``python -m reenact.replaying.caller``)."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Final

from reenact.errors import ForkError, Halt, UnreplayableRun
from reenact.facts.call import RETURN, Call, Effect, Failure, Kind, Value
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.facts.imported_runs import is_imported
from reenact.facts.shapes import SCRIPT
from reenact.facts.trace_runs import is_traced
from reenact.facts.values import describe_error, encode
from reenact.replaying import guard, replay_process
from reenact.replaying.program_start import recording_command
from reenact.replaying.replay_session import ReplaySession
from reenact.replaying.user_turns import HERE, turns_of, untold
from reenact.seams import lanes, wiring
from reenact.seams.entry_arguments import given_to
from reenact.seams.origins import agents_line
from reenact.seams.project_paths import installed

_TAKES_ANY: Final = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def find(entry: str, file: str = "", within: str = "") -> Callable[..., Any]:
    """The function of ``module:qualname``, undecorated.

    Args:
        entry: Its address, from a person, or inside this project.
        file: File that defines it; used where the module was a script, whose name is ``__main__``.
        within: Root of the project that it must be defined in; empty for any function.

    Raises:
        UnreplayableRun: The function does not exist, or is defined elsewhere.
    """
    name, _, qualname = entry.partition(":")
    if within:  # only the module's folder: a recording adds no other
        sys.path.insert(0, _root_of(name, file))
    else:
        if file:
            sys.path.insert(0, os.path.dirname(file))
        sys.path.insert(0, os.getcwd())
    try:
        module = _script(file) if name == "__main__" else importlib.import_module(name)
        found: Any = module
        for part in qualname.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        place = agents_line(error)  # empty where the name itself leads nowhere
        raise UnreplayableRun(
            f"the entry point {entry} is not there: {error}" + (f" at {place}" if place else ""),
            cause="its module cannot be imported here: that line raises it"
            if place
            else "the function was renamed or moved since it was recorded",
            missing=("entry",),
        ) from None
    function = inspect.unwrap(found, stop=lambda f: not hasattr(f, "__wrapped__"))
    if within and not _defined_in(function, within):
        raise _elsewhere(entry, within)
    return function  # type: ignore[no-any-return]


def _root_of(module: str, file: str) -> str:
    """The folder that a module is imported from: above its outermost package."""
    folder = os.path.dirname(os.path.realpath(file))
    depth = 0 if module == "__main__" else module.count(".") + (os.path.basename(file) == "__init__.py")
    for _ in range(depth):
        folder = os.path.dirname(folder)
    return folder


def _defined_in(function: Any, root: str) -> bool:
    """Whether a function's own code stands in a file below ``root`` that belongs to no installation."""
    code = getattr(function, "__code__", None)
    path = os.path.realpath(code.co_filename) if code is not None else ""
    return path.startswith(os.path.join(os.path.realpath(root), "")) and not installed(path)


def _elsewhere(entry: str, root: str) -> UnreplayableRun:
    return UnreplayableRun(
        f"the recorded entry point is shown, not called: {entry}",
        cause=f"it is no function that is defined inside this project ({root})",
        missing=("entry",),
    )


def _runs_when_imported(session: ReplaySession) -> UnreplayableRun:
    """The import of the entry point's module made a call, which stopped the replay before anything was compared."""
    run = session.run
    divergence = session.faults.divergences.pop() if session.faults.divergences else None
    place = f" ({divergence.source})" if divergence is not None and divergence.source else ""
    return UnreplayableRun(
        f"{run.entry.target} cannot be called alone: to import its module makes a call{place}",
        cause='what stands at the top of a module runs when it is imported; put it under `if __name__ == "__main__":`',
        next_command=recording_command(run.entry.argv),
        missing=("entry",),
    )


def _script(file: str) -> Any:
    """A script as a module: its definitions, without the code under ``if __name__ == "__main__"``."""
    spec = importlib.util.spec_from_file_location(SCRIPT, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def arguments_of(session: ReplaySession, function: Callable[..., Any]) -> tuple[list[Any], dict[str, Any]]:
    """The recorded arguments of the entry point, of the types that it declares; empty where the run has no arguments.

    Raises:
        UnreplayableRun: An argument could not be stored, and needs a live value, or is of a type that is not declared.
    """
    first = _recorded_arguments(session)
    if first is None and session.arguments is None:
        return [], {}
    opaque = first.call.head.get("opaque") if first is not None else None
    if opaque and session.arguments is None:
        raise UnreplayableRun(
            f"the entry point was called with values that cannot be stored: {', '.join(opaque)}",
            cause="live objects are not data: a function without parameters may build them and call the agent",
            next_command=f"reenact replay {tail(session.run.id)} --entry module:factory",
            missing=tuple(opaque),
        )
    return given_to(function, skip_arguments(session))


def arguments_for(session: ReplaySession, function: Callable[..., Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments for ``function``: recorded or given ones; empty for a function that takes none and builds them.

    Raises:
        UnreplayableRun: An argument could not be stored.
        Halt: The function does not accept the given arguments; the session has noted that.
    """
    if session.arguments is None and _takes_nothing(function):
        skip_arguments(session)
        return [], {}
    if is_imported(session.run) and session.arguments is None:
        turns, parameters = turns_of(session.recording), inspect.signature(function).parameters.values()
        if is_traced(session.run) or (turns and any(each.default is each.empty for each in parameters)):
            return [_first_turn(session, function, turns)], {}
    args, named = arguments_of(session, function)
    if session.arguments is not None:
        signature = inspect.signature(function)
        try:
            signature.bind(*args, **named)
        except TypeError as error:
            wrong = ForkError(
                f"{function.__qualname__}{signature} does not take this input: {error}",
                cause="a list gives arguments by position, an object by name, anything else is the only argument",
                next_command=f"reenact show {tail(session.run.id)}:0",
            )
            session.fault(wrong)
            raise Halt(wrong.message) from None
    return args, named


def _first_turn(session: ReplaySession, function: Callable[..., Any], turns: list[str]) -> str:
    """The user's first message, for a function that takes one text.

    Raises:
        Halt: The function takes another argument, or no message is known; the session has noted that.
    """
    signature = inspect.signature(function)
    try:
        if not turns:
            raise untold(session.run, function.__qualname__)
        signature.bind(turns[0])
    except (TypeError, UnreplayableRun) as error:
        wrong = (
            error if isinstance(error, UnreplayableRun) else _wants_more(session, f"{function.__qualname__}{signature}")
        )
        session.fault(wrong)
        raise Halt(wrong.message) from None
    return turns[0]


def _wants_more(session: ReplaySession, function: str) -> UnreplayableRun:
    return UnreplayableRun(
        f"{function} does not take what the user said as its only argument",
        cause="the trace has nothing else of the agent's input: a function with one parameter, or none, may call it",
        next_command=f"reenact replay {tail(session.run.id)} --cmd 'python agent.py {HERE}'",
        missing=("arguments",),
    )


def _takes_nothing(function: Callable[..., Any]) -> bool:
    """Whether a function has no parameters. For a plain function its code object tells this in a hundredth of the
    time."""
    if type(function) is FunctionType and not vars(function):
        code = function.__code__
        return not (code.co_argcount or code.co_kwonlyargcount or code.co_flags & _TAKES_ANY)
    return not inspect.signature(function).parameters


def _recorded_arguments(session: ReplaySession) -> Event | None:
    first = next(session.recording.events(lane=session.root.path, limit=1), None)
    return first if first is not None and first.call.kind is Kind.INPUT and first.call.name == "arguments" else None


def skip_arguments(session: ReplaySession) -> bytes:
    """Take the recorded arguments, or those of a fork, as given, and go on after them. Returns the arguments,
    encoded."""
    first = _recorded_arguments(session)
    if first is None:
        return session.arguments or b""
    recorded = session.recording.body(first.request)
    body, head = (recorded, first.call.head) if session.arguments is None else (session.arguments, {"opaque": []})
    call = Call(Kind.INPUT, "arguments", Effect.NONE, "value/1", head, body, observed=True)
    session.decide(session.root, call)
    return body


def call(session: ReplaySession, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call the entry point, sync or async, to its end, and compare its result or error.

    A coroutine is the root lane itself, inside a task and a loop that are outside of the run, as when it was recorded.
    """
    if inspect.isasyncgenfunction(function) or inspect.iscoroutinefunction(function):

        async def as_root() -> Any:
            with lanes.inside(session.root), _compared(session) as end:
                made = function(*args, **options)
                return end([item async for item in made] if inspect.isasyncgen(made) else await made)

        with lanes.inside(None):
            return asyncio.run(as_root())
    with _compared(session) as end:
        made = function(*args, **options)
        return end(list(made) if inspect.isgenerator(made) else made)


@contextmanager
def _compared(session: ReplaySession) -> Iterator[Callable[[Any], Any]]:
    """Compares the end of the block: the value that it passes to the yielded function, or its exception."""

    def end(result: Any) -> Any:
        compare(session, Value(encode(result).body))
        return result

    try:
        yield end
    except Exception as error:
        compare(session, Failure(describe_error(error)))
        raise


def compare(session: ReplaySession, outcome: Value | Failure) -> None:
    """Compare the end of the entry point with the recorded one. A recorded block has no end to compare with."""
    if session.run.entry.kind != "callable":
        return
    call = Call(Kind.OUTPUT, RETURN, Effect.NONE, "value/1", observed=True)
    crossing = session.decide(session.root, call)
    if crossing is not None and crossing.mode != "frozen":
        crossing.settle(outcome)


@contextmanager
def hosted(session: ReplaySession, permits: Callable[[], bool] | None = None) -> Iterator[list[str]]:
    """Answer the block in the process of its caller, and keep it from the world, except where ``permits`` allows a live
    call. Returns the refused contacts; the list is complete when the block has ended."""
    wiring.install()
    armed = guard.arm(session.faults.refuse)
    armed.permits = permits or armed.permits
    refused: list[str] = []
    try:
        with wiring.host(session.begin(), session.run):
            yield refused
    finally:
        refused.extend(armed.refused)
        guard.disarm()
        session.close()


def main() -> None:
    """Call the entry point this process was begun for."""
    replaying = replay_process.current()
    instructions = replaying.instructions
    session = replaying.session
    try:
        function = find(instructions["entry"], instructions.get("file") or "", instructions.get("within") or "")
    except UnreplayableRun as error:
        error.next_command = f"reenact replay {tail(session.run.id)} --entry module:function"
        session.fault(error)
        sys.exit(error.exit_code)
    except Halt:
        session.fault(_runs_when_imported(session))
        sys.exit(UnreplayableRun.exit_code)
    try:
        args, options = arguments_for(session, function)
    except UnreplayableRun as error:
        session.fault(error)
        sys.exit(error.exit_code)
    except Halt:
        sys.exit(1)
    try:
        with replaying.entered():
            result = call(session, function, *args, **options)
        replaying.output = encode(result).body.decode()
    except Halt:
        sys.exit(1)


if __name__ == "__main__":
    main()
