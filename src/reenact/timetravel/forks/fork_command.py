"""The command line that makes a fork again, with the same changes and permissions."""

from __future__ import annotations

import json
from collections.abc import Iterator

from reenact.abc.store import Store
from reenact.errors import FormatTooNew, RunNotFound
from reenact.facts.call import Json, Kind
from reenact.facts.fork_stop import refused_write
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import replace
from reenact.facts.run import Run
from reenact.facts.shell_text import typed
from reenact.privacy import make_redactor
from reenact.timetravel.forks.plan import Plan

_LONGEST = 600
"""The longest command that a user would paste, in characters."""


def again(run: Run, plan: Plan, *more: str) -> str:
    """The command that makes a fork again.

    Args:
        run: The parent.
        plan: The plan of the fork.
        more: Further words.

    Returns:
        The command; without changes that hold a credential, or are too long to be pasted.
    """
    words = ["reenact", "fork", f"{tail(run.id)}:{plan.at}"]
    live = [] if plan.live == "reads" else ["--live", plan.live]
    allowed = [word for name in plan.allow_writes for word in ("--allow-write", name)]
    settled = ["--settle", plan.settle] if plan.settle else []
    how = [*live, *allowed, *settled, *more]
    whole = typed([*words, *_changes(plan), *how])
    if len(whole) > _LONGEST or make_redactor().text(whole) != whole:
        return typed([*words, *how])
    return whole


def allowing(store: Store, fork: Run) -> str:
    """The command that makes a fork again and allows the refused write; empty where no write was refused."""
    write, plan = refused_write(fork), fork.environment.get("fork")
    if not write or not fork.parent or not isinstance(plan, dict):
        return ""
    try:
        parent, asked = store.run(fork.parent), Plan.from_json(plan)
    except (RunNotFound, FormatTooNew):
        return ""
    return again(parent, replace(asked, allow_writes=(*asked.allow_writes, write)))


def with_models(run: Run, plan: Plan) -> str:
    """The command that repeats a replay with live calls, and lets models go live too."""
    opened = [word for name in (*plan.only, Kind.MODEL) for word in ("--live", name)]
    return typed(["reenact", "replay", tail(run.id), *opened, *(["--rev", plan.rev] if plan.rev else [])])


def _changes(plan: Plan) -> Iterator[str]:
    """The options for the changes."""
    for path, value in plan.state.items():
        yield from ("--set", f"{path}={_json(value)}")
    for number, value in plan.results.items():
        yield from ("--result", f"{number}={_json(value)}")
    for number, text in plan.says.items():
        yield from ("--say", f"{number}={text}")
    for number, text in plan.errors.items():
        yield from ("--error", f"{number}={text}")
    for option, given in (("--prompt", plan.prompt), ("--model", plan.model), ("--at-time", plan.at_time)):
        if given:
            yield from (option, given)
    for option, values in (("--param", plan.params), ("--flag", plan.flags)):
        for name, value in values.items():
            yield from (option, f"{name}={_json(value)}")
    if plan.input is not None:
        yield from ("--input", _json(plan.input))
    if plan.rev:
        yield from ("--rev", plan.rev)
    if plan.command:
        yield from ("--cmd", typed(plan.command))


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
