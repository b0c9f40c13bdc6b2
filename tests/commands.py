"""The command ``reenact`` for tests, in a process that is forked from one which has loaded it.

To start an interpreter and to load the command takes longer than most commands take. So each process of the suite
keeps one interpreter that has loaded ours and stops there, and each command is a child of it: with an environment, a
working directory, arguments and standard streams of its own, and the ``__main__`` that ``python -m reenact`` runs. What
the command starts in its turn, such as the program that it records, is a new interpreter as always.

``run`` takes what ``subprocess.run`` takes. A command that is not ours, or that sets how its interpreter starts, is
started by itself.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Any

__all__ = ["only_our_plugin", "run", "started"]

_STREAMS = 3
_lock = threading.Lock()
_CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_TAKEN = frozenset({"cwd", "env", "stdin", "stdout", "stderr", "text", "encoding", "errors", "bufsize"})
"""What a command that is forked can be given."""
_AS_ALWAYS = frozenset({"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"})
"""Variables of the interpreter that a command hands on to what it starts, and that change nothing in itself."""


def run(
    argv: Sequence[str],
    *,
    input: Any = None,  # noqa: A002 - as subprocess calls it
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """Run a command to its end."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(argv, **options) as process:
        try:
            out, err = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(argv, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def only_our_plugin(*and_these: str) -> dict[str, str]:
    """The variables with which pytest loads no plugin but ours: the others that are installed here take it seconds."""
    others = sorted({entry.name for entry in entry_points(group="pytest11")} - {"reenact", *and_these})
    return {"PYTEST_ADDOPTS": " ".join(f"-p no:{name}" for name in others)}


def started(argv: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a command."""
    words = _ours(argv)
    environment = options.get("env") or os.environ
    alone = {name for name in environment if name.startswith("PYTHON")} - _AS_ALWAYS
    if words is None or alone or options.keys() - _TAKEN or not hasattr(os, "fork"):
        return subprocess.Popen(argv, **options)
    return _Forked([sys.executable, "-m", "reenact", *words], **options)


def _ours(argv: Sequence[str]) -> list[str] | None:
    """The words of a command of ours, as it is typed; None where it is none."""
    if argv[0] == "reenact":
        return list(argv[1:])
    return list(argv[3:]) if list(argv[:3]) == [sys.executable, "-m", "reenact"] else None


class _Forked(subprocess.Popen[Any]):
    """A command that the loaded interpreter of this process has forked."""

    _child_created = False

    def _execute_child(self, args: list[str], *given: Any) -> None:
        cwd, environment = given[4], given[5]
        pipes = given[9:15]
        nothing = os.open(os.devnull, os.O_RDWR)
        streams = [own if own != -1 else nothing for own in (pipes[0], pipes[3], pipes[5])]
        self._answers, its = socket.socketpair()
        with its:
            told = {"argv": args, "cwd": os.fspath(cwd or os.getcwd()), "environment": dict(environment or os.environ)}
            with _lock:
                _send(_loaded(), told, (*streams, its.fileno()))
        os.close(nothing)
        self.pid = int(_received(self._answers)[0]["pid"])
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if wait_flags and not self._has_answered():
            return 0, 0
        status = int(_received(self._answers)[0]["status"])
        self._answers.close()
        return self.pid, status

    def _has_answered(self) -> bool:
        look = select.poll()  # ``select`` takes no descriptor beyond 1,023
        look.register(self._answers, select.POLLIN)
        return bool(look.poll(0))

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None:
            pid, status = self._try_wait(os.WNOHANG)
            if pid:
                self._handle_exitstatus(status)  # type: ignore[attr-defined]
        return self.returncode


@cache
def _loaded() -> socket.socket:
    """The way to the loaded interpreter of this process, which ends with it."""
    ours, its = socket.socketpair()
    with its:
        nothing = subprocess.DEVNULL
        server = subprocess.Popen(
            [sys.executable, "-m", __name__, str(its.fileno())],
            cwd=_CHECKOUT,
            stdin=nothing,
            stdout=nothing,
            pass_fds=(its.fileno(),),
        )

    def ended() -> None:
        ours.close()
        server.wait()

    atexit.register(ended)
    return ours


def _send(channel: socket.socket, told: Mapping[str, Any], descriptors: Sequence[int] = ()) -> None:
    data = json.dumps(told).encode()
    head = len(data).to_bytes(8, "big")
    socket.send_fds(channel, [head], list(descriptors)) if descriptors else channel.sendall(head)
    channel.sendall(data)


def _received(channel: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """The next message, and its descriptors.

    Raises:
        EOFError: The other side is gone.
    """
    head, descriptors, _, _ = socket.recv_fds(channel, 8, _STREAMS + 1)
    data = b""
    while len(head) < 8 or len(data) < int.from_bytes(head, "big"):
        part = channel.recv(8 - len(head) if len(head) < 8 else int.from_bytes(head, "big") - len(data))
        if not part:
            raise EOFError
        head, data = (head + part, data) if len(head) < 8 else (head, data + part)
    return json.loads(data), descriptors


def _serve(control: socket.socket) -> list[str]:
    """Fork a child for each command, and one that waits for it; returns in a child only, what it is to run."""
    import gc
    import signal

    _load()
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how those end that wait
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the suite is interrupted, which ends this process too
    while True:
        try:
            told, descriptors = _received(control)
        except (EOFError, OSError):
            os._exit(0)
        if os.fork():
            for descriptor in descriptors:
                os.close(descriptor)
            continue
        control.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        *streams, answers = descriptors
        pid = os.fork()
        if not pid:
            os.close(answers)
            return _become(told, streams)
        for descriptor in streams:
            os.close(descriptor)
        channel = socket.socket(fileno=answers)
        _send(channel, {"pid": pid})
        _send(channel, {"status": os.waitpid(pid, 0)[1]})
        os._exit(0)


def _become(told: Mapping[str, Any], streams: Sequence[int]) -> list[str]:
    """Take over what an interpreter would have been started with."""
    import signal
    import time

    signal.signal(signal.SIGINT, signal.default_int_handler)
    for own, descriptor in enumerate(streams):
        os.dup2(descriptor, own)
    for descriptor in set(streams):
        os.close(descriptor)
    os.chdir(told["cwd"])
    os.environ.clear()
    os.environ.update(told["environment"])
    time.tzset()
    sys.path[0] = told["cwd"]
    sys.orig_argv[:] = told["argv"]
    return list(told["argv"][2:])


def _load() -> None:
    """Load what commands load."""
    import pkgutil
    from importlib import import_module

    import reenact

    rooms = ("interfaces", "timetravel", "triage", "testing", "interop", "recording", "replaying", "store", "privacy",
             "seams.boot", "facts")  # fmt: skip
    for module in pkgutil.walk_packages(reenact.__path__, "reenact."):
        if module.name.partition(".")[2].startswith(rooms) and not module.name.endswith("__main__"):
            try:
                import_module(module.name)
            except ImportError:  # what it needs is not installed
                continue


def _ended(words: list[str]) -> int:
    """Run the command; gives its exit status, when all is done that others see of an interpreter's end."""
    import runpy
    import traceback

    sys.argv = words
    status: Any = 0
    try:
        runpy.run_module("reenact", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        status = ended.code
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return status if isinstance(status, int) else bool(status)


if __name__ == "__main__":
    # It takes no module apart: each page that this touches would be copied first, which costs more than the command.
    os._exit(_ended(_serve(socket.socket(fileno=int(sys.argv[1])))))
