"""A case that cannot be measured here."""

from __future__ import annotations


class Absent(Exception):
    """What a case needs is not there; its text says what, and it is printed in the table."""
