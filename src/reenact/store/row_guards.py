"""Guards on the readers of rows: any error that a damaged row causes is replaced by an error that names the damage.

Check sums find changes inside a column. A flipped bit may also change the type of a column (bytes in the place of text,
null in the place of a number), or make a row impossible to find. The reader then fails with an error of another type.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from reenact.errors import ReenactError, StoreError
from reenact.facts.run import Run

UNSOUND = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, struct.error, AssertionError)
"""The errors that a damaged row causes in its reader."""


class OfARun(Protocol):
    """A reader of the rows of one run."""

    @property
    def run(self) -> Run:
        """The run that is read."""
        ...


S = TypeVar("S", bound=OfARun)
T = TypeVar("T")
P = ParamSpec("P")


def guarded(read: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Guard a method that makes its answer of rows."""

    @wraps(read)
    def reading(self: S, /, *args: P.args, **options: P.kwargs) -> T:
        try:
            return read(self, *args, **options)
        except ReenactError:
            raise
        except UNSOUND as error:
            raise unsound(self.run.id, error) from error

    return reading


def guarded_each(read: Callable[Concatenate[S, P], Iterator[T]]) -> Callable[Concatenate[S, P], Iterator[T]]:
    """Guard a method that makes its answers of rows and yields them one by one."""

    @wraps(read)
    def reading(self: S, /, *args: P.args, **options: P.kwargs) -> Iterator[T]:
        try:
            yield from read(self, *args, **options)
        except ReenactError:
            raise
        except UNSOUND as error:
            raise unsound(self.run.id, error) from error

    return reading


def unsound(run: str, error: Exception) -> StoreError:
    """The error for rows of a run that cannot be read because they are damaged."""
    return StoreError(
        f"run {run} is damaged: a row of it cannot be read ({type(error).__name__}: {error})",
        cause="the store's file was changed or cut after it was written",
        next_command="reenact fsck",
    )
