"""The likely causes of a divergence: files, variables and tools that differ, and an order that is not proven."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

from reenact.abc.store import Recording
from reenact.errors import Divergence
from reenact.facts.call import Json
from reenact.facts.file_notes import NOTE as FILE
from reenact.replaying import divergence as words
from reenact.replaying.files_read import Files
from reenact.replaying.recorded_schedule import RecordedSchedule
from reenact.replaying.replay_tally import Tally
from reenact.seams.environment_variables import NOTE as VARIABLE
from reenact.seams.looks import NOTE as LOOK
from reenact.seams.strands.handler_lanes import signal_name


class Suspects:
    """The files, variables and tools that differ, and an unproven order.

    Args:
        recording: The run.
        text: Gives a text of today as the recording would have it.
        tally: The counts of the replay.
        schedule: The order of the replay.
    """

    def __init__(
        self, recording: Recording, text: Callable[[str], str], tally: Tally, schedule: RecordedSchedule
    ) -> None:
        self._recording = recording
        self._run = recording.run
        self._text = text
        self._tally = tally
        self._schedule = schedule
        self._files = Files(recording)
        self.amiss: Callable[[], list[str]] = list
        """Names the files that differ from their state at the run's beginning."""

    def note(self, key: str, value: Json) -> None:
        """Take in a seam's remark: on the event loop, a file, a look at a path, or a variable."""
        if key == "loop":
            self._tally.remarks[key] = str(value)
        elif key.startswith(FILE):
            self._files.now(self._text(key[len(FILE) :]), value)
        elif key.startswith(LOOK):
            self._files.looked(self._text(key[len(LOOK) :]), value)
        elif key.startswith(VARIABLE):
            self._tally.used_as_set(self._text(key[len(VARIABLE) :]))

    def changed_inputs(self) -> list[str]:
        """Remarks on files and variables that differ from those of the recorded run."""
        return [*self.amiss(), *self._files.changed(), *self._tally.set_now.values()]

    def unproven_order(self) -> list[str]:
        """Remarks on a recording whose order is not proven up to here."""
        unproven = self._schedule.unproven_so_far() if self._run.totals.unproven else []
        return [words.unproven_order(unproven, self._run.capture.get("order"))] if unproven else []

    def _signal(self, event: int | None) -> list[str]:
        """Remark on a signal in the call of a divergence (among the last 1,000 deliveries), or just before it."""
        at = head.number if (head := self._schedule.order.head) is not None else self._run.totals.deliveries - 1
        since_us = self._recording.event(event).issued_us if event is not None and event >= 0 else 1 << 63
        passed = takewhile(lambda each: each.number <= at, self._recording.deliveries(max(0, at - 1_000)))
        near = [each for each in passed if each.tag.kind == "i" and (each.at_us >= since_us or each.number >= at - 1)]
        return [words.signal_near(signal_name(near[-1].tag.number))] if near else []

    def explain(self, divergence: Divergence, place: str | None) -> None:
        """Name the likely causes in a divergence, without credentials. ``place``: where the program waits for
        unrecorded input."""
        text, unproven = self._text, self.unproven_order()
        unseen = [f"the program waits at {place} for something that no seam records"] if place else []
        others = [*self._signal(divergence.event), *self.changed_inputs(), *unseen, *self._tally.suspects()]
        divergence.by_code = "; ".join([*others, divergence.cause])
        divergence.by_order = "".join(unproven)
        cause = "; ".join([*unproven, *others]) if unproven else divergence.by_code
        divergence.message, divergence.cause = text(divergence.message), text(cause)
        divergence.source = None if divergence.source is None else text(divergence.source)
