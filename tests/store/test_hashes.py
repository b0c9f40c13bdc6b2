"""The digest of a body that repeats another is the same as by itself, and costs what is new."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.store import keyed_hash
from reenact.store.keyed_hash import KeyedHash

KEY = b"k" * 32


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 60), st.binary(max_size=90)), max_size=12),
    st.integers(0, 1 << 30),
)
def test_a_body_that_is_another_edited_has_its_own_digest(edits: list[tuple[int, int, bytes]], seed: int) -> None:
    chance = random.Random(seed)
    body, other = chance.randbytes(300), chance.randbytes(300)
    hasher = KeyedHash(KEY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keyed_hash, "_EVERY", 32)
        patch.setattr(keyed_hash, "_LONG", 64)
        for n, (at, gone, new) in enumerate([(0, 0, b""), *edits]):
            body = body[:at] + new + body[at + gone :]
            for each in (body, other[: 300 - n], body):
                digest = KeyedHash(KEY).of(each).hex()
                assert hasher.named_again(each, digest)
                assert not hasher.named_again(each, KeyedHash(KEY).of(each + b"!").hex())


def test_of_a_conversation_that_is_sent_again_what_is_new_is_hashed() -> None:
    hashed = 0

    class Counting:
        """Counts the bytes that it takes in."""

        def update(self, data: bytes) -> None:
            nonlocal hashed
            hashed += len(data)

        def copy(self) -> Counting:
            return self

        def hexdigest(self) -> str:
            return ""

    hasher = KeyedHash(KEY)
    hasher.begin = Counting  # type: ignore[assignment]
    first, second = random.Random(1).randbytes(600_000), random.Random(2).randbytes(600_000)
    for turn in range(20):
        hasher.named_again(first + b"f" * turn * 2800, "")
        hasher.named_again(second + b"s" * turn * 2800, "")
    assert hashed < 2 * 600_000 + 40 * (1 << 16)
    hasher.named_again(bytes(5 << 20), "")
    assert len(hasher._grown) == 2, "what is very long is not kept in mind"
