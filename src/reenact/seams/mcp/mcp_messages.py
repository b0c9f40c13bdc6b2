"""Everything between an MCP client and its server as calls: how each is named, keyed, and made an outcome."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from reenact.facts.call import Call, Effect, Failure, Json, Kind, Value
from reenact.facts.connections import RECEIVE, SESSION
from reenact.facts.errors_as_data import describe_error, restore_error
from reenact.facts.values import decode, encode, revealed

RULE: Final = "mcp/1"
"""Key of everything here: the whole head and body. The head names the session by the event it began with."""

CALL: Final = "tools/call"
LIST: Final = "tools/list"
CLOSED: Final = -32000
"""Code of the error that a request gets if its connection has ended."""
_WRITES: Final = frozenset({CALL, "resources/subscribe", "resources/unsubscribe", "logging/setLevel", "tasks/cancel"})
_MEDIA: Final = "application/json"


def request(
    method: str, params: Mapping[str, Any] | None, of: int, server: str, reads: frozenset[str] | set[str]
) -> Call:
    """One request or notification of the client.

    Args:
        method: ``tools/call``, ``prompts/get`` …
        params: Its parameters.
        of: Event the session began with; -1 for one that began outside the run.
        server: The server's name for itself; empty before it has given one.
        reads: Tools that only read, as their server says.
    """
    name = str((params or {}).get("name") or method) if method == CALL else method
    effect = Effect.WRITE if method in _WRITES and not (method == CALL and name in reads) else Effect.READ
    return _call(name, effect, {"method": method, "server": server, "of": of}, params)


def asked_by_server(method: str, params: Mapping[str, Any] | None, of: int, server: str) -> Call:
    """A request of the server to the agent, whose own code answers, in a replay too; the answers are compared."""
    head = {"method": method, "server": server, "of": of}
    return Call(Kind.MCP, method, Effect.NONE, RULE, head, _body(params), _MEDIA, observed=True)


def begun(over: int | None) -> Call:
    """The beginning of a session.

    Args:
        over: Event that its connection was opened with; None for an unknown one.
    """
    return _call(SESSION, Effect.READ, {} if over is None else {"over": over}, None)


def next_message(of: int) -> Call:
    """The wait for the next message that the server begins."""
    return _call(RECEIVE, Effect.READ, {"of": of}, None)


def connection(name: str, transport: str, effect: Effect, place: Json) -> Call:
    """Connecting to a server, which may start it.

    Args:
        name: Its name, for people.
        transport: ``stdio``, ``http``, ``sse`` or ``memory``.
        effect: Its effect.
        place: Command line or address.
    """
    return _call(f"connect {name}", effect, {"transport": transport}, place)


def about_line(what: str, of: int) -> Call:
    """A change in the state of a connection.

    Args:
        what: ``lost``, ``failure`` or ``disconnect``.
        of: The event of its opening.
    """
    return _call(what, Effect.READ, {"of": of}, None)


def _call(name: str, effect: Effect, head: Mapping[str, Json], asked: Json) -> Call:
    body = _body(asked)
    return Call(Kind.MCP, name, effect, RULE, head, body, _MEDIA if body else "")


def _body(asked: Json) -> bytes:
    return b"" if asked is None else encode(asked).body


def sealed(result: Any, error: BaseException | None) -> Value | Failure:
    """The result or error as an outcome; a list of tools with its hash."""
    if error is not None:
        return Failure(describe_error(error))
    return Value(encode(result).body, head=_evidence(result))


def nothing_sealed(_result: Any, error: BaseException | None) -> Value | Failure:
    """The outcome of a call without a result that a replay could use."""
    return sealed(None, error)


def _evidence(result: Any) -> dict[str, Json]:
    tools = result.get("tools") if isinstance(result, dict) else None
    if not isinstance(tools, list):
        return {}
    return {"tools": [str(tool.get("name")) for tool in tools if isinstance(tool, dict)], "tools_hash": digest(tools)}


def digest(tools: Json) -> str:
    """Digest of a list of tools: their canonical JSON, in the order the server gave."""
    text = json.dumps(tools, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=repr)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def revealed_to(error_class: Any, outcome: Value | Failure) -> Any:
    """The recorded result of a request. An error of the protocol is made again from code, message and data."""
    if isinstance(outcome, Failure) and outcome.error.type.endswith(f".{error_class.__name__}"):
        fact = outcome.error
        if fact.args is not None:
            made = error_class(*decode(fact.args))
            if fact.cause is not None:
                made.__cause__ = restore_error(fact.cause)
            raise made
    return revealed(outcome)


def reading_tools(result: Any) -> set[str]:
    """Names of the listed tools that, by the server's own word, only read."""
    tools = result.get("tools") if isinstance(result, dict) else None
    found = set()
    for tool in tools if isinstance(tools, list) else ():
        hints = tool.get("annotations") if isinstance(tool, dict) else None
        if isinstance(hints, dict) and hints.get("readOnlyHint") is True:
            found.add(str(tool.get("name")))
    return found
