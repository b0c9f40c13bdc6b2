"""Structural difference of two JSON-able values: the additions, removals and changes, and their places.

Lists are aligned by equal members, so that one inserted message does not change all later ones. The result can be shown
to people (``render``), and exported as an RFC 6902 patch that turns the left value into the right one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.lazy_regex import lazy_regex

Step = str | int
_ALIGNED = 1500
_FEW_WORDS = 4
_RELATED = 0.25
"""The least share of the longer text's words that both texts must have in common for a word diff."""
_WORDS = lazy_regex(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference.

    Attributes:
        kind: ``changed``, ``added`` or ``removed``.
        steps: The place in the left value (for an addition, in the right one).
        target: The place of this difference once all earlier differences are applied, as a patch needs it.
        left, right: The old and the new value; None for a missing one.
    """

    kind: Literal["changed", "added", "removed"]
    steps: tuple[Step, ...]
    target: tuple[Step, ...]
    left: Json = None
    right: Json = None

    @property
    def path(self) -> str:
        """The place as a JSON pointer with dots; empty for the whole value."""
        return dotted(self.steps)


def dotted(steps: Iterable[Step]) -> str:
    """A JSON pointer with dots instead of slashes: ``messages.3.content``; ``~1`` is a dot inside a name."""
    return ".".join(str(step).replace("~", "~0").replace(".", "~1") for step in steps)


def pointer(steps: Iterable[Step]) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def differences(left: Json, right: Json, limit: int = 1000) -> list[Difference]:
    """All differences in order, at most ``limit``. Numbers differ when their types do; objects have no order.

    The cost is linear in the size of both values, times the depth at which they differ; 200 messages take a few
    milliseconds.
    """
    found = []
    for difference in _walk(left, right, (), ()):
        found.append(difference)
        if len(found) >= limit:
            break
    return found


def first_difference(left: Json, right: Json) -> str:
    """The path of the first difference; empty when there is none, or when the whole values differ."""
    found = first(left, right)
    return found.path if found is not None else ""


def first(left: Json, right: Json) -> Difference | None:
    """The first difference, or None when there is none."""
    return next(_walk(left, right, (), ()), None)


def between(left: bytes, right: bytes, limit: int = 1000) -> list[Difference]:
    """Differences of two bodies: of their JSON where both are JSON, else of their lines as text."""
    if left == right:
        return []
    try:
        return differences(json.loads(left), json.loads(right), limit)
    except (ValueError, RecursionError):
        return differences(_lines(left), _lines(right), limit)


def patch(found: Iterable[Difference]) -> list[dict[str, Json]]:
    """An RFC 6902 patch that turns the left value into the right one (if no limit cut the list short)."""
    operations: list[dict[str, Json]] = []
    for difference in found:
        place = pointer(difference.target)
        if difference.kind == "removed":
            operations.append({"op": "remove", "path": place})
        else:
            verb = "add" if difference.kind == "added" else "replace"
            operations.append({"op": verb, "path": place, "value": difference.right})
    return operations


def render(found: Sequence[Difference], most: int = 5, width: int = 160) -> str:
    """A few lines for people: each difference on its own line, long texts cut down to the part that differs."""
    lines = []
    for difference in found[:most]:
        place = difference.path or "(whole)"
        if difference.kind == "changed":
            lines.append(f"~ {place}: {_change(difference.left, difference.right, width)}")
        elif difference.kind == "added":
            lines.append(f"+ {place}: {_brief(difference.right, width)}")
        else:
            lines.append(f"- {place}: {_brief(difference.left, width)}")
    if len(found) > most:
        lines.append(f"  and {len(found) - most} more")
    return "\n".join(lines)


def words(left: str, right: str) -> list[tuple[Literal["=", "-", "+"], str]]:
    """A word diff: what both texts share (``=``), what only the left has (``-``) and only the right (``+``). Texts with
    almost no common words are shown one after the other, because those few words would cut them into pieces."""
    before, after = _WORDS.findall(left), _WORDS.findall(right)
    start, end = _common(before, after)
    out: list[tuple[Literal["=", "-", "+"], str]] = []
    _say(out, "=", before[:start])
    middle, other = before[start : len(before) - end], after[start : len(after) - end]
    if max(len(middle), len(other)) > _ALIGNED:
        _say(out, "-", middle)
        _say(out, "+", other)
    else:
        for verb, a, b, c, d in SequenceMatcher(None, middle, other, autojunk=False).get_opcodes():
            if verb == "equal":
                _say(out, "=", middle[a:b])
            else:
                _say(out, "-", middle[a:b])
                _say(out, "+", other[c:d])
    _say(out, "=", before[len(before) - end :] if end else [])
    return out if _related(out, before, after) else [("-", left), ("+", right)]


def _related(out: Sequence[tuple[str, str]], before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether two texts share so many words that a word diff is easier to read than both texts in full."""
    most = max(sum(not word.isspace() for word in side) for side in (before, after))
    shared = sum(len(text.split()) for verb, text in out if verb == "=")
    return most < _FEW_WORDS or shared >= most * _RELATED


def _say(out: list[tuple[Literal["=", "-", "+"], str]], verb: Literal["=", "-", "+"], parts: Sequence[str]) -> None:
    if parts:
        out.append((verb, "".join(parts)))


def _lines(body: bytes) -> list[str]:
    return body.decode("utf-8", "backslashreplace").splitlines()


def _spelled(value: Json) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=repr)


