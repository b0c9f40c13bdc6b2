"""Fakes of the two sources that code here takes as arguments: a clock that stands still, and entropy from a seed."""

from __future__ import annotations

import hashlib
import threading


class FrozenClock:
    """A clock that moves only when it is told to (implements ``abc.sources.Clock``).

    Args:
        wall_us: The time of the wall clock, in microseconds since the epoch.
        mono_us: The time of the monotonic clock, in microseconds.
    """

    __slots__ = ("_lock", "_mono", "_wall")

    def __init__(self, wall_us: int = 1_760_000_000_000_000, mono_us: int = 0) -> None:
        self._wall = wall_us
        self._mono = mono_us
        self._lock = threading.Lock()

    def wall_us(self) -> int:
        """Microseconds since the epoch."""
        return self._wall

    def mono_us(self) -> int:
        """Microseconds of the monotonic clock."""
        return self._mono

    def advance(self, us: int) -> None:
        """Move both clocks on.

        Args:
            us: How far, in microseconds.

        Raises:
            ValueError: ``us`` is negative; a monotonic clock never goes back.
        """
        if us < 0:
            raise ValueError(f"a clock cannot advance by {us} microseconds")
        with self._lock:
            self._wall += us
            self._mono += us


class SeededEntropy:
    """Bytes that look unpredictable and are the same for the same seed (implements ``abc.sources.Entropy``).

    Not for secrets. The bytes do not depend on the sizes of the reads: ``bytes(3) + bytes(5)`` is ``bytes(8)``.

    Args:
        seed: Any number or text.
    """

    __slots__ = ("_blocks", "_key", "_lock", "_rest")

    def __init__(self, seed: int | str = 0) -> None:
        self._key = hashlib.blake2b(repr(seed).encode(), digest_size=32).digest()
        self._blocks = 0
        self._rest = b""
        self._lock = threading.Lock()

    def bytes(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        with self._lock:
            while len(self._rest) < count:
                self._rest += hashlib.blake2b(self._blocks.to_bytes(8, "big"), key=self._key).digest()
                self._blocks += 1
            taken, self._rest = self._rest[:count], self._rest[count:]
            return taken
