"""The sources that a bundle carries, laid out as files of a scratch folder, so that they can be run there once.

This is the one exception from *data never becomes code*: a user has explicitly asked to run them. The process that runs
them sees neither network nor home nor project (``hidden_folders``, ``isolation``); else it does not begin.
"""

from __future__ import annotations

import os
import posixpath
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from reenact.abc.store import Store
from reenact.errors import UnreplayableRun, UsageError
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.run import Run
from reenact.replaying.code_changes import sources_of, texts_of
from reenact.replaying.worktree import REVISION, Tree
from reenact.seams.boot.folders import Folder

LARGEST: Final = 256 << 10
ALTOGETHER: Final = 2 << 20
MOST: Final = 400
"""The most sources that a recording keeps (``recording.source_files``): a recording with more was not made by us."""

_BUNDLE: Final = "run.reenact"
_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class ScratchSources:
    """Source files in scratch.

    Attributes:
        folder: The scratch folder, with a copy of the bundle in it.
        bundle: The path of that copy.
        tree: The recorded project's folder now.
        count: The number of files.
        lost: The names of files that had run, but were not kept.
    """

    folder: str
    bundle: str
    tree: Tree
    count: int
    lost: tuple[str, ...]

    @property
    def remark(self) -> str:
        """The remark for the reader of the report."""
        said = f"code of the bundle: {self.count} source file{'s' * (self.count != 1)}, run isolated"
        if not self.lost:
            return said
        more = f" and {len(self.lost) - _NAMED} more" if len(self.lost) > _NAMED else ""
        return f"{said}; not in it: {', '.join(self.lost[:_NAMED])}{more}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that Python needs beside an empty environment: a search path without folders of this user."""
        return {"PATH": os.defpath.lstrip(os.pathsep)}


@contextmanager
def carried(store: Store, run: Run, file: str) -> Iterator[ScratchSources]:
    """Lay the sources out for the length of a block.

    Args:
        store: The opened bundle.
        run: The run of the bundle.
        file: The bundle.

    Raises:
        UsageError: The file is no bundle.
        UnreplayableRun: The bundle has no sources, or the name of a source leads out of the project.
    """
    if not os.path.isfile(file) or not file.endswith(".reenact"):
        raise UsageError(
            f"run {tail(run.id)} is a run of a store, and --sources runs what a bundle carries",
            cause="the code of a run in the store is that of this project, or of its commit with --rev",
            next_command=f"reenact pack {tail(run.id)} -o {tail(run.id)}.reenact",
        )
    texts = texts_of(store, run)
    if not texts:
        raise _not_kept(run, file)
    root = _root(store, run)
    for name in texts:
        _required(name, file)
    _bounded(texts, file)
    below = os.path.relpath(run.entry.cwd or root, root)
    if below != os.curdir:
        _required(below.replace(os.sep, "/"), file)
    with Folder("reenact-sources-") as made:
        folder = os.path.realpath(made)
        home = os.path.join(folder, os.path.basename(root) or "project")
        os.makedirs(os.path.join(home, below), mode=0o700, exist_ok=True)
        for name, text in sorted(texts.items()):
            _laid(home, name, text, file)
        bundle = (
            os.path.join(folder, _BUNDLE) if os.path.basename(home) != _BUNDLE else os.path.join(folder, "1.reenact")
        )
        shutil.copyfile(file, bundle)
        lost = tuple(sorted(set(sources_of(store, run)) - set(texts)))
        yield ScratchSources(folder, bundle, Tree(root, home, ""), len(texts), lost)


def _root(store: Store, run: Run) -> str:
    """The folder of relative names: the recorded repository, else the folder in which the program was started."""
    note = store.open(run).notes(None).get(REVISION)
    found = note.get("root") if isinstance(note, Mapping) else None
    return os.path.normpath(str(found or run.entry.cwd or run.entry.project or os.sep))


def _required(name: str, file: str) -> None:
    """Refuse a name that does not name a file below the project.

    Raises:
        UnreplayableRun: The name leads elsewhere, or is no plain path.
    """
    parts = name.split("/")
    plain = name == posixpath.normpath(name) and not name.startswith("/") and ".." not in parts
    if not plain or any(each in name for each in ("\\", "\0", ":")) or len(name) > 1000 or not name.isprintable():
        raise _refused(f"the source {name[:200]!r} does not lie below the recorded project", file)


def _bounded(texts: Mapping[str, str], file: str) -> None:
    sizes = [len(text.encode("utf-8", "surrogatepass")) for text in texts.values()]
    if len(sizes) > MOST or max(sizes) > LARGEST or sum(sizes) > ALTOGETHER:
        raise _refused(f"it carries {len(sizes)} sources of {sum(sizes)} bytes, more than a recording keeps", file)


def _laid(home: str, name: str, text: str, file: str) -> None:
    path = os.path.join(home, *name.split("/"))
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "xb") as source:
            source.write(text.encode("utf-8"))
    except (OSError, ValueError) as error:  # the name is too long, a folder in another name, or has half a character
        raise _refused(f"the source {name!r} cannot be laid out: {type(error).__name__}", file) from None


def _refused(why: str, file: str) -> UnreplayableRun:
    return UnreplayableRun(
        f"the sources of {file} are not run: {why}",
        cause="no recording writes this: another program made the bundle, or its program lay outside its project",
        next_command=f"reenact replay {shlex.quote(file)} --cmd 'python agent.py'",
        missing=("sources",),
    )


def _not_kept(run: Run, file: str) -> UnreplayableRun:
    return UnreplayableRun(
        f"{file} carries no sources of run {tail(run.id)}",
        cause="the run was killed, or imported, or its files are each above 256 KiB; to have them kept, record the"
        " whole program to its end and pack that run",
        next_command=f"reenact replay {shlex.quote(file)} --cmd 'python agent.py'",
        missing=("sources",),
    )


def refused_here(missing: str, run: str) -> UnreplayableRun:
    """The error for a process that is not isolated as foreign code must be.

    Args:
        missing: The parts that are not cut.
        run: The run.
    """
    return UnreplayableRun(
        f"the sources of run {tail(run)} are not run here: the system does not cut {missing}",
        cause="it needs Linux 5.12 or newer with user namespaces, overlays and seccomp; a container often forbids them",
        next_command="reenact doctor",
        missing=("isolation",),
    )


def naming_the_option(error: UnreplayableRun, store: Store, run: Run, file: str) -> UnreplayableRun:
    """The error for a missing program; it names ``--sources`` where the bundle carries the program.

    Args:
        error: The error.
        store: The store in which the run was found.
        run: The run.
        file: The bundle, or another store.
    """
    if not os.path.isfile(file) or not file.endswith(".reenact") or not texts_of(store, run):
        return error
    return UnreplayableRun(
        error.message,
        cause="the bundle carries its sources: they can be run cut off from network, home and project",
        next_command=f"reenact replay {shlex.quote(file)} --sources",
        missing=("entry",),
    )
