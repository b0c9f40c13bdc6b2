"""The outcome of running a golden, as one frozen value and its lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.phrases import counted
from reenact.testing.expectations.expectation_verdict import Verdict

Status = Literal["passed", "failed", "stale", "refused", "broken"]
_LATER: Final = {"overlay": ("answer recorded later", "answers recorded later")}
"""The words for a source in ``Outcome.used`` that is neither ``scripted`` nor ``live``."""
EXIT: Final[Mapping[str, int]] = {"passed": 0, "failed": 1, "stale": 3, "broken": 4, "refused": 5}
"""Exit code of each status; of several goldens the highest counts."""
_NEXT: Final = "  next: "


@dataclass(frozen=True, slots=True)
class JudgedExpectation:
    """One expectation, judged.

    Attributes:
        text: The expectation.
        holds: Whether it holds.
        seen: The facts that were seen instead; empty where it holds.
        event: The number of the first bad event in today's run; None without one.
    """

    text: str
    holds: bool
    seen: str = ""
    event: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of running one golden.

    Attributes:
        name: The name of the golden.
        file: Its bundle, relative to the project.
        status: ``passed``; ``failed`` (an expectation does not hold, or a *same* golden differs); ``stale`` (a call has
            no recorded answer, or the opinion of a judging model is missing); ``refused`` (contact with the world);
            ``broken`` (the bundle cannot be read).
        judged: Its expectations.
        message: Why it did not pass, in words; empty where it did.
        boundaries: The number of calls that the agent's own code has made.
        renamed: The number of strands whose function has another name now.
        used: The number of answers from each source but the recording: ``overlay``, ``scripted``, ``live``.
        differences: The differences from a run that must be the same, one text for each.
        enforcement: The means that kept the process from the world.
        duration_us: Its duration.
        stale_at: The call that has no recorded answer; ``stale_writes``: whether it may change the world.
        blind_spot: The change that it cannot judge, in words (a longer time-out, a tool's code); empty without one.
        answers: The answer of each call, and the reason.
        recorded: The id of the run that it keeps.
        samples: The number of passes and of runs, where it was run more than once.
        opinions: The number of judges' opinions: ``judged`` in all, ``kept`` and ``asked`` among them, and ``missing``;
            empty without a judge.
        cut: Whether it was judged at the place where the recorded run is cut off.
        proves_nothing: Why it passes with any code that goes on beyond that place; else empty.
    """

    name: str
    file: str
    status: Status
    judged: tuple[JudgedExpectation, ...] = ()
    message: str = ""
    boundaries: int = 0
    used: Mapping[str, int] = field(default_factory=dict)
    differences: tuple[str, ...] = ()
    enforcement: tuple[str, ...] = ()
    duration_us: int = 0
    stale_at: str = ""
    stale_writes: bool = False
    blind_spot: str = ""
    answers: tuple[Mapping[str, Json], ...] = ()
    recorded: str = ""
    samples: tuple[int, ...] = ()
    opinions: Mapping[str, int] = field(default_factory=dict)
    renamed: int = 0
    cut: bool = False
    proves_nothing: str = ""

    @property
    def exit_code(self) -> int:
        """The exit code of the command line."""
        return EXIT[self.status]

    @property
    def next_command(self) -> str:
        """The command that its message names last; empty where it names none."""
        found = [line for line in self.message.splitlines() if line.startswith(_NEXT)]
        return found[-1].removeprefix(_NEXT) if found else ""

    @property
    def failed(self) -> tuple[JudgedExpectation, ...]:
        """The expectations that do not hold."""
        return tuple(each for each in self.judged if not each.holds)

    @property
    def lacks_only_an_end(self) -> bool:
        """Whether the code is not to blame: the run was cut off before the expected events could happen."""
        return self.cut and bool(self.failed) and all(each.event is None for each in self.failed)

    @property
    def line(self) -> str:
        """The golden's result in one line."""
        held = f"{len(self.judged) - len(self.failed)} of {len(self.judged)} expectations" if self.judged else "same"
        told = f"{self.name}  {self.status}"
        if self.status == "passed":
            told += f"  {held}"
        if self.samples:
            told += f"  {self.samples[0]} of {self.samples[1]} times"
        told += f", renamed {self.renamed}" if self.renamed else ""
        told += f"  {self.crossed}{self._used()}"
        judges = f"  {self.judges}" if self.judges else ""
        return f"{told}{judges}  {self.duration_us / 1e6:.2f} s"

    @property
    def crossed(self) -> str:
        """The number of calls that the agent's own code made, in words."""
        where = ", to where the recorded run was cut off" if self.cut else ""
        return f"{counted(self.boundaries, 'call')} replayed{where}"

    def _used(self) -> str:
        told = [(count, _LATER.get(source, (f"{source} answer",))) for source, count in sorted(self.used.items())]
        return "".join(f"  {counted(count, *names)}" for count, names in told if count)

    @property
    def judges(self) -> str:
        """The number of models' opinions by which it was judged, in words; empty where no model judges."""
        if not self.opinions:
            return ""
        told = ", ".join(f"{n} {how}" for how, n in self.opinions.items() if n and how != "judged")
        return f"{self.opinions.get('judged', 0)} opinions ({told})"

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON-able data."""
        return {**_fields(self), "judged": tuple(map(_fields, self.judged)), "exit_code": self.exit_code}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Outcome:
        """The inverse of ``to_json``."""
        values: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in data.items()}
        del values["exit_code"]
        values["judged"] = tuple(JudgedExpectation(**each) for each in data.get("judged") or ())
        return cls(**values)


def judged_of(verdict: Verdict) -> JudgedExpectation:
    """A verdict as it is reported."""
    return JudgedExpectation(verdict.text, bool(verdict.holds), "" if verdict.holds else verdict.seen, verdict.event)


def _fields(told: Outcome | JudgedExpectation) -> dict[str, Any]:
    return {name: getattr(told, name) for name in told.__slots__}


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """The exit code of several outcomes: the highest."""
    return max((each.exit_code for each in outcomes), default=0)
