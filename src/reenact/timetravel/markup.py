"""Recorded text in Markdown: as code and nothing else, so that no renderer takes it for a heading, a link, a mention,
or an image that it would fetch."""

from __future__ import annotations

from typing import Final

from reenact.facts.lazy_regex import lazy_regex
from reenact.timetravel import preview

LONGEST: Final = 4000
"""The most characters of a block; the number of further ones is shown."""
LINE: Final = 160
"""Characters of a line, at most."""
_TICKS: Final = lazy_regex("`+")


def code(text: str, longest: int = LINE) -> str:
    """A text as code on one line; empty for an empty text.

    Args:
        text: The text.
        longest: The most characters that are shown.
    """
    plain = preview.clip(preview.safe(" ".join(text.split())), longest)
    if not plain:
        return ""
    fence = "`" * (_longest_ticks(plain) + 1)
    gap = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{gap}{plain}{gap}{fence}"


def cell(text: str, longest: int = LINE) -> str:
    """A text as code in a table: a bar in it ends no cell, also after a backslash."""
    return code(text, longest).replace("\\|", "\\ |").replace("|", "\\|")


def block(text: str) -> str:
    """A text as a block of code; a long text is cut, and its length is shown."""
    shown = "\n".join(preview.safe(line) for line in text[:LONGEST].splitlines())
    more = f"\n… {len(text) - LONGEST} more characters" if len(text) > LONGEST else ""
    fence = "`" * max(3, _longest_ticks(shown) + 1)
    return f"{fence}text\n{shown}{more}\n{fence}"


def _longest_ticks(text: str) -> int:
    return max((len(found) for found in _TICKS.findall(text)), default=0)
