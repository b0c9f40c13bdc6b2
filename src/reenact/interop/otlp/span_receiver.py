"""Incoming spans become runs: the run of a trace is in the store when its request is answered.

A trace comes in pieces, and late. Each piece is added to the original documents of its run, and the run is made again
under its id; labels and flags stay. So the cost of a piece grows with its trace: from ``MOST`` spans on, the next piece
becomes a separate run for a while. These parts are joined into one run when they have as many spans as the first, or
when nothing more comes (``join_due``). So a trace costs a few times its spans, for any size of the pieces.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

from reenact.abc.sources import Clock, Entropy
from reenact.abc.store import Store
from reenact.errors import InteropError, ReenactError, RunNotFound
from reenact.facts.call import Value
from reenact.facts.imported_runs import NOTE
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.policy import Policy
from reenact.facts.run import Run
from reenact.facts.thinned_runs import why_thinned
from reenact.facts.trace_runs import ORIGINAL, trace_of
from reenact.interop.originals import Original, original
from reenact.interop.otlp import reader
from reenact.interop.trace_import import TAG, TraceImport
from reenact.interop.traces import Trace
from reenact.recording.recording_opening import Who

FILE: Final = "received over OTLP"
"""The text in place of a file's name, for a run that was received."""
MOST: Final = 2_000
"""The most spans of a run to which a further piece is added."""
QUIET_S: Final = 5.0
"""The time without a further piece after which a trace counts as ended, so that its parts are joined."""

_REMEMBERED: Final = 4096


@dataclass(frozen=True, slots=True)
class ReceiveResult:
    """The result of one request.

    Attributes:
        runs: The runs of its traces, each with its number of spans.
        rejected: The number of spans that could not be read.
        why: The reason; empty where all could be read.
    """

    runs: tuple[tuple[Run, int], ...] = ()
    rejected: int = 0
    why: str = ""


