"""How a run names the files that its program read: the form of the notes, for those who write and who read them."""

from __future__ import annotations

from typing import Final

NOTE: Final = "file."
"""What the name of a note of a file begins with; its path below the root follows. The note holds ``digests``, one for
each version that was read, in order, the ``size`` of the last one, and ``us``, when that was read first: microseconds
since the run began."""

ABSENT: Final = "absent"
"""In place of a digest: the file was looked for, and not there."""
