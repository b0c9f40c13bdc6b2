"""How each HTTP transport with a seam sends a request and returns a response, by the transport's name in its calls.

A fork that changes a request, or makes up an answer, looks its transport up here. A transport without a row is recorded
and replayed, but a fork refuses both rewriting and made-up answers there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reenact.facts.call import Call
from reenact.facts.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Transport:
    """The abilities of one transport in a fork.

    Attributes:
        framing: The form of its recorded segments: ``payload``, the body alone, or ``wire``, the bytes of the
            connection with the head.
        sends_another: Whether the transport can send the result of ``Live.sends`` in place of the agent's request.
        chooses_host: Whether the transport can send a request to another host, because it chooses its connection below
            the seam or can use another connection. A connection of ``http.client`` has a fixed host.
    """

    framing: str
    sends_another: bool = True
    chooses_host: bool = True


TRANSPORTS: Final[Mapping[str, Transport]] = {
    "httpx": Transport("payload"),
    "httpx2": Transport("payload"),
    "urllib3": Transport("wire"),
    "aiohttp": Transport("wire"),
    "http.client": Transport("wire", chooses_host=False),
    "http.client, by hand": Transport("wire", sends_another=False, chooses_host=False),
}


def transport_of(call: Call) -> Transport | None:
    """The transport of a call; None where the transport has no row."""
    return TRANSPORTS.get(str(call.head.get("transport")))
