"""The turns of an import: the user's messages to its agent, which are given to an agent that runs against it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from reenact.abc.store import Recording
from reenact.errors import UnreplayableRun
from reenact.facts.call import Kind
from reenact.facts.ids import tail
from reenact.facts.late import late
from reenact.facts.lazy_dataclass import replace
from reenact.facts.run import Run
from reenact.facts.trace_runs import is_traced_model, reading_in
from reenact.replaying.options import Options

if TYPE_CHECKING:
    from reenact.facts.dialects import read
else:
    read = late("reenact.facts.dialects", "read")

HERE: Final = "{input}"
"""Stands in a command line for the first turn."""


def turns_of(recording: Recording) -> list[str]:
    """The user's messages, in order: each user message that is the last one in a model call of the outer agent. The
    outer agent calls a model first, and its system prompt tells it from agents that it calls."""
    system: str | None = None
    found: list[str] = []
    for event in recording.events(kinds=[Kind.MODEL.value, Kind.HTTP.value]):
        body = recording.body(event.request)
        reading = reading_in(body, b"") if is_traced_model(event.call) else read(event.call.head, body, {}, b"")
        if reading is None:
            continue
        system = reading.system if system is None else system
        said = reading.messages[-1] if reading.messages and reading.system == system and not reading.sort else None
        if not isinstance(said, Mapping) or said.get("role") != "user" or said.get("tool_results"):
            continue
        text = said.get("text")
        if isinstance(text, str) and text and found[-1:] != [text]:
            found.append(text)
    return found


def driven(options: Options, run: Run, turns: list[str]) -> Options:
    """The command line of a replay with the first turn in its place.

    Raises:
        UnreplayableRun: The command line has such a place, and the trace has no turn.
    """
    if not any(HERE in word for word in options.command):
        return options
    if not turns:
        raise untold(run)
    return replace(options, command=tuple(each.replace(HERE, turns[0].replace("\0", "")) for each in options.command))


def untold(run: Run, asks: str = "the command") -> UnreplayableRun:
    """Why an agent is not given its input."""
    return UnreplayableRun(
        f"{asks} needs the user's message, and the import of run {tail(run.id)} does not have it",
        cause="the content of its messages was not captured, or its first model call ends with no user's message",
        next_command=f"reenact kit {tail(run.id)}",
        missing=("input",),
    )
