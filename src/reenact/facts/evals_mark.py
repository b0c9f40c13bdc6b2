"""The mark on rows of OpenAI Evals that were made from a run, by which the rows can become a run again."""

from __future__ import annotations

from typing import Final

MARK: Final = "reenact"
"""Key in the item of a row: ``run``, ``event``, ``agent``, ``version``, and ``at_us`` and ``ended_us`` (microseconds
since the epoch) where they are known."""
