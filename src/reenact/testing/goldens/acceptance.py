"""Knows which differences of a golden were accepted, and makes the new golden when all are.

Pure. Decisions are kept in ``Golden.pending``, in the order of the run, until no difference is open; then all move into
the history. So the order of decisions, and the number of reviews, make no difference.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from reenact.errors import UsageError
from reenact.facts.lazy_dataclass import dataclass, field, replace
from reenact.testing.goldens.golden_differences import GoldenDifference
from reenact.testing.goldens.golden_history import HistoryEntry
from reenact.testing.goldens.golden_trace import Golden


@dataclass(frozen=True, slots=True)
class Reasons:
    """The differences that are accepted by options, without a question.

    Attributes:
        by_place: The reasons by place; a place may have the golden's name in front (``NAME:PLACE``).
        everything: The reason for all others; empty leaves them open.
    """

    by_place: Mapping[str, str] = field(default_factory=dict)
    everything: str = ""

    @classmethod
    def parse(cls, texts: Iterable[str], everything: str | None, option: str) -> Reasons:
        """The reasons of texts that are each ``PLACE=REASON`` or ``NAME:PLACE=REASON``.

        Raises:
            UsageError: A text has neither form, or gives no reason.
        """
        found: dict[str, str] = {}
        for text in texts:
            place, sign, reason = text.partition("=")
            if not (sign and place.strip() and reason.strip()) or reason.strip() == "REASON":  # as we propose it
                raise _no_reason(f"{option} {text}", option)
            found[place.strip()] = reason.strip()
        if everything is not None and not everything.strip():
            raise _no_reason(f"{option}-all", option)
        return cls(found, (everything or "").strip())

    def __bool__(self) -> bool:
        return bool(self.by_place or self.everything)

    @property
    def unnamed(self) -> tuple[str, ...]:
        """The places that name no golden."""
        return tuple(place for place in self.by_place if ":" not in place)

    def strange(self, names: Collection[str]) -> tuple[str, ...]:
        """The places that name a golden that is not among ``names``."""
        named = (place for place in self.by_place if ":" in place)
        return tuple(place for place in named if place.partition(":")[0] not in names)

    def of(self, name: str, differences: Sequence[GoldenDifference], left: Collection[str]) -> dict[str, str]:
        """The reasons for the differences of one golden, by place.

        Args:
            name: The golden's name.
            differences: All of them.
            left: The places that were not accepted before.

        Raises:
            UsageError: A place is named at which nothing differs.
        """
        prefix = f"{name}:"
        mine = {
            place.removeprefix(prefix): reason
            for place, reason in self.by_place.items()
            if ":" not in place or place.startswith(prefix)
        }
        known = {each.place for each in differences}
        for place in mine:
            if place not in known:
                raise UsageError(
                    f"nothing differs at {place} in golden {name}",
                    cause=f"the differences are at {', '.join(sorted(known, key=_in_order))}"
                    if known
                    else "it does not differ at all",
                    next_command=f"reenact golden run {name} --mode review",
                )
        if self.everything:
            mine = {**dict.fromkeys(left, self.everything), **mine}
        return {place: reason for place, reason in mine.items() if place in left}


NOTHING: Final = Reasons()
"""The reasons by which no difference is accepted."""


def _in_order(place: str) -> tuple[int, int, str]:
    digits = place.removeprefix("+")
    return (0 if place == digits else 1, int(digits) if digits.isdigit() else 1 << 60, place)


def _no_reason(text: str, option: str) -> UsageError:
    return UsageError(
        f"{text} gives no reason",
        cause=f"what is accepted is kept with its reason: {option} 7='the prompt names the shop'",
        next_command="reenact golden run --help",
    )


def accepted(differences: Sequence[GoldenDifference], pending: Iterable[HistoryEntry]) -> dict[str, HistoryEntry]:
    """The differences that were accepted before, by place. A decision holds for the same event of the golden with the
    same old and new content; for a new call, for any with the same request and answer."""
    waiting = list(pending)
    found: dict[str, HistoryEntry] = {}
    for exactly in (True, False):
        for each in differences:
            if each.place in found or not (exactly or each.event is None):
                continue
            change = next((one for one in waiting if _is_about(one, each, exactly=exactly)), None)
            if change is not None:
                waiting.remove(change)
                found[each.place] = change
    return found


def _is_about(change: HistoryEntry, each: GoldenDifference, *, exactly: bool) -> bool:
    same = (change.event, change.old, change.new, change.category) == (
        each.event,
        each.old,
        each.new,
        each.category.value,
    )
    in_place = each.event is not None or change.today == each.today
    return same and (in_place or not exactly)


def decided(
    golden: Golden, differences: Sequence[GoldenDifference], reasons: Mapping[str, str], at: str, revision: str
) -> Golden:
    """A golden with further decisions. Decisions on differences that are gone are dropped.

    Args:
        golden: The golden.
        differences: All differences, in the order of the run.
        reasons: The reasons, by the place of each difference that is accepted now.
        at: The time.
        revision: Revision of the code that is accepted.
    """
    before = accepted(differences, golden.pending)
    taken = []
    for each in differences:
        if each.place in before:
            taken.append(replace(before[each.place], today=each.today))
        elif each.place in reasons:
            taken.append(_decision(each, reasons[each.place], at, revision))
    return replace(golden, pending=tuple(taken))


def _decision(each: GoldenDifference, reason: str, at: str, revision: str) -> HistoryEntry:
    return HistoryEntry(
        at,
        "accepted",
        each.event,
        each.category.value,
        reason,
        today=each.today,
        call=each.call,
        old=each.old,
        new=each.new,
        revision=revision,
    )


def left_open(golden: Golden, differences: Sequence[GoldenDifference]) -> tuple[GoldenDifference, ...]:
    """The differences that are not accepted."""
    known = accepted(differences, golden.pending)
    return tuple(each for each in differences if each.place not in known)


def concluded(golden: Golden, at: str, revision: str, before: str, after: str) -> Golden:
    """A golden with all differences accepted: the decisions move into its history, and another run answers.

    Args:
        golden: The golden, with every decision pending.
        at: The time.
        revision: Revision of the code that was accepted.
        before, after: The ids of the answering run, before and from now on.
    """
    count = len(golden.pending)
    last = HistoryEntry(at, "reviewed", reason=f"{count} accepted", old=before, new=after, revision=revision)
    return replace(golden, history=(*golden.history, *golden.pending, last), pending=())
