"""Whether the code that runs, or a settings file beside it, names a host: what is loaded is searched as text."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import Final

from reenact.facts.lazy_regex import lazy_regex
from reenact.seams import lanes
from reenact.seams.setting import folder_now

_SETTINGS: Final = lazy_regex(r"\.env(\..+)?|.+\.(toml|ini|cfg)")
_MOST: Final = 1 << 20
_PART: Final = rb"[A-Za-z0-9_.-]"


@cache
def named_in_code(name: str) -> bool:
    """Whether a source file that is loaded into this process, or a settings file in its folder, names a host.

    Args:
        name: The host, with its port where that belongs to it; not as a part of a longer name.

    Cost: reads every loaded source file, once for each name.
    """
    if not name:
        return False
    whole = re.compile(rb"(?i)(?<!" + _PART + rb")" + re.escape(name.encode()) + rb"(?!" + _PART + rb"*[A-Za-z0-9_-])")
    with lanes.inside(None):
        return any(whole.search(_read(path)) for path in (*_sources(), *_settings()))


def _sources() -> Iterator[str]:
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and path.endswith(".py"):
            yield path


def _settings() -> Iterator[str]:
    here = folder_now()
    try:
        names = os.listdir(here) if here else []
    except OSError:
        return
    for name in names:
        if _SETTINGS.fullmatch(name):
            yield os.path.join(here, name)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_MOST)
    except OSError:
        return b""
