"""The content of a bundle, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.record import Record
from reenact.facts.run import Run

ROLES: Final = ("run", "recorded", "fixed", "overlay", "opinion", "needed", "inner")
"""The role of a run in a bundle. ``run``: the packed run. Of a golden: ``recorded`` the incident, ``fixed`` the fork
that fixed it, ``overlay`` answers that were recorded later, ``opinion`` the exchange with a judge. ``needed``: another
run needs it for its replay (the process that served a request). ``inner``: recorded inside another run, with a log of
its own."""

BELONGING: Final = ("needed", "inner")
"""The roles of runs that only belong to another run: they come last."""

MAIN: Final = ("run", "recorded")
"""The roles of which a bundle has exactly one."""


@dataclass(frozen=True, slots=True)
class PackedRun:
    """One run with a log of its own.

    Attributes:
        role: Its role in the bundle, one of ``ROLES``.
        run: The run, as its log has it at its end.
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
        digest: SHA-256 over the manifest: the same for the same content, however it was compressed. Empty for a bundle
            that was not read from a file.
        seal: The digest over the file; empty likewise.
        size: Bytes of the file; 0 likewise.
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
