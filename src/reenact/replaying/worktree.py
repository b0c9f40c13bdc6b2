"""The code of another revision: a git worktree in a scratch folder, for the length of one replay."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from reenact.errors import UnreplayableRun, UsageError
from reenact.facts.call import Json
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.run import Run
from reenact.replaying.program_start import Start
from reenact.seams.boot.folders import Folder

REVISION: Final = "kit.revision"
"""The name of the note on the state of a run's code (``recording.run_evidence``)."""
_FEW: Final = 3
_GIT_SECONDS: Final = 120


@dataclass(frozen=True, slots=True)
class Tree:
    """A revision as files.

    Attributes:
        root: Root of the repository.
        path: Root of the worktree.
        commit: The commit that is checked out there; empty for the present files of this project.
        now, then: The folder of the recorded project in this tree, and when it was recorded; empty where these are the
            worktree and the repository.
    """

    root: str
    path: str
    commit: str
    now: str = ""
    then: str = ""

    def of_moved(self, elsewhere: Tree | None) -> Tree:
        """The same tree for a run that was recorded where its project lay elsewhere."""
        if elsewhere is None:
            return self
        return replace(self, now=self.moved(elsewhere.path), then=elsewhere.root)

    def moved(self, path: str) -> str:
        """Where a path of the repository lies in this tree; the same path where it lies outside of the repository, or
        the tree does not have it."""
        real = os.path.realpath(path)
        if real != self.root and not real.startswith(self.root + os.sep):
            return path
        there = os.path.normpath(os.path.join(self.path, os.path.relpath(real, self.root)))
        return there if os.path.exists(there) else path

    def start(self, start: Start, run: Run, rev: str) -> Start:
        """The same start in this tree.

        Raises:
            UsageError: The revision does not have the folder in which the program starts.
        """
        folder = self.moved(start.cwd)
        if folder == start.cwd:
            raise UsageError(
                f"revision {rev} has no folder {os.path.relpath(start.cwd, self.root)}",
                cause="it was added later, and the program starts there",
                next_command=f"git -C {self.root} log --oneline -- {os.path.relpath(start.cwd, self.root)}",
            )
        argv = tuple(self.moved(word) if os.path.isabs(word) else word for word in start.argv)
        file, within = (self.moved(path) if path else "" for path in (start.file, start.within))
        return replace(start, argv=argv, cwd=folder, file=file, within=within)

    def environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """An environment whose import path points into this tree."""
        found = dict(environment)
        if found.get("PYTHONPATH"):
            found["PYTHONPATH"] = os.pathsep.join(self.moved(each) for each in found["PYTHONPATH"].split(os.pathsep))
        if found.get("PWD"):
            found["PWD"] = self.moved(found["PWD"])
        return found

    def relocate(self) -> None:
        """Let imports that would come from the repository come from this tree, in the replaying process. A package that
        is installed in place (``pip install -e``) puts its folder on the path, or names it in a finder of its own."""
        sys.path[:] = [self.moved(entry) if entry else entry for entry in sys.path]
        for name, module in list(sys.modules.items()):
            mapping = getattr(module, "MAPPING", None) if name.startswith("__editable__") else None
            if isinstance(mapping, dict):
                mapping.update({package: self.moved(str(place)) for package, place in mapping.items()})

    def named_as_then(self, data: bytes) -> bytes:
        """Output in which the path of this tree is replaced by that of the repository."""
        return data.replace(os.fsencode(self.now or self.path), os.fsencode(self.then or self.root))


def kept_revision(run: Run) -> str:
    """The commit that a run keeps as its code: a fork with ``--rev`` has one; empty for any other run."""
    kept = run.environment.get("fork")
    return str(kept.get("rev") or "") if isinstance(kept, Mapping) else ""


def without_revision(run: Run) -> Run:
    """A run without the commit that it keeps as its code, so that today's code runs."""
    if not kept_revision(run):
        return run
    return replace(run, environment={**run.environment, "fork": {**run.environment["fork"], "rev": ""}})


def find_revision(rev: str, folder: str, run: Run) -> tuple[str, str]:
    """The root of the repository, and the commit that a revision is.

    Args:
        rev: Any name of a revision.
        folder: A folder of the repository: where the recorded program started.
        run: The run, for messages.

    Raises:
        UsageError: There is no repository, or no such revision.
    """
    root = _git(folder, "rev-parse", "--show-toplevel")
    if root is None:
        raise UsageError(
            f"{folder} lies in no git repository, so there is no revision {rev}",
            cause="--rev replays the code that git keeps; git is missing, or the folder was never under it",
            next_command=f"reenact replay {tail(run.id)}",
        )
    commit = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}")
    if commit is None:
        raise UsageError(
            f"there is no revision {rev}",
            cause="a typing mistake, or a branch or tag that has not been fetched",
            next_command=f"git -C {root} log --oneline --all -20",
        )
    return root, commit


