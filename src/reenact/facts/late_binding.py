"""Late binding: a method of a fact that a package above the facts implements. The implementation is set from above, so
that facts import nothing.

A run has a ``timeline()``. Timelines read stores, which facts must not import. The facade ``reenact`` binds it when the
first public name is used, without loading its target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reenact.errors import UsageError

_behind: dict[str, Callable[..., Any]] = {}


def provide(name: str, opener: Callable[..., Any]) -> None:
    """Set the target of a name. The last target counts."""
    _behind[name] = opener


def behind(name: str) -> Callable[..., Any]:
    """The object that a name is bound to.

    Raises:
        UsageError: The name is not bound: the facade was never used.
    """
    try:
        return _behind[name]
    except KeyError:
        raise UsageError(
            f"{name}() needs the package itself",
            cause="only modules below `reenact` were imported",
            next_command="python -c 'import reenact; reenact.open_store()'",
        ) from None
