"""Check sums of rows: the sum that is stored beside a column, and the error for a column that does not match its
sum."""

from __future__ import annotations

from zlib import crc32

from reenact.errors import StoreError
from reenact.store.schema import LOW


def sum_of(address: int, text: str) -> int:
    """The check sum of a column."""
    return crc32(text.encode(), address & LOW)


def damaged(what: str) -> StoreError:
    """The error for a row that was changed after it was written."""
    return StoreError(
        f"{what} is damaged: its row does not agree with its check sum",
        cause="the store's file was changed or cut after it was written",
        next_command="reenact fsck",
    )
