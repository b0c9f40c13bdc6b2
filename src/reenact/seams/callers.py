"""The owner of a frame's code, by the name of its module: the standard library, ours, or others."""

from __future__ import annotations

import sys
from typing import Any, Final, Literal

_CARRIERS: Final = (
    "reenact.seams.strands.",
    "reenact.seams.functions",
    "reenact.seams.generators",
    "reenact.seams.switchboard",
    "reenact.seams.wrapping",
)
"""Our modules that call a function of the agent in the agent's place: its actions count as the agent's."""

Whose = Literal["agent", "library", "ours", "carrier"]


def whose(module: str) -> Whose:
    """The owner of a module: ``library`` is the standard library, ``carrier`` is ours and runs a function of the
    agent's; every other library counts as the agent's own. About 0.2 µs."""
    top = module.partition(".")[0]
    if top == "reenact":
        return "carrier" if module.startswith(_CARRIERS) else "ours"
    return "library" if top != "__main__" and top in sys.stdlib_module_names else "agent"


def module_of(frame: Any) -> str:
    """The name of the module whose code a frame runs; empty without a frame."""
    return "" if frame is None else str(frame.f_globals.get("__name__", ""))
