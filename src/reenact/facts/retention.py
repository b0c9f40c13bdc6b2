"""Retention: when a run expires, and why. Pure: the clock is the caller's, and nothing is removed here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Final

from reenact.facts.ids import made_us, tail
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.phrases import counted
from reenact.facts.run import Run, Status

OK, FAILED, FLAGGED, TEST = "ok", "failed", "flagged", "test"

ALWAYS: Final = "always"
"""A term without an end."""

KEEP: Final = "keep"
"""Label with which a person says how long a run is kept: ``always``, or a span."""

GOLDEN: Final = "golden"
"""Label of a run that a golden was made of: the golden's name."""

LABELS: Final = frozenset({KEEP, GOLDEN})
"""Labels of one run that its forks do not inherit."""

AT: Final = "@"
"""The sign between a class and an agent: ``ok@refunds``."""

DEFAULTS: Final[Mapping[str, str]] = {OK: "7d", FAILED: "30d", FLAGGED: "90d", TEST: "1d"}
"""The default time for which the runs of a class are kept."""

DAY_US = 86_400_000_000

_UNITS = {"min": 60_000_000, "h": 3_600_000_000, "d": DAY_US, "w": 7 * DAY_US}
_SPAN = lazy_regex(r"([0-9]{1,6}) ?(min|h|d|w)")
_TESTS = frozenset({"PYTEST_CURRENT_TEST", "PYTEST_VERSION"})
"""Variables that pytest sets while it runs."""
_RUNNERS = lazy_regex(r"(?:^|[\\/])(?:pytest|py\.test)(?:\.exe)?$")
_MODULES = frozenset({"pytest", "unittest"})


@dataclass(frozen=True, slots=True)
class Expiry:
    """When a run expires.

    Attributes:
        at_us: Microseconds since the epoch; None if it never expires.
        why: The deciding rule, in words: ``ok runs are kept 7 days``.
    """

    at_us: int | None
    why: str

    def due(self, now_us: int) -> bool:
        """Whether the run has expired by a given time."""
        return self.at_us is not None and self.at_us <= now_us


def span_us(text: str) -> int | None:
    """The microseconds of a term such as ``7d`` (``min``, ``h``, ``d``, ``w``); None for ``always``.

    Raises:
        ValueError: The text is neither.
    """
    if text == ALWAYS:
        return None
    found = _SPAN.fullmatch(text)
    if found is None:
        raise ValueError("is neither a span of time (12h, 7d, 4w) nor always")
    return int(found[1]) * _UNITS[found[2]]


def class_of(run: Run, *, cold: bool = False) -> str:
    """The class of a run whose recording names none: by the run's end, or because it was a test.

    Args:
        run: The run.
        cold: Whether the run cannot be replayed; it is then kept like a failed run.
    """
    if is_test(run):
        return TEST
    return OK if run.status is Status.OK and not cold else FAILED


def classed(run: Run) -> str:
    """The class by which a run is kept: a flag counts first, then the class that its recording names, then its end."""
    return FLAGGED if run.flagged else run.retention or class_of(run)


def is_test(run: Run) -> bool:
    """Whether a test runner ran a run: pytest, or ``python -m unittest``."""
    names = run.environment.get("env_names")
    if isinstance(names, (list, tuple)) and not _TESTS.isdisjoint(map(str, names)):
        return True
    argv = run.entry.argv
    if any(_RUNNERS.search(word) for word in argv[:2]):
        return True
    return any(flag == "-m" and module in _MODULES for flag, module in pairwise(argv[:4]))


def expiry_of(run: Run, terms: Mapping[str, str], *, cold: bool = False, since_us: int = 0) -> Expiry:
    """When a run expires.

    A person's label ``keep`` decides first, then the fact that a golden was made of the run. After these, the class
    decides: the one that the recording names (``retention``), or ``class_of``. A flag can only lengthen the result. A
    term that cannot be read keeps a run for good: a typing mistake removes nothing.

    Args:
        run: The run.
        terms: Class, or ``class@agent``, to a span or ``always``, over ``DEFAULTS``.
        cold: Whether it cannot be replayed.
        since_us: The time of its arrival in this store, or of its last sign of life, if that is later than its end.
    """
    if run.status is Status.RECORDING:
        return Expiry(None, "it is being recorded")
    label = run.tags.get(KEEP)
    if label is not None:
        return _said(run, label, since_us, f"it is labelled keep={label}")
    if run.tags.get(GOLDEN):
        return Expiry(None, f"the golden {run.tags[GOLDEN]} was made of it")
    found = _by_class(run, run.retention or class_of(run, cold=cold), terms, since_us)
    if not run.flagged:
        return found
    flagged = _by_class(run, FLAGGED, terms, since_us)
    return flagged if _later(flagged, found) else found


