"""Answers a shell that asks for the words that fit at the cursor; prints nothing on any error.

The first line of an answer names the words that the shell itself adds: ``files``, ``commands``, or ``-`` for none. Each
further line is one word; for zsh and fish a tab and a description follow. A completion only reads stores.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path

from reenact.facts.lazy_regex import lazy_regex
from reenact.interfaces.completion.line import CursorPlace, place_of

VARIABLE = "_REENACT_COMPLETING"
"""The variable that a shell sets to its own name when it asks."""

_BREAKS = lazy_regex(r"[@><=;|&(:]")
"""The characters at which bash splits a word."""
_PLAIN = lazy_regex(r"[\w@%+=:,./~#^-]+")
"""A text that needs no quotes in any shell."""
_STORE = lazy_regex(rb"^\s*[\w.\"]*store[\"]?\s*=", re.MULTILINE)
_SETTINGS = ("reenact.toml", "pyproject.toml")
_MOST = 200


def main() -> None:
    """Answer the shell that started this process; the words of the command line are in ``sys.argv``."""
    try:
        told = "\n".join(answer(os.environ.get(VARIABLE, ""), sys.argv[1:]))
        sys.stdout.write(told + "\n")
        sys.stdout.flush()
    except BaseException:  # print nothing on any error: a person is typing
        os._exit(0)


def answer(shell: str, asked: Sequence[str]) -> list[str]:
    """The lines of an answer.

    Args:
        shell: ``bash``, ``zsh`` or ``fish``.
        asked: The words up to the cursor, without the program's name. For bash, which splits words in its own way, two
            texts: the line up to the cursor, and the part of the last word that bash will replace.
    """
    taken = 0
    words = list(asked)
    if shell == "bash":
        line, part = (*asked, "", "")[:2]
        words = _split(line)[1:]
        taken = _taken(words[-1] if words else "", part)
    place = place_of(words)
    offered = [each for each in _offers(place) if each[0].startswith(place.start) and _PLAIN.fullmatch(each[0])]
    lines = [_else(place, bool(offered))]
    for value, about in offered[:_MOST]:
        word = (place.before + value)[taken:]
        lines.append(word if shell == "bash" or not about else f"{word}\t{about}")
    return lines


def _split(line: str) -> list[str]:
    """The words of a line, as a shell splits them; the last word is the one that is being typed."""
    words = shlex.split(line)
    return [*words, ""] if line[-1:].isspace() or not line else words


def _taken(word: str, part: str) -> int:
    """The number of characters of a word that bash keeps, before the part that it replaces."""
    if part and word.endswith(part) and not _BREAKS.fullmatch(part):
        return len(word) - len(part)
    return max((found.end() for found in _BREAKS.finditer(word)), default=0)


def _else(place: CursorPlace, offered: bool) -> str:
    if place.kind == "command":
        return "commands"
    files = place.kind == "file" or (place.kind == "run" and not offered and not place.start.startswith("@"))
    return "files" if files else "-"


def _offers(place: CursorPlace) -> Iterable[tuple[str, str]]:
    """The words that fit at a place, each with a description."""
    yield from ((word, "") for word in place.words)
    if "|" in place.kind:
        yield from ((word, "") for word in place.kind.split("|"))
    elif place.kind in ("golden", "run") and (place.kind == "golden" or place.start.startswith("@")):
        lead = "@golden/" if place.kind == "run" else ""
        files = import_module("reenact.testing.goldens.golden_files")  # imported late: few lines need names of goldens
        yield from ((lead + name, "golden") for name in files.names_in(files.root_of(Path.cwd()) / files.FOLDER))
    if place.kind in ("run", "tag", "tool", "agent", "user", "tenant", "session"):
        glance = import_module("reenact.store.glance")  # imported late: few lines need a store
        yield from glance.offers(_store(place), place.kind, place.start, _MOST)


def _store(place: CursorPlace) -> str | None:
    """The URL of the store that the command line uses; None for the default store."""
    if place.store or os.environ.get("REENACT_STORE"):
        return place.store or os.environ["REENACT_STORE"]
    here = Path.cwd()
    if not any(_says_where(folder / name) for folder in (here, *here.parents) for name in _SETTINGS):
        return None
    url = import_module("reenact.abc.project_settings").load_settings()["store"].value  # imported late: slow
    return url if isinstance(url, str) else None


def _says_where(file: Path) -> bool:
    """Whether a file of settings exists and may name a store."""
    try:
        return _STORE.search(file.read_bytes()) is not None
    except OSError:
        return False
