"""The limits for a bundle and each of its parts: the writer keeps to them, and the reader enforces them.

Bundles are sent to other people, so it must be cheap to read a bundle with any content: the worst case within these
limits takes less than five seconds and 256 MiB of memory.
"""

from __future__ import annotations

from typing import Final

FILE: Final = 128 << 20
"""The most bytes of the file."""

CONTENT: Final = 128 << 20
"""The most bytes of all members, unpacked."""

MEMBERS: Final = 10_000
"""The most members."""

MANIFEST: Final = 4 << 20
"""The most bytes of the manifest, and of a golden's own member."""

LINES: Final = 48 << 20
"""The most bytes of all unpacked records, without blobs."""

LINE: Final = 8 << 20
"""The most bytes of one record: the evidence of a run holds up to 2 MiB of sources and 1 MiB of differences,
escaped."""

PARTS: Final = 1_000_000
"""The most values in all records, counted by commas and brackets."""

INLINE: Final = 16 << 10
"""The longest text inside a record, in bytes; a longer text is a blob."""

INLINE_BINARY: Final = 256
"""The longest binary content inside a record, in bytes of its base64; longer content is a blob."""

NUMBER: Final = (1 << 32) - 1
"""The largest number of an event, a lane or a delivery."""

PLACE: Final = (1 << 63) - 1
"""The largest place of a signal in its lane, which packs three numbers (``facts.order.Interruption``)."""

TIME: Final = 1 << 53
"""The largest time, in microseconds."""
