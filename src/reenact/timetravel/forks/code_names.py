"""Whether source text names a host (or a settings file beside it does), or a module names an exception."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec
from typing import Final

from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.run import Run
from reenact.seams import lanes
from reenact.seams.process_setting import folder_now

_SETTINGS: Final = lazy_regex(r"\.env(\..+)?|.+\.(toml|ini|cfg)")
_MAKES_NAMES: Final = lazy_regex(r"\bimport \*|\b__getattr__\b|\bglobals\(\)")
"""Source text by which a module gets names that are not written in it."""
_MOST: Final = 1 << 20
_PART: Final = rb"[A-Za-z0-9_.-]"


@cache
def named_in_code(name: str) -> bool:
    """Whether a source file that is loaded into this process, or a settings file in its folder, names a host.

    Args:
        name: The host, with its port if that belongs to it. A part of a longer name does not count.

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


def why_not(run: Run, name: str) -> str:
    """Why the program of a run cannot raise ``module.Name``; empty where it can. Also empty where that is not known: a
    program in another interpreter has other modules."""
    entry, (module, _, own) = run.entry, name.rpartition(".")
    if module == "__main__":
        file = os.path.join(entry.cwd, entry.argv[1]) if entry.kind == "command" and len(entry.argv) > 1 else ""
    elif os.path.dirname(entry.python) != os.path.dirname(sys.executable):
        return ""
    else:
        top, *inner = module.split(".")
        spec = PathFinder.find_spec(top, [entry.file, os.path.dirname(entry.file), entry.cwd]) or find_spec(top)
        if spec is None:
            return f"there is no module {top}"
        for part in inner:
            places = spec.submodule_search_locations
            spec = PathFinder.find_spec(f"{spec.name}.{part}", places) if places is not None else None
            if spec is None:  # a class around the class, or a module that the code makes
                return ""
        file = spec.origin or ""
    text = _read(file).decode("utf-8", "replace") if file.endswith(".py") else ""
    known = not text or _MAKES_NAMES.search(text) or re.search(rf"\b{re.escape(own)}\b", text)
    return "" if known else f"{os.path.basename(file) if module == '__main__' else module} has no {own}"
