"""Text on its way to standard output and error, seen piece by piece before any buffer joins it.

Output that leaves the process is noted as bytes (``seams.stdout``); but bytes that have been through a buffer no longer
tell who wrote them, and a replay must know: what the body of a frozen tool printed is not printed again by running it.
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
"""Is given each piece: the stream (1 or 2), how to write it, and the text; gives what ``write`` gives."""


def listen(listener: Listener) -> dict[int, Go]:
    """Let ``listener`` see what is written to ``sys.stdout`` and ``sys.stderr`` as they stand now.

    Args:
        listener: See ``Listener``.

    Returns:
        How to write to each stream unrecorded. A stream of another kind is not listened to.
    """
    heard: dict[int, Go] = {}
    for fd, stream in ((1, sys.stdout), (2, sys.stderr)):
        if isinstance(stream, io.TextIOWrapper):
            go = stream.write
            stream.write = partial(listener, fd, go)  # type: ignore[method-assign]
            heard[fd] = go
    return heard
