"""Possible personal data in a text: found by its shape, counted and listed, never changed.

A person who shares a recording must judge what it says about people. Shapes are narrow, and verified by their check
digits where they have them, so that a listed item is worth a look; data without a shape (a name, a street) is not
found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from ipaddress import AddressValueError, IPv4Address
from typing import Final

from reenact.facts.lazy_regex import lazy_regex

_EMAIL: Final = lazy_regex(
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{0,63}[A-Za-z0-9_]@((?:[A-Za-z0-9-]{1,63}\.){1,4}[A-Za-z]{2,24})(?![A-Za-z0-9-])"
)
_CARD: Final = lazy_regex(r"(?<![\d.,-])[3-6]\d{3}(?:[ -]?\d{3,6}){2,4}(?![\d.,-])")
_IBAN: Final = lazy_regex(r"(?<![A-Z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?(?![A-Z0-9])")
_PHONE: Final = lazy_regex(
    r"(?<![\w+.])(?:\+\d{1,3}[ ().-]{0,2}(?:\d[ ().-]{0,2}){7,11}\d|\(\d{3}\) ?\d{3}-\d{4})(?!\d)"
)
_SOCIAL: Final = lazy_regex(r"(?<![\d-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])")
_ADDRESS: Final = lazy_regex(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_NOBODY: Final = lazy_regex(r"(?:^|\.)(?:example(?:\.[a-z]+)?|invalid|test|local|localhost)$", re.IGNORECASE)
_ESCAPED: Final = lazy_regex(r"\\+[nrt]")
"""Ends of lines and tabs inside a JSON text: the letter of such an escape belongs to no word."""
_CARD_DIGITS: Final = range(13, 20)


def personal(text: str) -> Mapping[str, int]:
    """Possible personal data in a text: the number of different items of each sort. Linear in its length.

    Args:
        text: Any text, JSON too.
    """
    text = _ESCAPED.sub(" ", text)
    found = {}
    for name, pattern, holds in _SORTS:
        count = len({each[0] for each in pattern.finditer(text) if holds(each)})
        if count:
            found[name] = count
    return found


def _public(found: re.Match[str]) -> bool:
    try:
        return IPv4Address(found[0]).is_global
    except AddressValueError:
        return False


def _luhn(found: re.Match[str]) -> bool:
    digits = [int(each) for each in found[0] if each.isdigit()]
    if len(digits) not in _CARD_DIGITS or len(set(digits)) == 1:
        return False
    odd, even = digits[-1::-2], digits[-2::-2]
    return (sum(odd) + sum(sum(divmod(2 * each, 10)) for each in even)) % 10 == 0


def _mod97(found: re.Match[str]) -> bool:
    text = found[0].replace(" ", "")
    return int("".join(str(int(each, 36)) for each in text[4:] + text[:4])) % 97 == 1


_SORTS: Final[tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], bool]], ...]] = (
    ("e-mail address", _EMAIL, lambda found: _NOBODY.search(found[1]) is None),
    ("card number", _CARD, _luhn),
    ("bank account", _IBAN, _mod97),
    ("telephone number", _PHONE, lambda found: True),
    ("social security number", _SOCIAL, lambda found: True),
    ("IP address", _ADDRESS, _public),
)