class Receiver:
    """Accepts requests, one at a time, from any thread.

    Args:
        store: The store for the runs.
        policy: The rules for what may be kept, and how.
        clock, entropy: The sources of the runs' identities.
    """

    def __init__(self, store: Store, policy: Policy, clock: Clock, entropy: Entropy) -> None:
        self._store = store
        self._landing = TraceImport(store, FILE, "", Who(), policy, clock, entropy)
        self._lock = threading.Lock()
        self._seen: OrderedDict[bytes, None] = OrderedDict()
        self._clock = clock
        self._parted: dict[str, int] = {}
        """Traces of several runs, and when the last piece of each came."""
        self._joining: set[str] = set()
        """The runs that are being joined: no piece is added to them."""

    @property
    def parted(self) -> int:
        """The number of traces that are in several runs."""
        return len(self._parted)

    @property
    def joining(self) -> bool:
        """Whether parts are being joined. The joining may be broken off: then the parts stay."""
        return bool(self._joining)

    def take(self, lines: bytes) -> ReceiveResult:
        """Keep the spans of a request; on return they are in the store.

        Args:
            lines: The request as lines of JSON. A request that came before, byte for byte, is a repetition and is
                ignored: its sender has not received the answer.

        Raises:
            StoreError: The spans could not be written.
        """
        name = hashlib.sha256(lines).digest()
        with self._lock:
            if not lines or name in self._seen:
                return ReceiveResult()
            found = self._keep(lines)
            self._seen[name] = None
            if len(self._seen) > _REMEMBERED:
                self._seen.popitem(last=False)
            return found

    def _keep(self, lines: bytes) -> ReceiveResult:
        try:
            traces = list(reader.read(Original(FILE, None, lines)))
        except InteropError as error:
            return ReceiveResult((), max(1, lines.count(b"\n")), f"{error.message} ({error.cause})")
        runs = [self._land(each) for each in traces]
        left = traces[0].left
        return ReceiveResult(
            tuple((run, each.spans) for run, each in zip(runs, traces, strict=True)), len(left), "; ".join(left)
        )

    def _land(self, piece: Trace) -> Run:
        known, others = self._landing.known(piece)
        if known is not None:
            return known
        before = self._open(piece.id)
        if others and len(self._parts(piece.id)) + (before is None) > 1:
            self._parted[piece.id] = self._clock.mono_us()
        if before is None:
            return self._landing.land(replace(piece, left=()), 0, earlier=others)
        lines = b"".join((*_original(self._store, before), *piece.original))
        whole = next(each for each in reader.read(Original(FILE, None, lines)) if each.id == piece.id)
        if whole.digest == trace_of(before)["digest"]:
            return before
        made = self._landing.land(whole, 0, earlier=False)
        return self._replaced(before, made)

    def join_due(self, *, every: bool = False) -> int:
        """Join traces that came in parts, where it is due. Spans are accepted meanwhile.

        Args:
            every: Join all such traces, because the receiver ends.

        Returns:
            The number of joined spans; 0: nothing was due.

        Raises:
            StoreError: The run could not be written; the parts stay.
        """
        with self._lock:
            found, parts = "", list[Run]()
            for trace in list(self._parted):
                parts = self._parts(trace)
                if len(parts) < 2:
                    del self._parted[trace]
                elif self._due(trace, parts, every):
                    found = trace
                    break
            self._joining = {run.id for run in parts} if found else set()
        if not found:
            return 0
        try:
            made = self._joined(found, parts)
            with self._lock:
                first, *rest = parts
                tags: dict[str, str] = {}
                for each in reversed(parts):
                    tags |= each.tags
                self._replaced(replace(first, tags=tags), made)
                for each in rest:
                    self._store.delete(each.id)
                if len(self._parts(found)) < 2:
                    self._parted.pop(found, None)
        finally:
            self._joining = set()
        return int(trace_of(made)["spans"])

    def _parts(self, trace: str) -> list[Run]:
        """The runs of a trace that came in here, the first one first."""
        try:
            runs = [run for run in self._store.runs(tag={TAG: trace}) if _is_open(run)]
        except RunNotFound:
            return []
        return sorted(runs, key=lambda run: run.id)

    def _due(self, trace: str, parts: list[Run], every: bool) -> bool:
        if every or self._clock.mono_us() - self._parted[trace] >= QUIET_S * 1e6:
            return True
        first, *rest = (int(trace_of(run)["spans"]) for run in parts)
        return sum(rest) >= first

    def _joined(self, trace: str, parts: list[Run]) -> Run:
        """One run of the original documents of all parts of a trace."""
        with NamedTemporaryFile(prefix="reenact-", suffix=".jsonl") as file:
            for run in parts:
                for document in _original(self._store, run):
                    file.write(document if document.endswith(b"\n") else document + b"\n")
            file.flush()
            came = replace(original(Path(file.name)), name=FILE)
            whole = next(each for each in reader.read(came) if each.id == trace)
            return self._landing.land(whole, 0, earlier=False)

    def _replaced(self, before: Run, made: Run) -> Run:
        """The new run under the id of the earlier run, which is removed."""
        now = replace(made, id=before.id, tags={**made.tags, **before.tags})
        run = self._store.exchange(now, replace(before, id=made.id))
        self._store.delete(made.id)
        return run

    def _open(self, trace: str) -> Run | None:
        """The newest run of a trace to which pieces may be added."""
        try:
            for run in self._store.runs(tag={TAG: trace}):
                if run.id not in self._joining and _is_open(run) and trace_of(run)["spans"] < MOST:
                    return run
        except RunNotFound:
            pass
        return None


def _is_open(run: Run) -> bool:
    """Whether pieces may be added to a run: it was received here, and its original documents are stored."""
    return (run.capture.get(NOTE) or {}).get("file") == FILE and not why_thinned(run)


def _original(store: Store, run: Run) -> Iterator[bytes]:
    """The original documents of a run, as they are stored."""
    recording = store.open(run)
    for event in recording.events():
        if event.name == ORIGINAL and isinstance(event.outcome, Value):
            yield recording.body(event.answer)


def reason(error: ReenactError) -> str:
    """The reason for a sender when the store has failed."""
    return f"it could not be kept: {error.message}"
