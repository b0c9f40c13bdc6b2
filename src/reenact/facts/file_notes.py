"""The form of a run's notes on the files that its program read, for their writers and readers."""

from __future__ import annotations

from typing import Final

NOTE: Final = "file."
"""The beginning of the name of a note of a file; its path below the root follows. The note holds ``digests``, one for
each version that was read, in order, the ``size`` of the last one, and ``us``, the time of the first read: microseconds
since the run began."""

ABSENT: Final = "absent"
"""The word in place of a digest for a file that the program looked for and did not find."""
