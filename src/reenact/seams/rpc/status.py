"""How an RPC ended, as data: its code, details and metadata, in the head of an answer or by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass
from reenact.seams.rpc.rpc_calls import MEDIA, Pairs, pairs


@dataclass(frozen=True, slots=True)
class RpcStatus:
    """How an RPC ended.

    Attributes:
        code: Name of the status code (``OK``, ``NOT_FOUND``).
        details: The text of the server, or of the library.
        trailing: Trailing metadata; None where the library has none.
        debug: The library's own words for an error.
    """

    code: str
    details: str | None
    trailing: Pairs | None
    debug: str | None

    def facts(self) -> dict[str, Json]:
        """The status as JSON."""
        return {"code": self.code, "details": self.details, "trailing": self.trailing, "debug": self.debug}


def status_from(facts: Mapping[str, Json]) -> RpcStatus:
    """The inverse of ``RpcStatus.facts``."""
    return RpcStatus(str(facts["code"]), facts.get("details"), facts.get("trailing"), facts.get("debug"))


def status_of(code: str, details: Any, trailing: Any, debug: Any) -> RpcStatus:
    """A status from the library's values, with the name of its code; texts may be bytes."""
    found = None if trailing is None else pairs(trailing)
    return RpcStatus(code, _words(details), found, _words(debug))


def _words(text: Any) -> str | None:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def opening(initial: Pairs) -> dict[str, Json]:
    """The head of a stream of answers: its status comes later."""
    return {"framing": "grpc", "headers": [["content-type", MEDIA], *initial]}


def answer(initial: Pairs, status: RpcStatus) -> dict[str, Json]:
    """The head of a single answer: everything but the message."""
    return {**opening(initial), "status": status.code, "extensions": status.facts()}


def answered(head: Mapping[str, Json]) -> bool:
    """Whether a head belongs to a single answer, and not to a wait that ended without one."""
    return "extensions" in head


def initial_of(head: Mapping[str, Json]) -> Pairs:
    """The initial metadata in a head."""
    return list((head.get("headers") or [])[1:])


def status_in(head: Mapping[str, Json]) -> RpcStatus:
    """The status in the head of a single answer."""
    return status_from(head["extensions"])
