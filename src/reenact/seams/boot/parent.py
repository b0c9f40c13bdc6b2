"""The parent's side of the boot: prepare the environment, start the program, and end as it ended."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final, NoReturn

from reenact.abc.sources import Entropy
from reenact.errors import UsageError
from reenact.facts.lazy_regex import lazy_regex
from reenact.seams.boot import bound_children
from reenact.seams.boot.child import LAUNCHERS, MODE, RECORD, VARIABLE
from reenact.seams.boot.death import Death, read_death
from reenact.seams.boot.folders import Folder
from reenact.seams.boot.plain_file import read_plain
from reenact.seams.boot.signal_forwarder import SignalForwarder

__all__ = ["Boot", "choose_hash_seed", "end_like", "find_program", "ignores_boot", "is_python", "run_program"]

_INTERPRETER: Final = lazy_regex(r"python[0-9.]*w?")
_ONPATH: Final = str(Path(__file__).resolve().parent / "onpath")


class Boot:
    """The start of one program. A context manager: at its end the private directory is removed, and the started process
    is ended, unless it is recorded: a program never ends because its recorder does.

    Args:
        instructions: For ``begin`` of the child, JSON-able; ``mode`` is ``record`` or ``replay``. The child also finds
            ``place``, the private directory, and ``restore``.
        base: Environment the program would have.
        hash_seed: ``PYTHONHASHSEED`` to start with; None keeps the present one.
        show_seed: Whether the program sees that variable; by default only if it was set before.
        place: The private directory to make; a temporary one of its own by default.
    """

    def __init__(
        self,
        instructions: Mapping[str, Any],
        base: Mapping[str, str],
        *,
        hash_seed: str | None = None,
        show_seed: bool = False,
        place: Path | None = None,
    ) -> None:
        mode = str(instructions.get("mode", ""))
        self._folder = None
        if place is None:
            self._folder = Folder()
            place = self._folder.path
        else:
            place.mkdir(mode=0o700)
        self.place = place
        self._held = bound_children.hold(str(self.place)) if mode != RECORD else -1
        environment = dict(base)
        before = base.get("PYTHONPATH")
        restore: dict[str, str | None] = {"PYTHONPATH": before}
        environment[VARIABLE] = str(self.place)
        if mode != RECORD:
            environment[MODE] = mode
        environment["PYTHONPATH"] = _ONPATH + (os.pathsep + before if before else "")
        if hash_seed is not None:
            environment["PYTHONHASHSEED"] = hash_seed
            if not show_seed:
                restore["PYTHONHASHSEED"] = base.get("PYTHONHASHSEED")
        self.environment = environment
        self._write("mode", mode)
        self._write("instructions.json", json.dumps({**instructions, "place": str(self.place), "restore": restore}))

    def leave(self, name: str, text: str) -> None:
        """Leave a text in the private directory, which the child sees whole or not at all. Any thread may call it."""
        partial = self.place / f"{name}.partial"
        try:
            partial.write_text(text, encoding="utf-8")
            partial.replace(self.place / name)
        except OSError:  # the directory is gone: the program has ended
            return

    def _write(self, name: str, text: str) -> None:
        (self.place / name).write_text(text, encoding="utf-8")

    def _read(self, name: str) -> str | None:
        try:
            return read_plain(self.place / name).decode("utf-8", "replace")
        except OSError:
            return None

    @property
    def began(self) -> bool:
        """Whether a Python process began the session."""
        return self._read("ready") is not None

    @property
    def failure(self) -> str:
        """The child's words on why the session could not begin; empty if it began, or the child never reached that."""
        return self._read("failed") or ""

    @property
    def result(self) -> str | None:
        """The content of the file ``result`` in the private directory."""
        return self._read("result")

    def left(self, status: int) -> str | None:
        """The content of the file ``result``; ``status`` is the exit status of the process.

        Raises:
            KeyboardInterrupt: There is none, because Ctrl-C at the terminal interrupted the process and us.
        """
        text = self.result
        if text is None and status == -signal.SIGINT:
            raise KeyboardInterrupt
        return text

    @property
    def death(self) -> Death:
        """How far the process came, and where it died, if it died."""
        return read_death(self.place)

    def close(self) -> None:
        """Remove the private directory. A process that is bound to it ends, if it still runs."""
        bound_children.let_go(self._held)
        if self._folder is not None:
            self._folder.close()
        else:
            shutil.rmtree(self.place, ignore_errors=True)

    def __enter__(self) -> Boot:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def choose_hash_seed(environment: Mapping[str, str], entropy: Entropy) -> str | None:
    """A hash seed where none is set; None where the environment fixes one."""
    if environment.get("PYTHONHASHSEED", "random") not in ("", "random"):
        return None
    return str(int.from_bytes(entropy.bytes(4), "big") % 4_294_967_295 + 1)


