"""Checkpoint: the agent's messages and state at an event; and where its state was kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The agent's messages and state at one event, derived from the log.

    Attributes:
        run, event: The place.
        step, step_number: Name of the step and its number in the run; empty and None outside steps.
        timestamp_us: Wall clock of that moment, microseconds since the epoch.
        started_us: Wall clock of the run's start, likewise.
        messages: The conversation as the model last saw it, with its answer.
        state: The state that the step received (or left), decoded; None where no step declared a state.
        tool_calls: Tool calls so far: name, arguments, result or error.
        model_config: Requested model, parameters and provider of the last model call.
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
    started_us: int = 0


class SlotVersion(NamedTuple):
    """The value of one slot of the agent's state, for as long as it did not change.

    Attributes:
        event, phase, lane: The last place with this value, as in a ``Snapshot``.
        digest: The digest of its bytes; None where the slot is missing, empty where it has no bytes.
        body: Its bytes.
    """

    event: int
    phase: str
    lane: str
    digest: str | None
    body: bytes


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The record that the agent's state was kept at one event. It has all that a look-up needs, but not the state.

    Attributes:
        event: Number of the step.
        phase: ``in`` for its start, ``out`` for its end.
        lane: Lane of the step.
        slots: Digest of each slot by its name, in order; an empty digest where the value is of no bytes.
        unproven: The names of slots whose values are not proven: lists that were declared to grow only.
        note: The remark about unproven slots, until it is known which slots they are.
        short: Values of a few bytes that were at hand with their digests, by name.
    """

    event: int
    phase: str
    lane: str
    slots: Mapping[str, str] = field(default_factory=dict)
    unproven: tuple[str, ...] = ()
    note: str = ""
    short: Mapping[str, bytes] = field(default_factory=dict, compare=False, repr=False)
