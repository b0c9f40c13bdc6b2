"""Strength: whether expectations are a test at all. An expectation that holds on the bad run proves nothing.

An expectation is strong when it fails on the bad run and, where a fixed run is given, holds on the fixed one. An
expectation that must stay true is strong when it holds on both.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeGuard

from reenact.abc.store import Recording
from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.evaluation import argument
from reenact.facts.explaining import values
from reenact.facts.lazy_dataclass import dataclass
from reenact.testing.expectations.courts import Court
from reenact.testing.expectations.expectation import Expectation
from reenact.testing.expectations.expectation_verdict import Verdict
from reenact.testing.expectations.expression_text import called
from reenact.testing.expectations.judgement import ASKED, misspelt, words_of
from reenact.testing.expectations.printed_text import printed
from reenact.testing.expectations.scope import ExpectationScope
from reenact.timetravel.conduct import acts

_MOST_PROPOSALS = 3
_USUAL_REPEATS = 3


@dataclass(frozen=True, slots=True)
class ExpectationStrength:
    """One expectation on the bad run, and on the fixed one, if there is one.

    Attributes:
        expectation: The expectation.
        bad: The verdict on the run that went wrong.
        fixed: The verdict on the fixed run; None without one.
        proposals: Better expectations, if it is too weak.
        holds: Whether the expectation is one that must stay true, and so must hold on both runs.
    """

    expectation: Expectation
    bad: Verdict
    fixed: Verdict | None
    proposals: tuple[str, ...] = ()
    holds: bool = False

    @property
    def strong(self) -> bool:
        """Whether the expectation fails on the bad run and holds on the fixed one, or on both if it must stay true."""
        return self.bad.holds is self.holds and (self.fixed is None or self.fixed.holds is True)

    @property
    def reason(self) -> str:
        """Why the expectation is no test, the facts that were seen, and better expectations; empty for a strong one."""
        instead = f"; try {' or '.join(self.proposals)}" if self.proposals else ""
        if self.holds and self.bad.holds is False:
            return f"{self.bad.text}: it does not hold on the recorded run: {self.bad.seen}"
        if self.bad.holds is None:
            return f"{self.bad.text}: it cannot be judged on the bad run: {self.bad.seen}{instead}"
        if self.bad.holds and not self.holds:
            why = f"it holds on the bad run{_told(self.bad.seen)}, so it cannot catch a regression"
            return f"{self.bad.text}: {why}{instead}"
        if self.fixed is not None and not self.fixed.holds:
            what = "cannot be judged" if self.fixed.holds is None else "fails"
            return (
                f"{self.bad.text}: it {what} on the fixed run{'' if self.holds else ' too'}: {self.fixed.seen}{instead}"
            )
        return ""


@dataclass(frozen=True, slots=True)
class _AskedModel:
    """A way to judge expectations: with the court and the project that some of them need."""

    court: Court | None
    project: Path | None

    def judge(self, expectation: Expectation, recording: Recording) -> Verdict:
        return expectation.judge(recording, court=self.court, project=self.project)


@dataclass(frozen=True, slots=True)
class Strength:
    """The verdict of each expectation alone.

    Attributes:
        each: The verdicts, in the order of the expectations.
    """

    each: tuple[ExpectationStrength, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the expectations are no test, one reason for each that is too weak; empty where all are strong."""
        return tuple(judged.reason for judged in self.each if judged.reason)

    @property
    def fails_on_bad(self) -> bool:
        """Whether at least one fails on the bad run: the least that makes a test of a mistake."""
        return any(judged.bad.holds is False and not judged.holds for judged in self.each)

    @property
    def holds_on_fixed(self) -> bool:
        """Whether all hold on the fixed run; True without a fixed run."""
        return all(judged.fixed is None or judged.fixed.holds is True for judged in self.each)


def weak(
    expectations: Sequence[Expectation],
    bad: Recording,
    fixed: Recording | None = None,
    *,
    court: Court | None = None,
    project: Path | None = None,
) -> tuple[str, ...]:
    """Why expectations are too weak to be a test of an incident.

    Args:
        expectations: The expectations.
        bad: The run that went wrong: each must fail on it.
        fixed: The fixed run: each must hold on it.
        court, project: See ``Expectation.judge``.

    Returns:
        One reason for each that is too weak, with the facts that were seen and better expectations; empty where all are
        strong.

    Raises:
        UsageError: There are no expectations.
    """
    return strength(expectations, bad, fixed, court=court, project=project).reasons


