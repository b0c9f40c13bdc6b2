"""Phrases: small pieces of the sentences that people are told."""

from __future__ import annotations


def counted(count: int, noun: str, nouns: str = "") -> str:
    """``1 answer``, ``2 answers``, ``0 answers``; ``nouns`` where more than one is not said with an s."""
    return f"{count} {noun}" if count == 1 else f"{count} {nouns or noun + 's'}"
