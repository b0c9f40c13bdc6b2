"""The request to a model, read from any protocol: the neutral side of the dialects."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Literal

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call that a model asks for.

    Attributes:
        name: Name of the tool.
        arguments: Its arguments.
    """

    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool, as the agent reports it.

    Attributes:
        name: Name of the tool, found by the id of the call; empty when no call has that id.
        text: The result as text.
    """

    name: str
    text: str

    @property
    def data(self) -> Json:
        """The result as JSON data; None when it is not JSON."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the conversation. Ids are left out: they are new in each run.

    Attributes:
        role: The role of the speaker.
        text: The text; other parts are given as type and digest.
        uses: Tool calls that the message holds.
        results: Tool results that the message holds.
    """

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    uses: tuple[ToolUse, ...] = ()
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that the model may call.

    Attributes:
        name: Its name.
        schema: JSON schema of its arguments.
    """

    name: str
    schema: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to a model.

    Attributes:
        model: Name of the model asked for.
        system: The system prompt, all of it.
        turns: The conversation.
        tools: Tools offered, in order.
        choice: ``auto``, ``none``, ``any`` or the name of the tool that must be called.
        temperature: The requested temperature; 1.0, the providers' own default, when not given.
        seed: The seed; None when not given.
        max_tokens: Longest answer in tokens; None for no limit.
        schema: JSON schema that the text must follow; None for free text.
        stream: Whether the answer is streamed.
        call: The number of the request among those to this path, from 1.
        day: The day in the world of a scripted provider, from 1.
        counted: Whether its tokens count. The tokens of an answer that replaces another one do not.
    """

    model: str
    system: str
    turns: tuple[Turn, ...]
    tools: tuple[OfferedTool, ...] = ()
    choice: str = "auto"
    temperature: float = 1.0
    seed: int | None = None
    max_tokens: int | None = None
    schema: Mapping[str, Json] | None = None
    stream: bool = False
    call: int = 1
    day: int = 1
    counted: bool = True

    @property
    def last_user(self) -> str:
        """Text of the last user message that has text; empty without one."""
        return next((turn.text for turn in reversed(self.turns) if turn.role == "user" and turn.text), "")

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """Tool results since the last user message, in order."""
        found: list[ToolResult] = []
        for turn in reversed(self.turns):
            if turn.role == "user" and turn.text:
                break
            found[:0] = turn.results
        return tuple(found)

    @property
    def settled(self) -> bool:
        """Whether the same request gives the same answer: at temperature 0, or with a seed."""
        return self.temperature == 0 or self.seed is not None

    @property
    def fingerprint(self) -> bytes:
        """Digest of everything an answer depends on: prompt, conversation, tools, model, temperature, seed."""
        said = [
            [
                turn.role,
                turn.text,
                [[use.name, use.arguments] for use in turn.uses],
                [[r.name, r.text] for r in turn.results],
            ]
            for turn in self.turns
        ]
        offered = [[tool.name, tool.schema] for tool in self.tools]
        return digest([self.model, self.system, said, offered, self.choice, self.temperature, self.seed, self.schema])


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The answer of a model.

    Attributes:
        text: Its text; may be empty when there are tool calls.
        uses: Its tool calls.
        cut: Whether the text was cut off by the limit of tokens.
        counted: Whether its tokens count, as in ``Ask``.
        reasoning: The disclosed part of its reasoning, before the text: in the provider's own format, unchanged,
            because it may be signed.
    """

    text: str = ""
    uses: tuple[ToolUse, ...] = ()
    cut: bool = False
    reasoning: tuple[Json, ...] = ()
    counted: bool = True


class BadAsk(ValueError):
    """The request is not one that a real provider would accept."""


def digest(data: Json) -> bytes:
    """32 bytes that depend on the data and not on the order of its keys."""
    plain = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.blake2b(plain.encode(), digest_size=32).digest()


def text_of(content: Json) -> str:
    """The text of a message's content, in the form of any dialect.

    Args:
        content: A string, a list of parts, or None.
    """
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise BadAsk("content must be a string or a list of parts")
    pieces: list[str] = []
    for part in content:
        if isinstance(part, str):
            pieces.append(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            pieces.append(part["text"])
        else:
            kind = part.get("type", "part") if isinstance(part, dict) else "part"
            pieces.append(f"[{kind} {digest(part).hex()[:8]}]")
    return "\n".join(pieces)


def arguments_of(text: Json) -> Mapping[str, Json]:
    """The arguments of a tool call that a conversation quotes as text; an unreadable text is kept as one argument."""
    try:
        found = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"unreadable": str(text)}


def number_of(body: Mapping[str, Json], name: str, otherwise: float) -> float:
    """A number of the request.

    Raises:
        BadAsk: The value is not a number.
    """
    found = body.get(name)
    if found is None:
        return otherwise
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise BadAsk(f"{name} must be a number")
    return float(found)


def limit_of(body: Mapping[str, Json], *names: str) -> int | None:
    """The first limit of tokens that the request gives under one of ``names``."""
    return next((int(number_of(body, name, 0)) for name in names if body.get(name) is not None), None)


def seed_of(body: Mapping[str, Json]) -> int | None:
    """The seed of the request; None when not given."""
    return None if body.get("seed") is None else int(number_of(body, "seed", 0))


def model_of(body: Mapping[str, Json]) -> str:
    """The model of the request.

    Raises:
        BadAsk: The model is missing.
    """
    found = body.get("model")
    if not isinstance(found, str) or not found:
        raise BadAsk("you must provide a model parameter")
    return found


def tokens(text: str) -> int:
    """An estimate of the number of tokens in a text: one for every four bytes."""
    return (len(text.encode()) + 3) // 4
