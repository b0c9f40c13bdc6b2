"""An RPC as calls: the RPC itself, and the further operations while it is under way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final, TypeVar

from reenact.abc.session import Live
from reenact.facts.call import Call, Effect, Json, Kind
from reenact.facts.values import revealed, sealed
from reenact.seams.http.http_exchange import RULE, place_of
from reenact.seams.lanes import Lane, inside, listening
from reenact.seams.switchboard import across, cross

T = TypeVar("T")

FURTHER: Final = "grpc/1"
"""Key of what concerns an RPC under way: the whole head, which names the RPC by its event, and the message."""

MEDIA: Final = "application/grpc"

Pairs = list[list[str]]
"""Metadata as JSON: ``[name, value]``; the values of names in ``-bin`` are bytes, in latin-1."""


def pairs(metadata: Iterable[Any] | None) -> Pairs:
    """Metadata of either API as JSON."""
    found = []
    for name, value in metadata or ():
        text = name.decode("latin-1") if isinstance(name, bytes) else str(name)
        found.append([text, value.decode("latin-1") if isinstance(value, bytes) else str(value)])
    return found


def raw(given: Iterable[Iterable[str]] | None) -> tuple[tuple[str, Any], ...]:
    """The inverse of ``pairs``, as both APIs hand metadata out before they make objects of it."""
    return tuple((name, value.encode("latin-1") if name.endswith("-bin") else value) for name, value in given or ())


def address(target: Any, method: Any) -> str:
    """An RPC's URL: channels name their target in several spellings, which stay as they are."""
    return f"grpc://{_text(target)}/{_text(method).lstrip('/')}"


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def name_of(url: str) -> str:
    """The name of an RPC for people: ``package.Service/Method``."""
    return "/".join(place_of(url).split("/")[-2:])


def start(url: str, shape: str, metadata: Iterable[Any] | None, message: bytes) -> Call:
    """An RPC as a call. It counts as a write, because the protocol does not say what an RPC does.

    Args:
        url: From ``address``.
        shape: ``unary_unary``, ``unary_stream``, ``stream_unary`` or ``stream_stream``.
        metadata: The agent's metadata; no part of the key.
        message: The serialised request; empty where requests are a stream, whose messages are calls of their own.
    """
    headers = [["content-type", MEDIA], *pairs(metadata)]
    head = {"method": "POST", "url": url, "headers": headers, "transport": "grpc", "shape": shape}
    return Call(Kind.HTTP, name_of(url), Effect.WRITE, RULE, head, message, MEDIA)


def further(url: str, what: str, of: int, message: bytes | None = None) -> Call:
    """A call that concerns an RPC under way: a message sent, its status, whether it is still active.

    Args:
        url: The URL of the RPC.
        what: ``send``, ``status``, ``cancel``, ``active`` …
        of: The event of the RPC.
        message: The serialised message that is sent.
    """
    effect = Effect.READ if message is None and what != "cancel" else Effect.WRITE
    head: Mapping[str, Json] = {"of": of, "url": url, "what": what, "transport": "grpc"}
    return Call(Kind.HTTP, f"{name_of(url)} {what}", effect, FURTHER, head, message or b"", MEDIA if message else "")


def traced(crossing: Live | None, metadata: Iterable[Any] | None) -> Any:
    """The agent's metadata, followed by the run's place in its trace where the policy names the host."""
    added = crossing.adds() if crossing is not None else {}
    return (*(metadata or ()), *added.items()) if added else metadata


def framed(message: bytes) -> bytes:
    """A message in its frame of the wire: a flag for compression, and its length."""
    return b"\0" + len(message).to_bytes(4, "big") + message


def unframed(frame: bytes) -> bytes:
    """The message in a frame."""
    return frame[5:]


def ask(describe: Callable[[], Call], perform: Callable[[], T]) -> T:
    """One crossing whose answer is a value; without a session the call is performed directly."""
    lane = listening()
    if lane is None:
        return perform()
    answered: T = cross(lane, describe, perform, sealed, revealed)
    return answered


async def ask_async(describe: Callable[[], Call], perform: Callable[[], Any]) -> Any:
    """``ask`` for coroutines; ``perform`` gives an awaitable."""
    lane = listening()
    if lane is None:
        return await perform()
    return await across(lane, describe, perform, sealed, revealed)


def beneath(lane: Lane) -> AbstractContextManager[None]:
    """The scope of what is done below the seam without a call of its own (objects of the library are made)."""
    return inside(Lane(lane.path, lane.session, lane.gate, parent=lane.parent, below=True))
