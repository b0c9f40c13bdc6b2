"""How a recorded run is started again, and whether its code may be executed here.

Data never becomes code: a command or entry point from a store is executed only if this user recorded it here, if it
resolves inside this project, or if the user passes it. Otherwise it is shown.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec

from reenact.errors import UnreplayableRun, UsageError
from reenact.facts.ids import tail
from reenact.facts.imported_runs import is_imported
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.run import RESEND, Run
from reenact.facts.served_requests import REQUEST
from reenact.replaying.installed_programs import server_of_project
from reenact.replaying.interpreter import SAFE_PATH, interpreter_options
from reenact.replaying.options import Options
from reenact.seams import project_paths, trust
from reenact.seams.boot.parent import is_python

CALLER = "reenact.replaying.caller"
_PYTHON = lazy_regex(r"(python|pypy)[0-9.]*w?")


class ProgramGone(UnreplayableRun):
    """The recorded program is not where it was."""


@dataclass(frozen=True, slots=True)
class Start:
    """How to start the replaying process.

    Attributes:
        argv: Command line.
        cwd: Working directory.
        entry: ``module:function`` that the process calls instead of running a program; empty otherwise.
        file: File that defines the function.
        within: Root of the project that the function must be defined in; empty where a person vouches for it.
        inner: Whether the process is only the interpreter that the recorded command had started. That command may then
            have ended in another way than this process.
    """

    argv: tuple[str, ...]
    cwd: str
    entry: str = ""
    file: str = ""
    within: str = ""
    inner: bool = False


def start_of(run: Run, options: Options, project: str, instead: str = "") -> Start:
    """The way to start a replay of a run.

    Args:
        run: The recorded run.
        options: The options; ``command`` and ``entry`` come from a person and are trusted.
        project: Root of this project: the directory that holds its store, or the current one.
        instead: The folder to use if the recorded working directory does not exist; empty for the current one.

    Raises:
        UnreplayableRun: No start was captured, or the program lies outside this project.
    """
    entry = run.entry
    ours = trust.is_ours(run)
    there = os.path.isdir(entry.cwd) and (ours or _is_below(entry.cwd, project))
    cwd = entry.cwd if there else instead or os.getcwd()
    if options.command:
        inner = bool(entry.own) and is_python(options.command)
        return Start(options.command, os.getcwd(), inner=inner)
    if options.entry:
        if ":" not in options.entry:
            raise UsageError(
                f"{options.entry!r} is no entry point",
                cause="it is written MODULE:FUNCTION",
                next_command=f"reenact replay {tail(run.id)} --entry agent:main",
            )
        return Start(_calling(), os.getcwd(), options.entry)
    if entry.kind == "callable":
        if ours:
            return Start(_calling(), cwd, entry.target, entry.file)
        _defined(run, project)
        return Start(_calling(SAFE_PATH), cwd, entry.target, entry.file, project)
    if entry.kind in ("command", REQUEST) and entry.argv:
        argv = interpreted(run) if ours else _command(run, entry.own or entry.argv, cwd, project)
        return Start(argv, cwd, inner=bool(entry.own))
    if is_imported(run):
        raise UnreplayableRun(
            f"run {tail(run.id)} was imported ({entry.target}), and its file knows no program",
            cause="name the program that it answers: --cmd takes a command line, --entry a function (module:function)",
            next_command=f"reenact replay {tail(run.id)} --cmd 'python agent.py'",
            missing=("entry",),
        )
    if run.relation == RESEND:
        raise UnreplayableRun(
            f"run {tail(run.id)} is one model call that was sent again: no program made it",
            cause="it is compared with its original call, and can be sent once more",
            next_command=f"reenact resend {entry.target}",
            missing=("entry",),
        )
    raise UnreplayableRun(
        f"run {tail(run.id)} was recorded as a block of code, which nothing can call again by itself",
        cause="write the block as a function under `@reenact.record()`, and call that under `if __name__ =="
        ' "__main__":`; or record the whole program',
        next_command=recording_command(entry.argv),
        missing=("entry",),
    )


def recording_command(argv: tuple[str, ...]) -> str:
    """The command that records the whole program; an example if the program was no file."""
    program = argv[1:2]
    named = len(argv) > 1 and is_python(argv) and (program == ("-m",) or not program[0].startswith("-"))
    return "reenact record -- " + (shlex.join(argv) if named else "python agent.py")


def interpreted(run: Run) -> tuple[str, ...]:
    """The recorded command, or the command of the interpreter that a shell or ``make`` started: all else that these do
    would be done again, in the world.

    Raises:
        UnreplayableRun: The command is no Python program, and the program that it started is not known.
    """
    entry = run.entry
    if entry.own:
        return (entry.python or entry.own[0], *entry.own[1:])
    program = entry.argv[0]
    if os.path.dirname(program):  # the program is looked for in the folder where it will start, not in ours
        program = os.path.join(entry.cwd, program)
    if is_python((program, *entry.argv[1:])) or shutil.which(program) is None:
        return entry.argv
    raise UnreplayableRun(
        f"the recorded command is shown, not executed: {' '.join(entry.argv)}",
        cause=f"{entry.argv[0]} is no Python program, and what else it does would be done again",
        next_command=f"reenact replay {tail(run.id)} --cmd 'python agent.py'",
        missing=("entry",),
    )


def _calling(*options: str) -> tuple[str, ...]:
    return (sys.executable, *options, "-m", CALLER)


def _command(run: Run, argv: tuple[str, ...], cwd: str, project: str) -> tuple[str, ...]:
    """The recorded command with this interpreter, if what it runs lies inside the project."""
    program = os.path.basename(argv[0]).removesuffix(".exe")
    if not _PYTHON.fullmatch(program):
        path = os.path.join(cwd, argv[0])
        if os.path.isfile(path) and _within(path, project):
            if not is_python((path,)):
                raise _shown(run, argv, f"{argv[0]} is no Python program, and what else it does would be done again")
            return argv
        script = own_script(argv[0], lambda file: _within(file, project))
        if script is not None:
            return (script, *argv[1:])
        server = server_of_project(argv, lambda module: _module_inside(module, cwd, project))
        if server is not None:
            return server
        raise _shown(run, argv, f"{argv[0]} lies outside this project")
    options, refused = interpreter_options(argv[1:])
    if refused:
        raise _shown(run, argv, f"{refused} is no option of Python that may come from a recording")
    at = 1 + len(options)
    if at >= len(argv):
        raise _shown(run, argv, "it runs an interactive interpreter")
    what = argv[at]
    if what == "-m":
        if SAFE_PATH in options:  # the module would be looked for among the installed ones alone
            raise _shown(run, argv, f"with {SAFE_PATH} a module of this project is not found")
        if len(argv) > at + 1 and _module_inside(argv[at + 1], cwd, project):
            return (sys.executable, *argv[1:])
        server = server_of_project(argv[at + 1 :], lambda module: _module_inside(module, cwd, project))
        if server is not None:
            return server
        raise _shown(run, argv, "the module it runs lies outside this project")
    if what in ("-c", "-"):
        raise _shown(run, argv, "its program text stands in the recording, not in this project")
    _readable(run, _inside(run, os.path.join(cwd, what), project), project)
    # Our own interpreter: the recorded one's name is data.
    return (sys.executable, *argv[1:])


def _readable(run: Run, real: str, project: str) -> None:
    """Refuse a program that is no source text. Python also runs bytecode and archives, which cannot be read."""
    if os.path.isdir(real):
        real = _inside(run, os.path.join(real, "__main__.py"), project)
    with open(real, "rb") as file:
        if b"\0" in file.read():
            raise _shown(run, run.entry.argv, f"{real} is bytecode or an archive, no source text")


def _defined(run: Run, project: str) -> None:
    """Refuse a function whose module is not the file that is named with it, inside this project. The process that calls
    the function checks again, on the imported function."""
    real = _inside(run, run.entry.file, project)
    name = run.entry.target.partition(":")[0]
    path = real.removesuffix(".py").removesuffix(os.sep + "__init__")
    parts = name.split(".")
    if name != "__main__" and path.split(os.sep)[-len(parts) :] != parts:
        raise _shown(run, (run.entry.target,), f"{run.entry.target} is not what {run.entry.file} defines")


def _module_inside(module: str, cwd: str, project: str) -> bool:
    path = os.path.join(cwd, *module.split("."))
    files = (path + ".py", os.path.join(path, "__init__.py"))
    return any(os.path.exists(each) and _within(each, project) for each in files)


def _inside(run: Run, path: str, project: str) -> str:
    """The path in this project with its links resolved.

    Raises:
        UnreplayableRun: The path does not exist, or lies outside.
    """
    if not os.path.exists(path):
        raise ProgramGone(
            f"{path} is not there any more",
            cause="the program was moved or removed since it was recorded",
            next_command=f"reenact replay {tail(run.id)} --cmd 'python agent.py'",
            missing=("entry",),
        )
    real = os.path.realpath(path)
    if not _lies_within(real, project):
        raise _shown(run, run.entry.argv, f"{path} lies outside this project ({project})")
    return real


def _within(path: str, project: str) -> bool:
    return _lies_within(os.path.realpath(path), project)


def _is_below(folder: str, project: str) -> bool:
    """Whether a folder, with its links resolved, is this project's root or lies in it."""
    real, root = (os.path.normcase(os.path.realpath(each)) for each in (folder, project))
    return real == root or real.startswith(os.path.join(root, ""))


