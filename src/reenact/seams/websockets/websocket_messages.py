"""The messages of a websocket as calls, each with the state of the connection."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final, TypeVar

from reenact.abc.session import Frozen
from reenact.errors import UnreplayableRun
from reenact.facts.call import Call, Effect, Failure, Json, Kind, Value
from reenact.facts.connections import DIFFERS
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.values import decode, encode
from reenact.seams import lanes
from reenact.seams.http import http_errors
from reenact.seams.http.http_exchange import place_of
from reenact.seams.lanes import Lane
from reenact.seams.late_resource import LateResource
from reenact.seams.switchboard import guarded

T = TypeVar("T")

RULE: Final = "websocket/1"
"""Key of all calls here: the whole head and body. The head names the connection by the event of its opening."""

WHOLE: Final = (str, bytes, bytearray, memoryview)
"""The types of messages that are sent in one piece."""


@dataclass(slots=True)
class WebSocketLine:
    """The facts about a connection that was opened under a session.

    Attributes:
        event: The event of its opening.
        name: Host and path.
        addresses: The addresses of both ends, for a replayed connection; None for a live one.
        held: A message that came while its reader was cancelled, for the next reader.
        later: The later opening of a replayed connection; None for a live one.
    """

    event: int
    name: str
    addresses: tuple[Any, Any] | None = None
    held: list[Any] = field(default_factory=list)
    later: LateResource | None = None

    @property
    def played(self) -> bool:
        """Whether there is no real connection."""
        return self.addresses is not None and (self.later is None or self.later.real is None)


@contextmanager
def below(lane: Lane) -> Iterator[None]:
    """A block of the library's own work."""
    with lanes.inside(Lane(lane.path, lane.session, lane.gate, parent=lane.parent, below=True)):
        yield


def opening(url: str, subprotocols: Json) -> Call:
    """The opening of a connection. Request headers are no part of it: they carry credentials."""
    head = {"url": url, "method": "GET"}
    asked = b"" if not subprotocols else json.dumps({"subprotocols": list(subprotocols)}).encode()
    return Call(Kind.WEBSOCKET, f"open {place_of(url)}", Effect.READ, RULE, head, asked, "application/json")


def about(line: WebSocketLine, what: str, asked: Json = None) -> Call:
    """Any call on a connection but sending.

    Args:
        line: The connection.
        what: ``receive``, ``close``, ``state`` …
        asked: The request, as JSON.
    """
    body = b"" if asked is None else json.dumps(asked, separators=(",", ":")).encode()
    media = "application/json" if body else ""
    return Call(Kind.WEBSOCKET, f"{what} {line.name}", Effect.READ, RULE, {"of": line.event}, body, media)


def sending(line: WebSocketLine, message: Any, args: tuple[Any, ...], options: Mapping[str, Any]) -> Call:
    """One message to the other side, byte for byte.

    Args:
        line: The connection.
        message: Text or bytes.
        args, options: The other arguments of ``send``: at most ``text``, which overrules the type of the message.
    """
    told = options.get("text", args[0] if args else None)
    is_text = isinstance(message, str) if told is None else bool(told)
    body = message.encode("utf-8", "surrogatepass") if isinstance(message, str) else bytes(message)
    media = "text/plain" if is_text else "application/octet-stream"
    head = {"of": line.event, "text": is_text}
    return Call(Kind.WEBSOCKET, f"send {line.name}", Effect.WRITE, RULE, head, body, media)


def in_parts(lane: Lane, line: WebSocketLine) -> None:
    """Report that a message sent in fragments escapes.

    Raises:
        UnreplayableRun: In a replay, which has no connection to send the fragments through.
    """
    if line.played:
        lane.session.fault(
            UnreplayableRun(
                f"a message in fragments was sent through the websocket {line.name}",
                cause="only messages that are sent in one piece are recorded",
                next_command="reenact show @",
                missing=("websocket fragments",),
            )
        )
    guarded(lane, lambda: lane.session.gap("websocket fragments", line.name))


# --- the state of a connection ----------------------------------------------------------------------------------------


def state_of(protocol: Any) -> dict[str, Json]:
    """The state of a connection, and the close frames of both sides."""
    return {
        "state": int(protocol.state),
        "received": _frame(protocol.close_rcvd),
        "sent": _frame(protocol.close_sent),
        "received_first": protocol.close_rcvd_then_sent,
    }


def _frame(close: Any) -> Json:
    return None if close is None else [int(close.code), close.reason]


def set_state(protocol: Any, told: Mapping[str, Json]) -> None:
    """Give a connection without a network the state of the recorded one."""
    close = _close_class(protocol)
    protocol.state = type(protocol.state)(told["state"])
    protocol.close_rcvd = None if told["received"] is None else close(*told["received"])
    protocol.close_sent = None if told["sent"] is None else close(*told["sent"])
    protocol.close_rcvd_then_sent = told["received_first"]


def _close_class(protocol: Any) -> Any:
    """The class of close frames that the library uses."""
    base = next(kind for kind in type(protocol).__mro__ if kind.__name__ == "Protocol")
    return sys.modules[base.__module__].Close


