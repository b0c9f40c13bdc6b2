"""Checkpoint: the agent's messages and state at an event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reenact.facts.call import Json


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What the agent held at one event, derived from the log.

    Attributes:
        run, event: Where.
        step, step_number: Name of the step and its number in the run; empty and None outside steps.
        timestamp_us: Wall clock of that moment, microseconds since the epoch.
        messages: The conversation as the model last saw it, with its answer.
        state: The state the step was given (or left), decoded; None where no step declared any.
        tool_calls: Tool calls so far: name, arguments, result or error.
        model_config: Model asked, parameters, provider of the last model call.
        prompt_version: A noted name, or the hash of the system prompt.
        agent_version: From ``agent="name@version"``.
        metadata: Agent, user, tenant, session, tags of the run.
    """

    run: str
    event: int
    step: str = ""
    step_number: int | None = None
    timestamp_us: int = 0
    messages: tuple[Json, ...] = ()
    state: Json = None
    tool_calls: tuple[Json, ...] = ()
    model_config: Mapping[str, Json] = field(default_factory=dict)
    prompt_version: str = ""
    agent_version: str = ""
    metadata: Mapping[str, Json] = field(default_factory=dict)
