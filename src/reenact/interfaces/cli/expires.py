"""When runs expire, as lists and stories print it; nothing is printed where runs do not expire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reenact.abc.sources import CLOCK
from reenact.errors import ReenactError
from reenact.facts.late import late
from reenact.facts.retention import DAY_US, began_us
from reenact.facts.run import Status
from reenact.store.sqlite_store import SqliteStore
from reenact.timetravel.preview import ago

if TYPE_CHECKING:
    from reenact.abc.project_settings import load_settings
    from reenact.abc.store import Store
    from reenact.facts.retention import Expiry
    from reenact.facts.run import Run
    from reenact.store.housekeeping import Housekeeping
else:
    load_settings = late("reenact.abc.project_settings", "load_settings")

_NEAR = 4
"""A list shows the time left for a run if it is less than a fourth of the run's term, and less than a day."""


class ExpiryDates:
    """Tells when the runs of a store expire.

    Args:
        store: The store. Runs in a bundle or in memory do not expire.
    """

    def __init__(self, store: Store) -> None:
        self._store = store if isinstance(store, SqliteStore) else None
        self._keeper: Housekeeping | None = None
        self._terms: Mapping[str, str] = {}

    def of(self, run: Run, *, own: bool = False) -> Expiry | None:
        """The expiry of a run; None if it is not known. With ``own``, runs that need this run are not considered."""
        if self._store is None or run.status is Status.RECORDING:
            return None
        try:
            if self._keeper is None:
                value = load_settings()["keep"].value
                self._terms = value if isinstance(value, Mapping) else {}
                self._keeper = self._store.housekeeping()
            return self._keeper.own(run, self._terms) if own else self._keeper.expiry(run, self._terms)
        except ReenactError:  # other commands report a damaged store or wrong settings
            return None

    def data(self, run: Run) -> dict[str, int | str | None]:
        """The expiry as JSON data."""
        found = self.of(run)
        return {"expires_us": found.at_us, "kept_for": found.why} if found is not None else {}

    def near(self, run: Run) -> str:
        """The note in a list for a run that expires soon: ``5 h left``; else empty."""
        if not _near(run, self.of(run, own=True)):  # this check is cheap: it reads no other run
            return ""
        found = self.of(run)
        return _left(found) if found is not None and _near(run, found) else ""

    def line(self, run: Run) -> str:
        """The line in a story: ``in 6 d: ok runs are kept 7 days``."""
        found = self.of(run)
        if found is None:
            return ""
        if found.at_us is None:
            return f"never: {found.why}"
        left = found.at_us - CLOCK.wall_us()
        return f"in {ago(left)}: {found.why}" if left > 0 else f"with the next `reenact gc`: {found.why}"


def _near(run: Run, found: Expiry | None) -> bool:
    if found is None or found.at_us is None:
        return False
    return found.at_us - CLOCK.wall_us() < min(DAY_US, (found.at_us - began_us(run)) // _NEAR)


def _left(found: Expiry) -> str:
    left = (found.at_us or 0) - CLOCK.wall_us()
    return f"{ago(left)} left" if left > 0 else "expired"
