"""The golden of one marked test, run once and judged, with the process kept from the network meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from reenact.errors import GoldenMismatch, ReenactError, UsageError
from reenact.facts.lazy_dataclass import replace
from reenact.replaying.network_block import BLOCK
from reenact.replaying.options import Options
from reenact.store.bundles import is_sealed
from reenact.testing.goldens.acceptance import NOTHING, Reasons
from reenact.testing.goldens.golden_acceptance import look, settle
from reenact.testing.goldens.golden_dir import WILD, GoldenDir
from reenact.testing.goldens.golden_execution import GoldenRun, RunOptions, running
from reenact.testing.goldens.golden_outcome import Outcome
from reenact.testing.goldens.modes import FROZEN, RERECORD, REVIEW, record_missing
from reenact.testing.goldens.opened_golden import OpenGolden, open_golden
from reenact.testing.goldens.replayed_golden import Replayed, mismatch
from reenact.testing.goldens.reports import facts
from reenact.testing.goldens.side_by_side import all_side_by_side

SHOWN = Options(as_is=True)
"""The agent's output belongs to the test, which captures it."""


_KEPT: Final = 8
_SMALL: Final = 64 << 10


class Opener:
    """Opens goldens, and keeps the last ones, but only one large one: several tests often use the same golden. A file
    is read each time, and a kept golden is used only for exactly the same bytes."""

    def __init__(self) -> None:
        self._kept: dict[Path, OpenGolden] = {}

    def __call__(self, path: Path) -> OpenGolden:
        """The golden of a file. If the file is unchanged, this is the golden that is kept here.

        Raises:
            UsageError, StoreError: See ``open_golden``.
        """
        before = self._kept.pop(path, None)
        if before is None or not is_sealed(path, before.store.bundle.seal):
            self._make_room()
            before = open_golden(path)
        self._kept[path] = before
        return before

    def _make_room(self) -> None:
        self._kept = {path: each for path, each in self._kept.items() if each.store.bundle.size <= _SMALL}
        if len(self._kept) >= _KEPT:
            del self._kept[next(iter(self._kept))]


