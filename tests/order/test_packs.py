"""Packs of deliveries: whatever was packed is read back, and an order is read in pages from any place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.order import Delivery, Tag, TimerSpan, pack, unpack

LANES = {"root": 0, "root/search#1": 1, "root>lookup#2": 300, "mentioned only": 1 << 30}

tags = st.builds(
    Tag,
    st.sampled_from("etwpjs"),
    st.sampled_from(["", *LANES]),
    st.integers(0, 2**40),
    st.integers(-1, 2**33),
)
timers = st.none() | st.builds(TimerSpan, st.integers(0, 2**50), st.integers(0, 2**51))
turns = st.lists(st.tuples(tags, st.integers(0, 2**50), st.booleans(), timers), min_size=1, max_size=60)


@given(turns, st.integers(0, 2**31))
def test_what_was_packed_is_read_back(found: list[tuple[Tag, int, bool, TimerSpan | None]], first: int) -> None:
    deliveries = [Delivery(first + n, *each) for n, each in enumerate(found)]
    data = pack(deliveries, LANES)
    assert list(unpack(data, first, {number: path for path, number in LANES.items()})) == deliveries


def test_a_pack_from_before_timers_were_kept_says_nothing_of_them() -> None:
    known = [Delivery(n, Tag("t", "root", n, 1), n * 900, True, TimerSpan(n * 800, n * 850)) for n in range(5)]
    bare = [each._replace(times=None) for each in known]
    assert pack(known, LANES).startswith(pack(bare, LANES))
    assert list(unpack(pack(bare, LANES), 0, {0: "root"})) == bare


def test_deliveries_read_back_are_deliveries() -> None:
    (found,) = unpack(pack([Delivery(7, Tag("e", "", 3, -1), 12, False)], {}), 7, {})
    assert type(found) is Delivery
    assert type(found.tag) is Tag
    assert found.tag.n == -1
    assert found.proven is False


def test_a_usual_turn_takes_few_bytes() -> None:
    deliveries = [Delivery(n, Tag("e", "", n // 3, (0, 1, -1)[n % 3]), n * 900, True) for n in range(60)]
    assert len(pack(deliveries, {})) < 60 * 7
