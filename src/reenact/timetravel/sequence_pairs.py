"""Pairs the equal tokens of two sequences: as many as keep their order on both sides. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence

_MOST_EDITS = 200
"""Most edits between two stretches that are looked for exactly; the time grows with their square."""


def matched(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of equal tokens that keep their order on both sides, as many as can be found.

    Up to a limit of edits, the pairs are those of a shortest edit script. Beyond this limit, the
    sequences are cut at tokens that occur once on each side. If there are none, equal tokens are paired as they come.
    """
    out: list[tuple[int, int]] = []
    pending = [(0, len(left), 0, len(right))]
    while pending:
        start, end, there, limit = pending.pop()
        while start < end and there < limit and left[start] == right[there]:
            out.append((start, there))
            start, there = start + 1, there + 1
        while start < end and there < limit and left[end - 1] == right[limit - 1]:
            end, limit = end - 1, limit - 1
            out.append((end, limit))
        if start == end or there == limit:
            continue
        ours, theirs = left[start:end], right[there:limit]
        exact = _shortest(ours, theirs)
        anchors = _anchors(ours, theirs) if exact is None else []
        if not anchors:
            found = _greedy(ours, theirs) if exact is None else exact
            out.extend((start + one, there + other) for one, other in found)
            continue
        at = (start, there)
        for one, other in anchors:
            out.append((start + one, there + other))
            pending.append((at[0], start + one, at[1], there + other))
            at = (start + one + 1, there + other + 1)
        pending.append((at[0], end, at[1], limit))
    return sorted(out)


def _anchors(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Tokens that occur once on each side, as many as keep their order (a patience diff)."""
    once: dict[str, list[int]] = {}
    for side, tokens in enumerate((left, right)):
        for n, token in enumerate(tokens):
            counts = once.setdefault(token, [0, 0, 0, 0])
            counts[side] += 1
            counts[2 + side] = n
    places = [(at, there) for one, other, at, there in once.values() if one == other == 1]
    places.sort()
    tails: list[int] = []
    chain: list[int] = []
    before: list[int] = []
    for n, (_, there) in enumerate(places):
        k = bisect_left(tails, there)
        before.append(chain[k - 1] if k else -1)
        tails[k : k + 1] = [there]
        chain[k : k + 1] = [n]
    out = []
    n = chain[-1] if chain else -1
    while n >= 0:
        out.append(places[n])
        n = before[n]
    return out[::-1]


def _shortest(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]] | None:
    """The equal tokens of a shortest edit script (Myers' algorithm); None beyond ``_MOST_EDITS``."""
    furthest = {1: 0}
    trail = []
    for edits in range(min(len(left) + len(right), _MOST_EDITS) + 1):
        trail.append(dict(furthest))
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (
                diagonal != edits and furthest.get(diagonal - 1, -1) < furthest.get(diagonal + 1, -1)
            )
            at = furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1
            there = at - diagonal
            while at < len(left) and 0 <= there < len(right) and left[at] == right[there]:
                at, there = at + 1, there + 1
            furthest[diagonal] = at
            if at >= len(left) and there >= len(right):
                return _walked_back(trail, len(left), len(right))
    return None


def _walked_back(trail: Sequence[Mapping[int, int]], at: int, there: int) -> list[tuple[int, int]]:
    """The matches on the way that led to the end."""
    out = []
    for edits in range(len(trail) - 1, -1, -1):
        furthest = trail[edits]
        diagonal = at - there
        down = diagonal == -edits or (
            diagonal != edits and furthest.get(diagonal - 1, -1) < furthest.get(diagonal + 1, -1)
        )
        came = diagonal + 1 if down else diagonal - 1
        from_at = furthest[came] if edits else 0
        from_there = from_at - came if edits else 0
        while at > from_at and there > from_there and at > 0 and there > 0:
            at, there = at - 1, there - 1
            out.append((at, there))
        at, there = from_at, from_there
    return out[::-1]


def _greedy(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """For each token the next equal token that is not far away."""
    places: dict[str, list[int]] = defaultdict(list)
    for n, token in enumerate(right):
        places[token].append(n)
    out = []
    there = 0
    for at, token in enumerate(left):
        known = places.get(token, ())
        n = bisect_left(known, there)
        if n < len(known) and known[n] - there <= _MOST_EDITS:
            out.append((at, known[n]))
            there = known[n] + 1
    return out
