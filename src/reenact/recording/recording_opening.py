"""Opening a recording: the run as it begins, its store, its redactor, its session, and the seams it listens to."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from reenact.abc.redaction import Redactor
from reenact.abc.sources import ENTROPY, Clock, Entropy
from reenact.abc.store import Store
from reenact.errors import Halt, ReenactError
from reenact.facts.call import Json
from reenact.facts.error_line import error_line
from reenact.facts.ids import make_run_id
from reenact.facts.late import late
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.plumbing import MARK, captured
from reenact.facts.policy import Policy
from reenact.facts.record import RunOpened
from reenact.facts.run import RAISED_AT, Entry, Run, Status, kept_in
from reenact.privacy import make_redactor, removed_before
from reenact.recording.arrival_schedule import NumberingSchedule
from reenact.recording.idle_readings import Readings
from reenact.recording.process_facts import traceparent
from reenact.recording.record_tap import tap_for
from reenact.recording.recording_session import RecordingSession
from reenact.recording.run_evidence import RunEvidence
from reenact.recording.sample import leave_out
from reenact.recording.surroundings import same_surroundings, surroundings
from reenact.recording.unthreaded_writer import UnthreadedWriter
from reenact.recording.writer import Writer
from reenact.seams import trust, wiring
from reenact.seams.origins import raised_at
from reenact.seams.project_paths import root_of
from reenact.store import in_process as _in_process  # noqa: F401 - loaded before the agent begins

if TYPE_CHECKING:
    from reenact.seams.boot.parent import is_python
else:
    is_python = late("reenact.seams.boot.parent", "is_python")


@dataclass(frozen=True, slots=True)
class Who:
    """The people and things that a run is about: agent (``name`` or ``name@version``), user, tenant, session,
    labels."""

    agent: str = ""
    user: str | None = None
    tenant: str | None = None
    session: str | None = None
    tags: Mapping[str, str] | None = None

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.agent.partition("@")[0]

    @property
    def version(self) -> str:
        """The agent's version."""
        return self.agent.partition("@")[2]


def new_run(who: Who, entry: Entry, policy: Policy, clock: Clock, entropy: Entropy, **more: Any) -> Run:
    """A run that begins now."""
    now_us = clock.wall_us()
    return Run(
        id=make_run_id(now_us, entropy.bytes(8)),
        agent=who.name,
        version=who.version,
        entry=entry,
        user=who.user,
        tenant=who.tenant,
        session=who.session,
        tags={str(k): str(v) for k, v in (who.tags or {}).items()},
        started_us=now_us,
        origin_us=clock.mono_us(),
        retention=policy.retention,
        **more,
    )


def interpreter(entry_kind: str = "block") -> Entry:
    """The start of this process, as an entry."""
    main = sys.modules.get("__main__")
    return Entry(
        kind=entry_kind,
        argv=tuple(getattr(sys, "orig_argv", sys.argv)),
        file=os.path.abspath(str(getattr(main, "__file__", "") or "")),
        cwd=os.getcwd(),
        python=sys.executable,
        hash_seed=hash_seed(),
        project=os.getcwd(),
    )


def program(argv: tuple[str, ...], project: str = "") -> Entry:
    """The start of this process as an entry: by the command ``argv`` (empty: by its own), in the folder of the project
    (empty: in this folder)."""
    here = interpreter("command")
    argv = argv or here.argv
    return replace(here, argv=argv, own=() if is_python(argv) else here.argv, project=project or here.cwd)


def hash_seed() -> str:
    """The hash seed in force; empty when the interpreter chose a secret one."""
    if not sys.flags.hash_randomization:
        return "0"
    seed = os.environ.get("PYTHONHASHSEED", "random")
    return "" if seed == "random" else seed


def _nothing() -> None:
    """Release nothing: the store is not ours."""


