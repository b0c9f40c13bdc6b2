"""Running one cell: today's code on a row with a candidate's changes, judged, and compared with the recorded run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from reenact.abc.sources import CLOCK
from reenact.abc.store import Recording, Store
from reenact.errors import ReenactError, UsageError
from reenact.facts.call import Failure, Kind, Stream
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.run import run_failed
from reenact.replaying.options import Options
from reenact.seams.boot.folders import Folder
from reenact.store import open_store
from reenact.store.back_ends import BUNDLE
from reenact.testing.expectations.expectation import Expectation
from reenact.testing.experiments.cache import Attempt, Cells
from reenact.testing.experiments.candidates import Candidate
from reenact.testing.experiments.cell import CellResult, Status, identity
from reenact.testing.experiments.cell_court import CellCourt
from reenact.testing.experiments.code_digest import files_digest
from reenact.testing.experiments.dataset import Row
from reenact.testing.experiments.differences import asks_a_model, changed_calls, first_difference
from reenact.testing.goldens.golden_execution import concluded
from reenact.testing.goldens.golden_launch import GoldenRequest, ProcessResult, launch
from reenact.testing.goldens.golden_of_import import JUDGED, answered_by
from reenact.testing.goldens.golden_outcome import judged_of
from reenact.testing.goldens.judges import Asks, Judgement, judgement
from reenact.timetravel.bundling.packing import pack
from reenact.timetravel.run_comparison import Comparison
from reenact.timetravel.vocabulary import RunScope
from reenact.triage.run_features import ending_of

_QUIET = Options(divert_output=True)
_TOO_MANY, _SERVER_ERROR = 429, 500


@dataclass(frozen=True, slots=True)
class CellPlace:
    """The place where cells are run and kept.

    Attributes:
        project: Root of the project.
        folder: The folder of the cells.
        code: Digest of the project's sources.
    """

    project: str
    folder: str
    code: str

    def identity(self, row: Row, candidate: Candidate, repeat: int) -> str:
        """The name under which a cell is kept."""
        read = files_digest(Path(self.project), row.reads)
        code = f"{candidate.rev or self.code} {read}"
        return identity(row.digest, candidate.to_json(), repeat, code)


def run_cell(
    place: CellPlace,
    row: Row,
    candidate: Candidate,
    repeat: int,
    *,
    fresh: bool = False,
    waits: Callable[[], object] = lambda: None,
) -> CellResult:
    """The result of a cell: the kept one, or that of a new run, which is then kept. No error of a cell is raised.

    Args:
        place: The place.
        row, candidate, repeat: The cell.
        fresh: Whether to run it again even if it is kept.
        waits: Called when we wait for another process that runs it.

    Cost: an interpreter, the agent's own imports and CPU, and the calls that go live.
    """
    cells, key = Cells(Path(place.folder)), place.identity(row, candidate, repeat)
    with cells.attempt(key, waits) as attempt:
        if fresh:
            cells.forget(key)
        found = cells.find(key)
        if found is None:
            found = _done(place, row, candidate, repeat, attempt, fresh=fresh)
            cells.keep(key, found)
        attempt.done()
    return found


def _done(
    place: CellPlace, row: Row, candidate: Candidate, repeat: int, attempt: Attempt, *, fresh: bool
) -> CellResult:
    """Run a cell, now."""
    since = CLOCK.mono_us()
    try:
        with open_store(row.source) as store:
            run = store.run(row.run)
            if row.golden.starts:
                return _of_import(place, row, candidate, repeat, store, fresh=fresh)
            asked = GoldenRequest(
                row.source,
                run,
                row.golden,
                row.overlays,
                candidate.misses if candidate.live != "none" or row.golden.on_miss != "live-read" else "reads",
                plan=candidate.plan,
                mode="experiment",
                more={"earlier": attempt.earlier(), "first": [each.to_json() for each in candidate.answers]},
            )
            into = attempt.store()
            told = launch(asked, _QUIET, into=into, project=place.project)
            with open_store(into) as scratch:
                then, now = store.open(run), scratch.open(scratch.run(told.run))
                asks: Asks = "never" if told.stopped else "again" if fresh else "missing"
                court = CellCourt(row.name, (store,), Path(place.folder), asks)
                found = judgement(_expected(row), now, court, Path(place.project))
                return _judged(row, candidate, repeat, told, found, Comparison(then, now, sent=False))
    except ReenactError as error:
        spent = CLOCK.mono_us() - since
        return CellResult(row.name, candidate.name, repeat, "broken", message=str(error), duration_us=spent)


def _of_import(
    place: CellPlace, row: Row, candidate: Candidate, repeat: int, store: Store, *, fresh: bool
) -> CellResult:
    """The result on an imported row: the import answers today's code, and no call goes live.

    Raises:
        ReenactError: The row cannot be run.
    """
    changes = replace(candidate, name="", rev="").to_json()
    if changes != Candidate("").to_json():
        raise UsageError(
            f"candidate {candidate.name} changes what a model is asked, and an imported run answers only what it tells",
            cause="of imported rows a candidate changes the code alone: rev",
            next_command="reenact experiment --help",
        )
    bundle, since = Path(row.source), CLOCK.mono_us()
    with ExitStack() as stack:
        kept = bundle.suffix == BUNDLE
        if not kept:
            bundle = Path(stack.enter_context(Folder())) / f"row{BUNDLE}"
            pack(store, [("run", store.run(row.run))], bundle)
        options = replace(_QUIET, rev=candidate.rev)
        found = answered_by(stack, bundle, row.golden, Path(place.project), options, vouched=not kept)
        spent = CLOCK.mono_us() - since
        court = CellCourt(row.name, (store,), Path(place.folder), "again" if fresh else "missing")
        expected = _expected(row)
        judged = judgement(expected, found.today, court, Path(place.project)) if expected else None
        said, message = found.concluded(judged)
        status: Status = said
        if said in ("passed", "failed") and not (expected or row.same or found.report.raised):
            status = "ran"
        comparison = Comparison(store.open(row.run), found.today, sent=False)
        scope = RunScope(found.today.run, lambda: found.today)
        cost, tokens = (scope.value(name) for name in ("cost", "tokens"))
        return CellResult(
            row.name,
            candidate.name,
            repeat,
            status,
            message=message,
            judged=tuple(map(judged_of, judged.verdicts)) if judged is not None else (),
            output=scope.value("answer"),
            changed=tuple(changed_calls(comparison)),
            tokens=tokens if isinstance(tokens, int) else None,
            cost=None if cost is None else float(cost),
            duration_us=spent,
            note=f"{JUDGED}; {found.given}" if found.given else JUDGED,
            opinions=judged.opinions if judged is not None else {},
            ended=ending_of(found.today).to_json(),
        )


def _expected(row: Row) -> list[Expectation]:
    return [Expectation.from_json(each) for each in row.golden.judged_by]


def _judged(
    row: Row, candidate: Candidate, repeat: int, told: ProcessResult, found: Judgement, comparison: Comparison
) -> CellResult:
    """The result of a run."""
    _, now = comparison.recordings
    first = first_difference(comparison)
    said, message = concluded(told, found.verdicts, found.stale)
    status: Status = said
    if said == "passed" and row.same and not comparison.same:
        status, message = "failed", first or "it ends differently"
    elif said == "passed" and not row.golden.judged and not row.same:
        status = "ran"
    unasked = _unasked(told, now)
    if unasked and run_failed(now.run):
        status, message = "broken", f"a model could not be asked: {unasked}"
    scope = RunScope(now.run, lambda: now)
    cost, tokens = (scope.value(name) if now.run.totals.models else 0 for name in ("cost", "tokens"))
    return CellResult(
        row.name,
        candidate.name,
        repeat,
        status,
        message=message,
        judged=tuple(map(judged_of, found.verdicts)),
        output=scope.value("answer"),
        changed=tuple(changed_calls(comparison)),
        first=first,
        tokens=tokens if isinstance(tokens, int) else None,
        cost=None if cost is None else float(cost),
        duration_us=max(now.run.lasted_us or 0, 0),
        live=told.report.live,
        used=dict(told.used),
        note=f"flag {', '.join(told.unfelt)} is not evaluated here" if told.unfelt else "",
        opinions=found.opinions,
        ended=ending_of(now).to_json(),
    )


def _unasked(told: ProcessResult, recording: Recording) -> str:
    """Why the last model call that could not be made failed; empty where every model call could be made."""
    live = {answer["event"] for answer in told.report.answers if answer["how"] == "live"}
    why = ""
    for event in recording.events(kinds=(Kind.HTTP,)) if live else ():
        if event.number not in live or not asks_a_model(recording, event):
            continue
        match event.outcome:
            case Failure(error=error):
                why = f"{error.type}: {error.text}"
            case Stream(head=head):
                answer = head.get("status")
                if isinstance(answer, int) and (answer == _TOO_MANY or answer >= _SERVER_ERROR):
                    why = f"status {answer} of {event.name}"
    return why
