"""The page that Prometheus scrapes: counts over a store in its text format, version 0.0.4."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from reenact.abc.sources import CLOCK
from reenact.abc.store import Store
from reenact.facts.frequent_names import Key
from reenact.triage.case_counts import Cases

_REST: Final = 20
"""A page is made again when its age is this many times the time that it took to make. This bounds the load on the
processor."""
_LONGEST: Final = 120
_ESCAPED: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Page:
    """The page of a store, made when it is asked for. Any number of clients may read it at a time: one makes the page,
    the others wait.

    Args:
        store: The store.
    """

    def __init__(self, store: Store) -> None:
        self._cases = Cases(store)
        self._lock = threading.Lock()
        self._text = b""
        self._due_us = 0

    def text(self) -> bytes:
        """The page.

        Raises:
            ReenactError: The store cannot be read.
        """
        with self._lock:
            began = CLOCK.mono_us()
            if not self._text or began >= self._due_us:
                self._cases.look()
                self._text = "".join(f"{line}\n" for line in lines_of(self._cases)).encode("utf-8", "replace")
                now = CLOCK.mono_us()
                self._due_us = now + _REST * (now - began)
            return self._text


def lines_of(cases: Cases) -> Iterator[str]:
    """The lines of the page, without their ends."""
    yield from _metric(
        "reenact_runs", "gauge", "Runs in the store that have ended.",
        _summed((_labels(agent=agent), count) for agent, count in sorted(cases.kept.items())),
    )  # fmt: skip
    yield from _metric(
        "reenact_unread_runs", "gauge", "Runs among them that reenact triage has yet to read.", {"": cases.unread}
    )
    yield from _metric(
        "reenact_failed_runs_total", "counter", "Runs that failed or were flagged, by the group that triage names.",
        _by_key(cases.failed),
    )  # fmt: skip
    yield from _metric(
        "reenact_cold_cases_total", "counter", "Runs that cannot be replayed, by the group that triage names.",
        _by_key(cases.cold),
    )  # fmt: skip


def _by_key(sums: Mapping[Key, int]) -> Mapping[str, int]:
    return _summed((_labels(agent=key.agent, fingerprint=key.fingerprint), sum_) for key, sum_ in sorted(sums.items()))


def _summed(samples: Iterable[tuple[str, int]]) -> Mapping[str, int]:
    """Samples by their labels: names that are the same once they are cut are counted together."""
    found: dict[str, int] = {}
    for labels, value in samples:
        found[labels] = found.get(labels, 0) + value
    return found


def _metric(name: str, sort: str, about: str, samples: Mapping[str, int]) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {sort}"
    for labels, value in samples.items():
        yield f"{name}{labels} {value}"


def _labels(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{_value(text)}"' for name, text in labels.items()) + "}"


def _value(text: str) -> str:
    """A label's value: characters with a meaning in the format are escaped, and characters that are no text are
    replaced."""
    whole = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return whole.encode("utf-8", "replace").decode().translate(_ESCAPED)
