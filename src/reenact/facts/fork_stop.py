"""Where a fork was stopped: kept with its run, so that the fork's own replay stops there too, and nowhere else.

A fork stops at a call that it may not make. The call is no event, because it was not made. The lane that made the
request is kept, and a digest of the request.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

from reenact.facts.call import Call, Json
from reenact.facts.effects import root_of
from reenact.facts.keys import Rules
from reenact.facts.run import Run

FIELD = "stopped"
"""The key, in the environment of a fork's run, for the facts about the call that stopped it."""
_AT_THE_END: Mapping[str, Json] = {"lane": "", "asked": ""}


def stopped_at(run: Run, lane: str, call: Call, rules: Rules, *, write: bool = False) -> Mapping[str, Json]:
    """The facts that are kept about the call that stopped a fork.

    Args:
        run: The fork; the digest is keyed by its lineage, so that equal calls of other runs have other digests.
        lane: The path of the calling lane.
        call: The call, cleaned.
        rules: The rules by which calls are compared.
        write: Whether the call is a write that the fork was not allowed to make. Its name is then kept.
    """
    kept: dict[str, Json] = {"lane": lane, "asked": _digest(run, call, rules)}
    return kept | {"write": call.name} if write else kept


def stopped_waiting() -> Mapping[str, Json]:
    """The facts of a fork that was stopped because all of its strands waited for ever."""
    return _AT_THE_END


def was_stopped(run: Run) -> bool:
    """Whether a run is a fork that was stopped."""
    return isinstance(run.environment.get(FIELD), dict)


def refused_write(run: Run) -> str:
    """The name of the write at which a fork was stopped; empty where it was stopped for another reason, or not at
    all."""
    kept = run.environment.get(FIELD)
    return str(kept.get("write") or "") if isinstance(kept, dict) else ""


def waited_in_vain(run: Run) -> bool:
    """Whether a run is a fork that was stopped because all of its strands waited for ever."""
    return run.environment.get(FIELD) == _AT_THE_END


def stops_at(run: Run, lane: str, call: Call, rules: Rules) -> bool:
    """Whether a replay of ``run`` has come to the call that stopped it."""
    kept = run.environment.get(FIELD)
    if not isinstance(kept, dict) or kept.get("lane") != lane:
        return False
    return kept.get("asked") == _digest(run, call, rules)


def _digest(run: Run, call: Call, rules: Rules) -> str:
    text = rules.canonical(call.rule, call.head, call.body)
    name = f"{call.kind.value} {call.name}\n".encode("utf-8", "surrogatepass")
    return blake2b(name + text, key=root_of(run).encode()[:64], digest_size=16).hexdigest()
