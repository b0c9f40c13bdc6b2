"""The contract of a store: an append-only log of records for each run, and views to read it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from reenact.abc.hash_protocol import Hash
    from reenact.facts.checkpoint import Checkpoint, SlotVersion, Snapshot
    from reenact.facts.effects import Claim
    from reenact.facts.event import Event, LaneFact, Payload
    from reenact.facts.marks import Mark
    from reenact.facts.order import Delivery
    from reenact.facts.record import AmbientRead, Record
    from reenact.facts.run import Run


class Log(Protocol):
    """The write side of one run. Used by one thread only: the recording's writer."""

    def write(self, records: Sequence[Record], *, durable: bool = False) -> None:
        """Append records in one transaction; on return they survive the death of the process.

        Args:
            records: Already cleaned by the privacy gate; in the order they happened.
            durable: Also survive a power loss (used for the intents of writes).

        Raises:
            StoreError: nothing of this batch was kept.
        """
        ...

    def close(self) -> None:
        """Release the resources of the log. The run's status is that of the last ``RunClosed``."""
        ...


class Recording(Protocol):
    """The read side of one run: opened in constant time, and read on demand."""

    @property
    def run(self) -> Run:
        """The run."""
        ...

    def event(self, number: int) -> Event:
        """One event.

        Raises:
            EventNotFound: There is no event of that number in this run.
        """
        ...

    def events(
        self,
        *,
        lane: str | None = None,
        after: int = -1,
        before: int | None = None,
        kinds: Iterable[str] = (),
        name: str | None = None,
        limit: int | None = None,
        skip: int = 0,
        backwards: bool = False,
    ) -> Iterator[Event]:
        """Events in order of number, or newest first (``backwards``), fetched in pages; the events ``after`` and
        ``before`` are left out. ``lane``: exactly that lane. ``skip``: leave out this many events first."""
        ...

    def count(self) -> int:
        """Number of events, without reading them."""
        ...

    def body(self, payload: Payload | None) -> bytes:
        """Exact bytes, checked against their digest (``b""`` for None).

        Raises:
            BlobMissing, BlobCorrupt: The bytes are gone, or are not the stored ones.
        """
        ...

    def pieces(self, payload: Payload) -> Iterator[bytes]:
        """The exact bytes in pieces: long text and bytes are never in memory as a whole. The first piece is long enough
        to show how the value is encoded. The bytes are verified only when the last piece has come.

        Raises:
            BlobMissing, BlobCorrupt: As ``body``.
        """
        ...

    def holds(self, payload: Payload | None, data: bytes) -> bool:
        """Whether ``payload`` is exactly ``data``, by its digest; nothing is fetched."""
        ...

    def parts(self, event: int) -> Iterator[tuple[int | None, int, bytes]]:
        """Segments of a stream: (delivery number, microseconds since the run began, bytes). Fetched in pages: the whole
        stream is never in memory. The segments are checked against the stream's digest at the end."""
        ...

    def lanes(self) -> Iterator[LaneFact]:
        """All lanes in order of creation."""
        ...

    def lane(self, path: str) -> LaneFact | None:
        """The lane of a path."""
        ...

    def deliveries(self, start: int = 0) -> Iterator[Delivery]:
        """The deliveries in the run's order, from a number on, fetched in pages."""
        ...

    def ambient(self, lane: str, position: int) -> Mapping[str, bytes]:
        """Packed ambient reads of one lane since one position: source to bytes (continued records joined)."""
        ...

    def reads(self) -> Iterator[AmbientRead]:
        """Every packed ambient read, by number of lane and position, fetched in pages."""
        ...

    def printed(self, stream: int) -> Iterator[bytes]:
        """The agent's output to standard output (1) or standard error (2)."""
        ...

    def checkpoint_slots(self, event: int, phase: str, *, proven: bool = True) -> Mapping[str, bytes] | None:
        """Encoded state of a step's start (``in``) or end (``out``); None where none was kept.

        Args:
            event: The step.
            phase: ``in`` for the start, ``out`` for the end.
            proven: Only states that are proven; False is for copies of a run, which also take ``checkpoint_note``.

        Raises:
            BlobMissing: A list in the state was declared to grow only, and its growth is not proven (``unproven``).
        """
        ...

    def checkpoint_digests(self, event: int, phase: str) -> Mapping[str, str] | None:
        """The digest of each part of a step's state, made like that of a payload; empty where a part has no bytes. None
        where no state was kept. The cost does not depend on the length of the parts.

        Raises:
            BlobMissing: As ``checkpoint_slots``.
        """
        ...

    def begin_digest(self) -> Hash:
        """A new hash object, which makes the digest of a payload from the payload's bytes."""
        ...

    def checkpoint_note(self, event: int, phase: str) -> str:
        """The note on the growing lists in a step's state; empty without one."""
        ...

    def snapshots(
        self,
        *,
        lanes: Collection[str] = (),
        after: int = -1,
        before: int | None = None,
        unlike: tuple[str, str | None] | None = None,
        backwards: bool = False,
    ) -> Iterator[Snapshot]:
        """The places where the agent's state was kept, with the digest of each slot; no state is read. In order of
        event (``in`` before ``out``), or newest first; fetched in pages.

        Args:
            lanes: Only steps of exactly these lanes; empty for all.
            after, before: Only events between these numbers, both excluded.
            unlike: A slot and a digest: only snapshots in which the slot has another value, or is missing (digest None:
                only snapshots that have the slot).
            backwards: Newest first.
        """
        ...

    def versions(
        self, slot: str, *, lanes: Collection[str] = (), before: int | None = None, unended: Collection[int] = ()
    ) -> Iterator[SlotVersion]:
        """The values of one slot of the agent's state, newest first; a value that does not change between places comes
        once. The bytes of every version are checked against their digest.

        Args:
            slot: The name of the slot.
            lanes: Only steps of exactly these lanes; empty for all.
            before: Only steps before this number.
            unended: Steps whose end does not count, by number.

        Raises:
            BlobMissing, BlobCorrupt: As ``body``.
        """
        ...

    def notes(self, event: int | None) -> Mapping[str, Any]:
        """Evidence on an event, or on the run."""
        ...

    def gaps(self) -> Iterator[tuple[str, str, int]]:
        """Escapes from the recording: (what, place, count)."""
        ...


