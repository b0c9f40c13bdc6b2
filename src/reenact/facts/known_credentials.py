"""Credentials known by value: the values of the environment's secret variables, which are found anywhere in a text.

An agent that writes a credential into a prompt (``"my key is " + os.environ["OPENAI_API_KEY"]``) makes another request
in a replay, where the variable has a placeholder. So the value of each such variable, and its placeholder, become the
same token in every text: a stand-in that names the *variable*. Two prompts with two variables stay different.
"""

from __future__ import annotations

import json
from base64 import b32encode
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b

from reenact.facts.credential_search import spot_named
from reenact.facts.credentials import (
    MARK,
    SHORTEST,
    CredentialSort,
    constant,
    looks_random,
    named_in_environment,
    trivial,
)
from reenact.facts.removed_digests import NOTHING, RemovedDigests
from reenact.facts.text_spans import CredentialSpan, SearchExhausted, apart, replaced

RULE = "credential-values/1"
"""The rule of this module, by name and version. A recording that was made without this rule is compared without it."""

_SHORTEST = 8
_DIGEST = SHORTEST - len(MARK) - 2


def placeholder(name: str) -> str:
    """The value that a replay gives to an SDK in place of a credential. Each variable has its own value, and none
    leaves the process.

    Args:
        name: The variable.
    """
    return f"reenact-placeholder-{_digest(name)}0"


def token(name: str, size: int = 0) -> bytes:
    """The stand-in of a variable's value; it depends only on the variable's name.

    Args:
        name: The variable.
        size: The number of its bytes; 0 for the shortest stand-in with a whole digest.
    """
    if 0 < size < SHORTEST - _DIGEST:
        return constant(CredentialSort.VALUE.value, size)
    body = MARK + CredentialSort.VALUE.value.encode() + _digest(name).encode()
    return body[: size - 1 if size else SHORTEST] + b"0" * max(0, size - len(body) - 1) + b"~"


def _digest(name: str) -> str:
    digest = blake2b(name.encode("utf-8", "surrogateescape"), digest_size=8, person=b"reenact-known").digest()
    return b32encode(digest).decode().lower()[:_DIGEST]


def telling(name: str, value: str) -> bool:
    """Whether a variable's value is searched for in texts. It must have eight characters or more, with letters and
    digits, so that no word of a prompt is taken for the value."""
    data = value.encode("utf-8", "surrogateescape")
    if len(data) < _SHORTEST or "://" in value or value[0] in "/~" or not value.isprintable() or " " in value:
        return False
    if any(character in value for character in '"\\{}[]<>,;'):
        return False
    mixed = any(character.isdigit() for character in value) and any(character.isalpha() for character in value)
    return mixed and not trivial(data) and (looks_random(data) or named_in_environment(name))


def same_values(environment: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """For each variable whose value a variable with an earlier name has too: both names."""
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    for name in sorted(names):
        value = environment.get(name)
        if value and first.setdefault(value, name) != name:
            found[name] = first[value]
    return found


class KnownCredentials:
    """The credentials of a run that are known in addition to the usual names and shapes: values of variables, and
    further names.

    Args:
        environment: The environment with the values.
        names: The variables; variables that are not set, or whose value could be a common word, are left out.
        same: Variables with the value of another variable (``same_values`` of a recording).
        fields: Names of fields whose values are credentials too.
        listed: The values that were removed in the run, or in one before it, by digest.
    """

    __slots__ = ("_fields", "_values", "listed")

    def __init__(
        self,
        environment: Mapping[str, str],
        names: Iterable[str],
        same: Mapping[str, str] | None = None,
        fields: Iterable[str] = (),
        listed: RemovedDigests = NOTHING,
    ) -> None:
        self.listed = listed
        self._fields = tuple(sorted({name.lower() for name in fields}))
        self._values: dict[bytes, str] = {}
        stands_for = same or {}
        for name in sorted(names):
            value = environment.get(name)
            if value and telling(name, value):
                self._values.setdefault(value.encode("utf-8", "surrogateescape"), stands_for.get(name, name))
                self._values.setdefault(json.dumps(value)[1:-1].encode(), stands_for.get(name, name))

    @property
    def told(self) -> bytes:
        """All known values in one line, which is empty where nothing is known. Objects with equal lines know the same
        values. The line contains credentials."""
        if not (self._values or self._fields or self.listed):
            return b""
        return repr((self._values, self._fields, self.listed.told)).encode()

    def with_listed(self, listed: RemovedDigests) -> KnownCredentials:
        """These credentials, together with the values that were removed from the run that this one continues."""
        more = KnownCredentials({}, (), listed=listed)
        more._fields, more._values = self._fields, self._values
        return more

    def spans(self, data: bytes) -> list[CredentialSpan]:
        """Where the values stand, in order, never overlapping. Each value takes one search of the text."""
        found: list[CredentialSpan] = []
        for value in self._values:
            at = data.find(value)
            while at >= 0:
                found.append(CredentialSpan(at, at + len(value), CredentialSort.VALUE.value))
                at = data.find(value, at + len(value))
        found += self.listed.spans(data) if self.listed else ()
        return apart(found) if len(found) > 1 else found

    def token(self, value: bytes, *, fit: bool) -> bytes:
        """The stand-in of a value that ``spans`` has found."""
        return token(self._values.get(value, ""), len(value) if fit else 0)

    def holds(self, value: bytes) -> bool:
        """Whether a value is exactly that of a variable. Such a value is found anywhere, so it need not be in a
        list."""
        return value in self._values

    def field(self, name: str) -> bool:
        """Whether the user has declared that fields of this name hold credentials."""
        return name.lower() in self._fields

    def erased(self, data: bytes) -> bytes:
        """``data`` with each value replaced by the token of its variable, or the constant of its class, for comparing.

        A text that was constructed to be slow is returned unchanged."""

        def change(value: bytes, span: CredentialSpan) -> bytes:
            if span.sort == CredentialSort.VALUE.value:
                return self.token(value, fit=False)
            return b"9" * len(value) if span.digits else constant(span.sort)

        try:
            return replaced(data, self.joined(data, lambda _: []), change)
        except SearchExhausted:
            return data

    def within(self, data: bytes) -> list[CredentialSpan]:
        """The places of the known values, and of the values of further names, in a decoded text."""
        return [*self._named(data), *self._valued(data)]

    def joined(self, data: bytes, spotted: Callable[[bytes], list[CredentialSpan]]) -> list[CredentialSpan]:
        """The spans of shapes and names in ``data``, together with those of the known values. Of two overlapping spans
        the longer stays; of two equal ones, the span of a variable."""
        fields, known = self._named(data), self._valued(data)
        found = spotted(data)
        return apart([*fields, *found, *known]) if fields or known else found

    def _named(self, data: bytes) -> list[CredentialSpan]:
        return spot_named(data, self._fields) if self._fields else []

    def _valued(self, data: bytes) -> list[CredentialSpan]:
        return self.spans(data) if self._values or self.listed else []


NONE = KnownCredentials({}, ())
"""The object that knows no value."""
