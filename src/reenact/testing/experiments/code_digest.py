"""The code that an experiment runs, as a digest: cells that were done with other code are done again."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from reenact.errors import UsageError

_SKIPPED: Final = frozenset(("__pycache__", "node_modules", "site-packages"))
_GIT_SECONDS: Final = 60


def project_digest(root: Path) -> str:
    """Digest of the project's Python sources: all below its root, except for hidden folders and virtual environments.

    Cost: reads each of them once.
    """
    return files_digest(root, _sources(root))


def files_digest(root: Path, names: Iterable[str]) -> str:
    """Digest of the present contents of files; a missing file counts as absent.

    Args:
        root: The folder of relative names.
        names: The files; the order counts.
    """
    whole = hashlib.blake2b(digest_size=16)
    for name in names:
        try:
            with open(root / name, "rb") as file:
                found = hashlib.file_digest(file, "blake2b").hexdigest()
        except OSError:
            found = "absent"
        whole.update(f"{name}\0{found}\0".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def commit_of(rev: str, folder: Path) -> str:
    """The present commit of a revision: a branch may move while an experiment runs.

    Raises:
        UsageError: There is no repository there, or no such revision.
    """
    words = ["git", "-C", str(folder), "rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}"]
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=_GIT_SECONDS, check=False
        )
        found = done.stdout.strip() if done.returncode == 0 else ""
    except (OSError, subprocess.TimeoutExpired):
        found = ""
    if not found:
        raise UsageError(
            f"there is no revision {rev} here",
            cause="a typing mistake, a branch that has not been fetched, or no git repository",
            next_command="git log --oneline --all -20",
        )
    return found


def _sources(root: Path) -> Iterator[str]:
    """Paths of the sources, relative to the root, in order."""
    for where, folders, files in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _SKIPPED
            and not os.path.exists(os.path.join(where, name, "pyvenv.cfg"))
        )
        below = os.path.relpath(where, root)
        yield from sorted(os.path.normpath(os.path.join(below, name)) for name in files if name.endswith(".py"))
