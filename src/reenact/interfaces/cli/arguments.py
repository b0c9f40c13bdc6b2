"""Arguments that several commands take: ``k=v`` pairs, spans of time, and references that are not available yet."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from reenact.errors import UsageError
from reenact.facts.late import late
from reenact.facts.lazy_regex import lazy_regex

if TYPE_CHECKING:
    from reenact.timetravel.reference_syntax import Reference, parse_reference
else:
    parse_reference = late("reenact.timetravel.reference_syntax", "parse_reference")

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SPAN = lazy_regex(r"(\d{1,9}(?:\.\d{1,6})?)\s*(s|min|m|h|d|w)")


class Since(click.ParamType[int | str]):
    """A span of time such as ``2h``, in microseconds; any other text is kept, as the name of a mark."""

    name = "span"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """The name of the value in the help."""
        return "SPAN|MARK"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Read the span."""
        if isinstance(value, int):
            return value
        found = _SPAN.fullmatch(str(value).strip())
        return str(value) if found is None else round(float(found[1]) * _UNITS[found[2]] * 1_000_000)


def pairs(texts: Iterable[str]) -> dict[str, str]:
    """Labels written ``k=v``. A value that is JSON text is unquoted; any other value stays as it was written.

    Raises:
        UsageError: A text has no ``=`` or no key.
    """
    labels = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (equals and key.strip()):
            raise UsageError(
                f"{text!r} has no key and value",
                cause="labels are written key=value",
                next_command="reenact tag @ owner=ann",
            )
        labels[key.strip()] = _unquoted(value)
    return labels


def fields(texts: Iterable[str]) -> dict[str, Any]:
    """Fields written ``k=v``. A value that is JSON text is parsed; any other value stays a text.

    Raises:
        UsageError: A text has no ``=`` or no key.
    """
    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (equals and key.strip()):
            raise UsageError(
                f"{text!r} has no key and value",
                cause="fields are written key=value",
                next_command="reenact import --help",
            )
        try:
            found[key.strip()] = json.loads(value)
        except (ValueError, RecursionError):
            found[key.strip()] = value
    return found


def _unquoted(value: str) -> str:
    try:
        decoded = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return decoded if isinstance(decoded, str) else value


def reference(text: str) -> Reference:
    """The parts of a reference.

    Raises:
        UsageError: The text is no reference.
    """
    return parse_reference(text)


def whole_run(text: str) -> str:
    """The reference to a run, checked: it names a whole run, and this version can look it up.

    Raises:
        UsageError: The reference names a part of a run, or is of a kind that is not available yet.
    """
    found = reference(text)
    if found.event or found.stretch:
        raise UsageError(
            f"{text} names a part of a run, and a whole run is needed; remove ':{text.rpartition(':')[2]}'",
            cause="a colon begins an event or a stretch of events",
            next_command=f"reenact show {shlex.quote(text)}",
        )
    return found.run


def _sources_refused(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    """Refuse ``--sources`` in a command that makes live calls, because the code of a bundle only runs frozen."""
    if asked:
        raise UsageError(
            f"--sources is only for replay, and `{ctx.info_name}` makes live calls",
            cause="the code that a bundle carries runs frozen and cut off from everything, or not at all",
            next_command="reenact replay FILE.reenact --sources",
        )


no_sources = click.option(
    "--sources", is_flag=True, hidden=True, expose_value=False, callback=_sources_refused, help="For replay alone."
)
"""An option for commands that make live calls, which refuses ``--sources`` with a reason."""
