"""The store's hash, which makes the digests of payloads."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from reenact.facts.common_bytes import common_head
from reenact.facts.large_values import is_large, is_withheld

if TYPE_CHECKING:
    from reenact.abc.hash_protocol import Hash

DIGEST_SIZE = 16

_EVERY = 1 << 15
"""The state of the hash is kept after each stretch of this many bytes of a body."""
_LONG = 2 * _EVERY
_TOO_LONG = 4 << 20
_SIDE_BY_SIDE = 4
"""The number of last bodies whose hash states are kept, because conversations may go on side by side."""


class _GrownBody(NamedTuple):
    """A body, and the state of its hash after each full stretch of ``_EVERY`` bytes."""

    data: bytes
    states: list[Hash]


class KeyedHash:
    """The hash of a store, which makes the digests of payloads.

    Args:
        key: The store's secret.
    """

    __slots__ = ("_grown", "begin")

    def __init__(self, key: bytes) -> None:
        self.begin: Callable[[], Hash] = hashlib.blake2b(key=key, digest_size=DIGEST_SIZE).copy
        """Gives a hash object, which takes the bytes piece by piece."""
        self._grown: Sequence[_GrownBody] = ()

    def of(self, data: bytes) -> bytes:
        """The digest of some bytes. Hashing takes about 0.5 µs, and 1 ms a megabyte."""
        found = self.begin()
        found.update(data)
        return found.digest()

    def of_body(self, body: bytes) -> bytes:
        """The digest of a body. The bytes of a body that is not to be stored are released."""
        if is_large(body):
            return self._of_pieces(body.pieces())
        if not is_withheld(body):
            return self.of(body)
        if not body.digest:
            body.digest = self._of_pieces(body.pieces()).hex()
            body.source = b""
        return bytes.fromhex(body.digest)

    def _of_pieces(self, pieces: Iterable[bytes]) -> bytes:
        found = self.begin()
        for piece in pieces:
            found.update(piece)
        return found.digest()

    def named(self, data: bytes, digest: str) -> bool:
        """Whether some bytes have this digest, in hexadecimal. It takes as long as ``of``."""
        found = self.begin()
        found.update(data)
        return found.hexdigest() == digest

    def named_again(self, data: bytes, digest: str) -> bool:
        """Whether some bytes have this digest, quickly for a body that begins like one of the last bodies, such as a
        conversation that is sent again. The common beginning is only compared, not hashed again."""
        if len(data) < _LONG or len(data) > _TOO_LONG or type(data) is not bytes:
            return self.named(data, digest)
        kept = self._grown
        heads = [common_head(data, each.data) for each in kept]
        nearest = max(range(len(heads)), key=heads.__getitem__, default=-1)
        states = kept[nearest].states[: heads[nearest] // _EVERY] if nearest >= 0 else []
        found = states[-1].copy() if states else self.begin()
        at = len(states) * _EVERY
        while at + _EVERY <= len(data):
            found.update(data[at : at + _EVERY])
            at += _EVERY
            states.append(found.copy())
        found.update(data[at:])
        others = [each for each, head in zip(kept, heads, strict=True) if 2 * head < len(each.data)]
        self._grown = (_GrownBody(data, states), *others[: _SIDE_BY_SIDE - 1])
        return found.hexdigest() == digest
