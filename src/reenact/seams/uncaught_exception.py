"""The exception that ends a program: told to us before the program's own way of telling it, which stays as it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def watch_uncaught(tell: Callable[[BaseException], object]) -> None:
    """Have ``tell`` called with uncaught exceptions from now on; earlier hooks are called after it."""
    before = sys.excepthook

    def excepthook(kind: Any, error: BaseException, trace: Any) -> None:
        tell(error)
        before(kind, error, trace)

    sys.excepthook = excepthook
