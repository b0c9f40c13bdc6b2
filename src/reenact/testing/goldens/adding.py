"""Adding a golden: a run becomes a test that fails until the bug is fixed, or one that keeps a good run good."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from reenact.abc.sources import CLOCK
from reenact.abc.store import Store
from reenact.errors import StoreError, UnreplayableRun, UsageError
from reenact.facts.expressions import Expression
from reenact.facts.fork_stop import refused_write, was_stopped
from reenact.facts.ids import tail
from reenact.facts.imported_runs import is_imported
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.model_names import events_called
from reenact.facts.retention import GOLDEN
from reenact.facts.run import Run
from reenact.store.nested_runs import holder_of
from reenact.testing.expectations.expectation import Expectation
from reenact.testing.expectations.judgement import alike, names_in
from reenact.testing.expectations.printed_text import beside
from reenact.testing.expectations.strength import strength
from reenact.testing.expectations.unnamed_answers import UnnamedAnswers, unnamed
from reenact.testing.goldens.blind_spots import mended_in
from reenact.testing.goldens.golden_dir import GoldenDir
from reenact.testing.goldens.golden_files import drafts_of
from reenact.testing.goldens.golden_history import HistoryEntry
from reenact.testing.goldens.golden_of_import import require_answer, require_own
from reenact.testing.goldens.golden_outcome import Outcome
from reenact.testing.goldens.golden_proof import Say, prove
from reenact.testing.goldens.golden_refusals import Adding
from reenact.testing.goldens.golden_trace import Golden, written
from reenact.testing.goldens.golden_writer import stamp, with_golden
from reenact.testing.goldens.judges import GoldenCourt
from reenact.timetravel.bundling.packing import PackResult, pack
from reenact.timetravel.forks.allowed_names import known_names
from reenact.timetravel.forks.fork_command import allowing
from reenact.timetravel.vocabulary import RunScope

_FEW = 12
"""The most names that a message lists."""


@dataclass(frozen=True, slots=True)
class AddedGolden:
    """The result of adding a golden.

    Attributes:
        path: The bundle.
        golden: Its facts as a test.
        packed: The places of removed credentials, and of possible personal data.
        now: The outcome on today's code.
        size: The size of the file, in bytes.
        opinions: The number of judges' opinions that it keeps: each was asked for now.
        code: The recorded code on which it was replayed, in words; empty where that is today's, or is not at hand.
        unnamed: The recorded answers that no expectation names; none where it must stay the same.
        unknown: A remark on names in its expectations that are not names of calls; empty without one.
        writes: The writing tools that a fork of today's code may call: the run called them, or lacks their
            answers.
        forked: A remark that its run is a fork, and of which run; empty for a recorded run.
        mended: A remark on a tool that raised in its run, but not in the fork that fixed it; empty without one.
        printed: A remark that an expectation on the answer does not see printed text; empty without one.
    """

    path: Path
    golden: Golden
    packed: PackResult
    now: Outcome
    size: int
    opinions: int = 0
    code: str = ""
    unnamed: tuple[UnnamedAnswers, ...] = ()
    printed: str = ""
    unknown: str = ""
    forked: str = ""
    mended: str = ""
    writes: tuple[str, ...] = ()


def add_golden(
    store: Store,
    run: Run,
    golden: Golden,
    golden_dir: GoldenDir,
    *,
    adding: Adding,
    fixed: Run | None = None,
    replace_it: bool = False,
    say: Say = lambda line: None,
) -> AddedGolden:
    """Add a golden.

    Args:
        store: The store of its runs.
        run: The run. With ``expect``, a run that went wrong; without expectations, a run that must stay the same.
        golden: Its name and texts, its scripted answers, its ``expect`` (each fails on ``run`` and holds on ``fixed``)
            and its ``holds`` (each holds on both).
        golden_dir: The folder for it.
        adding: The command that adds it.
        fixed: The fork that fixed it.
        replace_it: Whether a golden of that name may be replaced.
        say: Called with a line for each step.

    Raises:
        UsageError: An expectation is too weak to be a test, or the recorded code passes; there is a golden of that
            name.
        UnreplayableRun: The code at hand does not reproduce it; it has no expectations, and does not stay the same; a
            judge could not be asked.
    """
    path = golden_dir.path(golden.name)
    if path.exists() and not replace_it:
        raise UsageError(
            f"there is a golden {golden.name} already",
            cause=f"{golden_dir.shown(path)} would be replaced, and its history lost",
            next_command=adding(force=True),
        )
    run = holder_of(store, run)
    for each in filter(None, (run, fixed)):
        _require_whole(store, each)
    _require_program(run, golden, fixed, golden_dir, adding)
    fixed = holder_of(store, fixed) if fixed is not None else None
    court = GoldenCourt(golden.name, asks="missing")
    expressions = _require_strength(store, run, fixed, golden, court)
    unknown = _require_names(store, run, fixed, expressions)
    golden = golden.noted(HistoryEntry(stamp(CLOCK), "added", reason=golden.about))
    draft = f"{golden.name}.draft-{tail(run.id)}"
    runs = [("recorded", run)] + ([("fixed", fixed)] if fixed is not None else [])
    with _drawn(golden_dir.path(draft), path) as drawn:
        packed = pack(store, runs, drawn, golden.to_json())
        proof = prove(golden_dir, draft, golden, court, say, adding)
        opinions = court.asked()
        with_golden(drawn, proof.golden, opinions=opinions)
        drawn.replace(path)
    _keep_runs(store, runs, golden.name)
    size = path.stat().st_size
    now = replace(proof.now, name=golden.name, file=golden_dir.shown(path))
    left = unnamed(expressions, store.open(fixed or run)) if expressions else ()
    apart = beside(expressions, RunScope(run, lambda: store.open(run))) if expressions else ""
    forked = ""
    if run.parent is not None and run.relation == "fork":
        forked = f"run {tail(run.id)} is a fork of {tail(run.parent)}, with what was changed in it"
    mended = mended_in(store.open(fixed), store.open(run))[1] if fixed is not None else ""
    return AddedGolden(
        path, proof.golden, replace(packed, path=path), now, size, len(opinions), proof.code, left, apart, unknown,
        forked, mended, written(store.open(run), *[now.stale_at] * now.stale_writes),
    )  # fmt: skip


@contextmanager
def _drawn(draft: Path, path: Path) -> Iterator[Path]:
    """A path for the draft of a golden. A draft that fails is removed, and so are older ones."""
    made = [each for each in draft.parents if not each.exists()]
    draft.parent.mkdir(parents=True, exist_ok=True)
    for left in drafts_of(path):
        left.unlink(missing_ok=True)
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)
        for folder in made:
            with suppress(OSError):  # the golden lies in it
                folder.rmdir()


def _keep_runs(store: Store, runs: Sequence[tuple[str, Run]], name: str) -> None:
    """Keep the runs that a golden was made of as long as the golden exists; a run of a bundle is kept by its bundle."""
    for _, run in runs:
        names = [each for each in run.tags.get(GOLDEN, "").split(",") if each not in ("", name)]
        with suppress(UsageError, StoreError):
            store.amend(run, tags={GOLDEN: ",".join([*names, name])})


def let_runs_go(store: Store, name: str) -> None:
    """Let the runs that a removed golden was made of expire like others, unless another golden needs them."""
    for run in list(store.runs()):
        names = run.tags.get(GOLDEN, "").split(",")
        if name in names:
            store.amend(run, tags={GOLDEN: ",".join(each for each in names if each != name)})


def _require_whole(store: Store, run: Run) -> None:
    """Refuse a fork that was stopped: it has no end that today's code could reach."""
    if was_stopped(run):
        write = refused_write(run)
        where = " at a refused write" if write else ""
        raise UsageError(
            f"run {tail(run.id)} is a fork that was stopped{where}: it has no end",
            cause=f"it was not allowed to call {write}; allow it in another fork, and that one has an end"
            if write
            else "it made a call that it may not make, so the rest of the run is unknown",
            next_command=allowing(store, run)
            or f"reenact fork {tail(run.parent or run.id)}:{run.fork_event or 0} --live all --dry-run",
        )


