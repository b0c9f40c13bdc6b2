"""Previews: recorded data as one short line that is safe to show.

Recorded text comes from models, tools and the web. It must not control a terminal or reorder a line, so control
characters, terminal sequences and bidirectional marks are shown as visible text, and the end of a line as ``⏎``.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from decimal import Decimal

from reenact.facts.call import Json

_SHORT_ESCAPES = {"\n": "⏎", "\r": "\\r", "\t": "\\t"}
"""The escapes of frequent characters. The end of a line is so frequent that ``\\n`` would hide the words after it."""
_UNITS = ("B", "kB", "MB", "GB", "TB")
_STEP = 1000
_DEPTH = 40
_LEAST = 12
"""The length to which an argument may be shortened if not even the short arguments fit."""
_SHORT = 16
"""The length up to which an argument stays whole while longer ones can be shortened."""
_STARRED = ("kw", "kwargs", "kwds")


def safe(text: str) -> str:
    """The text on one line, with everything that is not plain shown as an escape."""
    if text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    if char in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[char]
    if char.isprintable():
        return char
    if unicodedata.category(char) == "Zs":
        return " "
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def clip(text: str, width: int) -> str:
    """At most ``width`` characters, the last of them an ellipsis where something is missing."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def brief(value: Json, width: int) -> str:
    """Any JSON-able value as one safe line of at most ``width`` characters."""
    if isinstance(value, bytes):
        return f"<{size(len(value))}>"
    return clip(safe(json.dumps(_shallow(value, width, 0), ensure_ascii=False, default=str)), width)


def _shallow(value: Json, width: int, depth: int) -> Json:
    """As much of a value as ``width`` characters can show, so that the cost does not grow with the value."""
    if depth > _DEPTH:
        return "…"
    if isinstance(value, str):
        return value[: width + 1].replace("\n", _SHORT_ESCAPES["\n"])
    if isinstance(value, Mapping):
        return {str(key)[: width + 1]: _shallow(part, width, depth + 1) for key, part in list(value.items())[:width]}
    if isinstance(value, (list, tuple)):
        return [_shallow(part, width, depth + 1) for part in value[:width]]
    return value


def call_text(name: str, arguments: Json, width: int) -> str:
    """A call in source form: ``search_docs(query="refund policy")``. If they do not fit, the longest arguments are
    shortened. Short ones, which often identify the call, stay whole."""
    called = safe(name)
    room = width - len(called) - 2
    return clip(f"{called}({', '.join(fitted(_written(arguments, max(room, 1)), room))})", width)


def _written(arguments: Json, width: int) -> list[str]:
    """Each argument as text; an argument of ``**kw`` under its own name."""
    if isinstance(arguments, Mapping) and arguments.keys() == {"args", "kwargs"}:
        both = [_written(arguments[name], width) for name in ("args", "kwargs")]
        return [text for texts in both for text in texts]
    if isinstance(arguments, Mapping):
        texts = []
        for key, part in list(arguments.items())[:width]:
            if key in _STARRED and isinstance(part, Mapping):
                texts += _written(part, width)
            else:
                texts.append(f"{clip(safe(str(key)), width)}={brief(part, width)}")
        return texts
    if isinstance(arguments, (list, tuple)):
        return [brief(part, width) for part in arguments[:width]]
    return [] if arguments in (None, "") else [brief(arguments, width)]


def fitted(texts: Sequence[str], room: int) -> list[str]:
    """Texts side by side with two characters between them; if they do not fit, the long ones are shortened first, then
    the short ones."""
    spare = room - 2 * (len(texts) - 1)
    if sum(map(len, texts)) <= spare:
        return list(texts)
    long = [text for text in texts if len(text) > _SHORT]
    left = spare - sum(len(text) for text in texts if len(text) <= _SHORT)
    if left >= 2 * len(long):
        most = _level([len(text) for text in long], left, 2)
        return [text if len(text) <= _SHORT else clip(text, most) for text in texts]
    most = _level([len(text) for text in texts], spare)
    return [clip(text, most) for text in texts]


def _level(lengths: Sequence[int], room: int, least: int = _LEAST) -> int:
    """The most characters for each text, so that all of them fit."""
    rising = sorted(lengths)
    for n, length in enumerate(rising):
        share = room // (len(rising) - n)
        if length > share:
            return max(share, least)
        room -= length
    return max(rising, default=least)


def size(count: int) -> str:
    """A number of bytes for people: ``12.3 kB``."""
    amount = float(count)
    for unit in _UNITS[:-1]:
        if amount < _STEP:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= _STEP
    return f"{amount:.1f} {_UNITS[-1]}"


def amount(dollars: Decimal) -> str:
    """An amount of money for people, all its digits and no more: ``0.00315``."""
    return f"{dollars.normalize():f}"


def duration(microseconds: int | None) -> str:
    """A stretch of time for people: ``840 µs``, ``12 ms``, ``2.8 s``, ``3 min 5 s``."""
    if microseconds is None:
        return "-"
    milliseconds = microseconds / 1000
    seconds = milliseconds / 1000
    if milliseconds < 1:
        return f"{microseconds} µs"
    if milliseconds < 999.5:
        return f"{milliseconds:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def ago(microseconds: int) -> str:
    """The age of something, coarsely: ``now``, ``2 min``, ``1 h``, ``3 d``."""
    seconds = microseconds // 1_000_000
    for limit, unit, name in ((60, 1, "s"), (3600, 60, "min"), (86_400, 3600, "h")):
        if seconds < limit:
            return f"{max(seconds, 0) // unit} {name}" if seconds >= 1 else "now"
    return f"{seconds // 86_400} d"
