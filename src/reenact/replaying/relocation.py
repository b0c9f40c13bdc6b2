"""A run from another machine, in this project: its paths are those of this project.

The code that is replayed lies here, so a replay only needs a folder of the same shape: a clone of the repository, at
any place. Only runs of another user, or from a bundle, are moved.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence

from reenact.abc.redaction import Redactor
from reenact.facts.call import Call, Failure, Json, Value
from reenact.facts.lazy_dataclass import replace
from reenact.facts.record import Record
from reenact.facts.run import Run
from reenact.replaying.worktree import Tree
from reenact.seams import trust


def relocated(run: Run, project: str) -> tuple[Run, Tree | None]:
    """A run whose entry lies in this project.

    Args:
        run: The run.
        project: Root of this project.

    Returns:
        The run, and where its project lies now; the run itself and None, where it was recorded here.
    """
    root = run.entry.project
    if not root or root == project or trust.is_ours(run):
        return run, None
    there, here = os.path.realpath(root), os.path.realpath(project)
    if there == here:
        return run, None
    tree = Tree(there, here, "")
    return placed(run, tree), tree


def placed(run: Run, tree: Tree) -> Run:
    """A run whose entry lies in a tree."""
    entry = run.entry
    return replace(
        run,
        entry=replace(
            entry,
            argv=_moved(entry.argv, tree),
            own=_moved(entry.own, tree),
            file=tree.moved(entry.file) if entry.file else "",
            cwd=tree.moved(entry.cwd) if entry.cwd else "",
            project=tree.path,
        ),
    )


def _moved(words: tuple[str, ...], tree: Tree) -> tuple[str, ...]:
    return tuple(tree.moved(word) if os.path.isabs(word) else word for word in words)


class ProjectRenaming:
    """Cleans live calls, and replaces this project's path by the recorded one (``abc.redaction.Redactor``).

    A request may name files of the project: in a clone of the project these are the same files.

    Args:
        redactor: Cleans live calls as those of the recording were cleaned.
        tree: The project's folder now.
    """

    def __init__(self, redactor: Redactor, tree: Tree) -> None:
        self._redactor = redactor
        # Not inside a longer name: "/b/proj" is no part of "/b/proj-2" or "/b/proj.old".
        now, then = tree.now or tree.path, tree.then or tree.root
        self._text = re.compile(re.escape(now) + r"(?![\w-]|\.\w)")
        self._bytes = re.compile(re.escape(os.fsencode(now)) + rb"(?![\w-]|\.\w)")
        self._then, self._then_bytes = then, os.fsencode(then)

    @property
    def rules(self) -> tuple[str, ...]:
        return self._redactor.rules

    def clean(self, record: Record) -> tuple[Record, ...]:
        return self._redactor.clean(record)

    def flush(self) -> tuple[Record, ...]:
        return self._redactor.flush()

    def call(self, call: Call) -> Call:
        body = self._bytes.sub(lambda _: self._then_bytes, call.body)
        head = self._renamed(dict(call.head))
        if body != call.body or head != call.head:
            call = replace(call, body=body, head=head)
        return self._redactor.call(call)

    def outcome(self, outcome: Value | Failure) -> Value | Failure:
        return self._redactor.outcome(outcome)

    def slots(self, slots: Mapping[str, bytes]) -> Mapping[str, bytes]:
        return self._redactor.slots(slots)

    def printed(self, texts: Sequence[bytes]) -> list[bytes] | None:
        return self._redactor.printed(texts)

    def text(self, text: str) -> str:
        return self._redactor.text(text)

    @property
    def naming(self) -> Callable[[str], str]:
        return self._redactor.naming

    def data(self, data: Json) -> Json:
        return self._redactor.data(data)

    def _renamed(self, value: Json) -> Json:
        if isinstance(value, str):
            return self._text.sub(lambda _: self._then, value)
        if isinstance(value, dict):
            return {name: self._renamed(part) for name, part in value.items()}
        return [self._renamed(part) for part in value] if isinstance(value, list) else value


def renaming(redactor: Redactor, tree: Tree | None) -> Redactor:
    """A redactor that knows where the project of a run from elsewhere lies; the same redactor where nothing was
    moved."""
    return redactor if tree is None or (tree.commit and not tree.then) else ProjectRenaming(redactor, tree)
