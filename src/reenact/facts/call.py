"""One crossing of a seam, and its outcome: all other facts are built from these two."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from reenact.facts.lazy_dataclass import dataclass, field

Json = Any
"""JSON-able data: None, bool, int, float, str, list and dict with string keys."""


class Kind(StrEnum):
    """The sort of a crossing."""

    INPUT = "input"
    OUTPUT = "output"
    STEP = "step"
    MODEL = "model"
    TOOL = "tool"
    RETRIEVAL = "retrieval"
    HTTP = "http"
    MCP = "mcp"
    WEBSOCKET = "websocket"
    PROCESS = "process"
    HUMAN = "human"
    FILE = "file"
    DB = "db"
    CLOCK = "clock"
    RANDOM = "random"
    FLAG = "flag"
    ENV = "env"
    NOTE = "note"
    GAP = "gap"


RETURN = "return"
"""The name of the output of a run that is a call of a function: its return value."""

TRANSPORTS = frozenset({Kind.HTTP, Kind.PROCESS, Kind.MCP, Kind.WEBSOCKET})
"""Kinds of calls that no code of the agent performs. What happens inside such a call is not recorded, ordered or
numbered."""


class Effect(StrEnum):
    """The possible effect of a call on the world.

    ``NONE`` computes only and always runs, ``READ`` may be answered from a recording or asked again, ``WRITE``
    changes the world and is never repeated by a replay.
    """

    NONE = "none"
    READ = "read"
    WRITE = "write"


class Fidelity(StrEnum):
    """How near stored bytes are to the original: weakest last."""

    EXACT = "exact"
    SEALED = "sealed"
    REDACTED = "redacted"
    WITHHELD = "withheld"


@dataclass(frozen=True, slots=True)
class Call:
    """The agent's request to the world at one crossing.

    Attributes:
        kind: Sort of crossing.
        name: The name of the call, for people and for matching (``search_docs``, ``POST api.openai.com``).
        effect: Its possible effect on the world.
        rule: Named, versioned rule that turns ``head`` and ``body`` into a key (see ``facts.keys``).
        head: Small JSON-able facts of the request. HTTP: ``method``, ``url``, ``headers`` (list of
            ``[name, value]`` pairs, latin-1, order and case kept), ``transport``. Tools: ``tool``, ``opaque``.
        body: Exact bytes: the HTTP body on the wire, or the encoded arguments of a tool.
        media: Media type of ``body``; empty when unknown.
        channel: Name of the succession of which ``body`` is a version (one conversation, one checkpoint slot), so that
            a store may keep only what changed. Empty: unrelated to anything before.
        ordinal: Identity that a provider gave this call (``tool_call_id``), a better ordinal than position.
        source: ``file:line`` of the agent's code that made the crossing.
        observed: True when the body of the call is the agent's own code and always runs, in replay too (steps,
            inputs, outputs, notes, tools of effect *none*): a replay then compares instead of answering.
    """

    kind: Kind
    name: str
    effect: Effect
    rule: str
    head: Mapping[str, Json] = field(default_factory=dict)
    body: bytes = b""
    media: str = ""
    channel: str = ""
    ordinal: str | None = None
    source: str | None = None
    observed: bool = False


def is_transport(call: Call) -> bool:
    """Whether a call is performed by other code than the agent's. This is false for a request of an MCP server to its
    client, because the agent itself answers it."""
    return call.kind in TRANSPORTS and not call.observed


_CALLED = ("tools/call", "call_tool")


def calls_a_tool(call: Call) -> bool:
    """Whether a call is a tool call: of a function marked as a tool, or of a tool of an MCP server."""
    if call.kind is not Kind.MCP:
        return call.kind is Kind.TOOL
    said = (call.head.get("method"), call.name)
    return any(isinstance(word, str) and each in word for word in said for each in _CALLED)


STATE = "state"
"""In the head of a tool's call, this key has the names of the parameters that hold the tool's own state; the call's key
leaves them out. In the head of the outcome, it has the digests of their values before and after, by name; None for
values that cannot be stored."""


DEFAULTS: Final = "defaults"
"""The key, in the head of a tool's call, of the arguments that equal their defaults; only in sessions with
``names_defaults``."""

TOLD: Final = "told"
"""The key in the head of a value that comes from another tool's file, as text or as data. The declared type decides
between the two. Under the key is the text where it is known, else true."""


@dataclass(frozen=True, slots=True)
class ErrorFact:
    """An exception as data.

    Attributes:
        type: ``module.QualName`` of its class.
        text: ``str()`` of the exception, for people.
        args: Its arguments, encoded with ``facts.values`` (JSON bytes); None when they cannot be stored.
        state: Its instance attributes, encoded likewise; None when there are none or they cannot be stored.
        cause: The exception it was raised from.
        context: The exception that was being handled, when it has no cause.
        suppress_context: Whether the context is hidden (``raise … from None``).
        notes: Texts that ``add_note`` added.
        members: The parts of an exception group.
    """

    type: str
    text: str
    args: bytes | None = None
    state: bytes | None = None
    cause: ErrorFact | None = None
    context: ErrorFact | None = None
    suppress_context: bool = False
    notes: tuple[str, ...] = ()
    members: tuple[ErrorFact, ...] = ()


@dataclass(frozen=True, slots=True)
class Value:
    """The call returned. ``body`` holds the encoded value; None is a value like any other.

    Attributes:
        body: The value, encoded with ``facts.values``.
        media: Media type of ``body``.
        changes: The changes that the call made in its arguments and surroundings, encoded by the seam that saw them;
            empty without any.
        head: Small JSON-able facts about the outcome (``opaque`` type names, ``checked`` …).
    """

    body: bytes
    media: str = "application/json"
    changes: bytes = b""
    head: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """The call raised."""

    error: ErrorFact
    changes: bytes = b""
    head: Mapping[str, Json] = field(default_factory=dict)


class EndKind(StrEnum):
    """How a stream ended."""

    EOF = "eof"
    CLOSED = "closed"
    CANCELLED = "cancelled"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class End:
    """How a stream ended: by itself, closed early by its reader, cancelled, or with an error."""

    kind: EndKind
    error: ErrorFact | None = None


@dataclass(frozen=True, slots=True)
class Stream:
    """The call answered with a head and a stream of segments (every HTTP response is one).

    Attributes:
        head: HTTP: ``status``, ``reason``, ``headers`` (pairs as in a request), ``version``, ``framing``
            (``wire`` when segments are the bytes of the connection, ``payload`` when they are the body before
            content decoding), ``extensions``.
        end: Its end; None while it is open, or when the process died inside it.
        size: Bytes in all segments.
        segments: Number of segments.
    """

    head: Mapping[str, Json]
    end: End | None
    size: int = 0
    segments: int = 0


Outcome = Value | Failure | Stream
