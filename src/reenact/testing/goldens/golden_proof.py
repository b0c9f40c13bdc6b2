"""Proving a new golden: before its bundle gets its name, it is replayed on the recorded code, and then on today's.

Usually the fix comes first: when a run becomes a golden, its code is already fixed. So the recorded code is taken from
its commit, with the uncommitted changes. On the recorded code the golden must repeat the run, from its first call to
its end. This proves both the test and the bundle. The result on today's code is only reported: if fixed code makes
calls that are not recorded, the golden is added, and the next command records them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Final

from reenact.errors import ReenactError, UnreplayableRun
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.run import Run
from reenact.facts.shell_text import typed
from reenact.testing.expectations.judgement import asks_a_judge
from reenact.testing.goldens.first_difference import first_line, parting
from reenact.testing.goldens.golden_batch import several
from reenact.testing.goldens.golden_dir import GoldenDir
from reenact.testing.goldens.golden_execution import QUIET, RunOptions, re_enacted, served
from reenact.testing.goldens.golden_of_import import JUDGED
from reenact.testing.goldens.golden_outcome import JudgedExpectation, Outcome
from reenact.testing.goldens.golden_refusals import Adding, no_test, not_held, not_re_enacted, not_the_same
from reenact.testing.goldens.golden_trace import ONLY_CUT, Golden
from reenact.testing.goldens.incident import IncidentCode, incident_code
from reenact.testing.goldens.judges import GoldenCourt
from reenact.testing.goldens.opened_golden import OpenGolden, open_golden
from reenact.testing.goldens.seeds import alike, any_seed, under_another
from reenact.timetravel.preview import safe

Say = Callable[[str], object]
MOST: Final = 3
"""The most replays that it takes to add a golden."""
_THEN: Final = "then"
_NOW: Final = "now"
_SEED: Final = "seed"


@dataclass(frozen=True, slots=True)
class Proof:
    """The findings on a new golden.

    Attributes:
        golden: The golden, with these findings.
        now: The outcome of today's code on it.
        code: The recorded code on which it was replayed, in words; empty where that is today's, or is not at hand.
    """

    golden: Golden
    now: Outcome
    code: str = ""


@dataclass(frozen=True, slots=True)
class _ProofTry:
    """One try: its outcome, the run that answered, its first difference from the recorded run, and the exception that
    ended the code, if that is new; or why there was no try."""

    outcome: Outcome | None = None
    run: Run | None = None
    error: ReenactError | None = None
    replays: int = 1
    parts: str = ""
    raised: str = ""

    def required(self) -> Outcome:
        if self.error is not None:
            raise self.error
        assert self.outcome is not None
        return self.outcome


class _Tries:
    """Replays of one draft, counted."""

    def __init__(self, golden_dir: GoldenDir, opened: OpenGolden, court: GoldenCourt, say: Say) -> None:
        self._golden_dir = golden_dir
        self._opened = opened
        self._court = court
        self._say = say
        self._left = MOST
        # In two threads, a judging model would be asked the same question twice.
        self._workers = 1 if any(asks_a_judge(each.compiled()) for each in opened.expectations) else 2
        self._under: _ProofTry | None = None

    def all(self, codes: Mapping[str, IncidentCode]) -> dict[str, _ProofTry]:
        """Run several versions of the code on the draft, by their names; at the same time, where that is possible. The
        other hash seed is tried beside them, where the recorded run alone can answer."""
        names = list(codes)
        first = names[0]  # the recorded code, if it differs from today's
        if self._workers > 1 and self._opened.fixed is None:
            names.append(_SEED)

        def one(name: str, _: object) -> _ProofTry:
            return self._seeded() if name == _SEED else self._on(codes[name], compared=name == first)

        tried = dict(zip(names, several(names, one, self._workers), strict=True))
        self._left -= sum(each.replays for each in tried.values())
        self._under = tried.pop(_SEED, None)
        return tried

    def _seeded(self) -> _ProofTry:
        self._say("replaying it under another hash seed")
        try:
            return _ProofTry(under_another(self._golden_dir, self._opened, self._opened.recorded, self._court))
        except ReenactError as error:
            return _ProofTry(error=error)

    def _on(self, code: IncidentCode, *, compared: bool) -> _ProofTry:
        self._say("replaying it on " + (f"the recorded code, {code}" if code.rev else "today's code"))
        run_options = _run_options(code)
        try:
            with ExitStack() as stack:
                ran = served(stack, self._golden_dir, self._opened, run_options, self._court)
                parts = parting(self._opened, ran, str(self._golden_dir.root)) if compared else ""
                raised = ran.report.raised if ran.report is not None and ran.outcome.status == "failed" else ""
                return _ProofTry(ran.outcome, ran.run, replays=ran.replays, parts=parts, raised=raised)
        except ReenactError as error:
            return _ProofTry(error=error)

    def strictly(self, code: IncidentCode) -> str:
        """The first difference between the recorded run and a strict replay of it on the recorded code; empty without
        one."""
        self._say("replaying the recorded run alone, in its recorded order")
        self._left -= 1
        try:
            outcome = re_enacted(self._golden_dir, self._opened, _run_options(code), self._opened.recorded).outcome
        except ReenactError as error:
            return error.message
        return "" if outcome.status == "passed" else first_line(outcome)

    def any_seed(self, now: _ProofTry) -> bool | None:
        """Whether today's code has the same outcome under another hash seed; None where that was not tried."""
        if now.outcome is None or now.run is None or now.outcome.status not in ("passed", "failed"):
            return None
        if self._under is not None:
            return alike(now.outcome, self._under.required())
        if self._left < 1:
            return None
        self._say("replaying it under another hash seed")
        return any_seed(self._golden_dir, self._opened, now.run, now.outcome, self._court)