def _lies_within(real: str, project: str) -> bool:
    """Whether a real path is inside the project, and not inside one of its virtual environments."""
    root = os.path.realpath(project)
    below = os.path.join(os.path.normcase(root), "")
    if not os.path.join(os.path.normcase(real), "").startswith(below) or project_paths.installed(real):
        return False
    folder = os.path.dirname(real)
    while len(folder) > len(root):
        if os.path.exists(os.path.join(folder, "pyvenv.cfg")):
            return False
        folder = os.path.dirname(folder)
    return True


def _shown(run: Run, argv: tuple[str, ...], why: str) -> UnreplayableRun:
    words = " ".join(argv)
    return UnreplayableRun(
        f"the recorded command is shown, not executed: {words}",
        cause=why,
        next_command=f"reenact replay {tail(run.id)} --cmd {shlex.quote(words)}",
        missing=("entry",),
    )


def own_script(program: str, inside: Callable[[str], bool]) -> str | None:
    """The path of a console script beside our interpreter, if the script calls code of this project.

    The place of the script's package is looked up, and nothing is imported.

    Args:
        program: The program as it was recorded: a name, or a path on the recorder's machine.
        inside: Whether a file is code of this project.

    Returns:
        The path of the script; None without a script, or where it calls installed code.
    """
    from importlib.metadata import entry_points  # late: it loads a parser of e-mail, needed for few programs

    name = os.path.basename(program).removesuffix(".exe")
    folder = os.path.dirname(sys.executable)
    found = list(entry_points(group="console_scripts", name=name))
    if not found or not all(_lies(each.module.partition(".")[0], inside) for each in found):
        return None
    paths = (os.path.join(folder, name + end) for end in ("", ".exe"))
    return next((path for path in paths if os.path.isfile(path)), None)


def _lies(package: str, inside: Callable[[str], bool]) -> bool:
    """Whether a top-level package or module lies where ``inside`` says. The search for it imports nothing."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None and inside(spec.origin)
