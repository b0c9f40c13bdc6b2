"""Text on its way to standard output and error, seen piece by piece before any buffer joins it.

Output that leaves the process is noted as bytes (``seams.stdout``), but bytes from a buffer no longer show which code
wrote them. A replay must know the writer, because the body of a frozen tool does not run and so does not print again.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

Go = Callable[[str], Any]
"""Writes one piece of text to its stream, without noting it."""

Listener = Callable[[int, Go, Any], Any]
"""Called with the stream (1 or 2), a function that writes the text, and the text. Returns ``write``'s result."""


def listen(listener: Listener) -> dict[int, Go]:
    """Let ``listener`` see the output to the present ``sys.stdout`` and ``sys.stderr``.

    Args:
        listener: See ``Listener``.

    Returns:
        Functions that write to each stream unrecorded. A stream of another kind is not listened to.
    """
    heard: dict[int, Go] = {}
    for fd, stream in ((1, sys.stdout), (2, sys.stderr)):
        if isinstance(stream, io.TextIOWrapper):
            go = stream.write
            stream.write = partial(listener, fd, go)  # type: ignore[method-assign]
            heard[fd] = go
    return heard
