"""Pasteable: a recorded HTTP request as a shell command or a Python program that sends it again.

It has no credentials: they were destroyed at capture, and their headers are written with a variable that the reader
sets.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from reenact.errors import UsageError
from reenact.facts.event import Event
from reenact.facts.lazy_regex import lazy_regex
from reenact.timetravel.event_contents import headers_of

_COMPUTED = frozenset(("content-length", "host", "connection", "accept-encoding", "transfer-encoding"))
_SECRET = lazy_regex(r"authorization|cookie|api[-_]?key|token|secret|signature|credential|password", re.IGNORECASE)


def curl(event: Event, body: bytes) -> str:
    """The request as a ``curl`` command; a body that is no text is read from standard input.

    Raises:
        UsageError: The event is no HTTP exchange.
    """
    method, url = _target(event)
    lines = [f"curl --globoff -X {shlex.quote(method)} --url {shlex.quote(url)}"]
    for name, value in _headers(event):
        if _SECRET.search(name):
            lines.append(f'-H {shlex.quote(name + ": ")}"${_variable(name)}"')
        else:
            lines.append(f"-H {shlex.quote(f'{name}: {value}')}")
    if body:
        text = _text(body)
        lines.append("--data-binary @-" if text is None else f"--data-raw {shlex.quote(text)}")
    return " \\\n  ".join(lines)


def python(event: Event, body: bytes) -> str:
    """The request as a Python program of the standard library.

    Raises:
        UsageError: The event is no HTTP exchange.
    """
    method, url = _target(event)
    lines = ["import os", "import urllib.request", "", "request = urllib.request.Request(", f"    {url!r},"]
    lines.append(f"    method={method!r},")
    if body:
        text = _text(body)
        lines.append(f"    data={body!r}," if text is None else f"    data={text!r}.encode(),")
    lines.append(")")
    for name, value in _headers(event):
        shown = f"os.environ[{_variable(name)!r}]" if _SECRET.search(name) else repr(value)
        lines.append(f"request.add_header({name!r}, {shown})")
    lines += ["with urllib.request.urlopen(request) as response:", "    print(response.read().decode())"]
    return "\n".join(lines)


def _target(event: Event) -> tuple[str, str]:
    method, url = event.call.head.get("method"), event.call.head.get("url")
    if not (isinstance(method, str) and isinstance(url, str)):
        raise UsageError(
            f"#{event.number} is a {event.kind}, not an HTTP request",
            cause="only an HTTP exchange can be sent again by another program",
            next_command=f"reenact show {event.run}",
        )
    return method, url


def _headers(event: Event) -> Iterable[tuple[str, str]]:
    return [(name, value) for name, value in headers_of(event.call.head) if name.lower() not in _COMPUTED]


def _variable(name: str) -> str:
    return re.sub(r"\W+", "_", name).upper()


def _text(body: bytes) -> str | None:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text else text
