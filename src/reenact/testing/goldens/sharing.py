"""Sharing: which goldens are run in a process that others have run in, and what of it is believed.

What an installed module has kept of one golden the next one may find. Where it answers in place of the world, a
recorded call is not made; so a golden is believed only if it passes and has made each of them. Any other is run again
by itself, and then the next one of its program is not tried here: they mostly fail together, and a try costs. But what
is left may also be what the code lacks (a key that only the first one sets), and then it passes here and fails by
itself. Nothing tells that, so whoever runs goldens says whether they may share.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import TypeVar

from reenact.errors import StoreError
from reenact.facts.run import Run
from reenact.replaying.starting import Starter, Unreported
from reenact.seams.boot.warmth import head_of

__all__ = ["Sharing"]

R = TypeVar("R")


class Sharing:
    """Runs goldens in processes that they share, where that will do. Any thread may call it.

    Args:
        start_it: Starts programs there.
        doubted: Programs of which no golden is tried there for now; one set for all that is run together.
    """

    def __init__(self, start_it: Starter, doubted: set[Hashable]) -> None:
        self._start_it = start_it
        self._doubted = doubted

    def ran(self, run: Run, by: Callable[[Starter], tuple[R, bool]], alone: Starter) -> R:
        """What a golden of a run comes to.

        Args:
            run: The run.
            by: Runs it by what starts its program; gives what came of it, and whether it has passed and left no call of
                the recording out.
            alone: Starts its program in a process of its own.

        Raises:
            ReplayError: It cannot be started here, or has ended without a report.
        """
        program = _program(run)
        if program not in self._doubted:
            with suppress(Unreported, StoreError):
                found, whole = by(self._start_it)
                if whole:
                    return found
        found, whole = by(alone)
        (self._doubted.discard if whole else self._doubted.add)(program)
        return found


def _program(run: Run) -> Hashable:
    argv = run.entry.own or run.entry.argv
    return run.entry.target, tuple(argv[: head_of(argv)])
