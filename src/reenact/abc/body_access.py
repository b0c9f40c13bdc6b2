"""Bodies to be copied: the bytes of a payload, or its size and digest where they are withheld."""

from __future__ import annotations

from typing import cast

from reenact.abc.store import Recording
from reenact.errors import BlobMissing
from reenact.facts.event import Payload
from reenact.facts.large_values import Withheld

UNPROVEN = "unproven"
"""The reason for a state that is not read: a list in it was declared to grow only, and its growth is not proven."""
WITHHELD = "withheld"
"""The reason (``BlobMissing.reason``) of a payload of which only size and digest are kept."""


def body_or_size(recording: Recording, payload: Payload | None) -> bytes:
    """The value that stands for a payload in another log: its bytes, or its size and digest.

    Raises:
        BlobMissing, BlobCorrupt: As ``Recording.body``, except for withheld payloads.
    """
    try:
        return recording.body(payload)
    except BlobMissing as error:
        if payload is None or error.reason != WITHHELD:
            raise
        return cast(bytes, Withheld(payload.size, payload.digest))
