"""The beginning of a replay: files that the run has changed are put into the scratch in their earlier state.

Only paths that the run created, changed or deleted are touched, and only where writes go to scratch: the world keeps
its own. All other files are today's. A path that cannot be put back is reported, as the likely cause of later
differences. Without scratch, no path can be put back.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib.machinery import all_suffixes
from typing import Final

from reenact.abc.store import Recording
from reenact.errors import StoreError
from reenact.facts.lazy_dataclass import replace
from reenact.facts.path_before import ABSENT, FILE, FOLDER, LINK, PHASE, Before, all_before, place_of_content
from reenact.replaying.disk_cover import within
from reenact.seams import trust
from reenact.seams.file_reads import unseen

_CODE: Final = (*all_suffixes(), ".pth", ".pyd", ".so", ".sh")
_FEW: Final = 3
_THEN: Final = {
    ABSENT: "it was not there",
    FILE: "it was a file with other content",
    FOLDER: "it was a folder",
    LINK: "it was a link",
}
PlaceOf = Callable[[str], str]
"""Gives the place that a path of the recorded project has in the project here."""


class FilesBefore:
    """The paths that a run has changed, in their earlier state.

    Args:
        recording: The run; nothing is read before it is asked for.
        placed: Gives the present place of a path of its project.
    """

    def __init__(self, recording: Recording, placed: PlaceOf) -> None:
        self._recording = recording
        self._placed = placed
        self._ours = trust.is_ours(recording.run)
        self._gone: set[str] = set()
        self.amiss: dict[str, str] = {}
        """The paths that could not be put back, with the reason."""

    def paths(self) -> list[tuple[str, Before]]:
        """Each path at its place here, with its earlier state; of a path that is noted twice, the first state."""
        try:
            told = all_before(self._recording.notes(None))
        except StoreError:
            return []
        whole = {before.path for before in told if before.below}
        found: dict[str, Before] = {}
        for before in told:
            found.setdefault(self._here(before.path), replace(before, below=before.path in whole))
        return list(found.items())

    def _here(self, path: str) -> str:
        if path.startswith("~/"):
            return os.path.normpath(os.path.expanduser(path))
        run = self._recording.run
        root = run.entry.project or run.entry.cwd
        return self._placed(os.path.normpath(os.path.join(root, path)))

    def content(self, before: Before) -> tuple[bytes | None, str]:
        """The content of a file; or why the content was not kept, or not kept whole."""
        if before.content is None:
            return None, before.why or "its content was not kept"
        try:
            slots = self._recording.checkpoint_slots(place_of_content(before.content), PHASE) or {}
        except StoreError:
            slots = {}
        if "" not in slots:
            return None, "its content was not kept"
        content = slots[""]
        if _digest(content) != before.digest:
            return None, "it held a credential, and credentials are not kept"
        return content, ""

    def refused(self, before: Before, path: str) -> str:
        """Why a path of a run from elsewhere is left alone: it could become code, or lead out of the scratch."""
        if self._ours or before.was in (ABSENT, FOLDER):
            return ""
        if before.was == LINK:
            return "the run is from elsewhere, and it was a link"
        return "the run is from elsewhere, and it was code" if path.endswith(_CODE) else ""

    def _say(self, before: Before, why: str) -> None:
        self.amiss[before.path.removeprefix("./")] = why

    def lay(self, hides: Callable[[str], bool]) -> int:
        """Put everything back.

        Args:
            hides: Whether a write to a path goes to scratch.

        Returns:
            How many paths were not in their earlier state.

        Cost: a look at each path that the run has changed, and a write for each that differs.
        """
        paths = []
        for path, before in self.paths():
            place = _place(path)
            if hides(place):
                paths.append((place, before))
            elif not _is_as_then(place, before) and not _holds_the_same(place, before):
                self._say(before, "nothing can be restored at its place")
        return self._laid(paths)

    def name(self, why: str) -> None:
        """Put no file back, and only name the paths that differ: for runs whose writes go to the disk itself.

        Args:
            why: Why the replay begins with the disk of today.

        Cost: a look at each path that the run has changed; a file that was written since is read.
        """
        for path, before in self.paths():
            place = _place(path)
            if not _is_as_then(place, before) and not _holds_the_same(place, before):
                self._say(before, f"{_THEN[before.was]}, and {why}")

    def appear(self, path: str) -> bool:
        """Make a removed file again, empty, if it does not exist. Returns whether it was made."""
        place = _place(path)
        if place not in self._gone or os.path.lexists(place):
            return False
        with suppress(OSError), unseen(), open(place, "xb"):
            return True
        return False

    def _laid(self, paths: Iterable[tuple[str, Before]]) -> int:
        every = sorted(paths, key=lambda each: each[0])
        self._gone = {place for place, before in every if before.was == ABSENT}
        gone = [each for each in reversed(every) if each[1].was == ABSENT]
        there = [each for each in every if each[1].was != ABSENT]
        count = 0
        for place, before in (*gone, *there):
            if _is_as_then(place, before):
                continue
            why = self.refused(before, place)
            if why:
                self._say(before, why)
                continue
            try:
                count += self._lay(place, before)
            except OSError as error:
                self._say(before, (error.strerror or str(error)).lower())
        return count

    def _lay(self, place: str, before: Before) -> bool:
        if before.was == ABSENT:
            return _take_away(place, before)
        content, why = self.content(before) if before.was == FILE else (None, "")
        if why:
            if not _holds_the_same(place, before):
                self._say(before, why)
            return False
        if not (before.was == FOLDER and os.path.isdir(place)):
            _clear(place)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if before.was == LINK:
            os.symlink(before.target, place)
            return True
        if content is not None:
            with open(place, "wb") as file:
                file.write(content)
            os.utime(place, ns=(before.changed_ns, before.changed_ns))
        else:
            os.makedirs(place, exist_ok=True)
        os.chmod(place, before.mode & 0o777)
        return True

    def lines(self) -> list[str]:
        """The first few paths that could not be put back, in words."""
        found = [f"the file {name} is not as it was when the run began: {why}" for name, why in self.amiss.items()]
        more = len(found) - _FEW
        return found if more <= 0 else [*found[:_FEW], f"{more} more files are not as they were when the run began"]


def _place(path: str) -> str:
    """Where a path lies when links above it are followed."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def behind(folders: Sequence[str], keep: Sequence[str]) -> Callable[[str], bool]:
    """A function that tells which paths a cover hides.

    Args:
        folders: The folders below which writes go to scratch.
        keep: Folders among them that stay as they are.
    """
    kept = [os.path.realpath(each) for each in keep]
    scratch = {os.stat(each).st_dev for each in folders}

    def hides(place: str) -> bool:
        held = any(within(place, each) for each in kept) or _device(place) not in scratch
        return not held and any(within(place, each) for each in folders)

    return hides


