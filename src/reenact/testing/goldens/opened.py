"""A golden's bundle, opened: what it says of itself, its runs by what they are, what is expected, and who judges."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from reenact.errors import StoreError, UsageError
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.run import Run, Status
from reenact.seams.setting import folder_now
from reenact.store.bundles import BundleStore, bundle_store
from reenact.testing.expectations.expectation import Expectation
from reenact.testing.goldens.files import name_of
from reenact.testing.goldens.golden import Golden
from reenact.testing.goldens.judges import Asks, GoldenCourt


@dataclass(frozen=True, slots=True)
class OpenGolden:
    """One golden with its runs.

    Attributes:
        path: Its file.
        golden: What it says of itself.
        store: Its runs.
        expectations: What is judged: first what fails on the incident, then what holds on it.
    """

    path: Path
    golden: Golden
    store: BundleStore
    expectations: tuple[Expectation, ...]

    @property
    def recorded(self) -> Run:
        """The incident."""
        return self.store.bundle.main.run

    @property
    def fixed(self) -> Run | None:
        """The fork that fixed it; None without one."""
        return next((each.run for each in self.store.bundle.runs if each.role == "fixed"), None)

    @property
    def answering(self) -> Run:
        """The run that today's code is answered from."""
        return self.fixed or self.recorded

    @property
    def must_fail(self) -> tuple[Expectation, ...]:
        """What fails on the incident."""
        return self.expectations[: len(self.golden.expect)]

    @property
    def must_hold(self) -> tuple[Expectation, ...]:
        """What holds on the incident too."""
        return self.expectations[len(self.golden.expect) :]

    @property
    def overlays(self) -> tuple[str, ...]:
        """Ids of the runs that were recorded later, oldest first."""
        return tuple(each.run.id for each in self.store.bundle.runs if each.role == "overlay")

    def again(self) -> str:
        """The command that adds it again from its own bundle, with the answers that it serves."""
        return self.golden.again(tail(self.fixed.id) if self.fixed is not None else "")

    def court(self, asks: Asks = "never") -> GoldenCourt:
        """Who gives the opinions that its expectations ask for: first those that it keeps."""
        return GoldenCourt(self.golden.name, (self.store,), asks)

    def beside(self, run: Run) -> tuple[str, ...]:
        """Ids of the runs that answer what ``run`` does not, oldest first: those that were recorded later; where the
        golden must stay the same and has been reviewed, what it was before too."""
        before = () if self.golden.judged or run.id == self.recorded.id else (self.recorded.id,)
        return (*before, *self.overlays)


def open_golden(path: Path) -> OpenGolden:
    """Open the bundle of a golden; all of it is checked.

    Raises:
        UsageError: It is no golden, or there is none.
        StoreError: It is damaged.
    """
    try:
        store = bundle_store(path)
    except StoreError as error:
        if path.is_file():  # a golden lies beside the code, where git has what it was
            error.next_command = f"git restore {os.path.relpath(path) if folder_now() else path}"
        raise
    data = store.bundle.golden
    if data is None:
        run, file = store.bundle.main.run, shlex.quote(str(path))
        option = "--holds" if run.status is Status.OK else "--expect"
        raise UsageError(
            f"{path.name} is a bundle, and no golden",
            cause="it was packed as a run: nothing is expected of it",
            next_command=f"reenact golden add {file} --as run-{tail(run.id)} {option} \"status == 'ok'\"",
        )
    golden = Golden.from_json(data)
    golden = replace(golden, name=name_of(path) or golden.name)
    return OpenGolden(path, golden, store, tuple(Expectation.from_json(each) for each in golden.judged_by))
