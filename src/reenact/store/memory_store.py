"""The reference store: a run is a list of its records, and every view is computed from them.

The store is for tests and throw-away runs: no run survives the process. In all other respects it behaves like the other
stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from reenact.abc.sources import ENTROPY, Entropy
from reenact.abc.store import Log, Store
from reenact.errors import StoreBusy, StoreError, UsageError
from reenact.facts.call import Value
from reenact.facts.effects import Claim
from reenact.facts.event import Payload
from reenact.facts.ids import TIME_LENGTH, tail
from reenact.facts.large_values import is_large, is_withheld
from reenact.facts.lazy_dataclass import replace
from reenact.facts.marks import Mark, in_order
from reenact.facts.record import (
    CallSettled,
    Record,
    RunClosed,
    RunOpened,
)
from reenact.facts.run import Run, Status, belongs_to, kept_in
from reenact.store.derived_reads import Views, check_filters
from reenact.store.full_text import occurs, words_of
from reenact.store.keyed_hash import KeyedHash
from reenact.store.memory_log import KeptLog
from reenact.store.memory_reading import MemoryRecording
from reenact.store.payloads import address_of, taken_out, unknown
from reenact.store.reference_lookup import Latest, parse_run, refuse_run
from reenact.store.runrows import amended_run

_OF_RUNS = (RunOpened, RunClosed)
_FAILED = (Status.FAILED, Status.TIMEOUT, Status.INTERRUPTED)


class MemoryStore(Views):
    """A store of runs in the memory of this process.

    Args:
        url: The name of the store.
        entropy: The source of the secret of its hash.
        hasher: Its hash function; None for a new one.
        home: The store that its runs name as theirs; None for this store.
        written: A mapping that gets the written records, in order, by run.
    """

    def __init__(
        self,
        url: str = "memory:",
        *,
        entropy: Entropy = ENTROPY,
        hasher: KeyedHash | None = None,
        home: Store | None = None,
        written: dict[str, list[Record]] | None = None,
    ) -> None:
        self.url = url
        self._home = home or self
        self._written = written
        self.hasher = hasher or KeyedHash(entropy.bytes(32))
        self._runs: dict[str, Run] = {}
        self._logs: dict[str, KeptLog] = {}
        self._amended: dict[str, dict[str, Any]] = {}
        self.extra: dict[str, dict[str, Any]] = {}
        self._claims: dict[str, Claim] = {}
        self._marks: dict[str, Mark] = {}

    def runs(self, **filters: Any) -> Iterator[Run]:
        check_filters(filters)
        found = [run for run in self._newest() if self._agrees(run, filters)]
        return islice(found, filters.get("limit"))

    def _newest(self) -> list[Run]:
        order = sorted(
            enumerate(self._runs.values()), key=lambda each: (each[1].id[:TIME_LENGTH], each[0]), reverse=True
        )
        return [self._now(run) for _, run in order]

    def _agrees(self, run: Run, filters: Mapping[str, Any]) -> bool:
        for name in ("agent", "user", "tenant", "session", "parent", "status"):
            if filters.get(name) is not None and getattr(run, name) != filters[name]:
                return False
        failed = filters.get("failed")
        return (
            (failed is None or failed == (run.status in _FAILED))
            and all(run.tags.get(name) == value for name, value in (filters.get("tag") or {}).items())
            and run.started_us >= (filters.get("since_us") or 0)
            and (filters.get("before_us") is None or run.started_us < filters["before_us"])
            and (not words_of(filters.get("text") or "") or self._mentions(run, filters["text"]))
        )

    def _mentions(self, run: Run, text: str) -> bool:
        closed = self._runs[run.id].status is not Status.RECORDING
        return closed and not run.lane and occurs(self._logs[run.id].text(), text)

    def _now(self, run: Run) -> Run:
        """A run in its present state, with the place where it is stored."""
        return kept_in(self._stands(run), self._home)

    def _stands(self, run: Run) -> Run:
        run = amended_run(run, self._amended.get(run.id))
        log = self.log_of(run)
        if run.status is not Status.RECORDING:
            return run
        recording = self._reading(run, log)
        run = replace(run, totals=recording.totals())
        return run if log.live else replace(run, status=Status.INTERRUPTED, interrupted_at=recording.last())

    def log_of(self, run: Run) -> KeptLog:
        """The log that holds a run's events."""
        if run.id in self._logs:
            return self._logs[run.id]
        return next(log for log in self._logs.values() if run.id in (each.run.id for each in opened(log)))

    def run(self, ref: str) -> Run:
        if ref in self._runs:
            return self._now(self._runs[ref])
        wanted = parse_run(ref)
        if isinstance(wanted, Latest):
            alone = (run for run in self._newest() if not run.lane)
            own = [*wanted.counted((run for run in alone if not wanted.failed or run.status in _FAILED), self.run)]
            if wanted.back < len(own):
                return own[wanted.back]
            refuse_run(ref, there=len(own))
        if wanted.text in self._runs:
            return self._now(self._runs[wanted.text])
        found = [each for each in self._runs if tail(each).startswith(wanted.text)]
        found = found or [each for each in self._runs if each.startswith(wanted.text)]
        if len(found) != 1:
            refuse_run(ref, sorted(found, reverse=True))
        return self._now(self._runs[found[0]])

    def open(self, run: Run | str) -> MemoryRecording:
        found = self.run(run if isinstance(run, str) else run.id)
        if isinstance(run, Run) and run.status is not Status.RECORDING:
            found = run
        return self._reading(found, self.log_of(found))

    def _reading(self, run: Run, log: KeptLog) -> MemoryRecording:
        return MemoryRecording(run, log, self.hasher, lambda: self.extra.get(run.id, {}))

    def payload(self, digest: Payload | str) -> bytes:
        address = address_of(digest)
        for run in self._runs.values():
            found = self._reading(run, self.log_of(run)).find(address.hex())
            if is_withheld(found):
                raise taken_out(address.hex(), run.id)
            if found is not None:
                return found
        raise unknown(address)

    def begin(self, run: Run) -> Log:
        if run.id in self._runs:
            raise StoreError(f"there is a run {run.id} already", cause="the same id was used twice")
        self._runs[run.id] = run
        log = self._logs[run.id] = KeptLog(run.id)
        written = None if self._written is None else self._written.setdefault(run.id, [])
        return MemoryLog(log, self._set, self.hasher, written)

    def adopt(self, logs: Sequence[tuple[Run, Iterable[Record]]]) -> None:
        """See ``abc.store.Store``. After a fault, the records that were already added are removed."""
        before = dict(self._runs), dict(self._logs), dict(self.extra)
        try:
            for run, records in logs:
                log = self.begin(run)
                log.write(list(records))
                log.close()
        except BaseException:
            self._runs, self._logs, self.extra = before
            raise

    def _set(self, run: Run, extra: Mapping[str, Any]) -> None:
        returned = self._logs[run.id].returned() if run.id in self._logs else b""
        self._runs[run.id] = replace(run, result=self.hasher.of_body(returned).hex() if returned else "")
        self.extra.setdefault(run.id, {}).update(extra)

    def amend(self, run: Run | str, *, flag: str | None = None, tags: Mapping[str, str] | None = None) -> Run:
        found = self.open(run).run
        said = self._amended.setdefault(found.id, {"flag": None, "tags": {}})
        said["flag"] = said["flag"] if flag is None else flag
        said["tags"].update(tags or {})
        return self.run(found.id)

    def mark(self, mark: Mark) -> None:
        self._marks[mark.id] = mark

    def unmark(self, mark_id: str) -> None:
        self._marks.pop(mark_id, None)

    def marks(self) -> Sequence[Mark]:
        return in_order(self._marks.values())

    def conclude(self, run: Run) -> Run:
        self._set(run, {})
        return self.run(run.id)

    def claimed(self, address: str) -> Claim | None:
        return self._claims.get(address)

    def claim(self, claim: Claim, *, over: Claim | None = None) -> bool:
        return (self._claims.setdefault(claim.address, claim) if over is None else self._taken(claim, over)) == claim

    def _taken(self, claim: Claim, over: Claim) -> Claim | None:
        if self._claims.get(claim.address) == over:
            self._claims[claim.address] = claim
        return self._claims.get(claim.address)

    def note_claims(self, claims: Iterable[Claim]) -> None:
        for claim in claims:
            self._claims.setdefault(claim.address, claim)

    def exchange(self, left: Run, right: Run) -> Run:
        for before, now in ((left.id, right.id), (right.id, left.id)):
            log = self._logs[before]
            for nested in {record.run.id for record in opened(log)} - {before}:
                if self._runs[nested].parent == before:
                    self._runs[nested] = replace(self._runs[nested], parent=now)
            log.records = [_renamed(record, before, now) for record in log.records]
        self._logs[left.id], self._logs[right.id] = self._logs[right.id], self._logs[left.id]
        first, second = self.extra.get(left.id, {}), self.extra.get(right.id, {})
        self.extra[left.id], self.extra[right.id] = second, first
        self._runs[left.id], self._runs[right.id] = left, right
        other = {left.id: right.id, right.id: left.id}
        for address, claim in self._claims.items():
            self._claims[address] = replace(claim, run=other.get(claim.run, claim.run))
        return self.run(left.id)

    def delete(self, run: Run | str) -> None:
        found = self.open(run).run
        if found.lane:
            raise UsageError(
                f"run {tail(found.id)} lies in the log of another run",
                cause="a nested recording is part of the run around it",
                next_command=f"reenact show {tail(found.parent or found.id)}",
            )
        if found.status is Status.RECORDING:
            raise StoreBusy(f"run {tail(found.id)} is being recorded", cause="its process still lives")
        if not any((run.parent == found.id and not run.lane) or run.id == found.parent for run in self._runs.values()):
            self._claims = {name: claim for name, claim in self._claims.items() if claim.run != found.id}
        self._forget(found.id)

    def _forget(self, run_id: str) -> None:
        log = self._logs.pop(run_id)
        for each in (run_id, *(record.run.id for record in opened(log))):
            self._runs.pop(each, None)
            self._amended.pop(each, None)
            self.extra.pop(each, None)

    def discard(self, run_id: str) -> bool:
        found = [run_id] if run_id in self._logs else []
        for each in found:  # the list grows
            own = {each, *(record.run.id for record in opened(self._logs[each]))}
            if any(self._runs[name].status is not Status.OK or name in self._amended for name in own):
                return False
            beside = [run for run in self._runs.values() if run.parent in own and run.id not in own]
            if not all(map(belongs_to, beside)):
                return False
            found += [run.id for run in beside]
        for each in found:
            self._claims = {name: claim for name, claim in self._claims.items() if claim.run != each}
            self._forget(each)
        return bool(found)

    def thin(self, run_id: str, why: str) -> bool:
        """Do nothing, because the memory is freed with the process."""
        return False

    def close(self) -> None:
        """See ``abc.store.Store``. The runs stay as long as the process."""


