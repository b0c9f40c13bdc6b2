"""trio: named, not followed. Its tasks are strands that no hook tells apart yet.

Calls of several trio tasks would all be put down to the thread they share. So nothing inside ``trio.run`` is recorded,
the run says so, and its replay refuses to begin there instead of answering one task with another's call.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from reenact.errors import UnreplayableRun
from reenact.seams import lanes
from reenact.seams.patching import replace


def patch(module: ModuleType) -> None:
    """Hook ``trio.run`` under both its names; anyio calls the one it finds in ``trio``."""
    replace(module, "run", _running)


def _running(original: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **options: Any) -> Any:
        lane = lanes.listening()
        if lane is None:
            return original(*args, **options)
        refusal = UnreplayableRun(
            "nothing inside trio.run() is recorded",
            cause="this version follows tasks of asyncio, uvloop and threads, not tasks of trio",
            next_command="reenact show @",
            missing="trio",
        )
        if lane.session.fault(refusal):
            raise refusal
        with lanes.inside(None):
            return original(*args, **options)

    return run
