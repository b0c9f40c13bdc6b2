"""What a fork says when it cannot go on: a call that it may not make, or that nobody makes any more."""

from __future__ import annotations

from reenact.abc.store import Recording
from reenact.errors import Divergence, EffectRefused
from reenact.facts.call import Call
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.facts.run import Run
from reenact.timetravel import preview
from reenact.timetravel.contents import Unread, asked
from reenact.timetravel.forks.ladder import Found
from reenact.timetravel.forks.plan import Plan
from reenact.timetravel.story import arguments_of


def recorded_calls(recording: Recording, call: Call, most: int = 8) -> str:
    """The recorded calls of one name, a line each, for who asked something else; empty where there are none."""
    lines = []
    for event in recording.events(name=call.name):
        if event.call.kind is call.kind:
            request = asked(recording, event)
            told = preview.call_text(event.name, None if isinstance(request, Unread) else arguments_of(request), 140)
            lines.append(f"\n  event {event.number}  {told}")
    more = f"\n  … and {len(lines) - most} more" if len(lines) > most else ""
    return f"\n  recorded calls of {call.name}:" + "".join(lines[:most]) + more if lines else ""


def refused_call(recording: Recording, call: Call, found: Found, why: str, next_command: str) -> EffectRefused:
    """The error for a call that the fork may not make."""
    return EffectRefused(
        f"the fork may not make this call: {why} (at {call.source or 'an unknown place'}; {found.why})"
        + (recorded_calls(recording, call) if found.answer is None else ""),
        cause="after the change the agent asks something that was not recorded",
        next_command=next_command,
    )


def unwritten(run: Run, plan: Plan, why: str) -> EffectRefused:
    """The error for a model request that cannot be sent with what the plan changes in it."""
    return EffectRefused(
        f"the fork cannot change this request: {why}",
        cause="a request keeps its protocol, its signature and its shape; what needs another client is changed in the "
        "code, and the fork runs that revision",
        next_command=f"reenact fork {tail(run.id)}:{plan.at} --rev HEAD",
    )


def nothing_comes(left: Event | None, next_command: str) -> Divergence:
    """The error for an agent that waits for what the change has removed; ``left`` is the first call not made again."""
    removed = f": event {left.number} ({left.name}) was not made again" if left is not None else ""
    return Divergence(
        f"the agent waits for what nothing will bring{removed}",
        event=left.number if left is not None else None,
        reason="end",
        cause="the change removed what others wait for, such as whoever sets an event or fills a queue",
        next_command=next_command,
    )
