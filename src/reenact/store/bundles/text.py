"""A bundle as text for a review: requests and answers, one fact on each line, so that a diff shows the changes.

Times, the order of turns and packed reads are left out: they differ between two recordings of the same behaviour. The
digest at the top differs whenever any part of the bundle differs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from reenact.facts.call import Json
from reenact.store.bundles.archive import WRITTEN
from reenact.store.bundles.bundle_reader import lines_of, read_bundle
from reenact.store.bundles.bundle_writer import member_name

_FOLDED: Final = frozenset({"order", "reads"})
_TITLE: Final = ("kind", "effect", "name")
_DROPPED: Final = frozenset(
    {"is", "at_us", "delivery", "lane", "position", "event", "parent", "source", "channel", "ordinal", "rule"}
)
_RUN: Final = (
    "agent",
    "version",
    "status",
    "error",
    "user",
    "tenant",
    "session",
    "tags",
    "flag",
    "entry",
    "exit_status",
)
_STEP: Final = "  "
_DEEPEST: Final = 40


def text_of(path: Path) -> Iterator[str]:
    """The lines of the text. Control characters are escaped, so that recorded text cannot control a terminal.

    Raises:
        UsageError, StoreError: See ``read_bundle``.
    """
    bundle = read_bundle(path)
    yield f"reenact bundle, format {WRITTEN}, content {bundle.digest}"
    if bundle.golden is not None:
        yield ""
        yield "golden"
        yield from _value("", bundle.golden, _STEP)
    runs = {member_name(number, each.role): each for number, each in enumerate(bundle.runs)}
    member = ""
    for name, line in lines_of(path):
        if name != member:
            member = name
            yield ""
            yield f"{runs[name].role}: run {runs[name].run.id}"
        if line["is"] not in _FOLDED:
            yield from _record(line)


def _record(line: Mapping[str, Json]) -> Iterator[str]:
    what = line["is"]
    if what in ("run", "run-end"):
        yield "begins" if what == "run" else "ends"
        for name in _RUN:
            if line["run"].get(name) not in (None, "", {}, []):
                yield from _value(name, line["run"][name], _STEP)
        return
    event = f"#{line['event']} " if line.get("event") is not None else ""
    title = [str(line[name]) for name in _TITLE] if what == "call" else []
    yield _safe(" ".join([event + what, *title]))
    for name, value in line.items():
        if name not in _DROPPED and not (what == "call" and name in _TITLE):
            yield from _value(name, value, _STEP)


def _value(name: str, value: Any, indent: str) -> Iterator[str]:
    """A value as lines, one for each of its parts."""
    lead = f"{indent}{_safe(name)}: " if name else indent
    if isinstance(value, str) and value[:1] in ("{", "["):
        value = _parsed(value)
    if isinstance(value, dict) and value and len(indent) < _DEEPEST:
        if name:
            yield lead.rstrip()
        for key, part in value.items():
            yield from _value(str(key), part, indent + (_STEP if name else ""))
    elif isinstance(value, list) and value and len(indent) < _DEEPEST:
        yield lead.rstrip()
        for part in value:
            yield from _value("-", part, indent + _STEP)
    elif isinstance(value, str) and "\n" in value:
        yield f"{lead}|"
        for text in value.split("\n"):
            yield f"{indent}{_STEP}{_safe(text)}"
    else:
        yield lead + _safe(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _parsed(text: str) -> Any:
    """The value of a JSON text; the text itself if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _safe(text: str) -> str:
    """The text with its control characters escaped."""
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)
