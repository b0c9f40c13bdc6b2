"""Playing: the goldens of one session of tests: which a marker means, which no test names, and what came of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reenact.testing.goldens.opened import OpenGolden, open_golden
from reenact.testing.goldens.outcome import Outcome
from reenact.testing.goldens.reports import in_order, write_pages
from reenact.testing.goldens.shelf import WILD, Shelf, open_shelf, select
from reenact.testing.goldens.trial import Trial


class Playing:
    """The goldens of one session.

    Args:
        mode: In which they are run.

    Attributes:
        outcomes: What came of each that was run; the worst, where several tests are about one.
    """

    def __init__(self, mode: str) -> None:
        self._mode = mode
        self._shelves: dict[Path, Shelf] = {}
        self._names: dict[Path, list[str]] = {}
        self._last: tuple[object, ...] = ()
        self._opened: OpenGolden | None = None
        self._used: set[tuple[str, str]] = set()
        self.outcomes: dict[str, Outcome] = {}

    def shelf(self, folder: Path) -> Shelf:
        """The shelf of the project around the folder of a test."""
        if folder not in self._shelves:
            self._shelves[folder] = open_shelf(folder)
        return self._shelves[folder]

    def names(self, shelf: Shelf) -> list[str]:
        """Names of all on a shelf; looked up once."""
        if shelf.folder not in self._names:
            self._names[shelf.folder] = shelf.names()
        return self._names[shelf.folder]

    def several(self, folder: Path, patterns: Sequence[object]) -> list[str] | None:
        """The goldens that a marker means, where these are to be tests of their own; None for one literal name.

        A pattern that means none stays as it is: its test fails and says so. So does a name without a golden.
        """
        texts = [each for each in patterns if isinstance(each, str)]
        if len(texts) != len(patterns) or not texts or (len(texts) == 1 and not WILD & set(texts[0])):
            return None
        every = self.names(self.shelf(folder))
        found = [name for pattern in texts for name in (select(pattern, every) or [pattern])]
        return list(dict.fromkeys(found))

    def named(self, folder: Path, names: Iterable[object]) -> None:
        """A test names these goldens, or patterns."""
        shelf = self.shelf(folder)
        for name in names:
            if isinstance(name, str):
                for each in select(name, self.names(shelf)):
                    self._used.add((str(shelf.folder), each))

    def trial(self, folder: Path, names: Sequence[object]) -> Trial:
        """The trial of a test that is about these."""
        return Trial(self.shelf(folder), names, self._mode, self._open)

    def _open(self, path: Path) -> OpenGolden:
        """The golden of a file, which was read before if tests about the same one stand side by side."""
        found = path.stat() if path.exists() else None
        state = (path, found.st_mtime_ns, found.st_size, found.st_ino) if found is not None else ()
        if state != self._last or self._opened is None:
            self._opened, self._last = open_golden(path), state
        return self._opened

    # --- what a worker tells ---------------------------------------------------------------------------------------

    def told(self) -> list[list[str]]:
        """Which goldens tests name, as data."""
        return sorted(list(each) for each in self._used)

    def heard(self, used: Iterable[Sequence[str]]) -> None:
        """Another process of the same session knows tests that name these."""
        self._used.update((folder, name) for folder, name in used)

    def came_of(self, told: Mapping[str, Any]) -> None:
        """What came of one test."""
        outcome = Outcome.from_json(told)
        before = self.outcomes.get(outcome.name)
        self.outcomes[outcome.name] = outcome if before is None else in_order((before, outcome))[0]

    # --- in the end ------------------------------------------------------------------------------------------------

    def unused(self, arguments: Iterable[Path]) -> list[str]:
        """Goldens that no test names, as files to show, on the shelves that lie below one of ``arguments``: whoever
        runs a part of the tests is told nothing."""
        found = []
        folders = {shelf.folder: shelf for shelf in self._shelves.values()}
        for shelf in folders.values():
            if any(shelf.folder.is_relative_to(each) for each in arguments):
                names = [name for name in self.names(shelf) if (str(shelf.folder), name) not in self._used]
                found += [shelf.shown(shelf.path(name)) for name in names]
        return sorted(found)

    def write(self, folder: Path) -> list[Path]:
        """Write the summary, and a page for each that did not pass; gives the files."""
        return write_pages(folder, list(self.outcomes.values()))
