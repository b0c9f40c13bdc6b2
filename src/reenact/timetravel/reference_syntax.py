"""References: parses a name such as ``7f3c:search_docs#2.response.body``, without a look-up.

A field is a JSON pointer written with dots. A dot inside a key is written ``~1``, a tilde ``~0``.
"""

from __future__ import annotations

import re
import shlex

from reenact.errors import UsageError
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.lazy_regex import lazy_regex

GRAMMAR = "RUN, RUN:12, RUN:search_docs#2, RUN:12.response.body or RUN:4..9"

_BUNDLE = lazy_regex(r"(?P<run>.+?\.reenact)(?::(?P<rest>.*))?", re.DOTALL)
_STRETCH = lazy_regex(r"(\d+)\.\.(\d+)")
_NUMBER = lazy_regex(r"(\d+)(?:\.(.*))?", re.DOTALL)
_OCCURRENCE = lazy_regex(r"(.+)#(\d+)(?:\.(.*))?", re.DOTALL)
_MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference, taken apart.

    Attributes:
        run: Reference of the run (``7f3c``, ``@``, ``@~2``, ``@golden/NAME``, a ``.reenact`` file).
        event: ``12`` or ``search_docs#2``; empty where the whole run is meant.
        field: Path into the event; empty where the whole event is meant.
        stretch: First and last event of a stretch, both included; None where none is meant.
    """

    run: str
    event: str = ""
    field: tuple[str, ...] = ()
    stretch: tuple[int, int] | None = None

    @property
    def event_ref(self) -> str:
        """The part a store understands: ``RUN:EVENT``."""
        return f"{self.run}:{self.event}"

    def one_event(self, command: str) -> str:
        """The event, for a command (its name) that takes one; empty where the whole run is meant.

        Raises:
            UsageError: A stretch of events is named, or a field of an event.
        """
        if not (self.stretch or self.field):
            return self.event
        first, told = self.event, f"{'.'.join(self.field)} is a field of event {self.event}"
        if self.stretch:
            first, told = str(self.stretch[0]), "{}..{} names several".format(*self.stretch)
        event = shlex.quote(f"{self.run}:{first}")
        raise UsageError(
            f"{command} takes one event, and {told}",
            cause="one event is RUN:12 or RUN:search_docs#2",
            next_command=f"reenact fork {event} --dry-run"
            if command == "fork"
            else f"reenact resend {event} --dry-run"
            if command == "resend"
            else f"reenact show {event}",
        )


def parse_reference(text: str) -> Reference:
    """Parse a reference.

    Raises:
        UsageError: The text is no reference.
    """
    bundle = _BUNDLE.fullmatch(text)
    run, colon, rest = (bundle["run"], bundle["rest"], bundle["rest"]) if bundle else text.partition(":")
    if not run or (colon and not rest):
        raise _refuse(text)
    if not rest:
        return Reference(run)
    if stretch := _STRETCH.fullmatch(rest):
        first, last = (_number(part, text) for part in stretch.groups())
        if last < first:
            raise UsageError(
                f"the stretch {rest} ends before it begins",
                cause="the smaller number stands first",
                next_command=f"reenact show {shlex.quote(run)}:{last}..{first}",
            )
        return Reference(run, stretch=(first, last))
    if number := _NUMBER.fullmatch(rest):
        return Reference(run, str(_number(number[1], text)), _path(number[2], text))
    if occurrence := _OCCURRENCE.fullmatch(rest):
        count = _number(occurrence[2], text)
        return Reference(run, f"{occurrence[1]}#{count}", _path(occurrence[3], text))
    return Reference(run, rest)


def parse_path(text: str) -> tuple[str, ...]:
    """Take a JSON pointer with dots apart: ``docs.0.title``; ``~1`` is a dot inside a key, ``~0`` a tilde.

    Raises:
        UsageError: One of its parts is empty.
    """
    parts = tuple(part.replace("~1", ".").replace("~0", "~") for part in text.split("."))
    if not all(parts):
        raise UsageError(
            f"not a path: {text!r}",
            cause="a path is keys and indices with dots between them: docs.0.title",
            next_command="reenact timeline @",
        )
    return parts


def _number(digits: str, text: str) -> int:
    if len(digits) > _MAX_DIGITS or not digits.isascii():
        raise _refuse(text)
    return int(digits)


def _path(field: str | None, text: str) -> tuple[str, ...]:
    if field is None:
        return ()
    parts = tuple(part.replace("~1", ".").replace("~0", "~") for part in field.split("."))
    if not all(parts):
        raise _refuse(text)
    return parts


def _refuse(text: str) -> UsageError:
    return UsageError(f"not a reference: {text!r}", cause=f"a reference is {GRAMMAR}", next_command="reenact ls")
