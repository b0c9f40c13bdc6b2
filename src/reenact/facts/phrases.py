"""Phrases: small pieces of the sentences in messages for people."""

from __future__ import annotations


def counted(count: int, noun: str, nouns: str = "") -> str:
    """``1 answer``, ``2 answers``, ``0 answers``; ``nouns`` is the plural if it is not formed with an s."""
    return f"{count} {noun}" if count == 1 else f"{count} {nouns or noun + 's'}"