def _run_options(code: IncidentCode) -> RunOptions:
    return RunOptions(replace(QUIET, rev=code.rev, patch=code.patch), rev=code.rev)


def prove(golden_dir: GoldenDir, draft: str, golden: Golden, court: GoldenCourt, say: Say, adding: Adding) -> Proof:
    """Replay a draft on the recorded code and on today's.

    Args:
        golden_dir: The folder of the goldens.
        draft: The name of its file there.
        golden: Its facts.
        court: Gives the opinions of models.
        say: Called with a line for each step.
        adding: The command that adds it.

    Raises:
        UsageError: The recorded code passes on it, or ``holds`` is not true there.
        UnreplayableRun: The code at hand does not reproduce the run, or the run must stay the same and does not today.

    Cost: three replays at most, two at a time; a fourth where the recorded code has strayed from the recorded run.
    """
    opened = open_golden(golden_dir.path(draft))
    if golden.starts:
        return _of_import(golden_dir, opened, golden, court, say, adding)
    shown, fails_there = golden.judged or opened.fixed is not None, False
    code = incident_code(opened.store.open(opened.recorded), str(golden_dir.root)) if shown else IncidentCode()
    tries = _Tries(golden_dir, opened, court, say)
    tried = tries.all({_THEN: code, _NOW: IncidentCode()} if code.rev else {_NOW: IncidentCode()})
    then, now = tried.get(_THEN, tried[_NOW]), tried[_NOW]
    if shown:
        why = code.missing or _unproven(golden, opened, then, adding, elsewhere=bool(code.rev))
        fails_there = bool(code.rev) and not why
        why = why or _by_the_cut(then) or _parts(tries, opened, then, code)
        golden = replace(golden, proven=not why, unproven=why)
    outcome = now.required()
    if outcome.status == "failed" and not shown:
        raise not_the_same(golden, opened.store.open(opened.recorded), outcome, adding)
    speaks_for_it = fails_there or (code.missing and outcome.status == "stale")
    if outcome.status not in ("passed", "failed") and not speaks_for_it:
        raise not_re_enacted(golden, opened.recorded, outcome)
    court.asks = "never"
    golden = replace(golden, any_seed=tries.any_seed(now))
    return Proof(golden, outcome, str(code) if code.rev else "")


