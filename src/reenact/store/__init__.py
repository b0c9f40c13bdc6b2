"""Runs at rest: an append-only log for each run, and the reading views over it.

The names of this package are loaded on first use, because a quick look at a store (``store.glance``) needs none of
them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reenact.store.back_ends import open_store
    from reenact.store.open_stores import borrow_store, give_back

__all__ = ["borrow_store", "give_back", "open_store"]

_HOMES = {"borrow_store": "open_stores", "give_back": "open_stores", "open_store": "back_ends"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
