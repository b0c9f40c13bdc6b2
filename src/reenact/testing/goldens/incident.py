"""The incident's code: the code that a recorded run ran, as far as it is at hand, to try a new golden against it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from reenact.abc.store import Recording
from reenact.errors import ReenactError, UsageError
from reenact.facts.file_notes import ABSENT
from reenact.facts.file_notes import NOTE as FILE
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.path_before import NOTE as BEFORE
from reenact.facts.run import Run
from reenact.recording.run_evidence import PROCESS
from reenact.replaying.relocation import relocated
from reenact.replaying.worktree import REVISION, file_at, find_revision, is_known, kept_revision, tree_of
from reenact.seams.project_paths import root_of

_CODE: Final = (".py", ".pyw")
_FEW: Final = 3
_COMMIT: Final = 12
_DIGITS: Final = 32
"""The length of a digest; a text in place of one (for a file that was too large) has another length."""


@dataclass(frozen=True, slots=True)
class IncidentCode:
    """The place of the code of a recorded run.

    Attributes:
        rev: The commit that has it; empty where today's files are that code.
        patch: The uncommitted changes of the run, as a diff; empty without any.
        missing: Why the code cannot be had; empty where it can.
    """

    rev: str = ""
    patch: str = ""
    missing: str = ""

    def __str__(self) -> str:
        return self.rev[:_COMMIT] + (" with its uncommitted changes" if self.patch else "")


def incident_code(recording: Recording, project: str) -> IncidentCode:
    """The place of the code that a run ran: today's files, its commit (with its uncommitted changes, if the run keeps a
    diff of them), or none.

    Args:
        recording: The run, with the evidence that it keeps of its sources, of the files that it read (a prompt may be
            one) and of its revision.
        project: Root of the project.

    Cost: a read of each of these files, and a second one by git if one of them differs today; a worktree if the commit
    alone is not that code.
    """
    notes = recording.notes(None)
    run, moved = relocated(recording.run, project)
    kept = kept_revision(recording.run)
    if kept:
        found = _repository(kept, run.entry.cwd or project, run)
        return (
            IncidentCode(kept) if found else IncidentCode(missing=f"git does not hold the revision {kept[:12]} it ran")
        )
    revision = _mapping(notes.get(REVISION)) or _mapping(recording.run.environment.get("git"))
    commit = str(revision.get("commit") or "")
    root = str(revision.get("root") or recording.run.entry.cwd or project)
    files = _files(recording, root)
    if not any(path.endswith(_CODE) for path in files):
        return IncidentCode(missing="the code that it ran is not known")
    differs = [path for path in files if _digest_of(path if moved is None else moved.moved(path)) not in files[path]]
    repository = _repository(commit, run.entry.cwd or project, run) if differs else ""
    then = {path: file_at(repository, commit, os.path.relpath(path, root)) if repository else None for path in files}
    deciding = [path for path in files if _decides(path, files[path], then[path], repository)]
    changed = [os.path.relpath(path, root) for path in deciding if path in differs]
    if not changed:
        return IncidentCode()
    where = f"{_listed(changed)} changed since it was recorded"
    lost = [os.path.relpath(path, root) for path in deciding if _digest(then[path]) not in files[path]]
    patch = _patch(revision) if lost and repository else ""
    if patch:
        asked_for = {os.path.relpath(path, root): files[path] for path in deciding}
        lost = _lost_in_tree(commit, patch, run.entry.cwd or project, run, asked_for, lost)
    if lost or not repository:
        whose = f"does not hold {', '.join(lost[:_FEW])} as it was" if repository else "has no commit of it"
        return IncidentCode(missing=f"{where}, and git {whose}")
    return IncidentCode(commit, patch)


def _patch(revision: Mapping[str, Any]) -> str:
    """A run's uncommitted changes, as a diff; empty if there were none, or if not all of them were kept."""
    diff = revision.get("diff")
    return diff if isinstance(diff, str) and revision.get("whole") else ""


def _lost_in_tree(
    commit: str, patch: str, folder: str, run: Run, files: Mapping[str, tuple[str, ...]], lost: list[str]
) -> list[str]:
    """The files that differ from a commit with its uncommitted changes; ``lost`` where that code cannot be had."""
    try:
        with tree_of(commit, folder, run, patch) as tree:
            found = {path: _digest_of(os.path.join(tree.path, path)) for path in files}
    except ReenactError:
        return lost
    return [path for path in files if found[path] not in files[path]]


def _decides(path: str, digests: tuple[str, ...], then: bytes | None, repository: str) -> bool:
    """Whether a file is part of the code, or is kept by git together with the code. Other files are data, and the code
    reads their content of today. A file that did not exist is data that the run has made, unless git knows it now: a
    fix may have added it."""
    if path.endswith(_CODE) or then is not None:
        return True
    if digests == (ABSENT,):
        return bool(repository) and is_known(repository, path)
    return not repository


def _files(recording: Recording, root: str) -> dict[str, tuple[str, ...]]:
    """The files that decide the behaviour of a run, by path, with the digests of the contents that it found; without
    files that the run itself has written."""
    notes = recording.notes(None)
    sources = _mapping(_mapping(notes.get(PROCESS)).get("sources"))
    found: dict[str, tuple[str, ...]] = {
        os.path.join(root, str(path)): (str(digest),) for path, digest in sources.items()
    }
    below = root_of(recording.run) or root
    written = {_mapping(note).get("path") for name, note in notes.items() if name.startswith(BEFORE)}
    for name, note in notes.items():
        path = name.removeprefix(FILE)
        if name.startswith(FILE) and f"./{path}" not in written:
            digests = tuple(map(str, _mapping(note).get("digests") or ()))
            if all(digest == ABSENT or len(digest) == _DIGITS for digest in digests):
                found.setdefault(os.path.join(below, path), digests)
    return found


def _repository(commit: str, folder: str, run: Run) -> str:
    """Root of the repository that has a commit; empty where none has."""
    try:
        return find_revision(commit, folder, run)[0] if commit else ""
    except UsageError:
        return ""


def _digest_of(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError:
        return ABSENT


def _digest(data: bytes | None) -> str:
    """The digest by which a run knows a file."""
    return ABSENT if data is None else hashlib.blake2b(data, digest_size=16).hexdigest()


def _mapping(found: Any) -> Mapping[str, Any]:
    return found if isinstance(found, Mapping) else {}


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _FEW} more have" if len(paths) > _FEW else " has" if len(paths) == 1 else " have"
    return ", ".join(paths[:_FEW]) + more
