"""A run as a trace: the ids of its spans, the caller's span around it, and the header that passes the trace on.

Ids are digests of the run's id (which has entropy of our own) and the event's number. So no random number of the agent
is used, and a span has an id before it ends. A run that is exported twice is one trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Final
from urllib.parse import urlsplit

from reenact.facts.call import Call, Json
from reenact.facts.conventions import is_traceparent
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.plumbing import is_plumbing

HEADER: Final = "traceparent"
"""The header of W3C Trace Context; also the name of the note on the event whose request it was added to."""
_HOST: Final = lazy_regex(r"(\*\.)?([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?")
_TARGET: Final = lazy_regex(r"grpc://(?:dns:(?:///)?|ipv[46]:)")
"""The beginning of the address of an RPC whose channel names its target by a scheme."""
_PORTS: Final = {"http": 80, "https": 443}


def trace_id(run: str) -> str:
    """The id of a run's trace."""
    return blake2b(f"trace {run}".encode(), digest_size=16).hexdigest()


def span_id(run: str, event: int | None) -> str:
    """The id of the span of an event; for None, of the run's own span."""
    return blake2b(f"span {run} {'run' if event is None else event}".encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class Around:
    """The caller's span around a run: its trace, its own id, and whether it is sampled."""

    trace: str
    span: str
    sampled: bool = True


def around(traceparent: Json) -> Around | None:
    """The caller's span.

    Args:
        traceparent: The W3C text that a run continues, as it is kept with the run; None for none.
    """
    if not isinstance(traceparent, str) or not is_traceparent(traceparent) or traceparent[36:52] == "0" * 16:
        return None
    return Around(traceparent[3:35], traceparent[36:52], bool(int(traceparent[53:55], 16) & 1))


def named_hosts(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Whether a URL leads to one of the hosts.

    Args:
        patterns: ``HOST`` or ``HOST:PORT``; ``*.HOST`` for every host below one.

    Raises:
        ValueError: A pattern names no host.
    """
    found = []
    for pattern in patterns:
        match = _HOST.fullmatch(pattern.lower())
        if match is None:
            raise ValueError(f"has {pattern!r}, which names no host (api.example.com, localhost:8080, *.example.com)")
        below, host, port = match.groups()
        found.append((bool(below), host.strip("[]"), int(port[1:]) if port else None))

    def leads_there(url: str) -> bool:
        try:
            parts = urlsplit(_TARGET.sub("grpc://", url, count=1))
            host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
        except ValueError:  # the address cannot be parsed
            return False
        return any(
            (host.endswith(f".{name}") if below else host == name) and (only is None or only == port)
            for below, name, only in found
        )

    return leads_there


@dataclass(frozen=True, slots=True)
class Propagation:
    """Which requests of a run carry its trace on.

    Attributes:
        run: The run.
        leads_there: Whether a URL leads to a host that the policy names.
        around: The caller's span; None if the run is a trace of its own.
    """

    run: str
    leads_there: Callable[[str], bool]
    around: Around | None = None

    def header(self, call: Call, event: int) -> str:
        """The ``traceparent`` header to add to a request; empty if none is added. A header that the agent sends stays.

        Args:
            call: The request.
            event: The number of the event, whose span is the parent of the receiver's spans.
        """
        if is_plumbing(call) or not self.leads_there(str(call.head.get("url") or "")):
            return ""
        if any(str(name).lower() == HEADER for name, _ in call.head.get("headers") or ()):
            return ""
        trace, sampled = (self.around.trace, self.around.sampled) if self.around else (trace_id(self.run), True)
        return f"00-{trace}-{span_id(self.run, event)}-{int(sampled):02x}"
