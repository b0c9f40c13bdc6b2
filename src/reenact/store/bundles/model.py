"""The content of a bundle, as Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.record import Record
from reenact.facts.run import Run

ROLES: Final = ("run", "recorded", "fixed", "overlay", "opinion", "needed", "inner")
"""The roles of a run in a bundle. ``run`` is the packed run. In a golden, ``recorded`` is the incident, ``fixed`` the
fork that fixed it, ``overlay`` a run with answers that were recorded later, and ``opinion`` the exchange with a judge.
A ``needed`` run is one that the replay of another run needs (the process that served a request). An ``inner`` run was
recorded inside another run, with a log of its own."""

BELONGING: Final = ("needed", "inner")
"""The roles of runs that only belong to another run: they come last."""

MAIN: Final = ("run", "recorded")
"""The roles of the main run: a bundle has exactly one run with one of these."""


@dataclass(frozen=True, slots=True)
class PackedRun:
    """One run with a log of its own.

    Attributes:
        role: Its role in the bundle, one of ``ROLES``.
        run: The run, as the end of its log states it.
        records: Its whole log, in order.
    """

    role: str
    run: Run
    records: Sequence[Record] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Bundle:
    """The content of a bundle.

    Attributes:
        runs: The runs, the main one first.
        golden: The facts of a golden; None where the bundle is no golden.
        digest: SHA-256 over the manifest: equal for equal content, however the content was compressed. Empty for a
            bundle that was not read from a file.
        seal: The digest over the file; empty for a bundle that was not read from a file.
        size: The number of bytes of the file; 0 for a bundle that was not read from a file.
    """

    runs: tuple[PackedRun, ...]
    golden: Mapping[str, Json] | None = None
    digest: str = ""
    seal: str = ""
    size: int = 0

    @property
    def main(self) -> PackedRun:
        """The run that the bundle is about."""
        return self.runs[0]
