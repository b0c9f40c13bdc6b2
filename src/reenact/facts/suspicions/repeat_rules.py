"""Rules about repeated calls: a call that is made again, a call that is made again after an empty result, a loop."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from reenact.facts.call import Json
from reenact.facts.rounds import FEWEST_ROUNDS, rounds_at
from reenact.facts.suspicions.event_rules import tool_failed
from reenact.facts.suspicions.run_course import UNREAD, Act, Course, Sort, Suspicion

_TOO_MANY: Final = 429
_BROKEN: Final = 500
_NOTHING: Final = frozenset(
    {"", "[]", "{}", "null", "none", "no results", "no results found", "no matches found", "not found", "no data"}
)


def repeat(course: Course) -> Iterator[Suspicion]:
    """Calls of one strand that repeat an earlier request. A call after a failed one is a retry, and a read with a new
    answer is a poll. Neither is marked."""
    for act, before, first in _again(course):
        if not is_empty(before.result) and (act.writes or not (act.came and before.came) or act.came == before.came):
            yield Suspicion(act.event, "repeat", f"the same as #{first}")


def empty_repeat(course: Course) -> Iterator[Suspicion]:
    """Calls that repeat a request after its result was empty."""
    for act, before, first in _again(course):
        if before.sort is Sort.TOOL and is_empty(before.result):
            yield Suspicion(act.event, "empty-repeat", f"the same as #{first}, whose result was empty")


def _again(course: Course) -> Iterator[tuple[Act, Act, int]]:
    """Each call that repeats an earlier, successful call of its strand, with that earlier call and the number of the
    first equal call."""
    seen: dict[tuple[str, str, str, str], tuple[Act, int]] = {}
    for act in course.acts:
        if not act.key or act.quiet or act.observed:
            continue
        same = (act.strand, act.kind, act.name, act.key)
        before, first = seen.get(same, (None, act.event))
        seen[same] = (act, first)
        if before is not None and not _failed(before):
            yield act, before, first


def loop(course: Course) -> Iterator[Suspicion]:
    """Patterns of up to six calls that one strand makes three or more times in a row; marked where they begin again."""
    strands: dict[str, list[Act]] = {}
    for act in course.acts:
        if not act.quiet and not act.observed:
            strands.setdefault(act.strand, []).append(act)
    for acts in strands.values():
        signatures = [signature(act) for act in acts]
        at = 0
        while at < len(acts):
            length, times = rounds_at(signatures, at)
            if times >= FEWEST_ROUNDS:
                yield Suspicion(acts[at + length].event, "loop", f"a loop: {times} rounds")
            at += length * times


def signature(act: Act) -> tuple[str, ...]:
    """The signature by which two acts of a loop are the same: for a model its decision, because the conversation grows.
    A call that was refused only for the moment has a signature of its own."""
    unreached = act.error and act.kind in ("http", "model")
    if unreached or act.ending or act.status == _TOO_MANY or (act.status or 0) >= _BROKEN:
        return (act.kind, act.name, f"#{act.event}")  # unique, because the next call is a retry
    said = act.said
    if said is not None and (said.calls or said.text):
        decision = json.dumps([said.calls, said.text], default=str)
        return ("model", said.answered or said.asked or act.name, decision)
    return (act.kind, act.name, act.key or f"#{act.event}")


def is_empty(result: Json) -> bool:
    """Whether a result is empty: it has only zeros, and texts that say that there is nothing."""
    if result is UNREAD:
        return False
    if isinstance(result, Mapping):
        return all(is_empty(each) for each in result.values())
    if isinstance(result, (list, tuple)):
        return all(is_empty(each) for each in result)
    if isinstance(result, str):
        return result.strip().strip(".").lower() in _NOTHING
    return result is None or (result == 0 and not isinstance(result, bool))


def _failed(act: Act) -> bool:
    return bool(act.error or act.ending or not act.answered or tool_failed(act)) or (act.status or 0) >= 400
