"""Loads the modules of a store that an agent's process needs, before the agent begins.

A command loads modules when it needs them. In an agent's process, the program may have removed files, descriptors or
rights by then, and a recording that cannot load the code for its end is lost.
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
    "run_removal",
    "growing_lists",
    "sharing_recording",
    "row_sharing",
    "lane_rows",
    "liveness",
    "store_creation",
    "mark_rows",
    "back_ends",
    "order_rows",
    "output_rows",
    "passages",
    "portions",
    "reference_lookup",
    "stepwise_removal",
    "splice_moves",
    "slot_rows",
    "snapshots",
    "step_states",
    "stream_rows",
    "tombstones",
    "full_text",
    "sqlite_log",
]
"""The modules of the store that are otherwise imported late or rarely."""

for _name in NEEDED:
    import_module(f"reenact.store.{_name}")
