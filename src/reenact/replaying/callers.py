"""A program that waits in a replay for somebody to connect: where it waits, and why nobody comes."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from reenact.errors import UnreplayableRun
from reenact.facts.ids import tail
from reenact.facts.run import Run
from reenact.seams.http.source import is_agents


def waiting_place() -> str | None:
    """``file:line`` of the agent's code that the main thread is in; None where it is in none. For any thread."""
    frame: Any = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and not is_agents(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}" if frame is not None else None


def nobody_calls(run: Run, place: str) -> UnreplayableRun:
    """Why the replay of a program that accepts connections by itself has come to its end.

    Args:
        run: The run.
        place: Where it accepts them, or waits.
    """
    return UnreplayableRun(
        f"the program waits at {place} for a connection, and what comes over those that it accepts was not recorded",
        cause="requests are recorded below a server that is known (uvicorn, wsgiref, werkzeug), not at a plain socket",
        next_command=f"reenact show {tail(run.id)}",
        missing=("connections accepted",),
    )