def _device(place: str) -> int:
    """The file system that a path lies on, or would lie on: what is mounted below a folder need not be scratch."""
    while True:
        place = os.path.dirname(place)
        with suppress(OSError):
            return os.stat(place).st_dev


def _take_away(place: str, before: Before) -> bool:
    """Remove a path that did not exist. A folder that the run made stays if it holds files of other programs."""
    if os.path.isdir(place) and not os.path.islink(place) and not before.below:
        with suppress(OSError):
            os.rmdir(place)
            return True
        return False
    _clear(place)
    return True


def _clear(place: str) -> None:
    if os.path.isdir(place) and not os.path.islink(place):
        shutil.rmtree(place)
    elif os.path.lexists(place):
        os.unlink(place)


def _is_as_then(place: str, before: Before) -> bool:
    """Whether a path is in its recorded state; for a file, whether it is unchanged since."""
    try:
        found = os.lstat(place)
    except OSError:
        return before.was == ABSENT
    mode = stat.S_IMODE(found.st_mode) == before.mode
    if before.was == FOLDER:
        return stat.S_ISDIR(found.st_mode) and mode
    if before.was == LINK:
        return stat.S_ISLNK(found.st_mode) and os.readlink(place) == before.target
    if before.was != FILE or not stat.S_ISREG(found.st_mode) or found.st_size != before.size or not mode:
        return False
    return found.st_mtime_ns == before.changed_ns


def _holds_the_same(place: str, before: Before) -> bool:
    """Whether a file of today has its recorded content."""
    try:
        with open(place, "rb") as file:
            return bool(before.digest) and _digest(file.read()) == before.digest
    except OSError:
        return False


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
