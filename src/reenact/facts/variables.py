"""Environment variables of a run: which are kept by value, which only by name, and which are credentials."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from reenact.facts.call import Json
from reenact.facts.lazy_regex import lazy_regex

_KEPT = lazy_regex(
    r"(LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|PYTHON[A-Z]*"
    r"|[A-Z0-9_]*(_URL|_URI|_API_BASE|_BASE|_ENDPOINT|_HOST|_PORT|_REGION|_MODEL|_MODE|_ENV|_VERSION|_TIMEOUT|_RETRIES)"
    r"|AWS_(DEFAULT_)?REGION|(HTTP|HTTPS|ALL|NO)_PROXY|(http|https|all|no)_proxy)"
)
_SECRET = lazy_regex(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|PRIVATE|COOKIE|SESSION_ID|AUTH)", re.IGNORECASE)
_ADDRESS = lazy_regex(r"(URL|URI|BASE|ENDPOINT|HOST|PORT|PROXY|proxy)$")
_LOADING = lazy_regex(r"BASH_ENV$|LD_|DYLD_")
_PLAIN = frozenset({"PYTHONUTF8", "PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONDONTWRITEBYTECODE", "PYTHONOPTIMIZE"})
_OURS = lazy_regex(r"REENACT_|PYTHONHASHSEED$|PYTHONPATH$")


def chosen(environment: Mapping[str, str], allowed: Iterable[str] = ()) -> dict[str, Json]:
    """The variables that a run keeps of its environment.

    Args:
        environment: Name to value.
        allowed: Further names, or patterns of names, whose values may be kept.

    Returns:
        ``env``: name to value where it may be kept; ``env_names``: all names; ``env_secret``: names of credentials,
        whose values are never kept and for which a replay supplies placeholders.
    """
    patterns = tuple(allowed)
    values: dict[str, str] = {}
    secrets: list[str] = []
    names: list[str] = []
    for name, value in sorted(environment.items()):
        if _OURS.match(name):
            continue
        names.append(name)
        if _SECRET.search(name):
            secrets.append(name)
        elif is_kept(name, patterns):
            values[name] = value
    return {"env": dict(values), "env_names": list(names), "env_secret": list(secrets)}


def is_kept(name: str, patterns: tuple[str, ...] = ()) -> bool:
    """Whether the value of a variable of this name may be kept, if the variable holds no credential."""
    return _KEPT.fullmatch(name) is not None or any(fnmatchcase(name, pattern) for pattern in patterns)


def may_travel(name: str, *, live: bool = False) -> bool:
    """Whether a variable of another user's run may be set in its replay. It must be kept by default, must not name code
    to load, and must not choose the host of live calls.

    Args:
        name: The name of the variable.
        live: Whether calls may leave this machine.
    """
    if _KEPT.fullmatch(name) is None or _SECRET.search(name) or _OURS.match(name) or _LOADING.match(name):
        return False
    if name.startswith("PYTHON"):
        return name in _PLAIN
    return not (live and _ADDRESS.search(name))


def is_secret(name: str) -> bool:
    """Whether a variable of this name is taken for a credential."""
    return _SECRET.search(name) is not None


def is_ours(name: str) -> bool:
    """Whether a variable of this name belongs to the recorder, or is set by it for a replay."""
    return _OURS.match(name) is not None