class OpenRun:
    """An active recording: its session, and the resources that its end must release.

    Args:
        run: The run as it begins.
        store: The store that keeps it.
        policy: Rules for what may be kept, and how.
        clock: Our own clock.
        release: Releases the store after the recording; None where the store is not ours.
        place: Private directory of the boot that began this process; empty without one.
        schedule: The schedule of the session; None: the session makes its own.
        sealed: Whether this user has started the run's entry, so that the entry may be started again.
        gathers: Whether to gather evidence of the surroundings, and to write records during the run; a run that is not
            kept needs neither.
    """

    def __init__(  # noqa: PLR0913 - what it is made of, all by name
        self,
        run: Run,
        store: Store,
        policy: Policy,
        clock: Clock,
        release: Callable[[], object] | None = None,
        *,
        place: str = "",
        schedule: NumberingSchedule | None = None,
        sealed: bool = True,
        gathers: bool = True,
    ) -> None:
        here = surroundings(policy) if gathers else same_surroundings(policy)
        before, removed = removed_before(run, store, kept=gathers)
        known = here.known.with_listed(before) if before else here.known
        redactor = make_redactor(known=known, spotless=here.spotless, removed=removed)
        self._store = store
        self._release = release or _nothing
        self._clock = clock
        run = replace(
            run,
            capture={
                "order": policy.order,
                "rules": list(redactor.rules),
                "ignore": dict(policy.ignore),
                MARK: captured(policy.plumbing),
                "require": list(policy.require),
                "same_values": dict(here.same),
                "files": list(policy.files),
                "file_contents": list(policy.file_contents),
                "redact": dict(policy.redact),
                "check_changes": policy.check_changes,
                "output": "process" if run.entry.kind == "command" else "lanes",
                "seal": trust.seal(run.id, run.entry, ENTROPY) if sealed else "",
                **run.capture,
            },
            environment={**here.facts, "traceparent": traceparent(os.environ), **run.environment},
        )
        # The store may be closed before the run's timeline is used: its URL stays good.
        kept_in(run, store if release is None else store.url)
        self.run = run
        wiring.install()
        cleaned = _cleaned(run, redactor)
        log = store.begin(cleaned)
        try:
            writes = Writer if gathers else UnthreadedWriter
            self.session = RecordingSession(run, log, redactor, clock, policy, Readings(), schedule, writes)
            self.session.evidence = RunEvidence(run, store.url, place) if gathers else None
        except BaseException:
            log.close()
            raise
        redactor.fault = self.session.fault
        self.tap = tap_for(cleaned, policy) if gathers else None
        self.session.writer.tap = self.tap
        self.session.propagation = None if self.tap is None else self.tap.propagation
        for name in missing(run, policy.require):
            self.session.gap("a required field is missing", name)

    def close(self, status: Status, ended_us: int, *, sampled: bool = False, idle: bool = False, **changes: Any) -> Run:
        """End the run, wait until it is written, and release the store.

        Args:
            status: The status at the end.
            ended_us: The time of the end, microseconds since the epoch.
            sampled: Whether the policy's sampling may leave the run out.
            idle: Whether the run's program did not begin: then the run is kept only if it has events.
            **changes: Further fields that are known now.
        """
        run = self.session.close(replace(self.run, status=status, ended_us=ended_us, **changes))
        with suppress(ReenactError):  # then the run is kept
            if idle and not run.totals.events:
                self._store.discard(run.id)
            elif sampled:
                leave_out(self._store, run, self.session.policy)
        self._release()
        self.run = run
        return run


def _cleaned(run: Run, redactor: Redactor) -> Run:
    """The run, cleaned: its row is written before its first record goes through the writer's gate."""
    for record in redactor.clean(RunOpened(run)):
        if isinstance(record, RunOpened):
            return record.run
    return Run(id=run.id, agent=run.agent, started_us=run.started_us, origin_us=run.origin_us)


_FIELDS = {"user_id": "user", "tenant_id": "tenant", "session_id": "session"}


def missing(run: Run, required: Iterable[str]) -> list[str]:
    """The required fields of a run that are missing: fields of the run, or its tags."""
    own = ("user", "tenant", "session", "agent", "version")
    found = []
    for name in required:
        field = _FIELDS.get(name, name)
        if not (getattr(run, field) if field in own else run.tags.get(name)):
            found.append(name)
    return found


def evidence_of(error: BaseException | None, run: Run) -> dict[str, Json]:
    """Evidence on how a run ended: the line of the agent's code that raised the error."""
    place = "" if error is None or isinstance(error, (Halt, SystemExit)) else raised_at(error, root_of(run))
    return {RAISED_AT: place} if place else {}


def status_of(error: BaseException | None) -> tuple[Status, str]:
    """The status of a run that ended with ``error``, and the error in one line."""
    if error is None or isinstance(error, GeneratorExit):  # a reader who stops reading is no failure
        return Status.OK, ""
    if isinstance(error, SystemExit) and error.code in (None, 0):
        return Status.OK, ""
    if isinstance(error, Halt):  # a fork, or a golden, that could not go on
        return Status.FAILED, f"stopped: {str(error).partition(chr(10))[0]}"
    line = error_line(error)
    if isinstance(error, TimeoutError):
        return Status.TIMEOUT, line
    return Status.FAILED, line
