"""One HTTP exchange as a call, and the small decisions that all client families share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from reenact.abc.session import Frozen, Live
from reenact.errors import UnreplayableRun
from reenact.facts.call import Call, Effect, End, EndKind, Failure, Json, Kind, Value
from reenact.seams import switchboard
from reenact.seams.colours import Steps
from reenact.seams.http import http_errors
from reenact.seams.lanes import Lane
from reenact.seams.switchboard import guarded

T = TypeVar("T")

RULE = "http/1"
"""Rule that turns a request into a key (``facts.keys``)."""

EOF = End(EndKind.EOF)
CLOSED = End(EndKind.CLOSED)
CANCELLED = End(EndKind.CANCELLED)

_READING = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})

StatelessRule = Callable[[str, str, bytes], bool]
"""``(method, url, body)``: whether a request of a writing method changes nothing on its server."""

stateless_tests: list[StatelessRule] = []
"""Rules that recognise reads with a writing method (stateless model requests). ``seams.wiring`` fills it."""


def effect_of(method: str, url: str, body: bytes) -> Effect:
    """The effect of a request on the world: decided by its method, then by ``stateless_tests``."""
    if method in _READING:
        return Effect.READ
    for reads_only in stateless_tests:
        if reads_only(method, url, body):
            return Effect.READ
    return Effect.WRITE


def place_of(url: str) -> str:
    """Host, port and path of a URL, without scheme, credentials, query and fragment."""
    rest = url.partition("://")[2] or url
    rest = rest.partition("?")[0].partition("#")[0]
    host, slash, path = rest.partition("/")
    return f"{host.rpartition('@')[2]}{slash}{path}"


def pairs(headers: Iterable[tuple[bytes, bytes]]) -> list[list[str]]:
    """Raw headers as JSON: ``[name, value]`` in latin-1, order and case kept."""
    return [[name.decode("latin-1"), value.decode("latin-1")] for name, value in headers]


def raw(headers: Iterable[Iterable[str]]) -> list[tuple[bytes, bytes]]:
    """The inverse of ``pairs``."""
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


def describe(method: str, url: str, headers: list[list[str]], body: bytes, transport: str) -> Call:
    """One request as a call.

    Args:
        method: In capitals.
        url: As the client sends it.
        headers: As ``pairs`` gives them.
        body: The whole body as it goes over the wire.
        transport: Name of the client family.
    """
    name = f"{method} {place_of(url)}"
    media = ""
    for header, value in headers:
        if len(header) == 12 and header.lower() == "content-type":
            media = value
            break
    return Call(
        Kind.HTTP,
        name,
        effect_of(method, url, body),
        RULE,
        {"method": method, "url": url, "headers": headers, "transport": transport},
        body,
        media,
        name,
        None,
    )


def begin(lane: Lane, request: Callable[[], Call]) -> Live | Frozen | None:
    """Ask the session; None when the exchange must go through unrecorded."""
    crossing = switchboard.begin(lane, request)
    if crossing is None or crossing.mode != "rerun":
        return crossing
    guarded(lane, _no_rerun)
    return None


def _no_rerun() -> None:
    raise TypeError("a session asked to rerun an HTTP exchange, which has no body of the agent's own code")


RAISED: Final = (Exception, KeyboardInterrupt)
"""Exceptions inside a blocking call that are its outcome: Ctrl-C happens where the program waits."""


def failure(
    lane: Lane, error: BaseException, roles: http_errors.Roles | None = None, head: dict[str, Json] | None = None
) -> Failure | None:
    """An exception before the head of the response, as an outcome; None when it cannot be described."""
    return guarded(lane, lambda: Failure(http_errors.describe(error, roles), b"", head or {}))


def broken(lane: Lane, error: BaseException, roles: http_errors.Roles | None = None) -> End:
    """An exception inside the response, as the end of its stream."""
    fact = guarded(lane, lambda: http_errors.describe(error, roles))
    return End(EndKind.ERROR, fact)


def unanswered(lane: Lane, crossing: Frozen, roles: http_errors.Roles | None = None) -> Steps[Live]:
    """Wait at a request that was cancelled before its recorded answer began. If nothing cancels it now, it may be made.

    Args:
        lane: The calling lane.
        crossing: The request, of form ``open``.
        roles: The objects that its exceptions refer to.
    """
    try:
        told: Value | Failure | Live = yield crossing.answer()
    except BaseException:  # cancelled, or the replay has stopped: its answer has no reader
        crossing.dropped()
        raise
    if isinstance(told, (Value, Failure)):
        raise revive(lane, told, roles)
    return told


def revive(lane: Lane, outcome: Any, roles: http_errors.Roles | None = None) -> BaseException:
    """The recorded exception of a ``Failure`` or of an ``End`` with an error.

    Raises:
        UnreplayableRun: The exception cannot be raised here. The session has noted that, so the replay stops even if
            the agent catches the error.
    """
    fact = outcome.error if isinstance(outcome, (Failure, End)) else None
    try:
        if fact is None:
            raise UnreplayableRun(
                "an HTTP exchange has no recorded answer that a client could be given",
                cause="its exception could not be described when it was recorded",
                next_command="reenact replay @ --events",
                missing=("outcome",),
            )
        return http_errors.rebuild(fact, roles)
    except Exception as fault:
        lane.session.fault(fault)
        raise
