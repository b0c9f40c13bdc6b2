"""Base addresses: where the environment pointed clients to in a recording, and where it points them today."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from reenact.facts.lazy_dataclass import dataclass

_SCHEMES = ("http", "https")


@dataclass(frozen=True, slots=True)
class Bases:
    """Addresses that have moved.

    Attributes:
        moved: Pairs of the recorded base and today's, the longest first.
    """

    moved: tuple[tuple[str, str], ...] = ()

    def today(self, url: str) -> str:
        """Today's form of an address; the address itself if no variable says that it has moved."""
        for before, now in self.moved:
            rest = url[len(before) :]
            if url.startswith(before) and (not rest or rest[0] in "/?#"):
                return now + rest
        return url


def moved_bases(recorded: Mapping[str, str], today: Mapping[str, str], names: Iterable[str]) -> list[list[str]]:
    """The pairs of addresses of variables that hold different addresses in the two environments.

    Args:
        recorded: The environment of the recording.
        today: Today's environment.
        names: The variables to compare. A variable that names a proxy is left out: it does not say where a call goes.
    """
    found = {
        recorded[name].rstrip("/"): today[name].rstrip("/")
        for name in names
        if not name.lower().endswith("_proxy") and _is_base(recorded.get(name, "")) and _is_base(today.get(name, ""))
    }
    pairs = [[before, now] for before, now in found.items() if before != now]
    return sorted(pairs, key=lambda pair: -len(pair[0]))


def _is_base(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in _SCHEMES and bool(parts.hostname)
    except ValueError:
        return False
