"""The parts of a store that run in an agent's process, loaded before the agent begins.

A command loads modules when it needs them. In an agent's process, the program may have removed files, descriptors or
rights by then, and a recording that cannot load its end is lost.
"""

from __future__ import annotations

from importlib import import_module

NEEDED = [
    "ambient_rows",
    "bodies",
    "checkpoints",
    "codec",
    "contents",
    "effect_rows",
    "event_rows",
    "evidence_rows",
    "forgetting",
    "growing",
    "inherited",
    "inheriting",
    "lane_rows",
    "liveness",
    "making",
    "marks",
    "back_ends",
    "order_rows",
    "output_rows",
    "passages",
    "portions",
    "references",
    "removing",
    "resplicing",
    "slot_rows",
    "snapshots",
    "states",
    "stream_rows",
    "tombstones",
    "full_text",
    "sqlite_log",
]
"""Modules of the store that only its late names lead to, or what is rare."""

for _name in NEEDED:
    import_module(f"reenact.store.{_name}")
