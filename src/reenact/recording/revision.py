"""Which revision of the program ran: from files alone inside the recorded process, with git itself beside it.

A recorded process starts no git: the program might wait for any child, and would get ours. ``reenact record --`` asks
git in the parent, while the program runs.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from typing import Any, Final

from reenact.facts.call import Json

LONGEST_DIFF: Final = 1 << 20
"""Bytes of a diff that are kept."""
MOST_NAMES: Final = 200
"""Names of changed and untracked files that are kept."""

_GIT_SECONDS: Final = 5.0
_UPWARDS: Final = 64
_HEAD_BYTES: Final = 4096
_PACKED_BYTES: Final = 8 << 20
_HASH_LENGTHS: Final = (40, 64)


def read_commit(folder: str) -> dict[str, Json]:
    """The commit that is checked out around a folder, read from git's own files. About 0.1 ms; starts nothing.

    Args:
        folder: Where the program runs.

    Returns:
        ``commit``, ``branch`` (``HEAD`` where none is checked out), ``root``; empty where there is no repository.
    """
    try:
        root, git = _repository(os.path.abspath(folder))
        if not git:
            return {}
        head = _text(os.path.join(git, "HEAD"))
        if not head.startswith("ref: "):
            return {"commit": head, "branch": "HEAD", "root": root} if len(head) in _HASH_LENGTHS else {}
        name = head.removeprefix("ref: ")
        commit = _reference(git, name)
        return {"commit": commit, "branch": name.removeprefix("refs/heads/"), "root": root} if commit else {}
    except (OSError, ValueError):
        return {}


def _repository(folder: str) -> tuple[str, str]:
    """The nearest folder upwards that is a working tree, and where its git files are; empty without one."""
    for _ in range(_UPWARDS):
        place = os.path.join(folder, ".git")
        if os.path.isdir(place):
            return folder, place
        if os.path.isfile(place):  # a worktree or submodule
            target = _text(place).removeprefix("gitdir: ")
            return folder, os.path.join(folder, target)
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return "", ""


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read(_HEAD_BYTES).strip()


def _reference(git: str, name: str) -> str:
    common = git
    if os.path.isfile(os.path.join(git, "commondir")):
        common = os.path.join(git, _text(os.path.join(git, "commondir")))
    for place in (git, common):
        path = os.path.join(place, *name.split("/"))
        if os.path.isfile(path):
            return _text(path)
    packed = os.path.join(common, "packed-refs")
    if os.path.isfile(packed) and os.path.getsize(packed) <= _PACKED_BYTES:
        with open(packed, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                if line.endswith(f" {name}\n"):
                    return line.partition(" ")[0]
    return ""


class Git:
    """Asks git about a folder without being waited for: it is started at once and read in a thread of its own.

    Where there is no git, or no repository, there are no facts; it never raises and never asks for a password.

    Args:
        folder: Where the program runs.
        then: Called with everything, diff and names included, as soon as it is known; not where there is nothing.
    """

    def __init__(self, folder: str, then: Callable[[dict[str, Json]], object] = lambda facts: None) -> None:
        self._folder = folder
        self._then = then
        self._facts: dict[str, Json] = {}
        self._thread = threading.Thread(target=self._work, name="reenact-git", daemon=True)
        self._thread.start()

    def facts(self) -> dict[str, Json]:
        """``commit``, ``branch``, ``root``, ``dirty`` (whether a tracked file differs); empty where there is none.
        Waits a few seconds at most."""
        self._thread.join(_GIT_SECONDS)
        facts = dict(self._facts)
        return {name: facts[name] for name in ("commit", "branch", "root", "dirty") if name in facts}

    def _work(self) -> None:
        try:
            self._ask()
        except Exception:  # whatever git, or a repository, does: the run has no facts of it
            return

    def _ask(self) -> None:
        asked = {
            "commit": self._start("rev-parse", "HEAD"),
            "branch": self._start("rev-parse", "--abbrev-ref", "HEAD"),
            "root": self._start("rev-parse", "--show-toplevel"),
            "status": self._start("status", "--porcelain=v1", "-z"),
            "diff": self._start("diff", "HEAD", "--no-color", "--no-ext-diff", "--no-textconv"),
        }
        answers = {name: _answer(process) for name, process in asked.items()}
        commit = answers["commit"]
        if not commit:
            return
        facts: dict[str, Json] = {name: _line(answers[name]) for name in ("commit", "branch", "root")}
        changed, untracked = _names(answers["status"])
        diff = answers["diff"]
        facts |= {
            "dirty": None if answers["status"] is None else bool(changed),
            "changed": changed[:MOST_NAMES],
            "untracked": untracked[:MOST_NAMES],
            "diff": None if diff is None else diff[:LONGEST_DIFF].decode("utf-8", "replace"),
            "whole": diff is not None and len(diff) <= LONGEST_DIFF,
        }
        self._facts = facts
        self._then(facts)

    def _start(self, *words: str) -> subprocess.Popen[bytes] | None:
        quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdout": subprocess.PIPE}
        environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
        command = ["git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-C", self._folder or ".", *words]
        try:
            return subprocess.Popen(command, env=environment, **quiet)
        except OSError:
            return None


def _answer(process: subprocess.Popen[bytes] | None) -> bytes | None:
    """What git said, a little more than may be kept at most; None where it failed or took too long."""
    if process is None:
        return None
    timer = threading.Timer(_GIT_SECONDS, process.kill)
    timer.daemon = True
    timer.start()
    try:
        assert process.stdout is not None
        said = process.stdout.read(LONGEST_DIFF + 1)
        cut = len(said) > LONGEST_DIFF
        if cut:
            process.kill()
        process.stdout.close()
        return said if process.wait() == 0 or cut else None
    finally:
        timer.cancel()


def _line(said: bytes | None) -> str | None:
    return None if said is None else said.decode("utf-8", "replace").strip()


def _names(status: bytes | None) -> tuple[list[str], list[str]]:
    """Tracked files that differ from the commit, and files that git does not know."""
    changed: list[str] = []
    untracked: list[str] = []
    parts = iter((status or b"").decode("utf-8", "replace").split("\0"))
    for part in parts:
        if part.startswith("?? "):
            untracked.append(part[3:])
        elif len(part) > 3:
            changed.append(part[3:])
            if "R" in part[:2] or "C" in part[:2]:
                next(parts, None)  # the name it had before
    return changed, untracked
