"""The values that the gate of a run has removed: they are searched, as text, in all later data of the run.

The values exist only in the memory of the process. For other processes only digests are kept
(``facts.removed_digests``).
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Final
from urllib.parse import unquote_to_bytes
from weakref import WeakValueDictionary

from reenact.abc.sources import ENTROPY
from reenact.abc.store import Store
from reenact.errors import ReenactError
from reenact.facts.credentials import SHORTEST, CredentialSort, constant
from reenact.facts.guess_cost import is_sought
from reenact.facts.lazy_dataclass import replace
from reenact.facts.record import EvidenceNoted
from reenact.facts.removed_digests import NOTHING, REMOVED, RemovedDigests, entry, is_token, listed, noted, runs, tokens
from reenact.facts.run import Run
from reenact.facts.text_spans import CredentialSpan, apart, replaced

MOST: Final = 64
"""The number of last values that are searched anywhere in a text; earlier ones are found as whole tokens."""
_LONGEST: Final = 16 << 10
_SHORT: Final = 8 << 10
_ALONE: Final = 12
"""A value shorter than this is found only without a letter or digit beside it, because it may occur by chance."""
_KEY: Final = ENTROPY.bytes(16)
_NEVER: Final = frozenset({CredentialSort.VALUE.value})
"""Sorts of values that are not added, because they are known by value anyway."""


class RemovedValues:
    """The values that were removed in one run.

    Args:
        before: The values that are known by digest; their key is this run's too.
        above: The removed values of the run in this process that this run continues.
        kept: Whether a list of these values is kept with the run.
    """

    __slots__ = (
        "__weakref__",
        *("_above", "_entries", "_fresh", "_kept", "_known", "_own", "_older", "_sizes", "_told", "_values"),
        "key",
    )

    def __init__(
        self, before: RemovedDigests = NOTHING, above: RemovedValues | None = None, *, kept: bool = False
    ) -> None:
        self.key: bytes = above.key if above is not None else before.key or (ENTROPY.bytes(16) if kept else b"")
        self._own = b""
        self._above = above
        self._kept = kept
        self._known: dict[bytes, str] = {}
        self._values: tuple[tuple[bytes, str], ...] = ()
        self._older: dict[bytes, str] = {}
        self._sizes: frozenset[int] = frozenset()
        self._entries = dict.fromkeys(before.entries)
        self._fresh = list(before.entries)
        self._told = 0

    def __bool__(self) -> bool:
        return bool(self._values) or bool(self._above)

    def _candidates(self, data: bytes) -> list[tuple[bytes, str]]:
        """The values that occur in a long text, each found by a search in memory. A long value is searched only in
        parts that are as long without a word break. Fifty values cost 5 ms for a MiB of prose, and 20 ms for text
        without breaks."""
        long = [each for each in self._values if len(each[0]) >= _ALONE and is_token(each[0])]
        if not long:
            return [each for each in self._values if each[0] in data]
        near = b" ".join([data[start:end] for start, end in runs(data, min(len(value) for value, _ in long))])
        within = {value for value, _ in long}
        return [each for each in self._values if each[0] in (near if each[0] in within else data)]

    @property
    def mark(self) -> bytes:
        """Bytes that change with each added value; empty while there is none."""
        return self._own if self._above is None else self._own + self._above.mark

    def add(self, value: bytes, sort: str) -> None:
        """Add a removed value. Cheap for a known value; two threads may call it."""
        if value in self._known or sort in _NEVER or not SHORTEST // 2 <= len(value) <= _LONGEST:
            return
        if not is_sought(value):
            return
        for each in _spellings(value):
            self._add(each, sort)

    def _add(self, value: bytes, sort: str) -> None:
        self._known[value] = sort
        values = (*self._values, (value, sort))
        if len(values) > MOST:
            (oldest, its_sort), *values = values  # type: ignore[assignment]  # the rest is a list until it is stored below
            if is_token(oldest):
                self._older = {**self._older, oldest: its_sort}
                self._sizes |= {len(oldest)}
        self._values = tuple(values)
        self._own = blake2b(self._own + value, digest_size=16, key=_KEY).digest()
        if self._kept and (told := entry(self.key, sort, value)) and told not in self._entries:
            self._entries[told] = None
            self._fresh.append(told)

    def spans(self, data: bytes) -> list[CredentialSpan]:
        """The places of the values in ``data``, in the order of the values; empty where it holds none."""
        found = [] if self._above is None else self._above.spans(data)
        for value, sort in self._values if len(data) < _SHORT else self._candidates(data):
            size = len(value)
            at = data.find(value)
            while at >= 0:
                if size >= _ALONE or not (data[at - 1 : at].isalnum() or data[at + size : at + size + 1].isalnum()):
                    found.append(CredentialSpan(at, at + size, sort))
                at = data.find(value, at + size)
        if self._older:
            found += [CredentialSpan(*each) for each in tokens(data, self._sizes, self._older.get)]
        return found

    def joined(
        self, data: bytes, found: list[CredentialSpan], seams: Sequence[int] | None = None
    ) -> list[CredentialSpan]:
        """The findings in ``data`` by name or shape, and the further places of removed values; with ``seams``, only
        those of these places that lie across a seam."""
        if not self:
            return found
        spans = self.spans(data)
        if seams is not None:
            spans = [span for span in spans if bisect_right(seams, span.start) < bisect_left(seams, span.end)]
        return apart([*found, *spans]) if spans else found

    def erased(self, data: bytes) -> bytes:
        """A printed text with the constant of its class in place of each value, as in the output of a recording."""
        found = apart(self.spans(data)) if self else []
        return replaced(data, found, lambda _, span: constant(span.sort)) if found else data

    def values(self) -> list[bytes]:
        """All values that are known as text."""
        return [*self._known, *([] if self._above is None else self._above.values())]

    def entries_under(self, key: bytes) -> list[str]:
        """The entries that the values have in a list with this key."""
        return [told for value, sort in self._known.items() if (told := entry(key, sort, value))]

    # -- what is kept of them ---------------------------------------------------------------------------------------

    @property
    def has_fresh(self) -> bool:
        """Whether there are entries for values that ``notes`` has not yet returned."""
        return bool(self._fresh)

    def notes(self) -> tuple[EvidenceNoted, ...]:
        """The notes for the run on the values that were added since the last call."""
        if not self._fresh:
            return ()
        fresh, self._fresh = self._fresh, []
        self._told += 1
        return (EvidenceNoted(None, f"{REMOVED}#{self._told}", RemovedDigests(self.key, fresh).to_json()),)

    def kept_with(self, run: Run) -> Run:
        """A run at its end, with the list of removed values."""
        return replace(run, capture={**run.capture, REMOVED: self.listed.to_json()}) if self._entries else run

    @property
    def listed(self) -> RemovedDigests:
        """The list of values that may be kept, as digests."""
        return RemovedDigests(self.key, self._entries) if self._entries else NOTHING


_UNDER_WAY: WeakValueDictionary[str, RemovedValues] = WeakValueDictionary()
"""The removed values of each run under way, for runs that begin inside it in this process."""


def removed_before(run: Run, store: Store, *, kept: bool = True) -> tuple[RemovedDigests, RemovedValues]:
    """The values that were removed from the run that this run continues: as digests, or within this process as values.

    Args:
        run: The run that begins.
        store: The store of both runs.
        kept: Whether a list is kept with the run.
    """
    above = _UNDER_WAY.get(run.parent) if run.parent else None
    before = listed(run.capture.get(REMOVED))
    if above is None and not before and run.parent and kept:
        with suppress(ReenactError):  # the parent is in another store
            parent = store.open(run.parent)
            before = listed(parent.run.capture.get(REMOVED)) or noted(parent.notes(None))
    removed = RemovedValues(before, above, kept=kept)
    _UNDER_WAY[run.id] = removed
    return before, removed


def _spellings(value: bytes) -> list[bytes]:
    """A value in its original spelling, and in those of other formats."""
    found = [value]
    if b"\\" in value:
        try:
            found.append(str(json.loads(b'"' + value + b'"')).encode("utf-8", "surrogatepass"))
        except ValueError:
            pass
    elif b"%" in value:
        found.append(unquote_to_bytes(value))
    elif b'"' in value:
        found.append(json.dumps(value.decode("utf-8", "replace"))[1:-1].encode())
    return [each for each in dict.fromkeys(found) if len(each) >= SHORTEST // 2]
