"""The traits that members of a group share more often than healthy runs of the same agents. Pure.

Traits are compared one by one; then the conspicuous ones in pairs, because a cause may be one model at one hour. All
comparisons of a triage are corrected together (``facts.association``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from itertools import combinations
from typing import Final

from reenact.facts.association import LEVEL, Association, corrected
from reenact.facts.call import Json
from reenact.facts.features import Case, Features, names_suspicions
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.triage.featured_runs import EndedRun
from reenact.triage.groups import RunGroup

LEAST: Final = 5
"""The least number of members of a group that is compared."""
MOST: Final = 6
"""The most traits that a group is said to share."""

_WITH: Final = 3
"""The least number of members that have a trait that is compared."""
_PAIRED: Final = 6
"""The number of conspicuous traits that are compared in pairs."""
_EXAMINED: Final = frozenset(("missing", "suspicion"))
"""Sorts of traits that are known only when the whole run was examined. Cold runs do not count for these traits: all
cold runs are examined and only some others, so that cold runs would outweigh them."""
_IN_BODIES: Final = frozenset(("tool's answer", "prompt version"))
"""Sorts of traits that are not known of a thinned run."""
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Trait = tuple[str, str]
"""The sort of a trait, and its value: ``("tenant", "acme")``."""


@dataclass(frozen=True, slots=True)
class Share:
    """A trait that members of a group share.

    Attributes:
        traits: One trait, or two that come together.
        found: The frequency of the traits.
        q: The corrected p-value of this frequency.
        same: Traits that exactly as many members and healthy runs have.
    """

    traits: tuple[Trait, ...]
    found: Association
    q: float = 1.0
    same: tuple[Trait, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """As JSON-able data."""
        low, high = self.found.interval
        return {
            "traits": [{"name": name, "value": value} for name, value in self.traits],
            "same": [{"name": name, "value": value} for name, value in self.same],
            "members": self.found.among, "of": self.found.of,
            "healthy": self.found.healthy, "healthy_of": self.found.healthy_of,
            "lift": self.found.lift, "interval": [low, high], "p": self.found.p, "q": self.q,
        }  # fmt: skip


class RunTraits:
    """The traits of runs.

    Args:
        zone: The time zone for hours and days of the week.
    """

    def __init__(self, zone: tzinfo = UTC) -> None:
        self._zone = zone
        self._moment = cache(self._at_hour)
        self._kept: dict[int, tuple[Features, tuple[Trait, ...]]] = {}

    def of(self, run: EndedRun) -> Iterator[Trait]:
        """Every trait of a run. Facts that many runs share in the store are computed once."""
        kept = self._kept.get(id(run.features))
        if kept is None:
            kept = self._kept[id(run.features)] = (run.features, tuple(_of_features(run.features)))
        yield from kept[1]
        yield from self._moment(run.started_us // 3_600_000_000)
        if run.tenant is not None:
            yield "tenant", run.tenant
        if run.user is not None:
            yield "user", run.user

    def _at_hour(self, hours: int) -> tuple[Trait, ...]:
        try:
            at = (_EPOCH + timedelta(hours=hours)).astimezone(self._zone)
        except OverflowError:
            return ()
        return ("hour", f"{at:%H}:00"), ("weekday", _DAYS[at.weekday()])


def _of_features(features: Features) -> Iterator[Trait]:
    for name, values in (
        ("model asked", features.asked),
        ("model answered", features.answered),
        ("tool", features.tools),
        ("tool's answer", (shape for shape in features.shapes if not _tells_the_end(shape))),
        ("prompt version", features.prompts),
        ("tools offered", features.schemas),
        ("missing", features.lacks or ()),
        ("suspicion", features.suspicions or ()),
        ("commit", (features.commit,)),
        ("agent version", (features.version,)),
    ):
        yield from ((name, value) for value in values if value)


def _tells_the_end(shape: str) -> bool:
    """Whether the form of an answer means that a call failed: such a trait is the failure itself, and not its cause."""
    return " raises " in shape or " status " in shape


_ORDER: Final = (
    *("tenant", "model asked", "model answered", "hour", "weekday", "prompt version", "tools offered", "tool's answer"),
    *("commit", "agent version", "missing", "user", "tool", "suspicion"),
)


def shared(groups: Sequence[RunGroup], healthy: Iterable[EndedRun], zone: tzinfo = UTC) -> dict[str, tuple[Share, ...]]:
    """The traits that the members of each group share, the strongest evidence first, by fingerprint.

    Args:
        groups: The groups; those of fewer than five members are not compared.
        healthy: Healthy runs (``EndedRun.healthy``). A group of cold runs is compared with those that are not cold.
        zone: The time zone for hours and weekdays.

    Returns:
        Only traits that are more common than among healthy runs of the same agents, with a corrected p-value below 5 %.
        Two traits form a pair if both qualify alone, and the pair is stronger. Empty where there is no healthy run.
    """
    traits = RunTraits(zone)
    large = [group for group in groups if len(group.members) >= LEAST]
    agents = {group.fingerprint: _agents(group) for group in large}
    among = {group.fingerprint: _counted(group.members, traits) for group in large}
    wanted = {trait for counts in among.values() for trait, count in counts.items() if count >= _WITH}
    having = _healthy(healthy, {agent for each in agents.values() for agent in each}, wanted, traits)
    tried: dict[str, list[Share]] = {}
    for group in large:
        name = group.fingerprint
        tried[name] = list(_singles(group, among[name], having, agents[name]))
        tried[name] += _pairs(group, tried[name], having, agents[name], traits)
    every = [share for each in tried.values() for share in each]
    q = iter(corrected([share.found.p for share in every]))
    return {name: _told([replace(share, q=next(q)) for share in each]) for name, each in tried.items()}


class _Healthy:
    """Some healthy runs: how many there are, and for each wanted trait the numbers of the runs that have it.

    Args:
        unknown: Sorts of traits that do not count here.
    """

    def __init__(self, unknown: frozenset[str]) -> None:
        self._unknown = unknown
        self._runs = 0
        self._examined = 0
        self.rows: dict[Trait, set[int]] = {}

    def add(self, number: int, run: EndedRun, traits: Iterable[Trait]) -> None:
        """Count a run, by its number."""
        self._runs += 1
        self._examined += run.features.lacks is not None
        for trait in traits:
            if trait[0] not in self._unknown:
                self.rows.setdefault(trait, set()).add(number)

    def known(self, sort: str) -> int:
        """The number of runs of which it is known whether they have a trait of a sort."""
        return 0 if sort in self._unknown else self._examined if sort in _EXAMINED else self._runs


_HealthyOf = Mapping[tuple[str, bool, bool], _Healthy]
"""Healthy runs by agent, by whether they are cold, and by whether they are thinned."""


def _healthy(runs: Iterable[EndedRun], agents: set[str], wanted: set[Trait], traits: RunTraits) -> _HealthyOf:
    found: dict[tuple[str, bool, bool], _Healthy] = {}
    for number, run in enumerate(runs):
        if run.agent not in agents:
            continue
        key = (run.agent, run.cold, run.features.thinned)
        if key not in found:
            found[key] = _Healthy((_EXAMINED if run.cold else frozenset()) | (_IN_BODIES if key[2] else frozenset()))
        found[key].add(number, run, (trait for trait in traits.of(run) if trait in wanted))
    return found


def _beside(group: RunGroup, having: _HealthyOf, agents: Iterable[str]) -> list[_Healthy]:
    """The healthy runs that a group is compared with. Healthy cold runs are among them, because without them the cause
    of coldness would look like a cause of failures."""
    among = set(agents)
    return [
        one for (agent, cold, _), one in having.items() if agent in among and not (cold and group.case is Case.COLD)
    ]


def _agents(group: RunGroup) -> tuple[str, ...]:
    return tuple(sorted({member.agent for member in group.members}))


def _counted(members: Iterable[EndedRun], traits: RunTraits) -> Counter[Trait]:
    return Counter(trait for member in members for trait in dict.fromkeys(traits.of(member)))


def _of(kind: str, members: Iterable[EndedRun], healthy: Iterable[_Healthy]) -> tuple[int, int]:
    """The number of members and healthy runs of which it is known whether they have a trait of a kind."""
    if kind in _EXAMINED:
        return sum(one.features.lacks is not None for one in members), sum(each.known(kind) for each in healthy)
    return sum(1 for _ in members), sum(each.known(kind) for each in healthy)


def _singles(group: RunGroup, counts: Counter[Trait], having: _HealthyOf, agents: Iterable[str]) -> Iterator[Share]:
    healthy = _beside(group, having, agents)
    first = group.members[0].features  # every member has the traits of the fingerprint, so they explain nothing
    own = {("suspicion", kind) for kind in first.suspicions or () if names_suspicions(group.case, first)}
    if group.case is Case.COLD:
        own |= {("missing", item) for item in group.members[0].features.cold or ()}
    totals: dict[str, tuple[int, int]] = {}
    for trait, count in counts.items():
        if count < _WITH or trait in own:
            continue
        if trait[0] not in totals:
            totals[trait[0]] = _of(trait[0], group.members, healthy)
        of, healthy_of = totals[trait[0]]
        if healthy_of:
            others = sum(len(each.rows.get(trait, ())) for each in healthy)
            yield Share((trait,), Association(count, of, others, healthy_of))


def _pairs(
    group: RunGroup, singles: Sequence[Share], having: _HealthyOf, agents: Iterable[str], traits: RunTraits
) -> Iterator[Share]:
    """The conspicuous traits in pairs, where a pair is stronger than each alone."""
    healthy = _beside(group, having, agents)
    bound = LEVEL / max(len(singles), 1)
    ahead = sorted((share for share in singles if share.found.p < bound), key=_strength)[:_PAIRED]
    if len(ahead) < 2:
        return
    rows = [set(traits.of(member)) for member in group.members]
    for one, two in combinations(ahead, 2):
        both = (one.traits[0], two.traits[0])
        if both[0][0] == both[1][0]:
            continue
        among = sum(both[0] in row and both[1] in row for row in rows)
        others = sum(len(each.rows.get(both[0], set()) & each.rows.get(both[1], set())) for each in healthy)
        of, healthy_of = min(one.found.of, two.found.of), min(one.found.healthy_of, two.found.healthy_of)
        pair = Share(both, Association(among, of, others, healthy_of))
        if (
            among >= _WITH
            and pair.found.p < min(one.found.p, two.found.p)
            and others < min(one.found.healthy, two.found.healthy)
        ):
            yield pair


def _strength(share: Share) -> tuple[float, float, int, tuple[Trait, ...]]:
    """The sort key: the strongest evidence first; of equal evidence the larger lift, then the likelier cause."""
    return share.found.p, -share.found.lift, _ORDER.index(share.traits[0][0]), share.traits


def _told(shares: list[Share]) -> tuple[Share, ...]:
    """The conspicuous traits; of traits with exactly the same runs, one is named, with the others beside it."""
    found: list[Share] = []
    for share in sorted(shares, key=_strength):
        if share.q >= LEVEL or share.found.interval[0] <= 1:
            continue
        twin = next((n for n, each in enumerate(found) if each.found == share.found and len(each.traits) == 1), None)
        if twin is not None and len(share.traits) == 1:
            found[twin] = replace(found[twin], same=(*found[twin].same, *share.traits))
        else:
            found.append(share)
    return tuple(found[:MOST])
