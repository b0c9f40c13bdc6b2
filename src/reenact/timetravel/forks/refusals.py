"""The messages of a fork that cannot go on: it may not make a call, or a call is not made any more."""

from __future__ import annotations

import shlex

from reenact.abc.store import Recording
from reenact.errors import Divergence, EffectRefused
from reenact.facts.call import Call, Effect
from reenact.facts.difference import differences, render
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.facts.run import Run
from reenact.replaying.divergence import asked as requested
from reenact.timetravel import preview
from reenact.timetravel.event_contents import Unread, arguments_of, asked
from reenact.timetravel.forks.ladder import LadderResult
from reenact.timetravel.forks.permits import only_kept
from reenact.timetravel.forks.plan import Plan


def recorded_calls(recording: Recording, call: Call, place: Event | None = None, most: int = 8) -> str:
    """The recorded calls of one name, one on each line, for a call with another request; empty where there are none.

    Args:
        recording: The recording.
        call: The call that is made now.
        place: The recorded call whose place the call takes; None where it is not known.
        most: The most lines.
    """
    lines = []
    nearest: Event | None = None
    for event in recording.events(name=call.name):
        if event.call.kind is call.kind:
            nearest = event if nearest is None or (place is not None and event.number == place.number) else nearest
            request = asked(recording, event)
            told = preview.call_text(event.name, None if isinstance(request, Unread) else arguments_of(request), 140)
            lines.append(f"\n  event {event.number}  {told}")
    more = f"\n  … and {len(lines) - most} more" if len(lines) > most else ""
    if nearest is None:
        return ""
    return f"\n  recorded calls of {call.name}:" + "".join(lines[:most]) + more + _parting(recording, nearest, call)


def _parting(recording: Recording, event: Event, call: Call) -> str:
    """The first difference between a call and a recorded one of its name: requests are long, and often begin alike."""
    before = requested(event.call.head, recording.body(event.request), event.call.kind)
    found = differences(before, requested(call.head, call.body, call.kind))
    told = "".join(f"\n    {line}" for line in render(found, most=3).splitlines())
    return f"\n  beside event {event.number} it asks{told}" if told else ""


def refused_call(
    recording: Recording, plan: Plan, call: Call, found: LadderResult, why: str, next_command: str
) -> EffectRefused:
    """The error for a call that a fork, or a replay with something opened, may not make."""
    may_be = call.effect is Effect.WRITE and not plan.only
    allowed = f"; --allow-write {shlex.quote(call.name)} lets it be made" if may_be else ""
    if plan.live == "none" and not plan.only:
        allowed += ", and --live reads lets what follows it be asked" if may_be else "; --live reads lets it be asked"
    if may_be and only_kept(call):
        allowed += (
            ", models_may_store = true in [tool.reenact] allows all of its kind, and with store=False in the code "
            "(OpenAI's agents: ModelSettings(store=False)) nothing is stored"
        )
    return EffectRefused(
        f"the {plan.noun} may not make this call: {why} (at {call.source or 'an unknown place'}; {found.why})"
        + (recorded_calls(recording, call, found.place) if found.answer is None else ""),
        cause=f"after the change the agent asks something that was not recorded{allowed}",
        next_command=next_command,
    )


def unwritten(run: Run, plan: Plan, why: str) -> EffectRefused:
    """The error for a model request that cannot carry the plan's changes."""
    return EffectRefused(
        f"the fork cannot change this request: {why}",
        cause="a request keeps its protocol, its signature and its shape; for another client, change the code and "
        "fork with --rev",
        next_command=f"reenact fork {tail(run.id)}:{plan.at} --rev HEAD",
    )


def unanswered(recorded: Event, why: str, next_command: str) -> Divergence:
    """The error for an agent that waits for a call which was cancelled in the parent; ``why``: why it is not made."""
    return Divergence(
        f"the agent waits for event {recorded.number} ({recorded.name}), which was cancelled before it had an answer: "
        f"{why}",
        event=recorded.number,
        reason="end",
        cause="the change removed what had cancelled the call, so that its answer would be needed",
        next_command=next_command,
    )


def given_up(plan: Plan, call: Call, why: str, next_command: str) -> EffectRefused:
    """The error for a write that was cancelled in the parent. Nothing cancels it now, and it is not allowed."""
    allowed = "" if plan.only else f"; --allow-write {shlex.quote(call.name)} lets it be made"
    return EffectRefused(
        f"the {plan.noun} may not make this call: {why} (at {call.source or 'an unknown place'}; it was cancelled when "
        "it was recorded)",
        cause=f"the change removed what had cancelled the call, so that its answer would be needed{allowed}",
        next_command=next_command,
    )


def nothing_comes(run: Run, left: Event | None, part: Event | None, next_command: str) -> Divergence:
    """The error for an agent whose wait nothing can end. ``left`` is the first call not made again, ``part`` an answer
    that the recorded code did not read to its end."""
    cause = "the change removed something that others wait for, such as code that sets an event or fills a queue"
    removed = f": event {left.number} ({left.name}) was not made again" if left is not None else ""
    if part is not None:
        cause = f"it reads more of event {part.number} ({part.name}) than the recorded code, and the rest is not known"
        if part.call.effect is Effect.READ:
            next_command = f"reenact fork {tail(run.id)}:{part.number} --live all"
    return Divergence(
        f"the agent waits for something that will never come{removed}",
        event=left.number if left is not None else None,
        reason="end",
        cause=cause,
        next_command=next_command,
    )
