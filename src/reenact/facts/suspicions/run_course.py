"""The course of a run: the data for the rules of suspicion, as frozen values with the contents already read."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field


class _Unread:
    """Content that exists but was not read."""

    def __repr__(self) -> str:
        return "UNREAD"


UNREAD: Final = _Unread()
"""Stands for content that was too long to read, withheld, or not needed. A rule must not judge it."""


class Sort(StrEnum):
    """The sort of an act."""

    MODEL = "model"
    """A model answered, or decided which tools to call."""
    TOOL = "tool"
    """The agent called a tool, a tool of an MCP server, a retrieval, or a plain HTTP address."""
    OTHER = "other"
    """Any other event."""


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One model call.

    Attributes:
        asked, answered: Name of the model in request and answer; empty where they name none.
        provider: Which provider answered.
        text: The model's text.
        calls: Name and arguments of each tool that it wants called; arguments that are no JSON stay a text.
        finish: The reason why the answer ended, in the provider's word.
        partial: Whether the answer is cut off, or does not follow its protocol.
        promised_json: Whether the request asked for an answer in JSON.
        prompt: The system prompt.
        heard: Texts of the user that came with this request and were not in one before.
    """

    asked: str = ""
    answered: str = ""
    provider: str = ""
    text: str = ""
    calls: tuple[tuple[str, Json], ...] = ()
    finish: str = ""
    partial: bool = False
    promised_json: bool = False
    prompt: str = ""
    heard: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Act:
    """One event of a run, or one tool call that appears only in a conversation.

    Attributes:
        event: The number of the event that shows it; for a call in a conversation, the number of the model call that
            decided it.
        sort: Its sort.
        kind: Kind of the event.
        name: The name of the call.
        strand: The strand that issued it: the path of its lane without the call around.
        key: The request, as an identity; empty where it is unknown.
        came: The answer, as an identity; empty where it is unknown.
        writes: Whether the call may change the world.
        quiet: Whether the agent did not decide it: ambient reads, telemetry, housekeeping of a session, statements.
        observed: Whether its body is the agent's own code (steps, input, output).
        args, result: Contents; ``UNREAD`` where they were not read, ``None`` where there are none.
        error: The exception of the call, as text; empty without one.
        ending: The fault that ended its stream; empty where it ended well.
        answered: Whether anything came back.
        status: HTTP status; None where there is none.
        json: Whether the answer was declared to be JSON.
        missing: The number of bytes of the declared length that did not arrive; 0 where all did, or none was declared.
        at_us: The time of issue, microseconds since 1970; 0 where it is unknown.
        said: The model call; None for other acts.
    """

    event: int
    sort: Sort
    kind: str = ""
    name: str = ""
    strand: str = "root"
    key: str = ""
    came: str = ""
    writes: bool = False
    quiet: bool = False
    observed: bool = False
    args: Json = UNREAD
    result: Json = UNREAD
    error: str = ""
    ending: str = ""
    answered: bool = True
    status: int | None = None
    json: bool = False
    missing: int = 0
    at_us: int = 0
    said: ModelTurn | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """A run as rules see it.

    Attributes:
        acts: The acts, in order of events; a call that is known only from the conversation comes after the decision for
            it.
        given: The input of the run beside its conversation: arguments, body, ``user``, ``tenant``, ``session``.
        failed: Whether the run failed.
        error: The exception that ended it, as text; empty for none.
        whole: Whether all contents were read. Rules about missing facts need all contents.
    """

    acts: tuple[Act, ...] = ()
    given: Mapping[str, Json] = field(default_factory=dict)
    failed: bool = False
    error: str = ""
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Suspicion:
    """One event that a rule marks.

    Attributes:
        event: Its number.
        rule: Name of the rule.
        text: The reason in a few words. It may quote texts of the run, which are untrusted.
    """

    event: int
    rule: str
    text: str
