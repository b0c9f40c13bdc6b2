"""A golden trace as one frozen value: the run that it keeps, its expectations, and its history."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from json import dumps
from typing import Any, Final, Literal

from reenact.abc.store import Recording
from reenact.errors import FormatTooNew, UsageError
from reenact.facts.call import Effect, Json, calls_a_tool
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass, field, replace
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.shell_text import typed
from reenact.testing.goldens.golden_history import HistoryEntry, chained, unchained

FORMAT: Final = 4
"""The newest version of ``golden.json`` that this code reads. It writes 4 where a golden names its program, and else 3,
which has no program; format 2 has no ``holds``; format 1 has neither a chain in its history nor ``pending``."""

_UNSTARTED: Final = 3
"""The version of a golden that names no program."""

ONLY_CUT: Final = (
    "it fails there because the recorded run was cut off, and any code that goes on passes; expect something"
    " that happens before that"
)
"""Why a golden of a run that was ended from outside proves nothing of its code, as ``unproven``."""

OnMiss = Literal["fail", "live-read", "scripted"]
ON_MISS: Final[tuple[OnMiss, ...]] = ("fail", "live-read", "scripted")

_NAME = lazy_regex(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """An answer that a person has written for a call that was never recorded.

    Attributes:
        call: Name of the tool, or of the HTTP call as ``show`` writes it (with its host or without); ``model`` for
            every model call.
        value: The answer: JSON-able.
        arguments: Arguments that the call must have, by name; None answers every call of that name.
    """

    call: str
    value: Json
    arguments: Mapping[str, Json] | None = None

    def to_json(self) -> dict[str, Any]:
        """The answer as JSON-able data."""
        return {"call": self.call, "value": self.value, "arguments": self.arguments}


@dataclass(frozen=True, slots=True)
class Golden:
    """The facts of a bundle as a test.

    Attributes:
        name: Its name, with ``/`` between folders.
        about: The fault, in a person's words.
        expected: The expected outcome, in a person's words.
        expect: The expectations that fail on the recorded run and must hold once it is fixed, as data
            (``testing.expectations``).
        holds: The expectations that hold on the recorded run and must stay true, as data. Without either, the replay
            must be *same*.
        on_miss: The rule for a call without a recorded answer: the golden is stale (``fail``), the call goes live if it
            only reads, or ``answers`` answers it.
        answers: Scripted answers.
        any_seed: Whether it does not depend on the interpreter's hash seed; None where that was not tried.
        proven: Whether ``expect`` fails and ``holds`` holds on the recorded code; None where neither is given, or where
            that was not tried.
        unproven: Why that is not proven; empty where it is.
        history: Its history, oldest first.
        command, entry: Of an imported run: the program that it answers, as a command line or as ``module:function``.
        pending: The differences that were accepted in an unfinished review, in the order of the run. While others are
            open, the golden stays as it was.
    """

    name: str
    about: str = ""
    expected: str = ""
    expect: tuple[Mapping[str, Json], ...] = ()
    holds: tuple[Mapping[str, Json], ...] = ()
    on_miss: OnMiss = "fail"
    answers: tuple[ScriptedAnswer, ...] = ()
    any_seed: bool | None = None
    proven: bool | None = None
    unproven: str = ""
    history: tuple[HistoryEntry, ...] = field(default=())
    pending: tuple[HistoryEntry, ...] = field(default=())
    command: tuple[str, ...] = ()
    entry: str = ""

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.on_miss not in ON_MISS:
            raise UsageError(
                f"a golden has an unknown rule for a miss: {self.on_miss!r}",
                cause=f"it is one of {', '.join(ON_MISS)}",
                next_command="reenact golden add --help",
            )

    @property
    def judged(self) -> bool:
        """Whether the golden has expectations; a golden without any must replay without a difference."""
        return bool(self.expect or self.holds)

    @property
    def starts(self) -> bool:
        """Whether the golden names its program, because its run was imported and knows none."""
        return bool(self.command or self.entry)

    @property
    def judged_by(self) -> tuple[Mapping[str, Json], ...]:
        """All expectations: first those that fail on the recorded run, then those that hold on it."""
        return (*self.expect, *self.holds)

    def again(self, fixed: str = "") -> str:
        """The command that adds the golden again from its own bundle, with the person's texts that fit into a line.
        ``fixed``: the run whose answers the golden uses, if it is not the recorded run."""
        words = ["reenact", "golden", "add", f"@golden/{self.name}", "--as", self.name, "--force"]
        said = [("fixed", fixed), *((name, getattr(self, name)) for name in ("about", "expected"))]
        said += [("on-miss", self.on_miss)] if self.on_miss == "live-read" else []
        said += [("expect", each.get("text")) for each in self.expect]
        said += [("holds", each.get("text")) for each in self.holds]
        said += [("cmd", typed(self.command))] if self.command else [("entry", self.entry)]
        said += [("answer", f"{each.call}={dumps(each.value)}") for each in self.answers]
        for name, value in said:
            if value and str(value).isprintable():
                words += [f"--{name}", str(value)]
        return typed(words)

    def noted(self, change: HistoryEntry) -> Golden:
        """The golden with one more entry in its history."""
        return replace(self, history=(*self.history, change))

    def to_json(self) -> dict[str, Any]:
        """The golden as JSON-able data."""
        start = {"command": list(self.command), "entry": self.entry} if self.starts else {}
        return {
            "golden": FORMAT if start else _UNSTARTED,
            "name": self.name,
            "about": self.about,
            "expected": self.expected,
            "expect": [dict(each) for each in self.expect],
            "holds": [dict(each) for each in self.holds],
            "on_miss": self.on_miss,
            "answers": [each.to_json() for each in self.answers],
            "any_seed": self.any_seed,
            "proven": self.proven,
            "unproven": self.unproven,
            "history": chained(self.history),
            "pending": [each.to_json() for each in self.pending],
            **start,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Golden:
        """The inverse of ``to_json``.

        Raises:
            FormatTooNew: It was written by a newer version.
            UsageError: The data is no golden.
            StoreError: Its history was altered.
        """
        written = data.get("golden")
        if isinstance(written, int) and written > FORMAT:
            raise FormatTooNew(
                f"this golden has format {written}, and this version reads up to {FORMAT}",
                cause="a newer version of reenact wrote it",
                next_command="pip install --upgrade reenact",
                written=written,
                readable=FORMAT,
            )
        try:
            return cls(
                name=str(data["name"]),
                about=str(data.get("about") or ""),
                expected=str(data.get("expected") or ""),
                expect=tuple(dict(each) for each in _listed(data, "expect")),
                holds=tuple(dict(each) for each in _listed(data, "holds")),
                on_miss=data.get("on_miss") or "fail",
                answers=tuple(ScriptedAnswer(**each) for each in _listed(data, "answers")),
                any_seed=data.get("any_seed"),
                proven=data.get("proven"),
                unproven=str(data.get("unproven") or ""),
                history=unchained(_listed(data, "history"), required=written != 1),
                pending=tuple(map(HistoryEntry.from_json, _listed(data, "pending"))),
                command=tuple(map(str, _listed(data, "command"))),
                entry=str(data.get("entry") or ""),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(
                f"golden.json does not describe a golden: {type(error).__name__} {error}",
                cause="the file was written by hand, or by something else",
                next_command="reenact golden add --help",
            ) from None


def check_name(name: str) -> str:
    """The name of a golden, checked.

    Raises:
        UsageError: It cannot be the name of a file below the folder of goldens.
    """
    if not _NAME.fullmatch(name) or len(name) > 150:
        raise UsageError(
            f"{name!r} is no name for a golden",
            cause="it is letters, digits, dots, dashes and underscores, with / between folders",
            next_command="reenact golden add --help",
        )
    return name


def _listed(data: Mapping[str, Any], name: str) -> Sequence[Any]:
    found = data.get(name) or ()
    if not isinstance(found, (list, tuple)):
        raise TypeError(f"{name} is no list")
    return found


def forking(run: str, writes: Iterable[str]) -> str:
    """The command that lets today's code go on where the recording has no answer: reads and model calls go live, and
    the writes that it allows are made. Calls with an answer are not sent again."""
    allowed = [word for name in writes for word in ("--allow-write", name)]
    return typed(["reenact", "fork", f"{run}:0", "--live", "reads", *allowed])


def written(recording: Recording, *more: str) -> tuple[str, ...]:
    """The writing calls of code that takes another way: the run's own tools, and new ones."""
    calls = (event.call for event in recording.events())
    made = [call.name for call in calls if calls_a_tool(call) and call.effect is Effect.WRITE]
    return tuple(dict.fromkeys([*made, *more]))


def all_recorded(golden: str, again: str, recording: Recording, *more: str) -> str:
    """The two commands by which a fork records every answer that a golden lacks, and the golden takes them.

    Args:
        golden: Its name.
        again: The command that adds it again from its own bundle.
        recording: The run that answers it: the incident, or the fork that fixed it.
        more: Names of writes that the fork may make, beside those that were made.
    """
    words, run = shlex.split(again), recording.run
    incident = run.id
    if "--fixed" in words:
        at, incident = words.index("--fixed"), run.parent or run.id
        del words[at : at + 2]
    words[words.index(f"@golden/{golden}")] = tail(incident)  # the fork is in the store, beside the run
    fork = forking(f"@golden/{golden}", written(recording, *more))
    return f"`{fork}`, then `{typed([*words, '--fixed', '@'])}`"
