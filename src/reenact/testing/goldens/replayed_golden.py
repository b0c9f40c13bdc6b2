"""The replay of a golden as the marked test sees it, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reenact.abc.store import Recording
from reenact.errors import Divergence, GoldenMismatch, UsageError
from reenact.facts.call import Json
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.run import Run
from reenact.replaying.replay_lines import to_divergence
from reenact.replaying.replay_report import Report
from reenact.testing.expectations.runview import RunView
from reenact.testing.goldens.golden_execution import GoldenRun
from reenact.testing.goldens.golden_outcome import Outcome
from reenact.timetravel.forks.fork_report import ForkReport
from reenact.timetravel.step_view import Step
from reenact.timetravel.vocabulary import RunScope


@dataclass(frozen=True, slots=True)
class GoldenCall:
    """One call that today's code has made.

    Attributes:
        name: The name of the call.
        arguments: Its arguments.
        result: Its result; None where it failed.
        error: Its error, as data; None where it has a result.
        event: Number of its event in today's run.
    """

    name: str
    arguments: Json
    result: Json
    error: Json
    event: int


class Replayed:
    """The replay of the golden that a test is marked with. The golden is run at the first use, at the latest before the
    test's body.

    The values are plain data (objects are dicts, arrays are lists), so they compare equal to snapshots; they are
    copies, which a test may change.

    Args:
        run: Runs the golden; called once, at the first use.
    """

    def __init__(self, run: Callable[[], GoldenRun]) -> None:
        self._run = run
        self._found: GoldenRun | None = None
        self._seen: RunView | None = None

    def __repr__(self) -> str:
        return f"<Replayed {self.outcome.line}>"

    @property
    def outcome(self) -> Outcome:
        """The outcome of the golden: its status, its expectations, the number of calls."""
        return self._ran.outcome

    @property
    def run(self) -> Run:
        """The run that today's code was answered from."""
        run: Run = self._there(self._ran.run)
        return run

    @property
    def recording(self) -> Recording:
        """Today's run, down to exact bytes; of a golden that must stay the same, the recorded one."""
        recording: Recording = self._there(self._ran.today)
        return recording

    @property
    def output(self) -> Json:
        """The final output: the result of the entry point, else the last words of a model, else the printed text."""
        return _plain(self._view.answer)

    @property
    def events(self) -> list[Event]:
        """Every event, in order."""
        return list(self._view.events)

    @property
    def steps(self) -> list[Step]:
        """The steps, declared or derived, in order."""
        return list(self._view.steps)

    def calls(self, name: str) -> list[GoldenCall]:
        """Every call of ``name``, in order; an empty list where there is none."""
        return [
            GoldenCall(name, _plain(each.args), _plain(each.result), _plain(each.error), each.event)
            for each in self._view.calls(name)
        ]

    def state(self, step: str | int | None = None) -> Any:
        """The state that a step left.

        Args:
            step: Name of the step (the last of that name counts), or its number from 0; by default the last step that
                left a state.

        Raises:
            UsageError: No such step left a state.
        """
        if isinstance(step, int):
            found = next((each.output_state for each in self._view.steps if each.number == step), None)
        else:
            found = self._view.state(step)
        if found is None:
            names = list(dict.fromkeys(each.name or str(each.number) for each in self._view.steps))
            raise UsageError(
                "no step left a state" if step is None else f"no step {step!r} left a state",
                cause=f"the steps are {', '.join(names)}" if names else "the run has no step",
                next_command=f"reenact show {self.outcome.file} --state",
            )
        return _plain(found)

    # --- what reenact.Replay has ---------------------------------------------------------------------------------

    @property
    def report(self) -> Report | ForkReport:
        """The report of the replay: a ``Report`` where it must stay the same, else that of a fork."""
        found: Report | ForkReport = self._there(self._ran.report)
        return found

    @property
    def verdict(self) -> str:
        """``exact``, ``same`` or ``different``; ``fork`` where expectations judge it: then it need not be the same."""
        report = self.report
        return report.verdict if isinstance(report, Report) else "fork"

    @property
    def divergence(self) -> Divergence | None:
        """The first divergence, or None."""
        found = self.report.divergence
        return to_divergence(found) if found else None

    @property
    def live_calls(self) -> int:
        """Contacts with the world that took place: 0 in mode ``frozen``, unless the golden itself allows reads."""
        report = self.report
        return report.live_calls if isinstance(report, Report) else report.live

    @property
    def matched(self) -> int:
        """The number of calls that the recording has answered."""
        report = self.report
        return report.matched if isinstance(report, Report) else report.frozen

    @property
    def reordered(self) -> Any:
        """Calls that were matched in another order; None where expectations judge it, and order is not compared."""
        return self._of_same("reordered")

    @property
    def moved(self) -> Any:
        """Calls that were matched in another strand; None where expectations judge it."""
        return self._of_same("moved")

    @property
    def unused(self) -> Any:
        """Recorded calls that were not made again; None where expectations judge it: stopping earlier is allowed."""
        return self._of_same("unused")

    @property
    def fidelity(self) -> Any:
        """The weakest fidelity that was served; None where expectations judge it."""
        return self._of_same("fidelity")

    @property
    def enforcement(self) -> tuple[str, ...]:
        """The means that kept the replay from the world."""
        return self.outcome.enforcement

    # -------------------------------------------------------------------------------------------------------------

    @property
    def _ran(self) -> GoldenRun:
        if self._found is None:
            self._found = self._run()
        return self._found

    @property
    def _view(self) -> RunView:
        if self._seen is None:
            recording = self.recording
            self._seen = RunView(RunScope(recording.run, lambda: recording))
        return self._seen

    def _there(self, found: object) -> Any:
        if found is None:
            raise mismatch(self.outcome)
        return found

    def _of_same(self, name: str) -> Any:
        report = self.report
        return getattr(report, name) if isinstance(report, Report) else None


def mismatch(outcome: Outcome) -> GoldenMismatch:
    """The error for a golden that did not pass: the failed expectations in words, with its next command."""
    told = "\n".join((*outcome.message.splitlines(), *(each for each in outcome.differences)))
    words = f"golden {outcome.name} {_SAID.get(outcome.status, outcome.status)}"
    return GoldenMismatch(
        f"{words}\n{told}" if told else words,
        next_command="" if "  next: " in told else f"reenact show {outcome.file}",
        outcome=outcome,
    )


_SAID: Mapping[str, str] = {
    "failed": "failed",
    "stale": "is stale (exit code 3)",
    "broken": "is broken (exit code 4)",
    "refused": "was refused contact with the world (exit code 5)",
}


def _plain(value: Json) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value
