"""The plan of a fork, printed before it runs: frozen calls, possible live calls, refused writes."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from reenact.abc.store import Store
from reenact.facts.bases import Bases, moved_bases
from reenact.facts.call import Call, Effect, Kind, Stream
from reenact.facts.connections import is_of_connection
from reenact.facts.effects import acts
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import asdict, dataclass, field, replace
from reenact.facts.phrases import counted
from reenact.facts.plumbing import is_plumbing
from reenact.facts.run import Run
from reenact.facts.served_requests import arrives
from reenact.replaying.agent_process import environment_of
from reenact.replaying.options import Options
from reenact.replaying.program_start import start_of
from reenact.replaying.relocation import relocated
from reenact.replaying.replay_launch import changed_code_in, project_of
from reenact.replaying.worktree import kept_revision
from reenact.seams.process_setting import variables_now
from reenact.store.nested_runs import holder_of
from reenact.timetravel.forks.allowed_names import require_known, with_settings
from reenact.timetravel.forks.api_keys import Destination, address_of, keys_named_in, keys_of, said_by
from reenact.timetravel.forks.changes import check
from reenact.timetravel.forks.fork_code import require_code, with_command
from reenact.timetravel.forks.fork_launch import require_ended
from reenact.timetravel.forks.fork_points import inside, require_fork_point
from reenact.timetravel.forks.fork_report import first_line
from reenact.timetravel.forks.fork_requests import is_rewritten, unspoken
from reenact.timetravel.forks.permits import is_model, only_kept
from reenact.timetravel.forks.plan import Plan, may_write, opens, refusal, said_of


@dataclass(frozen=True, slots=True)
class DryRun:
    """A forecast of a fork, as far as the recording tells.

    Attributes:
        first_line: The first line that the fork would print.
        frozen: The recorded calls before the branching event.
        after: The number of recorded calls with an answer from the branching event on. Each is answered as recorded if
            the same call is made again.
        again: The names of calls that would be sent again in any case, each with its number of calls.
        writes: The names of recorded writes after it, which are not repeated, each with its number of calls; a write
            with another request is refused.
        allowed: The names among them whose writes are made even with another request.
        changes: The changes, in words.
        servers: MCP servers of the recording: a server is started, or connected to, when a call of its session goes
            live.
        goes_to: The hosts of recorded calls after it that may go live, each with the keys that the calls carried.
        unanswered: The names of calls after it without a recorded answer, which was cancelled or cut off, each with its
            number of calls. If the fork waits for such a call, it is made.
        stops: The names of other such calls, which may not be made, or may have changed the world already. If the fork
            waits for such a call, the fork stops.
        impossible: Why the changes cannot be made in later recorded model requests; the fork would stop there.
        remarks: What else differs from the recording: the code that has changed since.
    """

    first_line: str
    frozen: int
    after: int
    again: dict[str, int]
    writes: dict[str, int]
    changes: tuple[str, ...]
    impossible: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    goes_to: tuple[Destination, ...] = ()
    allowed: Mapping[str, int] = field(default_factory=dict)
    unanswered: Mapping[str, int] = field(default_factory=dict)
    stops: Mapping[str, int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The forecast as JSON-able data."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The forecast as lines for a person."""
        told = [
            self.first_line,
            f"  frozen          {counted(self.frozen, 'call')} before the branching event",
            f"  if asked again  {counted(self.after, 'call')} after it: the same call is answered as recorded",
        ]
        told += [
            f"  sent live again {name} ({counted(count, 'time')} in the recording)"
            for name, count in self.again.items()
        ]
        told += [
            f"  blocked write   {name} ({count} recorded); a changed one is refused without "
            f"--allow-write {shlex.quote(name)}"
            for name, count in self.writes.items()
        ]
        told += [
            f"  allowed write   {name} ({count} recorded); a changed one is made, the same one is not repeated"
            for name, count in self.allowed.items()
        ]
        told += [
            f"  has no answer   {name} ({count} recorded); if the fork waits for it, {what_follows}"
            for what_follows, calls in (("it is made", self.unanswered), ("the fork stops", self.stops))
            for name, count in calls.items()
        ]
        told += [f"  goes live       {name}, when a call of its session does" for name in self.servers]
        for each in self.goes_to:
            keys = f" with {', '.join(each.keys)}" if each.keys else ""
            told.append(f"  may be sent to  {each.host}{keys}" + (f": {each.remark}" if each.remark else ""))
        told += [f"  change          {text}" for text in self.changes]
        told += [f"  cannot be sent  {text}" for text in self.impossible]
        return told + [f"  code            {text}" for text in self.remarks]


