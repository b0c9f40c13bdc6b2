"""Evidence of a run's surroundings, gathered in idle time: packages, revision, sources.

It is made in the writer's idle time and once more at the run's end, kept as notes on the run, and passes the write gate
like every other record. The first run of a process, and each run that fails, stores the facts that all runs of the
process share. The others name the run that has them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

from reenact.facts.call import Json
from reenact.facts.record import EvidenceNoted, Record
from reenact.facts.run import Run, Status
from reenact.recording.head_commit import ANSWERED, REVISION, read_commit
from reenact.recording.packages import packages
from reenact.recording.source_files import Sources, loaded_sources

PROCESS = "kit.process"
"""Name of the note with ``digest``, ``packages``, ``sources`` (path to digest) and ``texts`` (path to content), or with
``digest`` and ``held_by`` alone."""

_listed: dict[tuple[str, ...], list[list[str]]] = {}
_looked: dict[tuple[frozenset[str], tuple[str, ...], str], Sources] = {}
_commits: dict[str, dict[str, Json]] = {}
_holders: dict[tuple[str, str], str] = {}


class RunEvidence:
    """The evidence of one run.

    Args:
        run: The run.
        store: URL of its store.
        place: The boot's private directory, to which the parent writes git's answers; empty without one.
    """

    def __init__(self, run: Run, store: str, place: str = "") -> None:
        self._run = run
        self._store = store
        self._place = place
        self._early = False
        self._late = False
        self._digest = ""
        self._told: dict[str, Json] = {}

    def idle(self) -> list[Record]:
        """The evidence that is available during the run, which is all that a killed run has; returned once. Takes 2 ms
        in the first run of a process, and 20 µs later."""
        if self._early:
            return []
        self._early = True
        return [*self._revision(), *self._process(full=False)]

    def last(self, status: Status) -> list[Record]:
        """The evidence that is known only at the end; returned once. Takes some milliseconds in the first run of a
        process."""
        if self._late:
            return []
        self._late = self._early = True
        return [*self._revision(), *self._process(full=status is not Status.OK)]

    def _process(self, *, full: bool) -> Iterator[Record]:
        installed = _installed()
        script = self._script()
        sources = _sources(self._folders(script), script)
        digest = sources.digest
        if digest == self._digest and not full:
            return
        self._digest = digest
        holder = _holders.setdefault((self._store, digest), self._run.id)
        if holder != self._run.id and not full:
            yield EvidenceNoted(None, PROCESS, {"digest": digest, "held_by": holder})
            return
        value = {
            "digest": digest,
            "packages": installed,
            "sources": dict(sources.digests),
            "texts": dict(sources.texts),
        }
        yield EvidenceNoted(None, PROCESS, value)

    def _folders(self, script: str) -> tuple[str, ...]:
        """The program's own folders: its repository, where it was started, and where its first file lies."""
        cwd = self._run.entry.cwd
        root = str(_commit(cwd).get("root") or cwd)
        return tuple(dict.fromkeys(filter(None, (root, cwd, os.path.dirname(script)))))

    def _script(self) -> str:
        """The script that was run; empty where there is none. When a script has ended, ``__main__`` no longer names
        it."""
        entry = self._run.entry
        if os.path.isfile(entry.file):
            return entry.file
        named = (os.path.join(entry.cwd, word) for word in sys.orig_argv[1:] if word.endswith((".py", ".pyw")))
        return next((path for path in named if os.path.isfile(path)), "")

    def _revision(self) -> Iterator[Record]:
        """The revision, if it has changed since it was last noted: git may not have answered by then."""
        found = self._read_revision()
        if found != self._told:
            self._told = found
            yield EvidenceNoted(None, REVISION, found)

    def _read_revision(self) -> dict[str, Json]:
        if self._place:
            try:
                with open(os.path.join(self._place, ANSWERED), encoding="utf-8") as file:
                    found: dict[str, Json] = json.load(file)
                    return found
            except (OSError, ValueError):  # git was slower than the program, or there is none
                pass
        return _commit(self._run.entry.cwd)


def _installed() -> list[list[str]]:
    key = tuple(sys.path)
    if key not in _listed:
        _listed.clear()
        _listed[key] = packages()
    return _listed[key]


def _sources(folders: tuple[str, ...], script: str) -> Sources:
    """The program's sources, read again only if a module has been loaded since. The number of modules alone may be the
    same, because modules of the boot are removed again."""
    key = (frozenset(sys.modules.copy()), folders, script)
    if key not in _looked:
        _looked.clear()
        _looked[key] = loaded_sources(folders, script)
    return _looked[key]


def _commit(folder: str) -> dict[str, Json]:
    """The commit around a folder when this process first read it: the process has loaded the code of that commit."""
    if folder not in _commits:
        _commits[folder] = read_commit(folder)
    return _commits[folder]