def _of_import(
    golden_dir: GoldenDir, opened: OpenGolden, golden: Golden, court: GoldenCourt, say: Say, adding: Adding
) -> Proof:
    """For an imported run there is no commit to replay it on: its expectations were judged on the trace, and today's
    code is tried.

    Raises:
        UnreplayableRun: The import does not answer today's code, or there are no expectations and the replay is not the
            same.
    """
    say(f"{JUDGED}: no commit is known that could make the run again")
    say("running today's code, answered by the import")
    with ExitStack() as stack:
        ran = served(stack, golden_dir, opened, RunOptions(QUIET), court)
        outcome, report = ran.outcome, ran.report
    for remark in report.remarks if report is not None else ():
        say(remark)
    if outcome.status == "failed" and not golden.judged:
        raise not_the_same(golden, opened.store.open(opened.recorded), outcome, adding)
    if outcome.status not in ("passed", "failed"):
        raise UnreplayableRun(
            f"the import does not answer today's code: {(outcome.message or outcome.status).splitlines()[0]}",
            cause="it makes a call to a model or a tool that the import does not answer",
            next_command=_replaying(golden, opened),
        )
    return Proof(golden, outcome)


def _replaying(golden: Golden, opened: OpenGolden) -> str:
    """The command that shows where today's code and an import part."""
    how = ("--cmd", typed(golden.command)) if golden.command else ("--entry", golden.entry)
    return typed(["reenact", "replay", tail(opened.recorded.id), *how])


_COMES_TO = {"failed": "fails", "stale": "is stale", "refused": "is refused", "passed": "passes"}


def _unproven(golden: Golden, opened: OpenGolden, then: _ProofTry, adding: Adding, *, elsewhere: bool) -> str:
    """Why the recorded code does not prove a golden; empty where it does.

    Args:
        golden: The golden.
        opened: Its draft.
        then: The outcome of the recorded code.
        adding: The command that adds it.
        elsewhere: Whether that code differs from today's.

    Raises:
        UsageError: That code passes although it made the mistake, or ``holds`` is not true on it.
    """
    if then.outcome is None:
        return f"the recorded code cannot be run: {then.error.message if then.error else ''}"
    outcome = then.outcome
    must_fail = bool(golden.expect) or (opened.fixed is not None and not golden.judged)
    lost = _not_held(golden, opened, outcome)
    judged = outcome.status in ("passed", "failed") and (outcome.boundaries or not golden.judged)
    strayed = elsewhere and then.raised  # perhaps because a file is missing that git does not keep
    if judged and lost and not strayed:
        raise not_held(golden, opened.recorded, lost)
    if judged and must_fail and outcome.status == "passed":
        raise no_test(golden, opened, adding)
    if judged and not lost and outcome.status == ("failed" if must_fail else "passed"):
        return ""
    why = f"it raised {then.raised}" if then.raised else (outcome.message or outcome.status).splitlines()[0]
    return f"the recorded code {_COMES_TO.get(outcome.status, outcome.status)} on it: {why}"


def _by_the_cut(then: _ProofTry) -> str:
    """Why a golden whose run was ended from outside proves nothing of the code; empty if it proves something."""
    return ONLY_CUT if then.outcome is not None and then.outcome.lacks_only_an_end else ""


def _parts(tries: _Tries, opened: OpenGolden, then: _ProofTry, code: IncidentCode) -> str:
    """Why the recorded code has not made the recorded run again; empty where it has. Here calls of several strands may
    come in another order, and those of a fork may end differently: then a strict replay decides. A run whose process
    was killed has no recorded end to reach."""
    parts = then.parts
    if parts and opened.recorded.interrupted_at is None:
        strictly = tries.strictly(code)
        of_it = then.run is not None and then.run.id == opened.recorded.id
        parts = parts if strictly and of_it else strictly
    return f"its replay there is not the recorded run: {safe(parts)}" if parts else ""


def _not_held(golden: Golden, opened: OpenGolden, outcome: Outcome) -> tuple[JudgedExpectation, ...]:
    """The ``holds`` that are not true on a replay of the run itself; with a fork's answers they may be false there."""
    if opened.fixed is not None or golden.answers:
        return ()
    return tuple(each for each in outcome.judged[len(golden.expect) :] if not each.holds)
