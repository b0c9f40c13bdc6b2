"""The folder of goldens: ``tests/goldens/NAME.reenact``, below the root of the project."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from reenact.abc.project_settings import project_directory
from reenact.errors import UsageError
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.testing.goldens.golden_files import FOLDER, SUFFIX, names_in, root_of
from reenact.testing.goldens.golden_trace import check_name

WILD: Final = frozenset("*?[")
"""The characters that make a name a pattern."""


@dataclass(frozen=True, slots=True)
class GoldenDir:
    """The goldens of one project.

    Attributes:
        root: Root of the project.
        folder: The folder of the goldens.
        project: The folder whose modules define graders: that of the active settings, else the root. It is searched
            once.
    """

    root: Path
    folder: Path
    project: Path = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "project", project_directory(self.root) or self.root)

    def path(self, name: str) -> Path:
        """The file of a golden, whether it is there or not.

        Raises:
            UsageError: The name cannot be that of a golden.
        """
        return self.folder / f"{check_name(name)}{SUFFIX}"

    def names(self) -> list[str]:
        """The names of all goldens, in order. One walk through the folder: no file is opened."""
        return names_in(self.folder)

    def matching(self, patterns: Sequence[str]) -> list[str]:
        """The names that match patterns (``checkout/*``); all names without a pattern.

        Raises:
            UsageError: A pattern matches no name.
        """
        every = self.names()
        if not patterns:
            return every
        found: list[str] = []
        for pattern in patterns:
            meant = select(pattern, every)
            if not meant:
                raise UsageError(
                    f"there is no golden {pattern!r} in {self.shown(self.folder)}",
                    cause=f"there are {', '.join(every[:12])}" + (" …" if len(every) > 12 else "")
                    if every
                    else "there are none yet",
                    next_command="reenact golden ls"
                    if every
                    else "reenact golden add @failed --as first --expect \"status == 'ok'\"",
                )
            found += meant
        return list(dict.fromkeys(found))

    def shown(self, path: Path) -> str:
        """A path as it is shown: relative to the root, where it lies below."""
        text, root = str(path), os.path.join(self.root, "")
        return text.removeprefix(root) if text != root else text


def select(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that match a pattern, which is a name itself, or a shell pattern over whole names."""
    if not WILD & set(pattern):
        return [name for name in names if name == pattern]
    return [name for name in names if fnmatch.fnmatchcase(name, pattern)]


def open_golden_dir(start: Path | None = None) -> GoldenDir:
    """The golden folder of the project around a folder, by default the working directory.

    The root is the nearest folder upwards that holds ``tests/goldens``, else the nearest one that looks like the root
    of a project, else the folder itself.
    """
    root = root_of((start or Path.cwd()).absolute())
    return GoldenDir(root, root / FOLDER)
