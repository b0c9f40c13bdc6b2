"""Feature flags that a fork sets: whether it can set them, and the provider's new answer."""

from __future__ import annotations

from collections.abc import Mapping

from reenact.abc.store import Recording
from reenact.errors import ForkError
from reenact.facts.call import Call, Json, Kind, Value
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.seams import feature_flags
from reenact.timetravel.forks.plan import Plan


def check_flags(recording: Recording, plan: Plan) -> None:
    """Whether the flags that ``plan`` sets are evaluated from its branching event on, and have values of their type.

    Raises:
        ForkError: The agent evaluates none of the flags there, and no other change might make it do so; or a value has
            another type than the one that the agent asks for.
    """
    if not plan.flags:
        return
    asked: dict[str, list[Event]] = {}
    for event in recording.events(kinds=("flag",)):
        asked.setdefault(event.name, []).append(event)
    for name, value in plan.flags.items():
        for event in asked.get(name, ()):
            typed(event.call, value)
    late = {name for name, events in asked.items() if events[-1].number >= plan.at}
    if late.isdisjoint(plan.flags) and len(plan.changes) == len(plan.flags):
        raise _never(recording, plan, {name: events[0].number for name, events in asked.items()})


def _never(recording: Recording, plan: Plan, asked: Mapping[str, int]) -> ForkError:
    """The error for flags that would change nothing: they are evaluated only before the branching event, or never."""
    run, name = tail(recording.run.id), next(iter(plan.flags))
    first = asked.get(name)
    words = f"run {run} evaluates no flag {name} from event {plan.at} on"
    if first is not None:
        cause = f"it does before, first at event {first}"
        return ForkError(words, cause=cause, next_command=f"reenact fork {run}:{first} --flag {name}=… --dry-run")
    return ForkError(
        words,
        cause=f"through OpenFeature it evaluates {', '.join(sorted(asked)) or 'none'}; what comes from elsewhere is an "
        "answer or state, which --result and --set change",
        next_command=f"reenact show {run} --all",
    )


def typed(call: Call, value: Json) -> Json:
    """``value`` in the type that the flag call asks for.

    Raises:
        ForkError: The value has another type.
    """
    kind = str(call.head.get("type"))
    given = feature_flags.fitting(kind, value)
    if given is None:
        raise ForkError(
            f"flag {call.name} is asked for as {kind.lower()}, and {value!r} is none",
            cause="a value is given as JSON: true, 3, 0.5, {} or a text",
            next_command="reenact fork --help",
        )
    return given


def flag_answer(call: Call, plan: Plan) -> Value | None:
    """The provider's answer for a flag that the plan sets; None for any other call.

    Raises:
        ForkError: Its value has another type than the call asks for.
    """
    if call.kind is not Kind.FLAG or call.name not in plan.flags:
        return None
    return feature_flags.static(call.name, typed(call, plan.flags[call.name]))