class Store(Protocol):
    """Runs at rest.

    ``with open_store(url) as store:`` closes it at the end.
    """

    url: str

    def runs(self, **filters: Any) -> Iterator[Run]:
        """The runs, newest first.

        Filters (all optional): ``agent``, ``user``, ``tenant``, ``session``, ``status``, ``failed`` (bool), ``tag``
        (mapping of labels that must agree), ``since_us``, ``before_us``, ``text`` (full text over messages and tool
        data), ``limit``, ``parent``. Child runs are included.

        Raises:
            UsageError: a filter of another name.
        """
        ...

    def run(self, ref: str) -> Run:
        """The run of a reference: a unique prefix of its id or tail, ``@``, ``@~2``, ``@failed``.

        Raises:
            RunNotFound: none, or several (``candidates``).
            UsageError: a reference of a kind that is not available yet.
        """
        ...

    def open(self, run: Run | str) -> Recording:
        """Open one run for reading."""
        ...

    def events(self, run: Run | str) -> Iterator[Event]:
        """All events of a run, in order."""
        ...

    def event(self, ref: str) -> Event:
        """The event of a reference: ``RUN:12`` or ``RUN:search_docs#2``.

        Raises:
            RunNotFound, EventNotFound: see the message.
        """
        ...

    def payload(self, digest: Payload | str) -> bytes:
        """Bytes by digest, or by the ``Payload`` of an event, checked.

        Raises:
            UsageError: ``digest`` is no digest.
            BlobMissing, BlobCorrupt: The bytes are gone, or are not the stored ones.
        """
        ...

    def checkpoint(self, run: Run | str, at: int | str) -> Checkpoint:
        """The agent's state at an event (a number, or ``name#n``)."""
        ...

    def delete(self, run: Run | str) -> None:
        """Forget a run and its payloads that no other run uses. Child runs in its log go with it."""
        ...

    def discard(self, run_id: str) -> bool:
        """Forget a run that is not needed, with the runs of the processes that it started. Returns whether they were
        forgotten.

        The check and the removal are one step. A run is needed in three cases: it, or a run nested in it, has not ended
        well; one of them was flagged or labelled; or another run goes on from it (a fork, a kept replay, a served
        request).
        """
        ...

    def thin(self, run_id: str, why: str) -> bool:
        """Remove the bodies of a run that is not needed (as ``discard`` defines it), and those of the processes that it
        started. Returns whether they were removed. The events stay, with the size and digest of each body.

        Args:
            run_id: The id of the run.
            why: The rule that thins the run, for its readers.
        """
        ...

    def begin(self, run: Run) -> Log:
        """Start writing a run."""
        ...

    def adopt(self, logs: Sequence[tuple[Run, Iterable[Record]]]) -> None:
        """Store whole runs that were recorded elsewhere: all of them or none, even after a crash.

        Args:
            logs: Each run with a log of its own, as it began, and all records of that log (with or without its
                ``RunOpened``).

        Raises:
            StoreError: A run is here already, or cannot be kept; nothing was written.
        """
        ...

    def amend(self, run: Run | str, *, flag: str | None = None, tags: Mapping[str, str] | None = None) -> Run:
        """Set a person's verdict or labels on a finished run."""
        ...

    def mark(self, mark: Mark) -> None:
        """Set a mark; it replaces a mark with the same id.

        Args:
            mark: The mark, whose text the privacy gate has cleaned.
        """
        ...

    def unmark(self, mark_id: str) -> None:
        """Forget a mark; a missing mark is no error."""
        ...

    def marks(self) -> Sequence[Mark]:
        """All marks, by their time.

        Raises:
            StoreError: A mark is damaged.
        """
        ...

    def conclude(self, run: Run) -> Run:
        """Rewrite the facts of a run that has ended, with those that only its parent process could see (its exit
        status). Labels and flags that people set are kept."""
        ...

    def claimed(self, address: str) -> Claim | None:
        """The claim on a write; None where there is none."""
        ...

    def claim(self, claim: Claim, *, over: Claim | None = None) -> bool:
        """Claim a write before it is made. When it returns, the claim survives a power loss. Of several processes that
        claim at the same time, one gets the claim.

        Args:
            claim: The claim.
            over: The claim that it replaces; None: it must be the first.

        Returns:
            Whether the claim is ours now.

        Raises:
            StoreError: The claim could not be written: the write must not be made.
        """
        ...

    def note_claims(self, claims: Iterable[Claim]) -> None:
        """Claim writes that have been made already and are not claimed yet."""
        ...

    def exchange(self, left: Run, right: Run) -> Run:
        """Give each of two runs the other's recording, in one step.

        Args:
            left, right: The runs as they will be afterwards; labels and flags stay with their ids.

        Returns:
            The run of ``left``'s id.

        Raises:
            StoreError: A run is missing, or lies in the log of another run.
        """
        ...

    def close(self) -> None:
        """Release the store."""
        ...

    def __enter__(self) -> Store: ...

    def __exit__(self, *exc: object) -> None: ...