def _walk(left: Json, right: Json, steps: tuple[Step, ...], target: tuple[Step, ...]) -> Iterator[Difference]:
    if isinstance(left, dict) and isinstance(right, dict):
        for name, value in left.items():
            if name not in right:
                yield Difference("removed", (*steps, name), (*target, name), value, None)
            else:
                yield from _walk(value, right[name], (*steps, name), (*target, name))
        for name, value in right.items():
            if name not in left:
                yield Difference("added", (*steps, name), (*target, name), None, value)
    elif isinstance(left, list) and isinstance(right, list):
        yield from _walk_lists(left, right, steps, target)
    elif type(left) is not type(right) or (left != right and _spelled(left) != _spelled(right)):
        yield Difference("changed", steps, target, left, right)


def _walk_lists(
    left: list[Json], right: list[Json], steps: tuple[Step, ...], target: tuple[Step, ...]
) -> Iterator[Difference]:
    before, after = [_spelled(item) for item in left], [_spelled(item) for item in right]
    start, end = _common(before, after)
    middle, other = before[start : len(before) - end], after[start : len(after) - end]
    if max(len(middle), len(other)) > _ALIGNED:
        moves = [("replace", 0, len(middle), 0, len(other))]
    else:
        moves = [tuple(move) for move in SequenceMatcher(None, middle, other, autojunk=False).get_opcodes()]  # type: ignore[misc]
    for verb, a, b, c, d in moves:
        if verb == "equal":
            continue
        first_left, first_right = start + a, start + c
        pairs = min(b - a, d - c)
        for n in range(pairs):
            old, new = left[first_left + n], right[first_right + n]
            yield from _walk(old, new, (*steps, first_left + n), (*target, first_right + n))
        # All members before are already equal to the right side, so each removal is at the same place.
        for n in range(pairs, b - a):
            yield Difference("removed", (*steps, first_left + n), (*target, first_right + pairs), left[first_left + n])
        for n in range(pairs, d - c):
            place = first_right + n
            yield Difference("added", (*steps, place), (*target, place), None, right[place])


def _common(left: Sequence[str], right: Sequence[str]) -> tuple[int, int]:
    """Lengths of the common start and, beyond it, of the common end."""
    most = min(len(left), len(right))
    start = 0
    while start < most and left[start] == right[start]:
        start += 1
    end = 0
    while end < most - start and left[-1 - end] == right[-1 - end]:
        end += 1
    return start, end


def _brief(value: Json, width: int) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= width else text[: width - 1] + "…"


def _change(left: Json, right: Json, width: int) -> str:
    if not (isinstance(left, str) and isinstance(right, str)) or len(left) + len(right) <= width:
        return f"{_brief(left, width // 2)} -> {_brief(right, width // 2)}"
    found = words(left, right)
    if not any(verb == "=" for verb, _ in found):
        return f"{_brief(left, width)} -> {_brief(right, width)}"
    pieces = []
    for verb, text in found:
        if verb == "=":
            pieces.append(text if len(text) <= 40 else f"{text[:18]}…{text[-18:]}")
        else:
            cut = text if len(text) <= width // 2 else text[: width // 2] + "…"
            pieces.append(f"[-{cut}-]" if verb == "-" else f"{{+{cut}+}}")
    line = "".join(pieces)
    at = max(0, min((line.find(mark) for mark in ("[-", "{+") if mark in line), default=0) - 40)
    return ("…" if at else "") + line[at : at + 2 * width] + ("…" if len(line) > at + 2 * width else "")


def parted(sides: tuple[Json, Json], tagged: Callable[[], tuple[Json, Json]]) -> tuple[str, Json, Json]:
    """The first place where two values differ, and both values there: with their types, if these differ.

    Args:
        sides: The values.
        tagged: Gives the same values, with a tag of its type on each part that JSON does not have.
    """
    path = first_difference(*sides)
    left, right = (value_at(each, path) for each in sides)
    if path and (type(left) is type(right) or None in (left, right)):
        return path, left, right
    sides = tagged()
    path = path or first_difference(*sides)
    left, right = (_with_type(value_at(each, path)) for each in sides)
    return path, left, right


def value_at(value: Json, path: str) -> Json:
    """The value at a pointer with dots; the whole value for an empty one, None where it leads nowhere."""
    node = value
    for part in [part for part in path.split(".") if part]:
        try:
            name = part.replace("~1", ".").replace("~0", "~")
            node = node[int(part)] if isinstance(node, list) else node[name]
        except (KeyError, IndexError, ValueError, TypeError):
            return None
    return node


def _with_type(value: Json) -> Json:
    """A value, written so that it cannot be taken for a value of another type."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case dict() if len(value) == 1 and (tag := next(iter(value))).startswith("~"):
            return f"{tag[1:]} {json.dumps(value[tag], ensure_ascii=False)}"
    return value
