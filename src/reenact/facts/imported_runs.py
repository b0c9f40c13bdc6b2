"""Imported runs: made from another tool's file, which has neither the program nor the order of its calls.

Such a run holds HTTP exchanges and nothing else: no command, no lanes, no deliveries, no clock, no output. All code
that judges or replays a run uses these functions.
"""

from __future__ import annotations

from typing import Final

from reenact.facts.run import Run

IMPORT: Final = "import"
"""``Entry.kind`` of a run that was imported; ``Entry.target`` names the format."""

ORDER: Final = "unknown"
"""``Run.capture["order"]`` of an imported run."""

NOTE: Final = "import"
"""The key for the origin of an imported run, in its capture and as evidence: ``format``, ``file``, ``sha256``,
``exchanges``, ``times`` (whether the file knew when things happened), ``remarks``."""

UNPROVEN: Final = "order not known: the run was imported"
"""The words of a verdict for the order of an imported run."""


def is_imported(run: Run) -> bool:
    """Whether a run was imported from a file of another tool."""
    return run.entry.kind == IMPORT


def remarks(run: Run) -> tuple[str, ...]:
    """The differences between the kept data and the bytes on the wire, for people who read a verdict on the run."""
    said = (run.capture.get(NOTE) or {}).get("remarks") if is_imported(run) else None
    return tuple(f"imported: {remark} ({count})" for remark, count in said.items()) if isinstance(said, dict) else ()


def times_known(run: Run) -> bool:
    """Whether a run has the real times of its events: another tool's file may not have them."""
    return not is_imported(run) or bool((run.capture.get(NOTE) or {}).get("times"))


PARSED: Final = "the body was kept parsed: it has the same content, not the same bytes"
RESENT: Final = "a form is kept as parameters: it has the same content, not the same bytes"
PAIRED: Final = "request and response were kept parsed: the same content, not the same bytes"
MADE_UP: Final = "the answer's frame (id, model, finish reason) is made up: the file holds its message alone"
"""The remarks on exchanges whose request differs from the sent bytes."""


def says_asked_again(remark: str) -> bool:
    """Whether a remark says that the bytes of an imported request differ from those that were sent."""
    return remark in (PARSED, RESENT, PAIRED, MADE_UP)
