"""Run view: a recorded run as a grader written in Python sees it, read as far as it asks."""

from __future__ import annotations

from collections.abc import Iterator

from reenact.abc.store import Recording
from reenact.facts.call import Json
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.run import Run
from reenact.timetravel.event_contents import error_data, error_of
from reenact.timetravel.step_view import Step, steps_of
from reenact.timetravel.vocabulary import RunScope


@dataclass(frozen=True, slots=True)
class CallView:
    """One call: its event, its arguments, and its result or error (one of them is None)."""

    event: int
    name: str
    args: Json
    result: Json
    error: Json


class RunView:
    """A recorded run, for graders.

    Args:
        scope: The run as expressions see it; parts that were read once are not read again.
    """

    def __init__(self, scope: RunScope) -> None:
        self._scope = scope

    @property
    def run(self) -> Run:
        """Identity, status, tags, totals."""
        return self._scope.run

    @property
    def recording(self) -> Recording:
        """The whole recording of the run, down to exact bytes."""
        return self._scope.recording

    @property
    def input(self) -> Json:
        """The run's input; None where its entry point takes none."""
        return self._scope.value("args")

    @property
    def answer(self) -> Json:
        """The run's final answer: its output, else the last words of a model, else the printed text."""
        return self._scope.value("answer")

    @property
    def events(self) -> Iterator[Event]:
        """Every event, in order."""
        return self.recording.events()

    @property
    def steps(self) -> Iterator[Step]:
        """The steps, declared or derived, in order."""
        return steps_of(self.recording)

    @property
    def tokens(self) -> int | None:
        """Tokens in and out; None where no provider reported them."""
        found = self._scope.value("tokens")
        return found if isinstance(found, int) else None

    def calls(self, name: str) -> list[CallView]:
        """Every call of a name, in order, with its arguments and result."""
        events = self.recording.events(name=name)
        args, results = self._scope.call("args", name), self._scope.call("result", name)
        return [_called(*each) for each in zip(events, args, results, strict=True)]

    def state(self, step: str | None = None) -> Json:
        """The last state that a step left; of the named step, if a name is given. None if there is no state."""
        return self._scope.value("state") if step is None else self._scope.call("state", step)


def _called(event: Event, args: Json, result: Json) -> CallView:
    error = error_of(event)
    if error is None:
        return CallView(event.number, event.name, args, result, None)
    return CallView(event.number, event.name, args, None, error_data(error))
