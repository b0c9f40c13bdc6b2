"""Runs at rest: an append-only log for each run, and the reading views over it."""

from reenact.store.opening import open_store
from reenact.store.sharing import borrow_store, give_back

__all__ = ["borrow_store", "give_back", "open_store"]
