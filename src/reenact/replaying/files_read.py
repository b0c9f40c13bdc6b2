"""Files whose content differs between a replay and the recorded run: the likely cause of later differences."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from reenact.abc.store import Recording
from reenact.errors import StoreError
from reenact.facts.call import Json
from reenact.facts.file_notes import ABSENT, NOTE
from reenact.seams import looks

_FEW = 3


class Files:
    """Compares the files that a replay reads with those that the recorded run read.

    Args:
        recording: The recorded run, whose notes name the files.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._changed: dict[str, str] = {}

    @cached_property
    def _notes(self) -> Mapping[str, Any]:
        try:
            return self._recording.notes(None)
        except StoreError:
            return {}

    @cached_property
    def _recorded(self) -> Mapping[str, list[Any]]:
        return {
            name[len(NOTE) :]: list(note.get("digests") or ())
            for name, note in self._notes.items()
            if name.startswith(NOTE) and isinstance(note, Mapping)
        }

    def looked(self, name: str, note: Json) -> None:
        """Compare a path at its first look with the recorded one. A path at which the recorded run never looked is not
        reported."""
        recorded = self._notes.get(looks.NOTE + name)
        was, now = recorded.get("was") if isinstance(recorded, Mapping) else None, note["was"]
        if was is None or was == now or name in self._changed:
            return
        if was == looks.ABSENT:
            self._changed[name] = f"the {now} {name} was not there when it was recorded"
        elif now == looks.ABSENT:
            self._changed[name] = f"the {was} {name} is not there any more"
        else:
            self._changed[name] = f"{name} was a {was} when it was recorded, and is a {now}"

    def now(self, name: str, note: Json) -> None:
        """Compare a file that is read with the recorded one. A file that the recorded run never read is not
        reported."""
        recorded = self._recorded.get(name)
        digest = note["digests"][-1]
        if recorded is None or digest in recorded:
            return
        if digest == ABSENT:
            self._changed[name] = f"the file {name} is not there any more"
        elif recorded == [ABSENT]:
            self._changed[name] = f"the file {name} was not there when it was recorded"
        else:
            self._changed[name] = f"the file {name} has changed since it was recorded"

    def changed(self) -> list[str]:
        """A line for each file that differs, the first few."""
        lines = list(self._changed.values())
        return [*lines[:_FEW], f"{len(lines) - _FEW} more files differ"] if len(lines) > _FEW else lines
