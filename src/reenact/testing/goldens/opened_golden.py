"""An opened golden: its facts, its runs by their roles, its expectations and its judges."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from reenact.errors import StoreError, UsageError
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.run import Run, Status
from reenact.seams.process_setting import folder_now
from reenact.store.bundles import BundleStore, bundle_store
from reenact.testing.expectations.expectation import Expectation
from reenact.testing.goldens.golden_files import name_of
from reenact.testing.goldens.golden_trace import Golden
from reenact.testing.goldens.judges import Asks, GoldenCourt


@dataclass(frozen=True, slots=True)
class OpenGolden:
    """One golden with its runs.

    Attributes:
        path: The file.
        golden: Its facts as a test.
        store: The store with its runs.
        expectations: All expectations: first those that fail on the incident, then those that hold on it.
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
        """The expectations that fail on the incident."""
        return self.expectations[: len(self.golden.expect)]

    @property
    def must_hold(self) -> tuple[Expectation, ...]:
        """The expectations that hold on the incident too."""
        return self.expectations[len(self.golden.expect) :]

    @property
    def overlays(self) -> tuple[str, ...]:
        """Ids of the runs that were recorded later, oldest first."""
        return tuple(each.run.id for each in self.store.bundle.runs if each.role == "overlay")

    def again(self) -> str:
        """The command that adds the golden again from its own bundle, with the answers that the golden serves."""
        return self.golden.again(tail(self.fixed.id) if self.fixed is not None else "")

    def court(self, asks: Asks = "never") -> GoldenCourt:
        """The court for the golden's expectations. Opinions that the golden keeps come first."""
        return GoldenCourt(self.golden.name, (self.store,), asks)

    def beside(self, run: Run) -> tuple[str, ...]:
        """The ids of the runs that answer calls which ``run`` does not, oldest first: later recordings; and the
        incident, if the golden must stay the same and was reviewed."""
        before = () if self.golden.judged or run.id == self.recorded.id else (self.recorded.id,)
        return (*before, *self.overlays)


def open_golden(path: Path) -> OpenGolden:
    """Open the bundle of a golden; all of it is checked.

    Raises:
        UsageError: The bundle is no golden, or does not exist.
        StoreError: It is damaged.
    """
    try:
        store = bundle_store(path)
    except StoreError as error:
        if path.is_file():  # git usually keeps a golden, like the code
            error.next_command = f"git restore {os.path.relpath(path) if folder_now() else path}"
        raise
    data = store.bundle.golden
    if data is None:
        run, file = store.bundle.main.run, shlex.quote(str(path))
        option = "--holds" if run.status is Status.OK else "--expect"
        raise UsageError(
            f"{path.name} is a bundle, and no golden",
            cause="it was packed as a run, without expectations",
            next_command=f"reenact golden add {file} --as run-{tail(run.id)} {option} \"status == 'ok'\"",
        )
    golden = Golden.from_json(data)
    golden = replace(golden, name=name_of(path) or golden.name)
    return OpenGolden(path, golden, store, tuple(Expectation.from_json(each) for each in golden.judged_by))
