"""Whether a value after a name is a credential, judged by its characters."""

from __future__ import annotations

import binascii

from reenact.facts.credentials import STANDIN, CredentialSort, like_text, looks_random, named, trivial
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.text_spans import CredentialSpan

LONGEST_NAME = 96
_CODE = (b"$", b"%", b"os.", b"self.", b"{", b"(", b"<")
_SEED = lazy_regex(rb"[a-z]{3,8}(?: [a-z]{3,8}){11,23}")


def is_basic(value: bytes) -> bool:
    """Whether a value is a user's name and a password in base64, or what redaction has left of them."""
    try:
        plain = binascii.a2b_base64(value, strict_mode=True)
    except ValueError:
        return False
    return b":" in plain and plain.isascii()


def judged(data: bytes, start: int, stop: int, weight: int, *, loose: bool) -> CredentialSpan | None:
    """The span of a quoted value, if it is a credential. ``loose`` says that the name was quoted as well (a JSON
    field)."""
    if stop <= start:
        return None
    value = data[start:stop]
    if STANDIN.fullmatch(value) is None:
        if trivial(value[:80]) and len(value) <= 80:
            return None
        if weight == 1 and (not looks_random(value) or _beside_logprob(data, stop)):
            return None
        if not loose and weight == 2 and not secretive(value, b"", b"=") and _SEED.fullmatch(value) is None:
            return None
    return CredentialSpan(start, stop, CredentialSort.NAMED.value)


def _beside_logprob(data: bytes, stop: int) -> bool:
    return b"logprob" in data[stop : stop + 64]


def secretive(value: bytes, following: bytes, sign: bytes, *, alone: bool = False) -> bool:
    """Whether an unquoted value is more likely a secret than a word of prose or a name in code. ``alone`` says that its
    line has no other value for the name."""
    if STANDIN.fullmatch(value) is not None or not value.strip(b"~"):
        return True
    plain = value.rstrip(b".,;:")
    if (
        len(value) < 5
        or not like_text(value)
        or following in (b"(", b"[")
        or value.startswith(_CODE)
        or _says_nothing(plain)
    ):
        return False
    has_digit = any(48 <= byte <= 57 for byte in value)
    marked = any(byte in b"!@#$%^*+=?&~" for byte in plain)
    if alone or len(value) < 6:
        return alone and (has_digit or marked or _is_encoded(plain))
    if sign in (b":", b"|"):
        return (has_digit or marked) and len(value) >= 8 and b"://" not in value
    return has_digit or ((marked or b"/" in plain) and not value.startswith((b"/", b"=")))


def _is_encoded(value: bytes) -> bool:
    """Whether a value is a text in base64."""
    try:
        text = binascii.a2b_base64(value, strict_mode=True)
    except ValueError:
        return False
    return len(text) >= 6 and value.lower() != value and all(32 <= byte < 127 for byte in text)


def _says_nothing(value: bytes) -> bool:
    """Whether a value is a number, a template, or the name of another field."""
    return trivial(value) or value.isdigit() or (len(value) <= LONGEST_NAME and named(value.decode("latin-1")) > 0)