def _by_class(run: Run, name: str, terms: Mapping[str, str], since_us: int) -> Expiry:
    term = _term(name, run.agent, terms)
    if term is None:  # the class may itself be a span of time
        return _said(run, name, since_us, f"its recording says retention={name}")
    whose = f" of {run.agent}" if f"{name}{AT}{run.agent}" in terms else ""
    return _said(run, term, since_us, f"{name} runs{whose} are kept {spoken(term)}")


def _term(name: str, agent: str, terms: Mapping[str, str]) -> str | None:
    for key, table in ((f"{name}{AT}{agent}", terms), (name, terms), (name, DEFAULTS)):
        if key in table:
            return table[key]
    return None


def _said(run: Run, term: str, since_us: int, why: str) -> Expiry:
    try:
        span = span_us(term)
    except ValueError:
        return Expiry(None, f"{why}, which names no span and no class")
    return Expiry(None if span is None else began_us(run, since_us) + span, why)


def began_us(run: Run, since_us: int = 0) -> int:
    """The moment from which a run's term counts: its end, or when it came into this store (see ``expiry_of``)."""
    return max(run.ended_us or 0, run.started_us, made_us(run.id), since_us)


def spoken(term: str) -> str:
    """A term in words: ``7 days``, ``for good``."""
    found = _SPAN.fullmatch(term)
    if found is None:
        return "for good"
    return counted(int(found[1]), {"min": "minute", "h": "hour", "d": "day", "w": "week"}[found[2]])


@dataclass(frozen=True, slots=True)
class Kin:
    """A run and its relation to other runs, for ``settled``.

    Attributes:
        run: The id of the run.
        parent: Id of the run that it goes on from, or is part of; None for none.
        part: Whether the run is a part of its parent, because it began inside the parent.
        own: The time at which it would expire by itself.
    """

    run: str
    parent: str | None
    part: bool
    own: Expiry


def settled(runs: Iterable[Kin]) -> dict[str, Expiry]:
    """When each of some runs expires, with respect to the runs that they need.

    A fork, a resumption or a request reads the run that it continues, which also has the ledger of the writes. So a run
    stays as long as any run that continues it. A run that is a part of another expires with it.

    Args:
        runs: All runs that go on from, or are part of, one another.
    """
    known = {each.run: each for each in runs}
    found = {name: each.own for name, each in known.items()}
    order = _parents_first(known)
    for name in reversed(order):
        parent = known[name].parent
        if parent in found and _later(found[name], found[parent]):
            found[parent] = Expiry(found[name].at_us, f"run {tail(name)} needs it: {known[name].own.why}")
    for name in order:
        parent = known[name].parent
        if known[name].part and parent in found and _later(found[parent], found[name]):
            found[name] = Expiry(found[parent].at_us, f"it is part of run {tail(parent)}: {found[parent].why}")
    return found


def _parents_first(known: Mapping[str, Kin]) -> list[str]:
    order: dict[str, None] = {}
    for name in known:
        chain: dict[str, None] = {}
        at: str | None = name
        while at is not None and at in known and at not in order and at not in chain:
            chain[at] = None
            at = known[at].parent
        order.update(dict.fromkeys(reversed(chain)))
    return list(order)


def _later(one: Expiry, other: Expiry) -> bool:
    if one.at_us is None or other.at_us is None:
        return one.at_us is None and other.at_us is not None
    return one.at_us > other.at_us


def shortest_us(terms: Mapping[str, str]) -> int:
    """The shortest term of all classes. A younger run has not expired, except by a label."""
    spans = [span_us(text) for text in {**DEFAULTS, **terms}.values()]
    return min((span for span in spans if span is not None), default=DAY_US)