@contextmanager
def tree_of(rev: str, folder: str, run: Run, patch: str = "") -> Iterator[Tree]:
    """Check a revision out for the length of a block.

    Args:
        rev: Any name of a revision.
        folder: A folder of the repository: where the recorded program started.
        run: The run, for messages.
        patch: A diff in git's format that is applied to it.

    Raises:
        UsageError: There is no repository, or no such revision.
        UnreplayableRun: The revision cannot be checked out, or the diff does not apply to it.
    """
    root, commit = find_revision(rev, folder, run)
    scratch_folder = Folder("reenact-rev-")
    scratch = os.path.realpath(scratch_folder.path)
    try:
        path = os.path.join(scratch, os.path.basename(root) or "tree")
        if _git(root, "-c", "core.hooksPath=" + os.devnull, "worktree", "add", "--detach", path, commit) is None:
            raise UnreplayableRun(
                f"revision {rev} cannot be checked out",
                cause="the disk is full, or git refuses to make a worktree here",
                next_command=f"git -C {root} worktree list",
                missing=("revision",),
            )
        if patch and _said(path, "apply", "--whitespace=nowarn", "-", given=patch.encode()) is None:
            raise UnreplayableRun(
                f"the uncommitted changes of run {tail(run.id)} do not apply to revision {rev}",
                cause="a credential was removed from them, or one of the files is no text",
                next_command=f"reenact replay {tail(run.id)}",
                missing=("revision",),
            )
        yield Tree(os.path.realpath(root), path, commit)
    finally:
        scratch_folder.close()
        _git(root, "worktree", "prune")


def remarks(known: Mapping[str, Json], rev: str, commit: str) -> tuple[str, ...]:
    """Remarks for the reader: the code that ran, and the changes of the recorded run that no revision has.

    Args:
        known: The note of the recorded run on its own revision (``REVISION``).
        rev: The name of the revision.
        commit: Its commit.
    """
    recorded = str(known.get("commit") or "")
    own = "the commit it was recorded at" if recorded == commit else f"recorded at {recorded[:12] or 'no known commit'}"
    words = [f"code of {commit[:12]}, {own}" if rev == commit else f"code of {rev} ({commit[:12]}), {own}"]
    for name, about in (("changed", "uncommitted changes to"), ("untracked", "files that git did not know:")):
        files = known.get(name)
        if isinstance(files, (list, tuple)) and files:
            more = f" and {len(files) - _FEW} more" if len(files) > _FEW else ""
            words.append(
                f"the recorded run had {about} {', '.join(map(str, files[:_FEW]))}{more}, not in this revision"
            )
    return tuple(words)


def file_at(root: str, commit: str, path: str) -> bytes | None:
    """A file in a commit; None where the commit does not have it.

    Args:
        root: Root of the repository.
        commit: The commit.
        path: The path of the file, from the root on.
    """
    return _said(root, "cat-file", "blob", f"{commit}:{path}")


def files_at(root: str, commit: str, paths: Iterable[str]) -> dict[str, bytes]:
    """The files that a commit has, by path; see ``file_at``. One call of git."""
    asked = [path for path in paths if "\n" not in path]
    left = _said(root, "cat-file", "--batch", given=os.fsencode("".join(f"{commit}:{path}\n" for path in asked))) or b""
    found = {}
    for path in asked:
        head, _, left = left.partition(b"\n")
        if not head.endswith(b" missing") and head.rpartition(b" ")[2].isdigit():
            size = int(head.rpartition(b" ")[2])
            found[path], left = left[:size], left[size + 1 :]
    return found


def is_known(root: str, path: str) -> bool:
    """Whether git knows a file of a repository today."""
    return _said(root, "ls-files", "--error-unmatch", "--", path) is not None


def _git(folder: str, *words: str) -> str | None:
    """The output of git as text; None where it fails or is missing."""
    said = _said(folder, *words)
    return None if said is None else os.fsdecode(said).strip()


def _said(folder: str, *words: str, given: bytes = b"") -> bytes | None:
    try:
        done = subprocess.run(
            ["git", "-C", folder, *words],
            capture_output=True,
            input=given,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"},
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
