"""Replay of events: walk the recorded events and states, without the agent's code and without a network."""

from __future__ import annotations

import hashlib

from reenact.abc.body_access import WITHHELD
from reenact.abc.store import Recording
from reenact.errors import BlobCorrupt, BlobMissing
from reenact.facts.call import Fidelity, Stream, Value
from reenact.facts.event import Event, Payload
from reenact.facts.ids import tail
from reenact.facts.imported_runs import UNPROVEN, is_imported
from reenact.facts.large_values import LARGE
from reenact.facts.trace_runs import Grade, is_traced
from reenact.replaying.options import Options
from reenact.replaying.replay_lines import first_line, last_line
from reenact.replaying.replay_report import Report


def walk(recording: Recording, options: Options) -> Report:
    """Read every event, every payload and every state in order, each checked against its digest.

    Args:
        recording: The run.
        options: The options, used only for the first line.

    Raises:
        BlobCorrupt, BlobMissing: A payload is damaged; the message names the event.
    """
    chain = hashlib.blake2b(digest_size=16)
    matched = redacted = 0
    fidelity = Fidelity.EXACT
    order = list(Fidelity)
    for event in recording.events():
        _digest(recording, event, chain)
        matched += 1
        if event.fidelity is not Fidelity.EXACT:
            redacted += 1
            fidelity = max(fidelity, event.fidelity, key=order.index)
    traced, imported = is_traced(recording.run), is_imported(recording.run)  # neither proves the bytes sent
    unproven = tuple(f"order not proven at {d.number}" for d in recording.deliveries() if not d.proven)
    report = Report(
        run=recording.run.id,
        mode="events",
        verdict="same" if imported else "exact",
        first_line=first_line(recording.run.id, options),
        last_line="",
        events=matched,
        matched=matched,
        redacted=redacted,
        fidelity=Grade.SEMANTIC.value if traced else fidelity.value,
        unproven=(UNPROVEN,) if imported else unproven,
        enforcement=("no code was run",),
        digest_chain=chain.hexdigest(),
    )
    return report.with_last_line(last_line(report))


def _chain_value(recording: Recording, answer: Payload | None, chain: hashlib.blake2b) -> None:
    """Add a value to the chain, by its bytes or by the digest that is kept of them."""
    try:
        if answer is None or answer.size < LARGE:
            chain.update(recording.body(answer))
            return
        for piece in recording.pieces(answer):
            chain.update(piece)
    except BlobMissing as error:
        if answer is None or error.reason != WITHHELD:
            raise
        chain.update(bytes.fromhex(answer.digest))


def _digest(recording: Recording, event: Event, chain: hashlib.blake2b) -> None:
    """Add one event to the chain: its request, its outcome, and the state around it."""
    try:
        chain.update(
            f"{event.number} {event.lane} {event.position} {event.kind} {event.name}\n".encode("utf-8", "surrogatepass")
        )
        chain.update(recording.body(event.request))
        if isinstance(event.outcome, Value):
            _chain_value(recording, event.answer, chain)
        elif isinstance(event.outcome, Stream):
            for _, _, data in recording.parts(event.number):
                chain.update(data)
        elif event.outcome is not None:
            chain.update(event.outcome.error.type.encode("utf-8", "surrogatepass"))
        for phase in ("in", "out"):
            for name, body in sorted((recording.checkpoint_slots(event.number, phase, proven=False) or {}).items()):
                chain.update(name.encode("utf-8", "surrogatepass") + b"\0" + body)
    except (BlobCorrupt, BlobMissing) as error:
        error.next_command = error.next_command or f"reenact show {tail(event.run)}:{event.number}"
        raise