def _require_program(run: Run, golden: Golden, fixed: Run | None, golden_dir: GoldenDir, adding: Adding) -> None:
    """Require a program for an imported run, and none for other runs.

    Raises:
        UsageError: A program is missing or needless, or an option does not apply to an imported run.
        UnreplayableRun: The program does not lie in this project.
    """
    if not is_imported(run):
        if golden.starts:
            raise UsageError(
                f"run {tail(run.id)} knows its program, and a golden runs that",
                cause="--cmd and --entry are for imported runs",
                next_command=adding(cmd=None, entry=None),
            )
        return
    if not golden.starts:
        raise UsageError(
            f"run {tail(run.id)} was imported ({run.entry.target}), and its file knows no program",
            cause="name today's code, which is tried: --cmd takes a command line, --entry a function (module:function)",
            next_command=adding(cmd="python agent.py"),
        )
    if fixed is not None or golden.answers or golden.on_miss != "fail":
        raise UsageError(
            f"run {tail(run.id)} was imported: it alone answers the golden",
            cause="--fixed, --answer and --on-miss are for runs that were recorded",
            next_command="reenact golden add --help",
        )
    require_own(golden, golden_dir.root)


def _require_strength(
    store: Store, run: Run, fixed: Run | None, golden: Golden, court: GoldenCourt
) -> tuple[Expression, ...]:
    """Require that ``expect`` tells the bad run from a good one, and that ``holds`` is true of both; returns all
    expressions. A judge is asked about both answers."""
    if not golden.judged:
        return ()
    expected, held = (tuple(map(Expectation.from_json, each)) for each in (golden.expect, golden.holds))
    require_answer(store.open(run), (*expected, *held))
    mended = store.open(fixed) if fixed is not None else None
    try:
        found = strength(expected, store.open(run), mended, holds=held, court=court)
    except UnreplayableRun as error:
        raise error.__cause__ if isinstance(error.__cause__, UsageError) else error from None
    if found.reasons:
        both = f" and hold on {tail(fixed.id)}" if fixed is not None else ""
        false = all(each.holds for each in found.each if each.reason)
        title = "--holds is not true" if false else "too weak to be a test"
        raise UsageError(
            f"{title}: " + "; ".join(found.reasons),
            cause=f"--expect must fail on run {tail(run.id)}{both}; --holds is for what holds there and must stay so",
            next_command=f"reenact show {tail(run.id)}",
        )
    return tuple(each.compiled() for each in (*expected, *held))


