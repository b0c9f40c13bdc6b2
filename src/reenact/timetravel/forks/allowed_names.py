"""Refuses an allowed write that the agent can never make: its name was probably misspelled."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from typing import Final

from reenact.abc.project_settings import load_settings
from reenact.abc.store import Store
from reenact.errors import UsageError
from reenact.facts.call import Effect, Kind
from reenact.facts.dialects import read
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import replace
from reenact.facts.run import Run
from reenact.facts.tool_sources import plain_in, tools_in
from reenact.replaying.code_changes import sources_of
from reenact.replaying.replay_launch import sources_folder
from reenact.timetravel.forks.fork_command import again
from reenact.timetravel.forks.permits import meant
from reenact.timetravel.forks.plan import Plan
from reenact.timetravel.model_readings import reading_of

_WILD: Final = frozenset("*?[")
_SHOWN: Final = 20
_LARGEST: Final = 1 << 20


def require_known(store: Store, run: Run, plan: Plan) -> None:
    """Require that each name and pattern of ``plan.allow_writes`` means a recorded call, a tool that the code declares,
    or a tool whose schema the models got. A plain function of the code is no tool, because its calls are not seen. A
    name that is not a tool's (``POST host/path``) may be new, unless it is nearly the name of a recorded call. A tool's
    name may be new where an MCP server is used. The code of another revision is not searched, and may have any tool.

    Raises:
        UsageError: A name or pattern means neither a recorded call nor a tool.
    """
    from difflib import get_close_matches  # imported late: few names are misspelled

    wanted = dict.fromkeys(plan.allow_writes)
    if not wanted or plan.rev:
        return
    recorded, offered, writes, others = _recorded(store, run)
    left = [each for each in wanted if not meant((each,), *recorded)]
    if not left:
        return
    declared, plain = _functions(store, run)
    offered -= plain
    for each in left:
        if meant((each,), *declared, *offered):
            continue
        if each in plain:
            raise UsageError(
                f"--allow-write {each} allows nothing: {each} is a function without @reenact.tool",
                cause="the calls that it makes are allowed by their own names, as 'POST host/path'; without the option "
                "the fork stops at the first such write and names it",
                next_command=again(run, replace(plan, allow_writes=tuple(name for name in wanted if name != each))),
            )
        known = recorded | offered | declared
        alike = [name for name in known if name.partition(" ")[0] == each.partition(" ")[0]] if " " in each else known
        near = get_close_matches(each, alike, 1, 0.8 if " " in each else 0.6)
        if (" " in each or others) and _WILD.isdisjoint(each) and not near:
            continue
        listed = [*sorted(writes), *sorted((offered | declared) - writes)]
        shown = ", ".join(listed[:_SHOWN]) + (f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else "")
        meaning = f"did you mean {near[0]}? " if near else ""
        raise UsageError(
            f"--allow-write {each} matches no call of run {tail(run.id)}, and no tool of its code",
            cause=f"{meaning}it may name {shown}" if shown else "the run makes no writes, and its code has no tools",
            next_command=f"reenact fork {tail(run.id)}:{plan.at} --dry-run",
        )


def known_names(store: Store, run: Run) -> frozenset[str]:
    """The names of the calls that a run made, of the tools that its models were offered, and of the tools that today's
    code declares.

    Args:
        store: Has the run.
        run: The run.

    Cost: one pass over its events, and a reading of its source files.
    """
    recorded, offered, *_ = _recorded(store, run)
    return frozenset((*recorded, *offered, *_functions(store, run)[0]))


def with_settings(plan: Plan) -> Plan:
    """The plan, with the writes that the project's settings also allow."""
    return replace(plan, may_store=True) if load_settings()["models_may_store"].value else plan


def _recorded(store: Store, run: Run) -> tuple[set[str], set[str], set[str], bool]:
    """Names of all recorded calls, of the tools that models were offered, and of the writes among the calls; and
    whether there is an MCP server, which may have further tools."""
    recorded: set[str] = set()
    offered: set[str] = set()
    writes: set[str] = set()
    others = False
    recording = store.open(run)
    seen: set[str] = set()
    for event in recording.events():
        recorded.add(event.name)
        others = others or event.call.kind is Kind.MCP
        if event.call.effect is Effect.WRITE and not event.call.observed:
            writes.add(event.name)
        rule = event.call.head.get("plumbing")
        recorded |= {str(rule)} if rule else set()
        reading = reading_of(event) if event.call.kind in (Kind.HTTP, Kind.MODEL) else None
        tools = str((reading or {}).get("tools_hash") or "")
        if tools and tools not in seen and event.request:
            seen.add(tools)
            asked = read(event.call.head, recording.body(event.request), {}, b"")
            offered |= {str(tool["name"]) for tool in (asked.tools if asked else ()) if _named(tool)}
    return recorded, offered, writes, others


def _named(tool: object) -> bool:
    return isinstance(tool, Mapping) and bool(tool.get("name"))


def _functions(store: Store, run: Run) -> tuple[set[str], set[str]]:
    """Names of the tools in today's source files of a run, and of functions that nothing makes a tool."""
    folder = sources_folder(store, run, None)
    tools: set[str] = set()
    plain: set[str] = set()
    for path in sources_of(store, run):
        try:
            with open(os.path.join(folder, path), "rb") as file:
                tree = ast.parse(file.read(_LARGEST))
        except (OSError, SyntaxError, ValueError):
            continue
        tools.update(tools_in(tree))
        plain.update(plain_in(tree))
    return tools, plain - tools
