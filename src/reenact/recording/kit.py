"""Evidence about the environment of a run: the cheap facts at once, the others when somebody has time for them."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any, Final

from reenact.facts.call import Json
from reenact.seams.machine import facts as machine_facts
from reenact.seams.stdout import facts as stream_facts

__all__ = ["Git", "packages", "process_facts"]

_LOCALE: Final = ("LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_TIME", "LC_NUMERIC", "LC_MONETARY", "LANG", "PYTHONUTF8")
_FLAGS: Final = ("dev_mode", "isolated", "no_site", "optimize", "utf8_mode")
_GIT_SECONDS: Final = 5.0


def process_facts(environment: Mapping[str, str] | None = None) -> dict[str, Json]:
    """What this process can say of itself without asking anybody: about 0.1 ms.

    Args:
        environment: Its environment; ``os.environ`` by default.

    Returns:
        JSON-able facts: Python, platform, command line, folder, hash randomisation, time zone, locale, streams.
    """
    environment = os.environ if environment is None else environment
    return {
        "python": sys.version.split()[0],
        "implementation": sys.implementation.name,
        "build": sys.version,
        "executable": sys.executable,
        "prefix": sys.prefix,
        "platform": sys.platform,
        "machine": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "argv": list(getattr(sys, "orig_argv", sys.argv)),
        "cwd": _cwd(),
        "hash_randomisation": bool(sys.flags.hash_randomization),
        "flags": {name: getattr(sys.flags, name) for name in _FLAGS},
        "time_zone": {"TZ": environment.get("TZ"), "names": list(time.tzname), "link": _zone_link()},
        "locale": {name: environment[name] for name in _LOCALE if name in environment},
        "encoding": {"filesystem": sys.getfilesystemencoding(), "default": sys.getdefaultencoding()},
        "streams": stream_facts(),
        **machine_facts(),
        "cpus": os.cpu_count(),
    }


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:  # the folder has been removed under the process
        return ""


def _zone_link() -> str | None:
    """The name of the system's time zone, where it is a link into the zone database."""
    try:
        return os.readlink("/etc/localtime").rpartition("zoneinfo/")[2]
    except OSError:
        return None


def packages() -> list[list[str]]:
    """Installed distributions as (name, version), sorted: 10 to 200 ms, for a moment when nobody waits."""
    from importlib.metadata import distributions  # imported here: it costs 12 ms, and recording begins without it

    found: dict[str, str] = {}
    for distribution in distributions():
        try:
            name, version = distribution.metadata["Name"], distribution.version
        except (KeyError, OSError, ValueError):  # a half-removed distribution
            continue
        if name:
            found.setdefault(name.lower().replace("_", "-"), version or "")
    return [[name, version] for name, version in sorted(found.items())]


class Git:
    """Asks git about a folder without waiting: it is started at once and read when the answer is wanted.

    Where there is no git, or no repository, there are no facts; it never raises and never asks for a password.

    Args:
        folder: Where the program runs.
    """

    def __init__(self, folder: str) -> None:
        self._asked = {
            "commit": _ask(folder, "rev-parse", "HEAD"),
            "branch": _ask(folder, "rev-parse", "--abbrev-ref", "HEAD"),
            "root": _ask(folder, "rev-parse", "--show-toplevel"),
            "status": _ask(folder, "status", "--porcelain", "--untracked-files=no"),
        }

    def facts(self) -> dict[str, Json]:
        """``commit``, ``branch``, ``root``, ``dirty`` (whether a tracked file differs); empty where there is none."""
        answers = {name: _answer(process) for name, process in self._asked.items()}
        self._asked = {}
        if not answers.get("commit"):
            return {}
        status = answers.pop("status")
        return {**answers, "dirty": None if status is None else bool(status)}


def _ask(folder: str, *words: str) -> subprocess.Popen[str] | None:
    quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdout": subprocess.PIPE}
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        return subprocess.Popen(["git", "-C", folder or ".", *words], text=True, env=environment, **quiet)
    except OSError:
        return None


def _answer(process: subprocess.Popen[str] | None) -> str | None:
    if process is None:
        return None
    try:
        said, _ = process.communicate(timeout=_GIT_SECONDS)
    except (subprocess.TimeoutExpired, OSError, ValueError):
        process.kill()
        process.communicate()
        return None
    return said.strip() if process.returncode == 0 else None
