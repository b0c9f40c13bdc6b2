"""Measuring a redactor on the corpus: what it misses, what it breaks, what it takes for a credential."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from reenact.facts.record import Record
from reenact.privacy import CredentialRedactor
from tests.privacy.corpus import Case
from tests.privacy.corpus_places import body

_WINDOW = 8
_LEAD = 13


@dataclass
class Measured:
    """What came of it: cases by kind and by place, and those that went wrong."""

    kinds: Counter[str] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)
    leaked: list[Case] = field(default_factory=list)
    broken: list[Case] = field(default_factory=list)
    unsteady: list[Case] = field(default_factory=list)

    def recall(self) -> float:
        """The part that was found."""
        return 1 - len(self.leaked) / max(1, self.kinds.total())

    def worst(self, of: str) -> dict[str, float]:
        """The part that was found, by ``kind`` or ``place``, the worst first."""
        all_of = self.kinds if of == "kind" else self.places
        lost = Counter(case.kind if of == "kind" else case.place.name for case in self.leaked)
        return dict(sorted(((name, 1 - lost[name] / all_of[name]) for name in all_of), key=lambda pair: pair[1]))


def cleaned(records: Iterable[Record]) -> list[Record]:
    """The records as they are kept."""
    redactor = CredentialRedactor(b"a secret of the corpus")
    out = [one for record in records for one in redactor.clean(record)]
    return [*out, *redactor.flush()]


def still_in(text: str, case: Case) -> bool:
    """Whether enough of a credential is left in a text to matter: any eight characters in a row of what is secret in
    it (what a vendor's keys begin with may stay)."""
    secret = case.secret if case.field != "note" else case.secret[_LEAD:]
    return any(secret[at : at + _WINDOW] in text for at in range(max(1, len(secret) - _WINDOW + 1)))


def measured(cases: Iterable[Case]) -> Measured:
    """Clean each case, read it again, clean it twice."""
    found = Measured()
    for case in cases:
        found.kinds[case.kind] += 1
        found.places[case.place.name] += 1
        records = case.place.records(case.field, case.secret)
        assert still_in(case.place.read(body(records)), case), case
        once = cleaned(records)
        try:
            if still_in(case.place.read(body(once)), case):
                found.leaked.append(case)
        except Exception:  # any reader may fail in its own way: the format is broken
            found.broken.append(case)
        if body(cleaned(once)) != body(once):
            found.unsteady.append(case)
    return found
