"""A golden of an imported run: an import knows no program, so a person names one; the import answers it, and the result
is judged.

The golden, which is a file, names the program. A file is data, so its program is started only if it lies in this
project.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from reenact.abc.store import Recording
from reenact.errors import UnreplayableRun, UsageError
from reenact.facts.ids import tail
from reenact.facts.imported_runs import is_imported
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.lazy_regex import lazy_regex
from reenact.replaying.agent_process import ProcessStarter
from reenact.replaying.options import Options
from reenact.replaying.replay_launch import replay_run
from reenact.replaying.replay_report import Report
from reenact.seams.boot.folders import Folder
from reenact.store import open_store
from reenact.testing.expectations.expectation import Expectation
from reenact.testing.expectations.judgement import words_of
from reenact.testing.goldens.golden_outcome import Status
from reenact.testing.goldens.golden_trace import Golden
from reenact.testing.goldens.judges import Judgement
from reenact.timetravel.bundling.unpacking import unpack
from reenact.timetravel.vocabulary import RunScope

JUDGED: Final = "judged on the trace"
"""The words for such a golden: no commit is known on which the run could be made again."""

_PYTHON: Final = lazy_regex(r"python[0-9.]*(?:\.exe)?")
_MODULE: Final = lazy_regex(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_BY_CODE: Final[Mapping[int, Status]] = {3: "stale", 4: "broken", 5: "refused"}
_OF_THE_ANSWER: Final = frozenset(("answer", "judge"))
"""Words of an expression that need an answer."""
_UNTESTED: Final = "the agent made no call that the import answers: nothing of it was tested"


@dataclass(frozen=True, slots=True)
class AnsweredByImport:
    """Today's code, answered by an import.

    Attributes:
        report: The report of its replay.
        today: The answers that it got, its output and its result.
    """

    report: Report
    today: Recording

    @property
    def given(self) -> str:
        """The input that the agent got, and its number among the turns; empty where it took none."""
        return next((each for each in self.report.remarks if each.startswith("input: ")), "")

    def concluded(self, found: Judgement | None) -> tuple[Status, str]:
        """The status, and the reason.

        Args:
            found: The verdicts of the expectations; None where it must stay the same.
        """
        report = self.report
        raised = f"today's code raised {report.raised}" if report.raised else ""
        if report.exit_code in _BY_CODE:
            told = [each.text for each in report.differences] or [report.last_line]
            return _BY_CODE[report.exit_code], _lines(raised, *told)
        if not report.matched + report.reordered + report.moved:
            return "failed", _lines(raised, _UNTESTED)
        failed = [str(each) for each in found.verdicts if not each.holds] if found is not None else []
        if found is not None and found.stale:
            return "stale", _lines(raised, found.stale)
        if failed or raised:
            return "failed", _lines(raised, *failed)
        if found is None and report.exit_code:
            return "failed", report.last_line
        return "passed", ""


def answered_by(
    stack: ExitStack, bundle: Path, golden: Golden, project: Path, options: Options, *, vouched: bool = False
) -> AnsweredByImport:
    """Run a golden's program against the import in its bundle; the result is kept until the stack is closed.

    Args:
        stack: Releases the resources.
        bundle: The file that holds the import.
        golden: The golden, which names the program.
        project: Root of the project that the program lies in.
        options: The revision of the program, and the target of its output.
        vouched: Whether a person has just named the program, so that it may lie anywhere.

    Raises:
        UnreplayableRun: The program does not lie in this project, or cannot be started.
    """
    if not vouched:
        require_own(golden, project)
    scratch = stack.enter_context(Folder())
    url = f"sqlite:///{Path(scratch).absolute() / 'today.db'}"
    with open_store(url) as store:
        run = unpack(bundle, store).run
    options = replace(options, command=golden.command, entry=golden.entry, save=True, as_is=True)
    report = replay_run(
        url, run.id, options, project=str(project), starting=ProcessStarter(silent=options.divert_output)
    )
    store = stack.enter_context(open_store(url))
    return AnsweredByImport(report, store.open(report.saved or run.id))


def require_own(golden: Golden, project: Path) -> None:
    """Require that a golden's program lies in this project.

    Raises:
        UnreplayableRun: The program lies elsewhere, or its place is not known.
    """
    if golden.entry and _is_module(golden.entry.partition(":")[0], project):
        return
    words = golden.command
    if len(words) > 1 and _PYTHON.fullmatch(os.path.basename(words[0])):
        if words[1] == "-m" and len(words) > 2 and _is_module(words[2], project):
            return
        if _lies_in(project / words[1], project):
            return
    shown = golden.entry or " ".join(words)
    raise UnreplayableRun(
        f"the program of golden {golden.name} is shown, not run: {shown}",
        cause="it is a function or script of Python that lies in this project: --entry module:function, or --cmd"
        " 'python script.py'",
        next_command="reenact golden add --help",
        missing=("entry",),
    )


def require_answer(recording: Recording, expectations: Iterable[Expectation]) -> None:
    """Require that an imported run has an answer, if expectations are about it.

    A cassette or an archive of plain HTTP has none. There ``'lost' not in answer`` fails because there is no answer,
    and not because the agent has said *lost*; but an expectation must fail on the bad run because of its fault.

    Raises:
        UsageError: The run has no answer.
    """
    run = recording.run
    asking = [each.text for each in expectations if words_of(each.compiled()) & _OF_THE_ANSWER]
    if not asking or not is_imported(run) or RunScope(run, lambda: recording).value("answer") is not None:
        return
    raise UsageError(
        f"run {tail(run.id)} was imported ({run.entry.target}) and has no answer to judge: {'; '.join(asking)}",
        cause="its file holds no words of a model and no output. Replay today's code against it; a golden without"
        " --expect and --holds keeps the calls of that code",
        next_command=f"reenact replay {tail(run.id)} --cmd 'python agent.py'",
    )


def require_recorded(golden: Golden, doing: str) -> None:
    """Refuse an option that needs a recorded program, for a golden of an import.

    Args:
        golden: The golden.
        doing: The option.

    Raises:
        UsageError: The golden is that of an import.
    """
    if golden.starts:
        raise UsageError(
            f"golden {golden.name} is {JUDGED}: {doing} has nothing to go on from",
            cause="an import only gives its own answers, and nothing goes live or is recorded again",
            next_command=f"reenact golden run {golden.name}",
        )


def _is_module(name: str, project: Path) -> bool:
    if not _MODULE.fullmatch(name):
        return False
    path = project.joinpath(*name.split("."))
    return _lies_in(path.with_name(f"{path.name}.py"), project) or _lies_in(path / "__init__.py", project)


def _lies_in(path: Path, project: Path) -> bool:
    found = path.resolve()
    return found.is_file() and found.suffix in (".py", ".pyw") and found.is_relative_to(project.resolve())


def _lines(*texts: str) -> str:
    return "\n".join(filter(None, texts))