def _require_names(store: Store, run: Run, fixed: Run | None, expressions: Sequence[Expression]) -> str:
    """Require that an expression names calls that the runs make, that their models were offered, or that the code
    declares. Other names are reported in words, because they may mean a call that is yet to be written.

    Raises:
        UsageError: A name is nearly that of such a call, and was most likely misspelled.
    """
    names = [name for each in expressions for name in names_in(each)]
    known = {name for each in (run, fixed) if each is not None and names for name in known_names(store, each)}
    for name, near in alike(names, known):
        raise UsageError(
            f"an expectation names {name}, which run {tail(run.id)} does not call and its code does not declare",
            cause=f"did you mean {near}?",
            next_command=f"reenact show {tail(run.id)}",
        )
    runs = [store.open(each) for each in (run, fixed) if each is not None]
    odd = [
        name
        for name in dict.fromkeys(names)
        if name not in known and not any(next(events_called(each.events, name), None) for each in runs)
    ]
    there = ", ".join([*sorted(known)[:_FEW], *["…"] * (len(known) > _FEW)]) or "none"
    return f"no call of run {tail(run.id)} or of its code is named {' or '.join(odd)}; the names are {there}" * bool(
        odd
    )


def rm_golden(golden_dir: GoldenDir, name: str) -> Path:
    """Remove a golden.

    Raises:
        UsageError: There is no golden of that name.
    """
    golden_dir.matching([name])
    path = golden_dir.path(name)
    path.unlink()
    return path
