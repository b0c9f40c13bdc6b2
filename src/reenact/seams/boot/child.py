"""The child's side of the boot: claim the session, begin it, leave no trace."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

from reenact.facts import lazy_dataclass
from reenact.seams.boot import bound_children, folder_lock

__all__ = ["LAUNCHERS", "MODE", "RECORD", "UNIMPORTABLE", "VARIABLE", "activate"]

VARIABLE: Final = "REENACT_BOOT"
"""Environment variable that names the private directory of one boot."""

MODE: Final = "REENACT_BOOT_MODE"
"""The environment variable with the mode of a boot, unless that is ``RECORD``.

Other modes need the private directory."""

RECORD: Final = "record"
"""The mode of a boot whose program runs in any case."""

UNIMPORTABLE: Final = "reenact cannot be imported"
"""The beginning of the message that ``sitecustomize`` reports where this module cannot be loaded."""

_BEGINNERS: Final = {
    RECORD: "reenact.recording.recording_process",
    "replay": "reenact.replaying.replay_process",
    "ask": "reenact.timetravel.asking.asking_process",
    "fork": "reenact.timetravel.forks.fork_process",
    "golden": "reenact.testing.goldens.golden_process",
    "experiment": "reenact.testing.experiments.cell_process",
}
"""The module that begins a session, by mode; each has ``begin(instructions: dict) -> None``.

A fixed table, so that no data can name code to run."""

WARM: Final = "warm"
"""The mode of an interpreter that boots and waits. Each of its children continues in a mode of its own."""

LAUNCHERS: Final = frozenset({"hatch", "pdm", "pipenv", "poetry", "pyenv"})
"""Programs written in Python that only start another program: they pass the boot on."""


def activate(place: str, onpath: str) -> None:
    """Begin the session that the parent ordered, in the first Python process that comes here.

    Never raises while recording: a recorder that cannot begin costs the recording. A replay that cannot begin ends
    the process, because the program must not touch the world.

    Args:
        place: Private directory of this boot.
        onpath: Directory of ours on ``PYTHONPATH``.
    """
    if _is_launcher():
        return
    try:
        with open(os.path.join(place, "instructions.json"), encoding="utf-8") as file:
            instructions: dict[str, Any] = json.load(file)
    except (OSError, ValueError):  # the parent is gone: a process that outlived its run
        _require_recording()
        _clean_environment({}, onpath)
        return
    if instructions["mode"] == RECORD:
        folder_lock.use(place)
    else:
        bound_children.bind(place)
    if not _claim(place):
        _clean_environment(instructions, onpath)
        return
    if instructions["mode"] == WARM:  # this process stops here; a child with a boot of its own goes on
        try:
            place = import_module("reenact.seams.boot.fork_server").serve(instructions, _BEGINNERS["golden"])
        except Exception as error:
            _failed(place, WARM, error)
        activate(place, onpath)
        return
    try:
        with _uncollected():
            import_module(_BEGINNERS[instructions["mode"]]).begin(instructions)
            lazy_dataclass.complete()
    except Exception as error:
        _failed(place, instructions.get("mode"), error)
    else:
        _write(place, "ready", str(os.getpid()))
    finally:
        _clean_environment(instructions, onpath)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the garbage collector away from the objects made here, because they live as long as the process.

    Otherwise the collector would look through our modules. In a short recorded program this would take a quarter of the
    time, most of it while the interpreter ends; in a long one it would happen in each full collection.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collects:
            gc.enable()


def _is_launcher() -> bool:
    words = [os.path.basename(word).removesuffix(".exe") for word in sys.orig_argv[1:3]]
    if words[:1] == ["-m"]:
        words = words[1:]
    return bool(words) and words[0] in LAUNCHERS


def _claim(place: str) -> bool:
    """Whether this process is the run: the first process is, the processes that it starts are not."""
    try:
        descriptor = os.open(os.path.join(place, "claimed"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError:
        return False
    os.close(descriptor)
    return True


def _require_recording() -> None:
    """End a process whose program must not run without the parent's instructions."""
    mode = os.environ.get(MODE, RECORD)
    if mode != RECORD:
        sys.stderr.write(f"reenact: the {mode} could not begin: the process that started it has ended\n")
        sys.stderr.flush()
        os._exit(3)


def _write(place: str, name: str, text: str) -> bool:
    try:
        with open(os.path.join(place, name), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        return False
    return True


def _failed(place: str, mode: Any, error: Exception) -> None:
    told = _write(place, "failed", str(error) or type(error).__name__)
    if mode != RECORD:
        if not told:  # the parent will not know why
            sys.stderr.write(f"reenact: the {mode} could not begin: {error}\n")
            sys.stderr.flush()
        os._exit(int(getattr(error, "exit_code", 3)))


def _clean_environment(instructions: dict[str, Any], onpath: str) -> None:
    """Restore ``os.environ`` as it would be without us, for the program and its children."""
    os.environ.pop(VARIABLE, None)
    os.environ.pop(MODE, None)
    for name, value in (instructions.get("restore") or {}).items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if "restore" not in instructions:
        kept = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry and entry != onpath]
        if kept:
            os.environ["PYTHONPATH"] = os.pathsep.join(kept)
        else:
            os.environ.pop("PYTHONPATH", None)
