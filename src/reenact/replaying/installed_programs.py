"""Installed programs that only run code of this project: servers, with options that name no other code.

The command of a foreign recording is data, and it could make an installed module do anything by its arguments. A server
whose application is code of this project, started with options from a closed list, runs that code and nothing more.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Final

from reenact.facts.lazy_regex import lazy_regex

_NUMBER: Final = r"[0-9]{1,9}(\.[0-9]{1,9})?"
_TEXT: Final = r"[^\0\n]{0,200}"
_FLAGS: Final = frozenset({"access-log", "use-colors", "proxy-headers", "server-header", "date-header"})
_UVICORN: Final[Mapping[str, str]] = {
    "host": _TEXT,
    "root-path": _TEXT,
    "header": _TEXT,
    "forwarded-allow-ips": _TEXT,
    "loop": "auto|asyncio|uvloop",
    "http": "auto|h11|httptools",
    "ws": "auto|none|websockets|websockets-sansio|wsproto",
    "lifespan": "auto|on|off",
    "interface": "auto|asgi3|asgi2|wsgi",
    "log-level": "critical|error|warning|info|debug|trace",
    **dict.fromkeys(
        (
            "port", "workers", "backlog", "limit-concurrency", "limit-max-requests", "limit-max-requests-jitter",
            "timeout-keep-alive", "timeout-graceful-shutdown", "timeout-worker-healthcheck", "ws-max-size",
            "ws-max-queue", "ws-ping-interval", "ws-ping-timeout", "h11-max-incomplete-event-size",
        ),
        _NUMBER,
    ),
}  # fmt: skip
"""Options with a value, and the values that are allowed. Not allowed are files that configure logging or set variables,
folders that modules are taken from, certificates, and sockets that lie in the file system or are open already."""
_APPLICATION: Final = lazy_regex(r"[A-Za-z_][\w.]{0,200}:[A-Za-z_]\w{0,100}")


def server_of_project(argv: tuple[str, ...], inside: Callable[[str], bool]) -> tuple[str, ...] | None:
    """The command with our own interpreter, if the command starts uvicorn on an application of this project; else None.

    Args:
        argv: The server and its arguments: ``("uvicorn", "app:app", "--workers", "2")``.
        inside: Whether a module is code of this project.
    """
    name = os.path.basename(argv[0]).removesuffix(".exe") if argv else ""
    if name != "uvicorn":
        return None
    applications = []
    rest = list(argv[1:])
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            applications.append(word)
            continue
        option, equals, value = word.removeprefix("--").partition("=")
        if not equals and (option == "factory" or option.removeprefix("no-") in _FLAGS):
            continue
        if option not in _UVICORN or not (equals or rest):
            return None
        if not re.fullmatch(_UVICORN[option], value if equals else rest.pop(0)):
            return None
    if len(applications) != 1 or not _APPLICATION.fullmatch(applications[0]):
        return None
    return (sys.executable, "-m", name, *argv[1:]) if inside(applications[0].partition(":")[0]) else None
