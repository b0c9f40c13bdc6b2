"""The template of a message: its words, with a mark in the place of each value, so that messages of one origin have the
same template.

Drain (He et al. 2017) learns templates from a stream of messages: values are recognised by pattern, words with a digit
count as values, and messages of one length are compared. Its result depends on the earlier messages, so two processes
would name one group differently. This module has the part of Drain that needs no memory. A template depends on its
message alone, and is the same in every process and store.
"""

from __future__ import annotations

import re
from typing import Final

from reenact.facts.lazy_regex import lazy_regex

MARK: Final = "<*>"
"""The stand-in for a value. No message can contain it: its angle brackets are replaced first."""

LONGEST: Final = 2_000
"""The number of characters of a message that count, from its beginning."""

WORDS: Final = 40
"""The most words of a template."""

_WORD: Final = 60
_BRACKETS: Final = str.maketrans("<>", "‹›")
_CODE: Final = lazy_regex(r"(?i)\b((?:code|status|http(?:/\d(?:\.\d)?)?|exit|errno)\W{0,3})(\d{1,3})\b")
_KEPT: Final = lazy_regex("\ue000(\\d{1,3})\ue001")
_VALUES: Final = lazy_regex(
    r"""
    (?P<url>\b[a-z][a-z0-9+.-]{1,15}://[^\s'"\x60)\]}]+)
  | (?P<mail>(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+)
  | (?P<standin>~rx[a-z][a-z2-7]*0*~)
  | (?P<path>(?<![\w./\\])(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w.@+/\\-]*\w[/\\]?)
  | (?P<plain>(?P<quote>['"`])[A-Za-z_][A-Za-z_.-]{0,39}(?P=quote))
  | (?P<quoted>'[^'\n]{0,400}'|"[^"\n]{0,400}"|`[^`\n]{0,400}`)
  | (?P<address>\b0x[0-9a-fA-F]+\b)
  | (?P<hex>\b(?=[0-9a-f]{0,64}[a-f])(?=[0-9a-f-]{0,64}\d)[0-9a-f]{4,}(?:-[0-9a-f]{2,})*\b)
  | (?P<number>(?<![A-Za-z_])[-+]?[A-Za-z_]{0,40}[-_#:.]?\d(?:[\dA-Za-z_.,:-]*[\dA-Za-z_])?)
    """,
    re.VERBOSE,
)


def template(message: str) -> str:
    """The template of a message: pure, 20 to 100 µs.

    URLs, addresses of mail, stand-ins, paths, quoted texts and words with a digit become ``<*>``. A quoted name
    (``'user_id'``) stays, because the name of a missing key matters. A number after *code*, *status*, *HTTP*, *exit* or
    *errno* stays, too.

    Args:
        message: Any text, in any script; only its first ``LONGEST`` characters count.

    Returns:
        At most ``WORDS`` words, none longer than 60 characters, parted by one space.
    """
    text = message[:LONGEST].translate(_BRACKETS).replace("\ue000", " ").replace("\ue001", " ")
    text = _CODE.sub("\\1\ue000\\2\ue001", text)
    parts: list[str] = []
    at = 0
    for kept in _KEPT.finditer(text):
        parts += [_masked(text[at : kept.start()]), kept[1]]
        at = kept.end()
    parts.append(_masked(text[at:]))
    words = "".join(parts).split()
    return " ".join(word if len(word) <= _WORD else word[: _WORD - 1] + "…" for word in words[:WORDS])


def _masked(text: str) -> str:
    return _VALUES.sub(lambda found: found[0] if found["plain"] else MARK, text)


_TYPED: Final = lazy_regex(r"([^\W\d][\w.]{0,199})(?:: ?(.*))?\Z", re.DOTALL)


def parted(error: str) -> tuple[str, str]:
    """The type and the message in the last line of a traceback; the type is empty if the line has none.

    Args:
        error: ``openai.RateLimitError: Error code: 429``.
    """
    found = _TYPED.match(error.strip())
    if found is None or (found[2] is None and " " in error.strip()):
        return "", error.strip()
    return found[1], (found[2] or "").strip()
