"""The goldens of one test session: those that a marker names, those that no test names, and the outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reenact.testing.goldens.golden_dir import WILD, GoldenDir, open_golden_dir, select
from reenact.testing.goldens.golden_outcome import Outcome
from reenact.testing.goldens.reports import in_order, write_pages


class SessionGoldens:
    """The goldens of one test session.

    Importing this must stay cheap: it is what collecting tests needs.

    Attributes:
        outcomes: The outcome of each that was run; the worst, where several tests use one.
    """

    def __init__(self) -> None:
        self._shelves: dict[Path, GoldenDir] = {}
        self._names: dict[Path, list[str]] = {}
        self._used: set[tuple[str, str]] = set()
        self.outcomes: dict[str, Outcome] = {}

    def golden_dir(self, folder: Path) -> GoldenDir:
        """The golden folder of the project around the folder of a test."""
        if folder not in self._shelves:
            self._shelves[folder] = open_golden_dir(folder)
        return self._shelves[folder]

    def names(self, golden_dir: GoldenDir) -> list[str]:
        """Names of all goldens of a folder; looked up once."""
        if golden_dir.folder not in self._names:
            self._names[golden_dir.folder] = golden_dir.names()
        return self._names[golden_dir.folder]

    def several(self, folder: Path, patterns: Sequence[object]) -> list[str] | None:
        """The goldens that a marker means, where these are to be tests of their own; None for one literal name.

        A pattern or a name without a golden stays as it is: its test fails and says so.
        """
        texts = [each for each in patterns if isinstance(each, str)]
        if len(texts) != len(patterns) or not texts or (len(texts) == 1 and not WILD & set(texts[0])):
            return None
        every = self.names(self.golden_dir(folder))
        found = [name for pattern in texts for name in (select(pattern, every) or [pattern])]
        return list(dict.fromkeys(found))

    def named(self, folder: Path, names: Iterable[object]) -> None:
        """Note that a test names these goldens, or patterns."""
        golden_dir = self.golden_dir(folder)
        for name in names:
            if isinstance(name, str):
                for each in select(name, self.names(golden_dir)):
                    self._used.add((str(golden_dir.folder), each))

    # --- what a worker tells ---------------------------------------------------------------------------------------

    def told(self) -> list[list[str]]:
        """The goldens that tests name, as data."""
        return sorted(list(each) for each in self._used)

    def heard(self, used: Iterable[Sequence[str]]) -> None:
        """Take in the goldens that tests name in another process of this session."""
        self._used.update((folder, name) for folder, name in used)

    def came_of(self, told: Mapping[str, Any]) -> None:
        """Take in the outcome of one test."""
        outcome = Outcome.from_json(told)
        before = self.outcomes.get(outcome.name)
        self.outcomes[outcome.name] = outcome if before is None else in_order((before, outcome))[0]

    # --- in the end ------------------------------------------------------------------------------------------------

    def unused(self, arguments: Iterable[Path]) -> list[str]:
        """The goldens that no test names, as files to show, in the golden folders below one of ``arguments``; nothing
        where only a part of the tests is run."""
        found = []
        folders = {golden_dir.folder: golden_dir for golden_dir in self._shelves.values()}
        for golden_dir in folders.values():
            if any(golden_dir.folder.is_relative_to(each) for each in arguments):
                names = [name for name in self.names(golden_dir) if (str(golden_dir.folder), name) not in self._used]
                found += [golden_dir.shown(golden_dir.path(name)) for name in names]
        return sorted(found)

    def unseen(self) -> list[str]:
        """The goldens that have passed without running a tool whose code has changed, in words."""
        passed = [each for each in self.outcomes.values() if each.status == "passed" and each.blind_spot]
        return [f"{each.name}: {each.blind_spot}" for each in in_order(passed)]

    def write(self, folder: Path) -> list[Path]:
        """Write the summary, and a page for each that did not pass; gives the files."""
        return write_pages(folder, list(self.outcomes.values()))
