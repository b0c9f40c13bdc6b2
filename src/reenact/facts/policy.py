"""Policy: what a recording may keep and how, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Policy:
    """How a run is recorded.

    Attributes:
        order: ``exact`` (default: deliveries are spaced so that their order can be proven), ``arrival`` (numbered
            as they come, never held) or ``off`` (not numbered).
        hold_ms: Longest time the gate holds one delivery while recording, in milliseconds.
        files: Glob patterns, relative to the project, of files the run declares as results; their digests are
            compared on replay.
        env: Names of environment variables whose values may be stored; of the rest only a keyed hash is.
        require: Names of run fields that must be known (``user_id`` …); a missing one is a capture gap.
        sample: Share of runs to record, 0 to 1.
        retention: Class for retention, free text.
        redact: Extra redaction: field name to rule name.
        ignore: Named ignore rules for matching: name to JSON pointer with dots (``body.metadata.trace_id``).
        check_changes: Look for arguments that a tool changed.
    """

    order: str = "exact"
    hold_ms: float = 20.0
    files: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    sample: float = 1.0
    retention: str = ""
    redact: Mapping[str, str] = field(default_factory=dict)
    ignore: Mapping[str, str] = field(default_factory=dict)
    check_changes: bool = True