def find_program(argv: Sequence[str], path: str | None) -> list[str]:
    """The command, with the path of its program.

    A bare name that is not on ``PATH`` is looked for beside our own interpreter. So a command of an environment finds
    the tools of that environment, even if the environment is not activated.

    Raises:
        UsageError: There is no such program.
    """
    if not argv:
        raise UsageError("there is no command to run", next_command="reenact record -- python agent.py")
    name = argv[0]
    if os.path.dirname(name) or shutil.which(name, path=path):
        return list(argv)
    beside = shutil.which(name, path=os.path.dirname(sys.executable))
    if beside is None and name.endswith(".py"):
        raise UsageError(
            f"no program {name} was found",
            cause="a Python file is started by the word python before it",
            next_command=f"reenact record -- python {shlex.join(argv)}",
        )
    if beside is None:
        raise UsageError(
            f"no program {name} was found", cause="a typing mistake, or it is not on PATH", next_command=f"which {name}"
        )
    return [beside, *argv[1:]]


def ignores_boot(argv: Sequence[str]) -> str:
    """The interpreter option in a command that keeps Python from importing us (``-I``, ``-E``, ``-S``), or empty."""
    words = list(argv)
    if words and "python" not in os.path.basename(words[0]).lower():
        words = _shebang(words[0])
    while words and "python" not in os.path.basename(words[0]).lower():
        words.pop(0)
    return next((f"-{letter}" for letter in _options(words[1:]) if letter in "IES"), "")


def is_python(argv: Sequence[str]) -> bool:
    """Whether a command is itself a Python program: an interpreter, or a script of one. A program that starts Python in
    its turn (a shell, ``make``, ``poetry run``) does other things, too."""
    words = list(argv)
    if not words:
        return False
    started = os.path.basename(words[0]).lower().removesuffix(".exe")
    if not _INTERPRETER.fullmatch(started):  # a script may be called run-python.sh
        asked = _shebang(words[0])[:2]
        if asked or "python" not in started:
            return started not in LAUNCHERS and any("python" in os.path.basename(word) for word in asked)
    rest = [os.path.basename(word) for word in words[1:3] if word != "-m"]
    return rest[:1] not in [[name] for name in LAUNCHERS]


def _options(words: Sequence[str]) -> Iterator[str]:
    """The one-letter options of a Python command line, up to its script, module or text."""
    argument_follows = False
    for word in words:
        if argument_follows:
            argument_follows = False
            continue
        if not word.startswith("-") or word.startswith("--"):
            return
        for end, letter in enumerate(word[1:], start=2):
            yield letter
            if letter in "cm":
                return
            if letter in "WXQ":
                argument_follows = end == len(word)
                break


def _shebang(program: str) -> list[str]:
    found = shutil.which(program)
    if found is None:
        return []
    try:
        with open(found, "rb") as file:
            line = file.readline(512)
    except OSError:
        return []
    return line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []


def run_program(
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    close_fds: bool = True,
    forwarding: SignalForwarder | None = None,
    **options: Any,
) -> int:
    """Run a program in our place: our standard streams, our process group, our signals. Returns its exit status.

    A signal sent to us is passed on. Interrupt and quit typed at the terminal are not: the terminal has sent them to
    the program itself.

    Args:
        argv: Program and arguments.
        environment: Its environment.
        close_fds: Whether to close our inherited descriptors, except the standard streams: a frozen program must not
            write to them.
        forwarding: Passes our signals on, begun by our caller, who ends it; None for one of our own.
        **options: Further options of ``subprocess.Popen``.

    Returns:
        Its exit status; negative for the signal that ended it.

    Raises:
        UsageError: The program cannot be started.
    """
    with SignalForwarder() if forwarding is None else nullcontext(forwarding) as passing:
        try:
            process = subprocess.Popen(argv, env=dict(environment), close_fds=close_fds, **options)
        except OSError as error:
            raise UsageError(
                f"{argv[0]} cannot be started: {error.strerror}",
                cause="it is not an executable program",
                next_command=f"ls -l {argv[0]}",
            ) from None
        passing.to(process)
        try:
            return process.wait()
        except BaseException:  # the time limit of our caller is over: no program goes on after it
            process.kill()
            process.wait()
            raise


def end_like(status: int) -> NoReturn:
    """End this process as the program ended: by the same signal, or with the same status."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    if status < 0 and sys.platform != "win32":
        import resource

        # The program has already written its core dump, if it was to write one.
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(128 - status if status < 0 else status)
