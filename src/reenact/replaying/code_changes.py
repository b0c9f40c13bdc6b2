"""The recorded code against today's: the source files that a run has loaded and that have changed since.

They are looked for only if a replay ended differently, because changed code is then a likely cause of the difference.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from typing import Any, Final

from reenact.abc.store import Store
from reenact.errors import StoreError
from reenact.facts.ids import tail
from reenact.facts.run import Run
from reenact.replaying.worktree import files_at

PROCESS: Final = "kit.process"
"""The note with the digests of a run's own source files."""
_SHOWN: Final = 3
_COMMIT: Final = 7
_READ: Final = (256 << 10) + 1
"""The number of bytes of a file that its recorded digest covers (``recording.source_files``)."""


def sources_of(store: Store, run: Run) -> Mapping[str, str]:
    """Digests of the source files that a run has loaded, by path; empty where they were not kept.

    Args:
        store: The store of the run. If the run refers to the note of another run, that run is mostly in the store too.
        run: The run.
    """
    return _kept(store, run, "sources")


def texts_of(store: Store, run: Run) -> Mapping[str, str]:
    """The source files themselves, by path; empty where they were not kept.

    Args:
        store: The store.
        run: The run.
    """
    return _kept(store, run, "texts")


def _kept(store: Store, run: Run, what: str) -> Mapping[str, str]:
    note = _note(store, run.id)
    holder = note.get("held_by")
    if isinstance(holder, str):
        held = _note(store, holder)
        note = held if held.get("digest") == note.get("digest") else {}
    found = note.get(what)
    return {str(path): str(said) for path, said in found.items()} if isinstance(found, Mapping) else {}


def _note(store: Store, run_id: str) -> Mapping[str, Any]:
    try:
        found = store.open(store.run(run_id)).notes(None).get(PROCESS)
    except StoreError:
        return {}
    return found if isinstance(found, Mapping) else {}


def changed_files(sources: Mapping[str, str], folder: str) -> list[str]:
    """The sources that differ from today's files in a folder, in order; a missing file counts.

    Args:
        sources: Digests by path.
        folder: The start of relative paths.

    Cost: a read of each file.
    """
    return [path for path, digest in sorted(sources.items()) if _digest(os.path.join(folder, path)) != digest]


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return _digest_of(file.read(_READ))
    except OSError:
        return ""


def _digest_of(data: bytes) -> str:
    return hashlib.blake2b(data[:_READ], digest_size=16).hexdigest()


def in_words(
    sources: Mapping[str, str], folder: str, revision: Mapping[str, Any], run: Run, used: Iterable[str]
) -> str:
    """The changed files, in words, with the command that runs the recorded code if a commit has it; empty without
    changes. A commit has that code if it has the sources as they were, and no file that the run used had uncommitted
    changes, judged by the names of the files alone.

    Args:
        sources: The source files that the run has loaded: digests by path.
        folder: The start of relative paths.
        revision: The run's facts on its commit, and on uncommitted changes.
        run: The run.
        used: The files that the run has loaded or read.
    """
    changed = changed_files(sources, folder)
    if not changed:
        return ""
    commit = str(revision.get("commit") or "")
    more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    names = set(map(os.path.basename, used))
    dirty = any(os.path.basename(str(each)) in names for each in revision.get("changed") or ())
    inside = {path: digest for path, digest in sources.items() if not os.path.isabs(path) and not path.startswith("..")}
    held = files_at(folder, commit, inside) if commit and not dirty else {}
    has = held and all(path in held and _digest_of(held[path]) == digest for path, digest in inside.items())
    since = commit[:_COMMIT] if has else "the recording"
    line = f"the code has changed since {since} ({', '.join(changed[:_SHOWN])}{more})"
    return f"{line}; `reenact replay {tail(run.id)} --rev {since}` runs the recorded code" if has else line
