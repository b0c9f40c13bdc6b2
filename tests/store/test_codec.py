"""Whatever a fact holds, its row gives it back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.call import Call, Effect, End, EndKind, ErrorFact, Failure, Fidelity, Kind, Value
from reenact.facts.record import SegmentArrived
from reenact.facts.run import Entry, Run, Status, Totals
from reenact.store.codec import (
    dump,
    joined,
    load,
    pack_call,
    pack_end,
    pack_run,
    pack_settled,
    unpack_call,
    unpack_end,
    unpack_run,
    unpack_settled,
    weaker,
)
from reenact.store.keyed_hash import KeyedHash
from reenact.store.payloads import compress, decompress
from reenact.store.stream_pieces import FIRST_LINK, OpenStream, StreamPart, parts_of

text = st.text(st.characters(), max_size=8)  # lone surrogates among them
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
heads = st.dictionaries(text, json, max_size=3)
errors = st.recursive(
    st.builds(
        ErrorFact, text, text, st.none() | st.binary(max_size=6), st.none() | st.binary(max_size=6),
        suppress_context=st.booleans(), notes=st.lists(text, max_size=2).map(tuple),
    ),
    lambda inner: st.builds(
        ErrorFact, text, text, cause=st.none() | inner, context=st.none() | inner,
        members=st.lists(inner, max_size=2).map(tuple),
    ),
    max_leaves=4,
)  # fmt: skip
calls = st.builds(
    Call, st.sampled_from(Kind), text, st.sampled_from(Effect), text, heads, st.just(b""), text, text,
    st.none() | text, st.none() | text, st.booleans(),
)  # fmt: skip
outcomes = st.builds(Value, st.just(b""), text, st.binary(max_size=6), heads) | st.builds(
    Failure, errors, st.binary(max_size=6), heads
)
runs = st.builds(
    Run, text, text, text, st.sampled_from(Status), st.builds(Entry, text, st.lists(text, max_size=2).map(tuple), text),
    tags=st.dictionaries(text, text, max_size=2), flag=st.none() | text, totals=st.builds(Totals, st.integers()),
    fidelity=st.sampled_from(Fidelity), environment=heads, degraded=st.lists(text, max_size=2).map(tuple),
)  # fmt: skip


@given(calls)
def test_a_call(call: Call) -> None:
    assert unpack_call(load(dump(pack_call(call)))) == call


@given(outcomes)
def test_an_outcome(outcome: Value | Failure) -> None:
    assert unpack_settled(load(dump(pack_settled(outcome)))) == outcome


@given(st.builds(End, st.sampled_from(EndKind), st.none() | errors))
def test_an_end(end: End) -> None:
    assert unpack_end(load(dump(pack_end(end)))) == end


@given(runs)
def test_a_run(run: Run) -> None:
    assert unpack_run(pack_run(run)) == run


def test_a_run_of_a_later_version_is_read_without_what_is_new() -> None:
    data = load(pack_run(Run("r")))
    data["mood"] = data["entry"]["mood"] = data["totals"]["mood"] = "good"
    assert unpack_run(dump(data)) == Run("r")


@given(st.sampled_from(Fidelity), st.sampled_from(Fidelity))
def test_the_weaker_of_two_fidelities_is_the_later_one(left: Fidelity, right: Fidelity) -> None:
    order = list(Fidelity)
    assert weaker(left, right) == weaker(right, left) == order[max(order.index(left), order.index(right))]


def test_remarks_are_joined_without_repeating() -> None:
    assert joined("", "") == "" and joined("a", "") == joined("", "a") == joined("a", "a") == "a"
    assert joined("a; b", "b") == "a; b" and joined("a", "b") == "a; b"


@given(st.binary(max_size=3000) | st.binary(max_size=4).map(lambda data: data * 30_000))
def test_compressed_bytes(data: bytes) -> None:
    codec, kept = compress(data)
    assert decompress(codec, kept) == data
    assert len(kept) <= len(data)


segments = st.lists(
    st.tuples(
        st.integers(0, 1 << 62), st.binary(max_size=9) | st.just(b"q" * 300_000), st.none() | st.integers(0, 1 << 62)
    ),
    max_size=6,
)


@given(segments, st.integers(1, 4))
def test_a_stream_in_rows(sent: list[tuple[int, bytes, int | None]], size: int) -> None:
    hasher = KeyedHash(b"k" * 32)
    stream = OpenStream(7, hasher.begin())
    found: list[StreamPart] = []
    link = FIRST_LINK
    for at in range(0, len(sent), size):
        for at_us, data, delivery in sent[at : at + size]:
            stream.add(SegmentArrived(7, at_us, data, delivery))
        for chunk in stream.cut(hasher):
            assert chunk.size <= 256 << 10
            found += parts_of(hasher, link, chunk)
            link = chunk.digest
    whole: list[tuple[int, bytes, int | None]] = []
    data = b""
    for part in found:
        data += part.data
        if not part.continued:
            whole.append((part.at_us, data, part.delivery))
            data = b""
    assert whole == sent
