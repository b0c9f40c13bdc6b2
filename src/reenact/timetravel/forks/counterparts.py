"""Maps events of a fork to events of its parent: a call names its connection by an event number, which changes if the
fork inserts an earlier call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reenact.facts.call import Call, Kind
from reenact.facts.lazy_dataclass import replace
from reenact.facts.values import decode, encode
from reenact.replaying.tape import Tape
from reenact.timetravel.forks.ladder import LadderResult

_NAMING = frozenset({"of", "over"})
"""Fields of a call's head that hold the number of an event."""


class Counterparts:
    """The events of a fork whose requests are equal to those of events of the parent."""

    def __init__(self) -> None:
        self._then: dict[int, int] = {}

    def same(self, number: int, then: int) -> None:
        """Note that event ``number`` of the fork has the same request as event ``then`` of the parent."""
        if then >= 0:
            self._then[number] = then

    def then(self, number: int) -> int | None:
        """The parent's event with the same request as an event of the fork; None where there is none."""
        return self._then.get(number)

    def is_elsewhere(self, call: Call) -> bool:
        """Whether a call is made over a connection that the parent did not have: two servers may use the same name, and
        the answer of one must not be given for the other."""
        session = call.head.get("of")
        return call.kind is Kind.MCP and isinstance(session, int) and session >= 0 and session not in self._then

    def as_then(self, call: Call) -> Call:
        """A call with the parent's numbers. A number without a counterpart is replaced by a number that no event has,
        because no recorded event belongs to it."""
        if _NAMING.isdisjoint(call.head):
            return call
        named = {name: call.head[name] for name in _NAMING if isinstance(call.head.get(name), int)}
        then = {name: number if number < 0 else self._then.get(number, -2 - number) for name, number in named.items()}
        return call if then == named else replace(call, head={**call.head, **then})


def session_found(tape: Tape, asked: Call, found: LadderResult) -> LadderResult:
    """The recorded beginning of an MCP session over the connection that ``asked`` names (``Counterparts.as_then``), not
    the next beginning over any connection. Runs that do not name the connection have one session at a time.

    Args:
        tape: The recorded calls.
        asked: The call that begins the session, with the parent's number of the connection.
        found: The ladder's result.
    """
    over = asked.head.get("over")
    if found.answer is None or found.answer.call.head.get("over", over) == over:
        return found
    for event in tape.unused():
        if event.call.kind is asked.kind and event.call.name == asked.name and event.call.head.get("over") == over:
            return LadderResult(event, event, "answered from the recording")
    return LadderResult(None, found.place, "begins over a connection that was never opened")


def progress_of(body: bytes, numbers: Mapping[int, int]) -> bytes:
    """A progress message of an MCP server, with the fork's number of the call that it belongs to.

    Args:
        body: The content of the message.
        numbers: The fork's number of each event of the parent.
    """
    said: Any = decode(body)
    if not isinstance(said, dict) or said.get("sort") != "progress":
        return body
    then: Any = said["id"]
    return encode({**said, "id": numbers[then]}).body if numbers.get(then, then) != then else body