def dry_run(store: Store, run: str, plan: Plan, options: Options) -> DryRun:
    """A forecast of a fork of ``run``, started as ``options`` say.

    Raises:
        ForkError: The run cannot branch there, or not with this change.
        UsageError: The revision does not exist.
        UnreplayableRun: The run cannot be started again here.
    """
    recording = store.open(run if options.entry else holder_of(store, store.run(run)))
    require_ended(recording.run)
    require_fork_point(recording, plan.at)
    check(recording, plan, options.entry)
    require_known(store, recording.run, plan)
    plan = with_settings(with_command(plan, recording.run, options))
    require_code(recording.run, plan, start_of(recording.run, options, project_of()))
    today = not (plan.rev or kept_revision(recording.run))
    since = changed_code_in(store, *relocated(recording.run, project_of())) if today else ""
    frozen = after = 0
    counts: tuple[Counter[str], ...] = tuple(Counter() for _ in range(6))
    again, writes, allowed, unanswered, stops, impossible = counts
    servers: dict[str, None] = {}
    asked: dict[str, dict[str, None]] = {}
    secret = [str(each) for each in recording.run.environment.get("env_secret") or ()]
    for event in recording.events():
        if event.call.kind is Kind.MCP and "transport" in event.call.head:
            servers[f"{event.call.name} ({event.call.head['transport']})"] = None
        if event.call.observed or is_plumbing(event.call):
            continue
        around = inside(recording, event)
        if (event if around is None else around).number < plan.at:
            frozen += around is None
            continue
        if around is not None and around.call.effect is Effect.WRITE and not may_write(plan, around.call):
            continue  # the fork stops before it
        call = replace(event.call, body=recording.body(event.request))
        call = replace(call, effect=Effect.READ) if plan.may_store and only_kept(call) else call
        url = address_of(call)
        if url and not _stays(plan, call if around is None else around.call):
            asked.setdefault(url, {}).update(dict.fromkeys(keys_named_in(event.call, secret)))
        if around is not None:
            continue
        if is_of_connection(event.call):
            after += 1
            continue
        if call.kind is Kind.HTTP and (why := unspoken(plan, call)):
            impossible[why] += 1
        if is_rewritten(plan, call) or opens(plan, call, model=is_model(call)):
            again[call.name] += 1
            continue
        if event.number not in plan.answered and _lacks_answer(plan, recording.run, event):
            (stops if _stays(plan, call) or _is_in_doubt(plan, event) else unanswered)[call.name] += 1
            continue
        after += event.number not in plan.answered
        if call.effect is Effect.WRITE and event.number not in plan.answered:
            (allowed if may_write(plan, call) else writes)[call.name] += 1
    sums = frozen, after, dict(again), dict(writes)
    may = servers if plan.live != "none" or plan.allow_writes else ()
    goes_to = _goes_to(recording.run, plan, options, asked) if plan.live != "none" or plan.allow_writes else ()
    return DryRun(
        first_line(recording.run.id, plan),
        *sums,
        tuple(plan.changes),
        tuple(impossible),
        tuple(may),
        goes_to,
        dict(allowed),
        dict(unanswered),
        dict(stops),
        remarks=(since,) if since else (),
    )


def _stays(plan: Plan, call: Call) -> bool:
    """Whether a call may not go live. The connection of an MCP session or a websocket goes live with its calls."""
    sent = call.kind not in (Kind.MCP, Kind.WEBSOCKET)
    return sent and bool(refusal(plan, call, model=is_model(call)))


def _lacks_answer(plan: Plan, run: Run, event: Event) -> bool:
    """Whether a recorded call has no answer that the fork could give: it was cancelled, or cut off with the run."""
    outcome = event.outcome
    if event.call.effect is Effect.NONE or arrives(event.call):
        return False
    if outcome is None or (isinstance(outcome, Stream) and not outcome.head):
        return True
    return event.is_open and run.interrupted_at is not None and plan.live != "none"


def _is_in_doubt(plan: Plan, event: Event) -> bool:
    """Whether a call without an answer is a write that may have been made, and the plan does not make it again."""
    return acts(event.call) and said_of(plan, "", event) != "retry"


def _goes_to(run: Run, plan: Plan, options: Options, asked: Mapping[str, Iterable[str]]) -> tuple[Destination, ...]:
    """The hosts of these addresses, each with the variables whose values were sent to it."""
    now = variables_now()
    starts = environment_of(run, now, live=True)
    bases = Bases(tuple((before, there) for before, there in moved_bases(starts, now, starts)))
    lent = {name: value for name, value in starts.items() if now.get(name) != value}
    keys = keys_of(run, now, {**_named(run), **lent}, (*options.command, *said_by(plan)))
    found: dict[str, Destination] = {}
    for recorded, carried in asked.items():
        url = bases.today(recorded)
        moved = "" if url == recorded else f"today's address instead of {urlsplit(recorded).netloc}"
        host = urlsplit(url).netloc.rpartition("@")[2]
        names = tuple(dict.fromkeys((*(found[host].keys if host in found else ()), *carried)))
        found[host] = Destination(host, names, "; ".join(filter(None, (moved, keys.remark(url, names)))))
    return tuple(found.values())


def _named(run: Run) -> dict[str, str]:
    """The variables that a run stores by value: the code may read their recorded values."""
    return {str(name): str(value) for name, value in (run.environment.get("env") or {}).items()}