class Trial:
    """One marked test and its golden.

    Args:
        golden_dir: The folder of the goldens.
        names: The name of the test's golden, or the text of its marker if that is no name.
        mode: ``frozen``, ``missing``, ``rerecord`` or ``review``.
        opens: Gives the golden of a file.
        reasons: The differences that a review accepts; it asks no person.

    Attributes:
        replayed: The replay as the test sees it.
        complaint: Why the test has failed, if the golden is the reason.
    """

    def __init__(
        self,
        golden_dir: GoldenDir,
        names: Sequence[object],
        mode: str,
        opens: Callable[[Path], OpenGolden] = open_golden,
        reasons: Reasons = NOTHING,
    ) -> None:
        self._golden_dir = golden_dir
        self._names = names
        self._mode = mode
        self._opens = opens
        self._reasons = reasons
        self._stack = ExitStack()
        self._ran: GoldenRun | None = None
        self.replayed = Replayed(self.run)
        self.complaint: GoldenMismatch | None = None

    @property
    def begun(self) -> bool:
        """Whether the golden has been run, or a run was tried; the golden of a test that is not run is not run
        either."""
        return self._ran is not None

    def run(self) -> GoldenRun:
        """Run the golden, unless it has been run. A fault in the golden is its outcome."""
        if self._ran is None:
            name = str(self._names[0]) if self._names else ""
            try:
                self._ran = self._run(self._require_one())
            except ReenactError as error:
                self._ran = GoldenRun(Outcome(name, "", "failed", message=str(error)))
            except BaseException:  # a time limit or an interrupt: the golden is not run again
                self._ran = GoldenRun(Outcome(name, "", "failed", message="it was stopped before its end"))
                raise
        return self._ran

    def judge(self) -> None:
        """Run the golden, and require that it passes.

        Raises:
            GoldenMismatch: It does not pass.
        """
        outcome = self.run().outcome
        if outcome.status != "passed":
            self.complaint = mismatch(outcome)
            raise self.complaint

    @contextmanager
    def kept_from_the_world(self) -> Iterator[None]:
        """Keep this process from the network, if the golden is frozen.

        Raises:
            GoldenMismatch: Something was refused, even if the block has caught that error.
        """
        if self._mode not in (FROZEN, REVIEW):
            yield
            return
        with BLOCK.up() as refused:
            try:
                yield
            except KeyboardInterrupt:
                raise
            except BaseException:  # whatever the test made of it: a skip, a failed assertion
                if not refused:
                    raise
        if refused:
            self.complaint = self._refused(refused[0])
            raise self.complaint

    def close(self) -> None:
        """Release the files of the run."""
        self._stack.close()

    def properties(self) -> list[tuple[str, str]]:
        """The facts of the golden's outcome, for JUnit."""
        return [("reenact.golden", self._told.name), *((f"reenact.{name}", value) for name, value in facts(self._told))]

    def told(self, body: str = "") -> dict[str, Any]:
        """The outcome of the golden as data. ``body``: the error of the test's own body, although the golden has
        passed."""
        outcome = self._told
        if body and outcome.status == "passed":
            outcome = replace(outcome, status="failed", message=body)
        return outcome.to_json()

    @property
    def _told(self) -> Outcome:
        if self.complaint is not None and "outcome" in self.complaint.facts:
            found: Outcome = self.complaint.facts["outcome"]
            return found
        return self.run().outcome

    def _run(self, name: str) -> GoldenRun:
        if self._mode == REVIEW:
            outcome = self._reviewed(name)
            if outcome.status != "passed":
                return GoldenRun(outcome)
        elif self._mode != FROZEN and self._opens(self._golden_dir.path(name)).golden.judged:
            recorded = record_missing(self._golden_dir, name, again=self._mode == RERECORD)
            if recorded.outcome.status not in ("passed", "failed"):
                return GoldenRun(recorded.outcome)
        return self._stack.enter_context(
            running(self._golden_dir, name, RunOptions(SHOWN, here=True, opens=self._opens))
        )

    def _reviewed(self, name: str) -> Outcome:
        """The outcome of a review: passed where every difference is accepted."""
        looked = look(self._golden_dir, name)
        settled = settle(self._golden_dir, looked, self._reasons)
        outcome = settled.outcome
        if not settled.left or looked.outcome.status != "passed":
            return outcome
        place = settled.left[0].place
        next_line = f"  next: python -m pytest --reenact=review --reenact-accept={name}:{place}=REASON"
        return replace(outcome, message="\n".join((outcome.message, *all_side_by_side(settled.left), next_line)))

    def _require_one(self) -> str:
        """The name of the golden, which must exist."""
        names: Sequence[object] = self._names
        if len(names) == 1 and isinstance(names[0], str) and not self._is_there(names[0]):
            names = self._golden_dir.matching([names[0]])  # its error names the goldens that exist
        if len(names) == 1 and isinstance(names[0], str):
            return names[0]
        raise UsageError(
            f"@pytest.mark.reenact names one golden here, and was given {', '.join(map(repr, names)) or 'nothing'}",
            cause="several goldens are several tests, which pytest makes of functions only; names are texts",
            next_command="reenact golden ls",
        )

    def _is_there(self, name: str) -> bool:
        return not WILD & set(name) and self._golden_dir.path(name).exists()

    def _refused(self, words: str) -> GoldenMismatch:
        outcome = self.run().outcome
        message = (
            f"refused: {words}\n"
            "  likely cause: in mode frozen the body of a test reaches nothing; what it needs belongs in fixtures\n"
            "  next: python -m pytest --reenact=missing"
        )
        return mismatch(replace(outcome, status="refused", message=message))
