"""The state of a path before a run changed it first: missing, a file, a folder or a link.

Each state is a note of the run, ``before.N``. The content of a file is a state of its own, phase ``file``, under a
number counted downwards from the largest number of an event. No event has such a number, so other readers ignore the
state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass

NOTE: Final = "before."
"""The beginning of the name of such a note; a number follows."""

PHASE: Final = "file"
"""The phase of a state that is the content of a file."""

_LAST: Final = (1 << 32) - 1

ABSENT, FILE, FOLDER, LINK = "absent", "file", "folder", "link"


@dataclass(frozen=True, slots=True)
class Before:
    """The state of a path.

    Attributes:
        path: In the run's form: ``./`` below the root of the project, ``~/`` below the user's folder, or absolute.
        was: ``absent``, ``file``, ``folder`` or ``link``.
        mode: Its permissions.
        changed_ns: When its content was changed last.
        size: Bytes of a file.
        digest: The digest of its content; empty where that was not read.
        target: The target of a link.
        content: The number of its content among the contents that the run keeps; None where the content is not kept.
        why: The reason why the content is not kept.
        below: Whether everything below an absent path is removed with it, because too many files were made there to
            name each.
    """

    path: str
    was: str
    mode: int = 0
    changed_ns: int = 0
    size: int = 0
    digest: str = ""
    target: str = ""
    content: int | None = None
    why: str = ""
    below: bool = False

    def to_json(self) -> dict[str, Json]:
        """The fields that differ from the default."""
        found = {name: getattr(self, name) for name in _MORE}
        kept = {name: value for name, value in found.items() if value}
        content = {} if self.content is None else {"content": self.content}
        return {"path": self.path, "was": self.was, **kept, **content}


_MORE: Final = ("mode", "changed_ns", "size", "digest", "target", "why", "below")


def before_of(value: Json) -> Before | None:
    """The state that a note holds; None where the note cannot be understood."""
    if not isinstance(value, Mapping):
        return None
    path, was, content = value.get("path"), value.get("was"), value.get("content")
    if not isinstance(path, str) or not path or "\0" in path or was not in (ABSENT, FILE, FOLDER, LINK):
        return None
    return Before(
        path,
        was,
        _number(value.get("mode")),
        _number(value.get("changed_ns")),
        _number(value.get("size")),
        _text(value.get("digest")),
        _text(value.get("target")),
        content if type(content) is int and 0 <= content < _LAST else None,
        _text(value.get("why")),
        value.get("below") is True,
    )


def all_before(notes: Mapping[str, Json]) -> list[Before]:
    """Every path that a run has changed, in the order of the first changes."""
    mine = {name[len(NOTE) :]: value for name, value in notes.items() if name.startswith(NOTE)}
    found = [before_of(mine[number]) for number in sorted(filter(str.isdecimal, mine), key=int)]
    return [each for each in found if each is not None]


def place_of_content(content: int) -> int:
    """The number under which a content is kept."""
    return _LAST - content


def is_content(event: int, phase: str) -> bool:
    """Whether a state is the content of a file."""
    return phase == PHASE and event > _LAST >> 1


def _number(value: Json) -> int:
    return value if type(value) is int and value >= 0 else 0


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
