"""Run: the identity, lineage, status and totals of one execution of an agent."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar

from reenact.facts import late_binding
from reenact.facts.call import Fidelity, Json
from reenact.facts.lazy_dataclass import dataclass, field

RESEND = "resend"
"""``Run.relation`` of a model call that was sent again, and the key in ``environment`` for the facts about it."""

ATTEMPT = "attempt"
"""``Run.relation`` of an attempt at a run: a resumption that did not replace the run, or a recording that was
replaced."""

INNER = frozenset({"child", ATTEMPT})
"""The relations of runs that ``@`` leaves out: runs inside another run, and attempts to continue one."""

TRIES = frozenset({"fork", "resume", "replay", RESEND})
"""Relations of runs that try something with a recorded one: ``@failed`` never selects one."""

IDLE = "idle_us"
"""The key in ``Run.environment`` of a resumed run for the time between its attempts."""

_CHILD = "child"

RAISED_AT = "raised_at"
"""The key, in the capture of a run that an exception ended, for the file and line: ``agent.py:39``."""


class Status(StrEnum):
    """The status of a run. ``INTERRUPTED`` is never written: it is the status after the recorder has died."""

    RECORDING = "recording"
    OK = "ok"
    FAILED = "failed"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"


R = TypeVar("R", bound="Run")
_BAD = frozenset({Status.FAILED, Status.TIMEOUT, Status.INTERRUPTED})


@dataclass(frozen=True, slots=True)
class Entry:
    """The way to start the run again.

    Attributes:
        kind: ``command`` (a command line), ``callable`` (``module:function`` with recorded arguments), ``request``
            (one request that a command line's server served), ``import`` (a file of another tool, which knows no
            program) or ``block`` (a ``with record():`` block, which cannot be called again alone).
        argv: The command line, program first; for a callable, the command that started its process.
        target: ``module:qualname`` of the callable, ``METHOD /path`` of the request, the format that was imported;
            empty otherwise.
        file: File that defines the callable or was run as a script.
        cwd: Working directory.
        python: Path of the interpreter.
        hash_seed: ``PYTHONHASHSEED`` in force; empty when the interpreter chose a secret one.
        project: Root of the project from which the code came. A replay may execute only code inside this folder.
        own: The command of the interpreter itself, if ``argv`` is that of another program that started it (a shell,
            ``make``); else empty.
    """

    kind: str
    argv: tuple[str, ...] = ()
    target: str = ""
    file: str = ""
    cwd: str = ""
    python: str = ""
    hash_seed: str = ""
    project: str = ""
    own: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of a run. Tokens are those that providers reported; 0 where none did."""

    events: int = 0
    models: int = 0
    tools: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    bytes: int = 0
    deliveries: int = 0
    unproven: int = 0
    redacted: int = 0


@dataclass(frozen=True, slots=True)
class Run:  # type: ignore[misc]  # mypy knows `dataclasses` alone, which takes no slots beside the fields
    """One execution of an agent.

    Attributes:
        id: Sortable identity (see ``facts.ids``).
        agent: Name of the agent; ``version`` its version (``agent="name@version"``).
        status: Its status; ``interrupted_at`` is the last event of a run whose process died.
        entry: How to start it again.
        started_us, ended_us: Wall clock, microseconds since the epoch; None while it runs. An imported run began at the
            time in its file, or else at the import.
        origin_us: Our own monotonic clock at the start, to which ``Delivery.at_us`` is relative.
        parent: The id of the run from which it was forked or replayed, or that was recording when it began.
            ``relation`` is the way (``child``, ``fork``, ``replay``, ``resume``, or ``attempt`` for an attempt to
            resume the parent). ``fork_event`` is the branching event.
        lane: Lane of the parent's log that holds this run's events; empty when it has a log of its own.
        tags: Free labels; ``flag`` is the text of a person's verdict. Both may be set later.
        files: Declared files and their content digests at the end.
        exit_status: Exit status of the process, negative for a signal; None for a run inside a process.
        result: Digest of the encoded return value, or empty.
        stdout, stderr: Keyed digests of the agent's whole output.
        environment: Python version, platform, hash seed, argv and the other facts of the kit that cost little.
        capture: The options of the recording (``order``, redaction rules and their versions …).
        degraded: Why the recording is incomplete, if it is.
    """

    __slots__ = ("_home",)

    id: str
    agent: str = ""
    version: str = ""
    status: Status = Status.RECORDING
    entry: Entry = field(default_factory=lambda: Entry("block"))
    user: str | None = None
    tenant: str | None = None
    session: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    flag: str | None = None
    flagged: bool = False
    started_us: int = 0
    ended_us: int | None = None
    origin_us: int = 0
    parent: str | None = None
    relation: str = ""
    fork_event: int | None = None
    lane: str = ""
    retention: str = ""
    totals: Totals = field(default_factory=Totals)
    fidelity: Fidelity = Fidelity.EXACT
    interrupted_at: int | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    exit_status: int | None = None
    result: str = ""
    error: str = ""
    stdout: str = ""
    stderr: str = ""
    environment: Mapping[str, Json] = field(default_factory=dict)
    capture: Mapping[str, Json] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()

    @property
    def home(self) -> Any:
        """The store from which the run was read; None where it was read from no store."""
        return getattr(self, "_home", None)

    @property
    def title(self) -> str:
        """The name of the run in a list: the agent, and the request that it served; a dash if it has neither."""
        return " ".join(part for part in (self.agent, self.route) if part) or "-"

    @property
    def route(self) -> str:
        """The request that a server's run served, ``POST /ask``; empty for other runs."""
        return self.entry.target if self.entry.kind == "request" else ""

    @property
    def lasted_us(self) -> int | None:
        """How long the run took, without the time between its attempts; None where its end is unknown."""
        if self.ended_us is None:
            return None
        idle_us = self.environment.get(IDLE)
        return self.ended_us - self.started_us - (idle_us if isinstance(idle_us, int) else 0)

    def timeline(self) -> Any:
        """A place in the run from which one can move: a ``reenact.timetravel.timeline.Timeline``, with ``.at``,
        ``.changed``, ``.last_set``, ``.watch``, ``.next`` and ``.previous``.

        Raises:
            RunNotFound: The run is not in the store it was read from (without one: in the project's store).
        """
        return late_binding.behind("timeline")(self, self.home)

    def __repr__(self) -> str:
        return f"<Run {self.id} {self.agent or '-'} {self.status.value} events={self.totals.events}>"


def kept_in(run: R, store: Any) -> R:
    """The run itself, after its store has been noted on it."""
    object.__setattr__(run, "_home", store)
    return run


def run_failed(run: Run) -> bool:
    """Whether a run ended with a bad status."""
    return run.status in _BAD


def belongs_to(run: Run) -> bool:
    """Whether a run is a part of its parent: it began inside the parent, in the same process or in another."""
    return run.relation == _CHILD
