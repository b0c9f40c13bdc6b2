"""The mark of rows of OpenAI Evals that were made of a run, by which they become one again."""

from __future__ import annotations

from typing import Final

MARK: Final = "reenact"
"""Key in the item of a row: ``run``, ``event``, ``agent``, ``version``, and ``at_us`` and ``ended_us`` (microseconds
since the epoch) where they are known."""