class ConnectionOutcomes:
    """Outcomes of one connection's calls.

    Args:
        connection: The library's own object.
    """

    __slots__ = ("_connection", "_seen")

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._seen: dict[str, Json] | None = None

    def stable(self, look: Callable[[], T]) -> T:
        """The result of ``look`` at a moment when the state, which is sealed with it, does not change."""
        protocol = self._connection.protocol
        while True:
            self._seen = state_of(protocol)
            seen = look()
            if state_of(protocol) == self._seen:
                return seen

    def seal(self, result: Any, error: BaseException | None) -> Value | Failure:
        """The result or error, with the state of the connection at that time."""
        head = {"line": self._seen or state_of(self._connection.protocol)}
        if error is None:
            return Value(encode(result).body, head=head)
        return Failure(http_errors.describe(error), head={**head, "closed": _is_closing(error)})

    def reveal(self, outcome: Value | Failure) -> Any:
        """A recorded outcome; an exception about the closed connection is the library's own."""
        line = outcome.head.get("line")
        if isinstance(line, dict):
            set_state(self._connection.protocol, line)
        if isinstance(outcome, Value):
            return decode(outcome.body)
        if not outcome.head.get("closed"):
            raise http_errors.rebuild(outcome.error)
        error = self._connection.protocol.close_exc
        if outcome.error.cause is not None:
            error.__cause__ = http_errors.rebuild(outcome.error.cause)
        raise error


def _is_closing(error: BaseException) -> bool:
    return any(kind.__name__ == "ConnectionClosed" for kind in type(error).__mro__)


# --- opening ----------------------------------------------------------------------------------------------------------


def opened(connection: Any, error: BaseException | None) -> Value | Failure:
    """The outcome of opening: the answer of the other side."""
    if error is not None:
        answer = getattr(error, "response", None)
        roles = {} if answer is None else {"response": answer}
        return Failure(http_errors.describe(error, roles), head={"response": _response(answer)})
    told = {
        "response": _response(connection.response),
        "subprotocol": connection.protocol.subprotocol,
        "id": str(connection.id),
        "addresses": [_address(connection, "local_address"), _address(connection, "remote_address")],
    }
    return Value(encode(told).body, head={"line": state_of(connection.protocol)})


def _address(connection: Any, name: str) -> Any:
    try:
        return getattr(connection, name)
    except OSError:
        return None


def _response(answer: Any) -> Json:
    if answer is None:
        return None
    pairs = [[name, value] for name, value in answer.headers.raw_items()]
    return {
        "status": answer.status_code,
        "reason": answer.reason_phrase,
        "headers": pairs,
        "body": bytes(answer.body or b"").decode("latin-1"),
        "changeable": isinstance(answer.body, bytearray),
    }


def _restored_response(told: Any, module: ModuleType) -> Any:
    if told is None:
        return None
    pairs = [tuple(pair) for pair in told["headers"]]
    names: Any = module
    headers = names.Headers(pairs)
    body = told["body"].encode("latin-1")
    return names.Response(told["status"], told["reason"], headers, bytearray(body) if told["changeable"] else body)


def reopened(outcome: Value | Failure, module: ModuleType) -> dict[str, Any]:
    """The result of a recorded opening; raises its exception.

    Args:
        outcome: The recorded outcome.
        module: The client's module, for the classes it uses.
    """
    if isinstance(outcome, Failure):
        answer = _restored_response(outcome.head.get("response"), module)
        raise http_errors.rebuild(outcome.error, {} if answer is None else {"response": answer})
    told: dict[str, Any] = decode(outcome.body)
    told["response"] = _restored_response(told["response"], module)
    told["line"] = outcome.head["line"]
    return told


# --- going on live ----------------------------------------------------------------------------------------------------


def opens_later(
    connection: Any,
    line: WebSocketLine,
    crossing: Frozen,
    open_it: Callable[[], Any],
    protocol_of: Callable[[Any], str | None] = lambda connection: connection.protocol.subprotocol,
    *,
    kept: Iterable[str] = (),
    lock: Any = None,
) -> None:
    """Open a connection without a network at its first live use.

    Args:
        connection: The connection that the agent has.
        line: The facts about it.
        crossing: The crossing of its opening.
        open_it: Opens the connection as the agent has asked for it. From then on ``connection`` and the opened one
            share their state, so that the library may use either.
        protocol_of: Returns the agreed subprotocol.
        kept: Names of attributes that stay as they are.
        lock: The lock for ``LateResource``.
    """

    def take_over(real: Any) -> None:
        lane, then, now = lanes.current(), protocol_of(connection), protocol_of(real)
        if lane is not None and then != now:
            lane.session.note(lane, DIFFERS, f"{line.name}: subprotocol {now or 'none'}, recorded {then or 'none'}")
        mine = connection.__dict__
        real.__dict__.update({name: mine[name] for name in kept or KEPT if name in mine})
        connection.__dict__ = real.__dict__

    line.later = LateResource(
        crossing,
        f"the websocket {line.name} was to be opened",
        open_it,
        take_over,
        missing="websocket",
        cause="the recorded connection was answered from the recording until then; its server does not answer now",
        lock=lock,
    )


KEPT: Final = ("id", "request", "response", "pending_legacy_warning", "_reenact_line")
"""The attributes of a ``websockets`` connection that do not change when it is opened later."""


def equip(connection: Any, told: Mapping[str, Any], line: WebSocketLine) -> None:
    """Give a fresh connection object the state that the recorded one had just after its opening."""
    protocol = connection.protocol
    protocol.id = connection.id = uuid.UUID(told["id"])
    protocol.subprotocol = told["subprotocol"]
    connection.request = protocol.connect()
    connection.response = told["response"]
    line.addresses = (told["addresses"][0], told["addresses"][1])
    connection._reenact_line = line
    set_state(protocol, told["line"])
