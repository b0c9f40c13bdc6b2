"""Effects: when two writes of one lineage are the same write, and which run made it.

The identity of a write is: the root of its lineage, the name of the tool or request, its arguments (or the key that its
author gave it), and its number among equal requests. Lane and position are no part of it: a call that a fork inserts
before a write does not change the write's identity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from reenact.facts.call import Call, Effect, Json, Kind
from reenact.facts.keys import canonical
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.plumbing import is_plumbing
from reenact.facts.run import ATTEMPT, Run

UNMADE: Final = "unmade"
"""The key of the note that a write could not be begun: a fork had claimed it, and nothing was done to the world."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The run and the call that make, or made, a write.

    Attributes:
        address: Identity of the write (``Identities.of``).
        run: Id of the run.
        event: The number of the call in that run; its event has the result.
    """

    address: str
    run: str
    event: int


def acts(call: Call) -> bool:
    """Whether a call itself may change the world. A request that hands telemetry over does not count."""
    return call.effect is Effect.WRITE and not call.observed and not is_plumbing(call)


def root_of(run: Run) -> str:
    """Id of the run that a lineage of forks and resumptions began with. For an attempt it is the run that was
    resumed."""
    own = run.parent if run.relation == ATTEMPT and run.parent else run.id
    return str(run.environment.get("root") or own)


def _lasting(call: Call) -> Mapping[str, Json]:
    """The facts of a call without its place in the run. For MCP the session is left out, whose name is an event's
    number."""
    return {name: said for name, said in call.head.items() if name != "of"} if call.kind is Kind.MCP else call.head


class Identities:
    """Names the writes of one run, in the order they are issued.

    Args:
        root: Id of the lineage's first run.
        ignore: The ignore rules in force: two writes that differ only in ignored parts are the same write.
    """

    __slots__ = ("_counts", "_ignore", "_root", "issued", "observed")

    def __init__(self, root: str, ignore: Mapping[str, str]) -> None:
        self._root = root
        self._ignore = ignore
        self._counts: Counter[bytes] = Counter()
        self.issued: dict[int, str] = {}
        """Identities of the writes issued so far, by event."""
        self.observed: dict[int, int | None] = {}
        """The calls whose body always runs, in a replay too, each with the number of the call around it."""

    def of(self, call: Call, within: str = "") -> str:
        """The identity of the next write with this request: 32 hexadecimal digits. It takes about 10 µs per KB of
        arguments.

        A write with a key of its own is the same at each request.

        Args:
            call: The write.
            within: The identity of the write that contains it; empty without one.
        """
        own = call.head.get("key")
        asked = own.encode() if isinstance(own, str) else canonical(call.rule, _lasting(call), call.body, self._ignore)
        kind = b"key" if isinstance(own, str) else b"call"
        scope = (within or self._root) if kind == b"call" else self._root
        like = sha256(b"\0".join((scope.encode(), kind, call.name.encode(), asked)))
        told = like.digest()  # a request may have megabytes, so it is not kept
        occurrence = 0 if isinstance(own, str) else self._counts[told]
        self._counts[told] = occurrence + 1
        like.update(b"\0%d" % occurrence)
        return like.hexdigest()[:32]

    def around(self, event: int | None) -> str | None:
        """The identity of the write that is around an event, or is the event itself. It is empty without a write, and
        None inside a read."""
        while event is not None:
            found = self.issued.get(event)
            if found is not None:
                return found
            if event not in self.observed:
                return None
            event = self.observed[event]
        return ""
