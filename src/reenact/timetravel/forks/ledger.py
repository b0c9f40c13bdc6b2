"""The ledger of a lineage: which writes were made, by which run, and their results.

A write is *intended* once its claim is durable in the store, before it is made. It is *done* once the claim's event has
an outcome. A write is *in doubt* when it has no outcome and no process is left that could give one. Writes from before
the first fork or resumption are claimed when the ledger is first used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from reenact.abc.store import Recording, Store
from reenact.errors import EffectInDoubt, EventNotFound, RunNotFound
from reenact.facts.call import Call, EndKind, Failure, Kind, Outcome, Stream, Value
from reenact.facts.effects import UNMADE, Claim, Identities, acts, root_of
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.run import Run, Status, run_failed
from reenact.seams.databases.statements import ends_with
from reenact.timetravel.forks.fork_command import again
from reenact.timetravel.forks.fork_course import MADE
from reenact.timetravel.forks.plan import Plan


@dataclass(frozen=True, slots=True)
class WriteStanding:
    """The state of a write.

    Attributes:
        claim: The claim of the run that makes the write, or has made it.
        outcome: The result; None: in doubt.
        body: The bytes that the outcome holds.
        why: The reason, in words.
        undone: Whether its transaction was rolled back, or the write could not be begun: then it may be made.
    """

    claim: Claim
    outcome: Outcome | None
    body: bytes
    why: str
    undone: bool = False


@dataclass(frozen=True, slots=True)
class Doubt:
    """A write that may have been made, at which a fork was stopped.

    Attributes:
        write: Its identity.
        name: The name of the call that makes it.
        why: Why it is unknown whether the write was made.
        can_be_done: Whether the word *done* is enough; it is not if the code needs the unknown response.
        next_command: The command with which a person decides.
    """

    write: str
    name: str
    why: str
    can_be_done: bool
    next_command: str


class Ledger:
    """The writes of the lineage that a fork belongs to.

    Args:
        store: The store of its runs and claims.
        parent: The parent of the fork.
        child: Id of the fork.
    """

    def __init__(self, store: Store, parent: Run, child: str) -> None:
        self._store = store
        self._parent = parent
        self._child = child
        self._complete = False

    def standing(self, address: str) -> WriteStanding | None:
        """The state of a write; None: no run has begun it."""
        if not self._complete:
            self._complete = True
            for run in reversed(list(self._ancestors())):
                self._store.note_claims(claims_of(self._store.open(run)))
        claim = self._store.claimed(address)
        return None if claim is None else self._stands(claim)

    def claim(self, address: str, event: int, over: WriteStanding | None) -> bool:
        """Claim a write for the fork, durably; False: another process has just claimed it."""
        wanted = Claim(address, self._child, event)
        return self._store.claim(wanted, over=over.claim if over is not None else None)

    def _ancestors(self) -> Iterator[Run]:
        """The parent, and the runs that it was forked or resumed from."""
        run: Run | None = self._parent
        while run is not None:
            yield run
            if not run.parent or run.relation not in ("fork", "resume", "attempt"):
                return
            try:
                run = self._store.run(run.parent)
            except RunNotFound:
                return

    def _stands(self, claim: Claim) -> WriteStanding:
        place = f"event {claim.event} of run {tail(claim.run)}"
        try:
            recording = self._store.open(claim.run)
            event = recording.event(claim.event)
        except (EventNotFound, RunNotFound):
            return WriteStanding(claim, None, b"", f"it was begun as {place}, which is not there any more")
        outcome = event.outcome
        if outcome is None or (isinstance(outcome, Stream) and _is_open(outcome)):
            undone = bool(recording.notes(event.number).get(UNMADE))
            return WriteStanding(claim, None, b"", f"it was begun as {place}, and how it ended is not known", undone)
        parts = recording.parts(event.number) if isinstance(outcome, Stream) else ()
        body = b"".join(data for _, _, data in parts) or recording.body(event.answer)
        failed = ", and failed there" if isinstance(outcome, Failure) else ""
        if failed and run_failed(recording.run):  # other runs went on after it, and cannot be resumed
            failed += f"; `reenact resume {tail(claim.run)} --settle retry` makes it again"
        return WriteStanding(claim, outcome, body, f"{MADE} {place}{failed}", _is_undone(recording, event, body))


def _is_open(outcome: Stream) -> bool:
    """Whether the end of a write is unknown: the write was never answered, or was cancelled before its answer."""
    return outcome.end is None or (outcome.end.kind is EndKind.CANCELLED and not outcome.head)


def _is_undone(recording: Recording, event: Event, told: bytes) -> bool:
    """Whether a statement left a transaction open that was rolled back, or never ended. A
    recording does not keep which of several connections to a database a call uses: after a commit on any of them, the
    write counts as made. Not every commit is a call: if no transaction is open before the rollback (a savepoint was
    released, the connection commits by itself now), the write was committed."""
    if event.kind != Kind.DB or not isinstance(event.outcome, Value) or not _leaves_open(told):
        return False
    same = event.call.head.get("database")
    taken_back = False
    for each in recording.events(after=event.number, kinds=[Kind.DB]):
        if each.call.head.get("database") != same:
            continue
        ending = ends_with(each.call)
        if ending == "commit" or not (ending or taken_back or may_be_open(recording, each)):
            return False
        taken_back = taken_back or ending == "rollback"
    return taken_back or recording.run.status is not Status.RECORDING  # the process ended without a commit


def may_be_open(recording: Recording, event: Event) -> bool:
    """Whether a transaction may have been open after a call on a database; only statements show this."""
    if "sql" not in event.call.head or not isinstance(event.outcome, Value):
        return True
    return _leaves_open(recording.body(event.answer))


def _leaves_open(told: bytes) -> bool:
    """Whether an answer says that a transaction was left open. The answer of a commit, and an answer from a user, do
    not say it (null). A withheld answer cannot be read: its write counts as made."""
    try:
        answer = json.loads(told)
    except ValueError:
        return False
    return isinstance(answer, dict) and bool(answer.get("open"))


def claims_of(recording: Recording) -> Iterator[Claim]:
    """A claim for every write that a run has begun, in order. Writes inside a write are parts of it; the requests of a
    tool that only reads are no writes."""
    run = recording.run
    identities = Identities(root_of(run), run.capture.get("ignore") or {})
    around: dict[int, str | None] = {}
    for event in recording.events():
        within = around.get(event.parent, "") if event.parent is not None else ""
        if within is None or not acts(event.call):
            around[event.number] = within if event.call.observed else None
            continue
        call = replace(event.call, body=recording.body(event.request))
        address = around[event.number] = identities.of(call, within)
        yield Claim(address, run.id, event.number)


def address_of(recording: Recording, event: int) -> str:
    """The identity of a write that a run has begun; empty for other events."""
    return next((claim.address for claim in claims_of(recording) if claim.event == event), "")


def in_doubt(call: Call, why: str, run: Run, plan: Plan, claim: Claim | None = None) -> EffectInDoubt:
    """The error for a write in doubt, in a fork or resumption of ``run``; ``claim``: the run that began the write,
    where its result can be given."""
    name = f"{tail(run.id)}:{plan.at}" if plan.apart else tail(run.id)
    said = claim is not None and call.kind is not Kind.HTTP
    write = f"{tail(claim.run)}:{claim.event}" if claim is not None and said else ""
    asks = write and plan.settle == "done"
    done = f" --settle done --result {write}='{{…}}'" if asks else " --settle retry"
    return EffectInDoubt(
        f"{call.name} may have changed the world already: {why} (at {call.source or 'an unknown place'})",
        cause="its process was stopped, or its connection broke, while the write was under way; --settle retry makes "
        "it again" + (f", --settle done --result {write}='{{…}}' takes it as made, with its result" if write else ""),
        next_command=f"reenact resume {name}{done}" if plan.resume else f"{again(run, replace(plan, settle=''))}{done}",
    )
