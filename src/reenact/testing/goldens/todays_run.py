"""Today's run as a golden would keep it: without credentials, and with the golden's paths of the project."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reenact.abc.redaction import Redactor
from reenact.abc.store import Recording
from reenact.facts.call import Value
from reenact.facts.large_values import is_withheld
from reenact.facts.lazy_dataclass import replace
from reenact.facts.record import CallIssued, CallSettled, CheckpointTaken, OutputPrinted, Record
from reenact.facts.run import Run
from reenact.replaying.relocation import relocated
from reenact.replaying.replay_opening import redactor_of
from reenact.replaying.worktree import Tree
from reenact.store.bundles import PackedRun
from reenact.store.memory_store import MemoryStore


def comparable(packed: PackedRun, golden: Run, project: str) -> Recording:
    """Today's run in a form that can be compared with a golden's: names in this project are replaced by the golden's.

    Args:
        packed: Today's run, without credentials.
        golden: The run that answered it.
        project: Root of this project.
    """
    _, tree = relocated(golden, project)
    store = MemoryStore()
    log = store.begin(packed.run)
    log.write(list(packed.records if tree is None else _as_then(packed.records, redactor_of(golden, tree), tree)))
    log.close()
    return store.open(packed.run.id)


def _as_then(records: Iterable[Record], redactor: Redactor, tree: Tree) -> Iterator[Record]:
    for record in records:
        match record:
            case CallIssued(call=call):
                yield replace(record, call=redactor.call(call))
            case CallSettled(outcome=Value() as value) if not is_withheld(value.body):
                yield replace(record, outcome=replace(value, body=tree.named_as_then(value.body)))
            case CheckpointTaken():
                slots = {name: tree.named_as_then(body) for name, body in record.slots.items()}
                yield replace(record, slots=slots)
            case OutputPrinted():
                yield replace(record, data=tree.named_as_then(record.data))
            case _:
                yield record
