"""The state of a folder in git: commit, branch, changed and untracked files, and the diff.

Only the parent of a recorded command runs git, while the program runs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from reenact.facts.call import Json
from reenact.facts.late import late
from reenact.recording.head_commit import ANSWERED, REVISION

if TYPE_CHECKING:
    from reenact.facts.record import EvidenceNoted
    from reenact.privacy import make_redactor
else:
    EvidenceNoted = late("reenact.facts.record", "EvidenceNoted")
    make_redactor = late("reenact.privacy", "make_redactor")

LONGEST_DIFF: Final = 1 << 20
"""The most bytes of a diff that are kept."""
MOST_NAMES: Final = 200
"""The most names of changed and untracked files that are kept."""

_GIT_SECONDS: Final = 5.0
_PLAIN: Final = ("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")
"""Options for a diff that git can apply under any configuration of the user."""


class Git:
    """Asks git about a folder, without blocking: git is started at once, and a thread reads its output.

    Without git, or without a repository, there are no facts. It never raises, and never asks for a password.

    Args:
        folder: Where the program runs.
        then: Called with all facts, with diff and names, as soon as they are known. Not called if there are none.
    """

    def __init__(self, folder: str, then: Callable[[dict[str, Json]], object] = lambda facts: None) -> None:
        self._folder = folder
        self._then = then
        self._facts: dict[str, Json] = {}
        self._thread = threading.Thread(target=self._work, name="reenact-git", daemon=True)
        self._thread.start()

    def facts(self) -> dict[str, Json]:
        """``commit``, ``branch``, ``root``, ``dirty`` (whether a tracked file differs); empty where there is no
        repository. Waits a few seconds at most."""
        self._thread.join(_GIT_SECONDS)
        facts = dict(self._facts)
        return {name: facts[name] for name in ("commit", "branch", "root", "dirty") if name in facts}

    def _work(self) -> None:
        try:
            self._ask()
        except Exception:  # on any error of git or of a repository, the run has no facts of it
            return

    def _ask(self) -> None:
        asked = {
            "place": self._start("rev-parse", "HEAD", "--abbrev-ref", "HEAD", "--show-toplevel"),
            "status": self._start("status", "--porcelain=v1", "-z"),
            "diff": self._start("diff", *_PLAIN, "HEAD"),
        }
        answers = {name: _answer(process, failed=name == "place") for name, process in asked.items()}
        place = [each.strip() for each in (answers["place"] or b"").decode("utf-8", "replace").split("\n", 2)]
        if not re.fullmatch("[0-9a-f]{40,64}", place[0]):  # no commit yet, or no repository
            return
        facts: dict[str, Json] = dict(zip(("commit", "branch", "root"), (each or None for each in place), strict=False))
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


def ask_git(folder: str, leave: Callable[[str, str], object]) -> Git:
    """Ask git about the folder of a program that is about to be recorded, and leave the answers for its process.

    Args:
        folder: Where the program runs.
        leave: Leaves a text under a name in the boot's private directory.
    """
    return Git(folder, lambda facts: leave(ANSWERED, _clean(facts)))


def _clean(facts: dict[str, Json]) -> str:
    """The answers of git as a text that may be stored in a file, from which the child passes them through its own
    gate."""
    (record,) = make_redactor().clean(EvidenceNoted(None, REVISION, facts))
    return json.dumps(record.value if isinstance(record, EvidenceNoted) else None)


def _answer(process: subprocess.Popen[bytes] | None, *, failed: bool = False) -> bytes | None:
    """The output of git, cut a little above the limit; None where git took too long or failed (``failed``: its output
    until then)."""
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
        return said if process.wait() == 0 or cut or failed else None
    finally:
        timer.cancel()


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
                next(parts, None)  # the file's name before it was renamed or copied
    return changed, untracked