def strength(
    expectations: Sequence[Expectation],
    bad: Recording,
    fixed: Recording | None = None,
    *,
    holds: Sequence[Expectation] = (),
    court: Court | None = None,
    project: Path | None = None,
) -> Strength:
    """The verdict of each expectation alone, on the bad run and on the fixed one; see ``weak``. ``holds``: the
    expectations that must be true of both."""
    if not (expectations or holds):
        raise UsageError(
            "nothing is expected",
            cause="without an expectation nothing can fail; what stands out in the run: "
            + (", ".join(proposals(None, bad, fixed)) or "nothing"),
            next_command="reenact ls --help",
        )
    asked = _AskedModel(court, project)
    found = [_judged(each, bad, fixed, asked) for each in expectations]
    found += [
        ExpectationStrength(
            each, asked.judge(each, bad), None if fixed is None else asked.judge(each, fixed), holds=True
        )
        for each in holds
    ]
    return Strength(tuple(found))


def _judged(
    expectation: Expectation, bad: Recording, fixed: Recording | None, asked: _AskedModel
) -> ExpectationStrength:
    over_bad = asked.judge(expectation, bad)
    if over_bad.holds:
        scope = expectation.scope(bad, asked.court, asked.project)
        told = values(expectation.compiled(), scope)
        hints = (*misspelt(expectation.compiled(), bad), *printed(expectation.compiled(), scope))
        seen = "; ".join((told, *_said(expectation, scope), *hints))
        over_bad = Verdict(True, over_bad.text, seen.strip("; "), run=over_bad.run)
    judged = ExpectationStrength(expectation, over_bad, None if fixed is None else asked.judge(expectation, fixed))
    if judged.strong:
        return judged
    return ExpectationStrength(expectation, over_bad, judged.fixed, tuple(proposals(expectation, bad, fixed)))


def proposals(expectation: Expectation | None, bad: Recording, fixed: Recording | None = None) -> list[str]:
    """Better expectations: a few conditions that fail on the bad run and hold on the fixed one.

    Args:
        expectation: The weak one; a tighter bound of it comes first.
        bad: The run that went wrong.
        fixed: The fixed run.
    """
    found: list[str] = []
    candidates = [*_tighter(expectation, bad, fixed)] if expectation is not None else []
    for text in dict.fromkeys((*candidates, *_standing_out(bad, fixed))):
        if len(found) == _MOST_PROPOSALS:
            break
        each = Expectation(text)
        if each.judge(bad).holds is False and (fixed is None or each.judge(fixed).holds):
            found.append(text)
    return found


def _tighter(expectation: Expectation, bad: Recording, fixed: Recording | None) -> Iterator[str]:
    """The comparison of an expectation with a tighter bound, which the bad run breaks."""
    match expectation.compiled().root:
        case ast.Compare(left=left, ops=[ast.LtE() | ast.Lt() | ast.GtE() | ast.Gt() | ast.Eq()], comparators=[right]):
            if not isinstance(right, ast.Constant):
                return
        case _:
            return
    text = ast.get_source_segment(expectation.text, left) or ""
    seen, mended = (None if each is None else _value(left, expectation, each) for each in (bad, fixed))
    if not _is_number(seen):
        return
    if fixed is not None and _is_number(mended):
        yield f"{text} {'<=' if mended < seen else '>='} {mended}"
    elif fixed is None and isinstance(seen, int):
        op = expectation.compiled().root.ops[0]  # type: ignore[attr-defined]
        if isinstance(op, (ast.GtE, ast.Gt)):
            yield f"{text} >= {seen + 1}"
        elif seen > 0:
            yield f"{text} <= {seen - 1}"


def _standing_out(bad: Recording, fixed: Recording | None) -> Iterator[str]:
    """The signs of most incidents: no good end, the same call again and again, calls without an answer."""
    names = dict.fromkeys(event.name for event in acts(bad))
    for name in names:
        count = sum(1 for _ in bad.events(name=name))
        if count > _USUAL_REPEATS:
            mended = count if fixed is None else sum(1 for _ in fixed.events(name=name))
            yield f"{called('calls', name)} <= {mended if mended < count else _USUAL_REPEATS}"
    yield f"repeats <= {_USUAL_REPEATS}"
    if bad.run.interrupted_at is None:  # any code that goes on makes a cut-off run end well
        yield "unanswered == 0"
        yield "status == 'ok'"


def _value(node: ast.expr, expectation: Expectation, recording: Recording) -> Json:
    if words_of(expectation.compiled()) & ASKED:
        return None
    return expectation.compiled().evaluation(expectation.scope(recording)).run(node)


def _said(expectation: Expectation, scope: ExpectationScope) -> Iterator[str]:
    """The reasons that judges and graders gave."""
    for node in ast.walk(expectation.compiled().root):
        match node:
            case ast.Call(func=ast.Name(id=name), args=args) if name in ASKED:
                if said := scope.remark(name, *map(argument, args)):
                    yield said


def _told(seen: str) -> str:
    return f" ({seen})" if seen else ""


def _is_number(value: Json) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
