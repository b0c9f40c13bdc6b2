"""How a run names the files that its program read: the form of the notes, for their writers and readers."""

from __future__ import annotations

from typing import Final

NOTE: Final = "file."
"""The beginning of the name of a note of a file; its path below the root follows. The note holds ``digests``, one for
each version that was read, in order, the ``size`` of the last one, and ``us``, the time of the first read: microseconds
since the run began."""

ABSENT: Final = "absent"
"""In place of a digest: the file was looked for, and not there."""
