"""The run's id in the program's own logs, so that a line of a log leads to its recording.

::

    handler.addFilter(reenact.seams.logs.RunIdFilter())
    handler.setFormatter(logging.Formatter("%(reenact_run)s %(message)s"))

Only the filter adds anything to a log record. Recording must not change a program's output. An attribute on every
record would show in formatters that print all attributes of a record.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from reenact.seams.lanes import current

__all__ = ["ATTRIBUTE", "RunIdFilter", "begin_at", "run_ids_from"]

ATTRIBUTE = "reenact_run"
"""Name of the attribute on a log record."""


def _of_lane() -> str:
    lane = current()
    return "" if lane is None else str(getattr(getattr(lane.session, "run", None), "id", ""))


_current: Callable[[], str] = _of_lane


def run_ids_from(source: Callable[[], str]) -> None:
    """Set the source of the id of the caller's run, for lanes whose session does not know it (child runs)."""
    global _current
    _current = source


def begin_at(wall_us: int) -> None:
    """Let ``relativeCreated`` count from the run's begin: ``logging`` was imported by us, before any clock was frozen.

    Args:
        wall_us: The run's begin by the wall clock, microseconds since the epoch.
    """
    kept = getattr(logging, "_startTime", None)
    if isinstance(kept, float):
        logging._startTime = wall_us / 1e6  # type: ignore[attr-defined]
    elif isinstance(kept, int):  # nanoseconds since Python 3.13
        logging._startTime = wall_us * 1_000  # type: ignore[attr-defined]


class RunIdFilter(logging.Filter):
    """Lets every record through, with the id of the run it was made in as ``reenact_run``.

    Args:
        name: As for ``logging.Filter``: the logger whose records get the id; all by default.
        missing: The text when nothing is recorded.
    """

    def __init__(self, name: str = "", *, missing: str = "-") -> None:
        super().__init__(name)
        self.missing = missing

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the id; never drops a record, and never fails."""
        try:
            run = _current() if super().filter(record) else ""
        except Exception:  # a fault of the recorder must not lose a line of the log
            run = ""
        if run or not hasattr(record, ATTRIBUTE):
            setattr(record, ATTRIBUTE, run or self.missing)
        return True
