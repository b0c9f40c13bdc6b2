"""A function that notes what it is called with, and goes on to the real one."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def noting(real: Callable[P, R], note: Callable[P, object]) -> Callable[P, R]:
    """``real``, with ``note`` called first and with the same arguments. To be put in the place of ``real``."""

    def noted(*args: P.args, **options: P.kwargs) -> R:
        note(*args, **options)
        return real(*args, **options)

    return noted