def opened(log: KeptLog) -> Iterator[RunOpened | RunClosed]:
    """The records of a log that open or close runs."""
    return (record for record in log.records if isinstance(record, RunOpened | RunClosed))


def _renamed(record: Record, before: str, now: str) -> Record:
    """The record, with the id ``now`` where its run has the id ``before``."""
    if isinstance(record, RunOpened | RunClosed) and record.run.id == before:
        return replace(record, run=replace(record.run, id=now))
    return record


class MemoryLog:
    """Writes the records of one run."""

    def __init__(self, log: KeptLog, set_run: Any, hasher: KeyedHash, written: list[Record] | None) -> None:
        self._log = log
        self._hasher = hasher
        self._set_run = set_run
        self._written = written

    def write(self, records: Sequence[Record], *, durable: bool = False) -> None:
        """See ``abc.store.Log``. ``durable`` has no effect."""
        if not self._log.live:
            raise StoreError("the log is closed", cause="records came after the end of their recording")
        for each in records:
            record = each
            if type(record) is CallSettled and type(record.outcome) is Value:
                body = record.outcome.body
                self._hasher.of_body(body)  # computes the digest of a value that is not kept
                if is_large(body):
                    record = replace(record, outcome=replace(record.outcome, body=body.whole()))
            self._log.take(record)
            if isinstance(record, _OF_RUNS):
                self._set_run(record.run, record.extra if isinstance(record, RunClosed) else {})
        if self._written is not None:
            self._written += records

    def close(self) -> None:
        self._log.live = False
