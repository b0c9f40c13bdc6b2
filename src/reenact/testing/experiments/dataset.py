"""A dataset: the rows of an experiment, from goldens or from stored runs, each as one frozen value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from reenact.abc.store import Recording, Store
from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.file_notes import NOTE
from reenact.facts.ids import tail
from reenact.facts.imported_runs import is_imported
from reenact.facts.lazy_dataclass import dataclass, field, replace
from reenact.facts.run import Run
from reenact.testing.expectations.expectation import Expectation
from reenact.testing.goldens.golden_dir import GoldenDir
from reenact.testing.goldens.golden_trace import Golden
from reenact.testing.goldens.opened_golden import open_golden
from reenact.timetravel.forks.fork_launch import require_ended
from reenact.timetravel.vocabulary import RunScope

BEGAN: Final = "started_us"
"""The key for the start of the recorded run, among its results."""

NO_PROGRAM: Final = "its file knows no program"
"""The end of the message about an imported run for which no program is named."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row.

    Attributes:
        name: Name of the golden, or the short id of the run.
        source: The golden's bundle, or the URL of the store that keeps the run.
        run: The id of the run that answers today's code.
        golden: Its expectations, its scripted answers, and its rule for calls without an answer.
        overlays: Ids of the runs in its bundle that were recorded later.
        same: Whether its replay must have no difference: a golden without expectations.
        reads: Files that the recorded program has read, relative to the project.
        digest: The digest of all that decides its result.
        recorded: The results of the recorded run: ``answer``, ``tokens``, ``cost``, ``duration`` in seconds,
            ``started_us`` (its start).
    """

    name: str
    source: str
    run: str
    golden: Golden
    overlays: tuple[str, ...] = ()
    same: bool = False
    reads: tuple[str, ...] = ()
    digest: str = ""
    recorded: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The row as JSON-able data."""
        plain = {name: getattr(self, name) for name in ("name", "source", "run", "same", "digest")}
        lists = {name: list(getattr(self, name)) for name in ("overlays", "reads")}
        return {**plain, **lists, "golden": self.golden.to_json(), "recorded": dict(self.recorded)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Row:
        """The inverse of ``to_json``."""
        lists = {name: tuple(data[name]) for name in ("overlays", "reads")}
        return cls(**{**data, **lists, "golden": Golden.from_json(data["golden"])})


def golden_rows(golden_dir: GoldenDir, names: Iterable[str], more: Sequence[Expectation]) -> list[Row]:
    """A row for each golden.

    Args:
        golden_dir: The folder of the goldens.
        names: Their names.
        more: Further expectations.

    Raises:
        UsageError, StoreError: A golden cannot be read. Cost: reads and checks each bundle.
    """
    rows = []
    for name in names:
        path = golden_dir.path(name)
        opened = open_golden(path)
        golden = _with(replace(opened.golden, name=name, history=()), more)
        content = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
        row = Row(name, str(path.absolute()), opened.answering.id, golden, opened.overlays, same=not golden.judged)
        rows.append(_known(row, opened.store.open(opened.answering), content))
    return rows


def stored_rows(
    store: Store,
    runs: Iterable[Run],
    expectations: Sequence[Expectation],
    command: tuple[str, ...] = (),
    entry: str = "",
) -> list[Row]:
    """A row for each run of a store, in their order.

    Args:
        store: The store.
        runs: The runs.
        expectations: The expectations on each.
        command, entry: The program for imported runs, which name no program.

    Raises:
        UsageError: A run was imported, and no program is named.
        ForkError: A run is still being recorded, or is a request of a server.
    """
    rows = []
    for run in runs:
        golden = _with(Golden(tail(run.id)), expectations)
        if is_imported(run):
            golden = replace(golden, command=command, entry=entry)
            _require_program(golden, run)
        else:
            require_ended(run)
        rows.append(_known(Row(golden.name, store.url, run.id, golden), store.open(run), run.id))
    return rows


def _require_program(golden: Golden, run: Run) -> None:
    if not golden.starts:
        raise UsageError(
            f"run {tail(run.id)} was imported ({run.entry.target}), and {NO_PROGRAM}",
            cause="name the program that it answers: --cmd takes a command line, --entry a function (module:function)",
            next_command=f"reenact replay {tail(run.id)} --cmd 'python agent.py'",
        )


def _with(golden: Golden, expectations: Sequence[Expectation]) -> Golden:
    return replace(golden, expect=(*golden.expect, *(each.to_json() for each in expectations)))


def _known(row: Row, recording: Recording, content: str) -> Row:
    """The row with the facts of its recording. ``content`` identifies the recording for good."""
    scope = RunScope(recording.run, lambda: recording)
    recorded = {name: scope.value(name) for name in ("answer", "tokens", "cost", "duration", "status")}
    recorded[BEGAN] = recording.run.started_us
    reads = sorted(name.removeprefix(NOTE) for name in recording.notes(None) if name.startswith(NOTE))
    golden = {name: row.golden.to_json()[name] for name in ("expect", "holds", "on_miss", "answers")}
    if row.golden.starts:
        golden["start"] = [list(row.golden.command), row.golden.entry]
    told = json.dumps([content, row.run, golden], sort_keys=True, separators=(",", ":"))
    digest = hashlib.blake2b(told.encode(), digest_size=16).hexdigest()
    return replace(row, reads=tuple(reads), digest=digest, recorded=recorded)
