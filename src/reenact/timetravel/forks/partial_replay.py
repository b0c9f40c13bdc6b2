"""A replay with live calls: a fork at the run's first event, which makes no writes.

Only the named calls go live, and the calls inside them; every other call gets its recorded answer.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Final

from reenact.abc.store import Recording
from reenact.errors import UsageError
from reenact.facts.call import Effect, Kind
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import replace
from reenact.timetravel.forks.permits import is_model
from reenact.timetravel.forks.plan import Plan, names

KINDS: Final = (
    Kind.MODEL,
    Kind.TOOL,
    Kind.RETRIEVAL,
    Kind.HTTP,
    Kind.MCP,
    Kind.WEBSOCKET,
    Kind.PROCESS,
    Kind.DB,
    Kind.FLAG,
    Kind.HUMAN,
)
"""Kinds that can be opened; ``model`` is every model, marked or asked over HTTP."""


def partial_replay(recording: Recording, live: Sequence[str], rev: str = "") -> Plan:
    """The plan of a replay in which ``live``, kinds or names of calls, go live.

    Raises:
        UsageError: The run makes no such call, or only such calls that write.
    """
    effects: dict[str, Counter[Effect]] = {name: Counter() for name in live}
    called: Counter[str] = Counter()
    for event in recording.events():
        if event.call.observed:
            continue
        call = replace(event.call, body=recording.body(event.request))
        called[event.name] += 1
        for name in names(live, call, model=is_model(call)):
            effects[name][call.effect] += 1
    run = tail(recording.run.id)
    for name, found in effects.items():
        if not found:
            raise UsageError(
                f"run {run} makes no call of {name}",
                cause=f"kinds are {', '.join(KINDS)}; it calls {', '.join(list(called)[:12]) or 'nothing'}",
                next_command=f"reenact show {run}",
            )
        if not found[Effect.READ]:
            raise UsageError(
                f"{name} may change the world, and a replay makes no writes",
                cause='a tool that does not say effect="read" counts as a write, and HTTP counts by its method',
                next_command=f"reenact fork {run}:0 --live all --allow-write {shlex.quote(name)}",
            )
    return Plan(at=0, live="none", only=tuple(live), rev=rev)
