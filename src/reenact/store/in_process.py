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
    "payload_contents",
    "effect_rows",
    "event_rows",
    "evidence_rows",
    "forgetting",
    "growing_lists",
    "inherited",
    "inheriting",
    "lane_rows",
    "liveness",
    "making",
    "mark_rows",
    "back_ends",
    "order_rows",
    "output_rows",
    "passages",
    "portions",
    "reference_lookup",
    "removing",
    "resplicing",
    "slot_rows",
    "snapshots",
    "step_states",
    "stream_rows",
    "tombstones",
    "full_text",
    "sqlite_log",
]
"""Modules of the store that only its late names lead to, or what is rare."""

for _name in NEEDED:
    import_module(f"reenact.store.{_name}")
