"""Opens a fork: the session over its parent's recording, and its own run."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.abc.store import Recording, Store
from reenact.facts.call import Json
from reenact.facts.effects import root_of
from reenact.facts.ids import make_run_id
from reenact.facts.keys import rules_of
from reenact.facts.lazy_dataclass import replace
from reenact.facts.plumbing import MARK
from reenact.facts.policy import Policy
from reenact.facts.removed_digests import REMOVED
from reenact.facts.retention import LABELS
from reenact.facts.run import ATTEMPT, Entry, Run
from reenact.facts.served_requests import REQUEST
from reenact.recording.recording_opening import OpenRun, hash_seed, program
from reenact.replaying.ambient_replay import MOVES, clock_of
from reenact.replaying.options import Options
from reenact.replaying.replay_opening import redactor_of
from reenact.replaying.worktree import Tree
from reenact.seams import machine, trust
from reenact.timetravel.forks.fork_decisions import ForkDecisions
from reenact.timetravel.forks.fork_misses import ForkMisses
from reenact.timetravel.forks.fork_session import ForkSession
from reenact.timetravel.forks.plan import Plan

_NO_RUN = Run("")
_CARRIED = ("streams", "time_zone", "hash_seed_set")
"""Surroundings that the agent's code may read: the fork takes the parent's, so that its prefix is the same."""
_SERVED = ("preamble", "served", "stopped_by")
"""Facts about a server: the place of the request in its process, or how a process that served requests ended."""


def open_session(
    recording: Recording, options: Options, plan: Plan, misses: ForkMisses, tree: Tree | None = None
) -> ForkSession:
    """A session that answers from ``recording`` up to the branching event, and goes on from there. ``misses`` decides
    about calls without an answer. ``tree``: the project's folder, for a run from elsewhere."""
    run = recording.run
    session = ForkSession(recording, redactor_of(run, tree), rules_of(run.capture, options.ignore), options, plan)
    ForkDecisions(session, misses)
    return session


def open_child(
    session: ForkSession,
    store: Store,
    run_id: str = "",
    *,
    place: str = "",
    release: Callable[[], object] | None = None,
    gathers: bool = True,
    tree: Tree | None = None,
) -> OpenRun:
    """Begin the fork's own run, in which all calls of the session are noted. ``gathers``: see ``OpenRun``. ``tree``:
    the folder of the code, where that is not the parent's."""
    parent = session.run
    run = child_of(parent, session.plan, run_id, session.ambience.kept_moves)
    run = replace(run, entry=_entry(parent, session.plan.command, tree))
    # The rest of a fork is its parent's: a user who may not start the parent may not start the fork.
    sealed = trust.is_ours(parent)
    return OpenRun(
        run,
        store,
        policy_of(parent),
        CLOCK,
        release,
        place=place,
        schedule=session.schedule,
        sealed=sealed,
        gathers=gathers,
    )


def _entry(parent: Run, command: tuple[str, ...], tree: Tree | None) -> Entry:
    """The entry of a fork: its parent's, or ``command`` if a user gave that. Paths in a tree are named as the parent
    names them."""
    entry = replace(parent.entry, hash_seed=hash_seed() or parent.entry.hash_seed)
    if not command:
        return entry
    given = replace(program(command, entry.project), hash_seed=entry.hash_seed)
    if tree is not None:
        given = replace(given, cwd=_then(tree, given.cwd), file=_then(tree, given.file))
    return replace(given, kind=entry.kind, target=entry.target) if entry.kind == REQUEST else given


def _then(tree: Tree, path: str) -> str:
    return os.fsdecode(tree.named_as_then(os.fsencode(path)))


def policy_of(parent: Run) -> Policy:
    """The policy of a fork: that of its parent."""
    capture = parent.capture
    return Policy(
        ignore=capture.get("ignore") or {},
        files=tuple(capture.get("files") or ()),
        redact=capture.get("redact") or {},
        plumbing=(capture.get(MARK) or {}).get("own") or {},
        check_changes=bool(capture.get("check_changes", True)),
        file_contents=tuple(capture.get("file_contents") or ()),
    )


def _restated(parent: Run, plan: Plan) -> dict[str, Json]:
    """The new values in states, as far as known when the fork begins; the end of its log has all of them. So a fork
    that is killed keeps its change, and is resumed with it. Up to the branching event, numbers are the parent's."""
    before = parent.environment.get("restated") or {}
    kept = {number: changes for number, changes in before.items() if int(number) <= plan.at}
    return {**kept, str(plan.at): {**kept.get(str(plan.at), {}), **plan.state}} if plan.state else kept


def child_of(parent: Run, plan: Plan, run_id: str, moves: Sequence[tuple[int, int]]) -> Run:
    """The fork's own run as it begins. The agent's clock goes on from the parent's, moved by ``moves``."""
    environment = {name: parent.environment[name] for name in _CARRIED if name in parent.environment}
    environment |= {name: parent.environment[name] for name in machine.facts() if name in parent.environment}
    environment |= {"restated": _restated(parent, plan), MOVES: [list(move) for move in moves]}
    return replace(
        _NO_RUN,
        id=run_id or make_run_id(CLOCK.wall_us(), ENTROPY.bytes(8)),
        agent=parent.agent,
        version=parent.version,
        user=parent.user,
        tenant=parent.tenant,
        session=parent.session,
        tags={name: value for name, value in parent.tags.items() if name not in LABELS},
        started_us=CLOCK.wall_us(),
        origin_us=CLOCK.mono_us(),
        parent=parent.parent if parent.relation == ATTEMPT and plan.resume else parent.id,
        relation="fork" if not plan.resume else "resume" if plan.apart else ATTEMPT,
        fork_event=plan.at,
        retention=parent.retention,
        capture={name: parent.capture[name] for name in (*_SERVED, REMOVED) if name in parent.capture}
        | {MARK: parent.capture.get(MARK) or {}},
        environment={**environment, "root": root_of(parent), "clock": list(clock_of(parent)), "fork": plan.to_json()},
    )
