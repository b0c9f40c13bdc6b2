"""The states of one run's steps in a SQLite store: the state at an event, the states at all events, and the versions of
a slot."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from reenact.facts.checkpoint import SlotVersion, Snapshot
from reenact.facts.event import Payload
from reenact.facts.growth import NOTE, mark_in, unproven
from reenact.facts.lazy_dataclass import replace
from reenact.store.bodies import Bodies
from reenact.store.check_sums import damaged, sum_of
from reenact.store.connection import ReadConnection
from reenact.store.keyed_hash import KeyedHash
from reenact.store.payloads import missing
from reenact.store.proofs import not_proven, require_proven
from reenact.store.schema import LOW, SHIFT
from reenact.store.slot_rows import COLUMNS, PACKED, KeptState
from reenact.store.slot_rows import StateReader as Packed
from reenact.store.snapshots import places, snapshots
from reenact.store.span import RunRows


class States:
    """Reads the states of one run.

    Args:
        reading: The store's reading connection.
        span: The rows of the run.
        bodies: The payloads of the run.
        hasher: The store's hash.
    """

    def __init__(self, reading: ReadConnection, span: RunRows, bodies: Bodies, hasher: KeyedHash) -> None:
        self._rows = Packed(reading.rows, hasher)
        self._reading = reading
        self._span = span
        self._bodies = bodies

    def slots(self, event: int, phase: str, *, proven: bool = True) -> Mapping[str, bytes] | None:
        """See ``abc.store.Recording.checkpoint_slots``."""
        rows = self._reading.rows(
            "SELECT s.n, s.name, s.digest, p.codec, p.data, s.remark, s.fidelity FROM slot s "
            "LEFT JOIN payload p ON p.digest = s.digest WHERE s.event = ? AND s.phase = ? ORDER BY s.n",
            (self._span.first | event, phase),
        )
        if not rows:
            return None
        if rows[0][0] == PACKED:
            n, name, kept, _, _, remark, fidelity = rows[0]
            state = self._unpacked((self._span.first | event, phase, n, name, kept, fidelity, remark))
            if proven and mark_in(remark):
                require_proven(self._span.run, event, state.names, remark, self._proofs(self._span.first))
            bodies = self._long({each.data for each in state.kept if not each.short}, event)
            return {
                name: each.data if each.short else bodies[each.data]
                for name, each in zip(state.names, state.kept, strict=True)
            }
        found: dict[str, bytes] = {}
        if proven and mark_in(rows[0][5]):
            require_proven(self._span.run, event, [row[1] for row in rows], rows[0][5], self._proofs(self._span.first))
        for n, name, digest, codec, data, *_ in rows:
            if n < 0:
                continue
            if not digest:
                found[name] = b""
            elif data is None:
                raise missing(digest.hex(), self._span.run, event)
            else:
                found[name] = self._bodies.contents.of(digest, codec, data, run=self._span.run, event=event)
        return found

    def digests(self, event: int, phase: str) -> Mapping[str, str] | None:
        """See ``abc.store.Recording.checkpoint_digests``. This costs two look-ups by key, and a third one for a state
        with growing lists."""
        address = self._span.first | event
        rows = self._reading.rows(
            f"SELECT {COLUMNS} FROM slot WHERE event = ? AND phase = ? ORDER BY n", (address, phase)
        )
        if not rows:
            return None
        found: dict[str, bytes]
        if rows[0][2] == PACKED:
            state = self._unpacked(rows[0])
            found = {name: self._rows.digest(each) for name, each in zip(state.names, state.kept, strict=True)}
        else:
            found = {row[3]: row[4] for row in rows if row[2] >= 0}
        if mark_in(rows[0][6]):
            require_proven(self._span.run, event, list(found), rows[0][6], self._proofs(self._span.first))
        return {name: digest.hex() for name, digest in found.items()}

    def _unpacked(self, row: Sequence[Any]) -> KeptState:
        """The state in a row.

        Raises:
            StoreError: The row is damaged.
        """
        try:
            return self._rows.unpack(row)
        except ValueError:
            raise damaged(f"the state of event {row[0] & LOW}") from None

    def _long(self, digests: Collection[bytes], event: int) -> dict[bytes, bytes]:
        """The values that are stored as payloads."""
        found = {}
        for digest in digests:
            body = self._bodies.contents.find(digest, run=self._span.run, event=event)
            if body is None:
                raise missing(digest.hex(), self._span.run, event)
            found[digest] = body
        return found

    def note(self, event: int, phase: str) -> str:
        """See ``abc.store.Recording.checkpoint_note``."""
        rows = self._reading.rows(
            "SELECT remark FROM slot WHERE event = ? AND phase = ? LIMIT 1", (self._span.first | event, phase)
        )
        return mark_in(rows[0][0]) if rows else ""

    def _proofs(self, address: int) -> dict[str, Any]:
        """The notes on how far each growing list is proven, from the log at an address. Runs in that log share these
        notes."""
        owner = -(address >> SHIFT)
        rows = self._reading.rows(
            "SELECT name, value, crc FROM note WHERE owner = ? AND name >= ? AND name < ? AND value IS NOT NULL",
            (owner, NOTE, NOTE[:-1] + chr(ord(NOTE[-1]) + 1)),
        )
        return {name: json.loads(value) for name, value, crc in rows if crc == sum_of(owner & LOW, value)}

    def snapshots(
        self,
        lanes: Collection[str],
        after: int,
        before: int | None,
        unlike: tuple[str, str | None] | None,
        *,
        backwards: bool,
    ) -> Iterator[Snapshot]:
        """See ``abc.store.Recording``. Only the rows of slots are read, and the lane of each step."""
        span = self._span
        around = span.between(after, before)
        here = (span.sql, *span.values)
        for found in snapshots(self._reading, self._rows, around, here, lanes, unlike, backwards=backwards):
            if not found.note:
                yield found
                continue
            names = list(found.slots)
            places = unproven(found.note, self._proofs(span.first))
            yield replace(found, note="", unproven=tuple(names[n] for n in places if n < len(names)))

    def places(
        self, slot: str, lanes: Collection[str], before: int | None, unended: Collection[int]
    ) -> Iterator[tuple[Any, ...]]:
        """One slot in each state, newest first, even where it did not change. Each item is an argument for ``version``.
        The arguments are those of ``versions`` of ``abc.store.Recording``."""
        span = self._span
        ends = tuple(span.first | number for number in unended)
        return places(self._reading, self._rows, slot, span.between(-1, before), (span.sql, *span.values), lanes, ends)

    def version(self, place: tuple[Any, ...]) -> SlotVersion:
        """The version of the slot at one of the ``places``, with its bytes."""
        address, phase, lane, digest, codec, data, n, remark = place
        event = address & LOW
        if digest and mark_in(remark) and n in unproven(remark, self._proofs(address)):
            raise not_proven(self._span.run, event, "a list")
        if not digest:
            body = b""
        elif codec is None:
            raise missing(digest.hex(), self._span.run, event)
        elif data is None:  # too large to be fetched together with others
            body = self._bodies.body(Payload(digest.hex(), 0))
        else:
            body = self._bodies.contents.of(digest, codec, data, run=self._span.run, event=event)
        return SlotVersion(event, phase, lane, None if digest is None else digest.hex(), body)
