"""Runs at rest: an append-only log for each run, and the reading views over it."""

from reenact.store.opening import open_store

__all__ = ["open_store"]
