"""Sampling: whether a run that has ended well is among those that are kept."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

from reenact.facts.effects import root_of
from reenact.facts.ignored_requests import unrecorded
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.run import Run, Status

AT: Final = "@"
"""The sign between an agent and a route: ``refunds@POST /ask``."""

_BITS = 64
_ROUTE = lazy_regex(r"[A-Z]* ?[/*]")


def leaves_out(run: Run, share: float, rules: Mapping[str, float]) -> bool:
    """Whether a run is left out of the sample. A run that has not ended well is never left out.

    The id of the first run of the lineage decides. So all runs of one lineage are treated alike, at any place and time,
    and the agent's own random numbers are not touched.

    Args:
        run: The run, as it has ended.
        share: Share of the runs that ended well that are kept, 0 to 1.
        rules: The share for the runs of an agent, of a route, or of one route of an agent. See ``share_of``.
    """
    kept = share_of(run, share, rules)
    if run.status is not Status.OK or kept >= 1:
        return False
    digest = blake2b(root_of(run).encode(), digest_size=_BITS // 8, person=b"reenact sample").digest()
    return int.from_bytes(digest, "big") >= kept * (1 << _BITS)


def share_of(run: Run, share: float, rules: Mapping[str, float]) -> float:
    """The share of the runs like this one that are kept: by the rule for its agent's route, or else for its route, its
    agent, or all runs. Of several routes that fit, the one with the longest pattern decides."""
    method, _, path = run.route.partition(" ")
    best = ((False, -1, False), share)
    for name, own in rules.items():
        agent, route = parts_of(name)
        if (agent and agent != run.agent) or (route and not (run.route and unrecorded((route,))(method, path))):
            continue
        best = max(best, ((bool(route), len(route), bool(agent)), own))
    return best[1]


def parts_of(name: str) -> tuple[str, str]:
    """The agent and the route of a rule; each may be empty.

    Raises:
        ValueError: The name has neither an agent nor a route.
    """
    agent, at, route = name.partition(AT)
    if not at and _ROUTE.match(name):
        agent, route = "", name
    if route:
        unrecorded((route,))
    if not (agent or route) or (at and not (agent and route)):
        raise ValueError(
            f"has {name!r}, which must be an agent, a route, or AGENT@ROUTE (refunds, POST /ask, refunds@/ask)"
        )
    return agent, route


def shares(table: Mapping[str, object]) -> dict[str, float]:
    """The rules of a table, checked and with numbers as shares.

    Raises:
        ValueError: An entry names neither an agent nor a route, or has no share.
    """
    found: dict[str, float] = {}
    for name, value in table.items():
        parts_of(name)
        try:
            share = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else -1.0
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            raise ValueError(f"has {name} = {value!r}, which is no share from 0 to 1")
        found[name] = share
    return found
