"""An id that is made from a clock tells its moment, and is the same id of another moment when it is moved."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.clock_ids import made, moment_of, moved

MOMENTS = st.integers(min_value=0, max_value=9_000_000_000_000_000)


@given(MOMENTS, st.integers(min_value=-(10**9), max_value=10**12), st.binary(max_size=9))
def test_moved_there_and_back(moment_us: int, by_us: int, salt: bytes) -> None:
    first = made(moment_us, salt)
    told = uuid.UUID(int=first)
    assert (told.version, told.variant, told.time) == (1, uuid.RFC_4122, moment_us * 10 + 0x01B21DD213814000)
    assert moment_of(first) == moment_us
    there = moved(first, by_us)
    assert moment_of(there) == moment_us + by_us
    assert uuid.UUID(int=there).node == told.node and uuid.UUID(int=there).clock_seq == told.clock_seq
    assert moved(there, -by_us) == first


@given(st.integers(min_value=0, max_value=4_000_000_000), st.integers(min_value=0, max_value=10**9))
def test_versions_of_rust_tell_the_same_moment(second: int, by_s: int) -> None:
    uuid_utils = pytest.importorskip("uuid_utils")
    for one in (uuid_utils.uuid6(timestamp=second), uuid_utils.uuid7(second, 0)):
        assert moment_of(one.int) == second * 10**6
        there = uuid_utils.UUID(int=moved(one.int, by_s * 10**6))
        assert there.version == one.version and moment_of(there.int) == (second + by_s) * 10**6


@given(st.uuids(version=4), MOMENTS)
def test_what_is_made_from_no_clock_stays(drawn: uuid.UUID, by_us: int) -> None:
    assert moment_of(drawn.int) is None and moved(drawn.int, by_us) == drawn.int
