"""Proves that an event made of parts that other events have brought is the one its row alone would make."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reenact.facts.call import Call, Effect, ErrorFact, Failure, Fidelity, Kind, Value
from reenact.facts.event import Payload
from reenact.facts.record import CallIssued, CallSettled
from reenact.store.check_sums import sum_of
from reenact.store.keyed_hash import DIGEST_SIZE
from reenact.store.rows import Columns, RecurringFacts, asked_row, event_of, settled_row

# What stands in a row between its commas is what an edit of the text would trip over.
NASTY = ["", '""', '","', ',"', "exact", ']["v","application/json","",{}]', ',"tool","look"', "ä\ud800", "a,b,,c"]
TEXTS = st.sampled_from(NASTY) | st.text(max_size=12)
HEADS = st.just(dict[str, Any]()) | st.dictionaries(TEXTS, TEXTS | st.none() | st.lists(TEXTS, max_size=2), max_size=2)
CALLS = st.builds(
    Call,
    st.sampled_from([Kind.TOOL, Kind.HTTP]),
    TEXTS,
    st.sampled_from(Effect),
    TEXTS,
    HEADS,
    st.sampled_from([b"{}", b"x" * 40, b""]),
    media=TEXTS,
    channel=TEXTS,
    ordinal=st.none() | TEXTS,
    source=st.none() | TEXTS,
    observed=st.booleans(),
)
OUTCOMES = st.builds(Value, st.sampled_from([b"1", b"y" * 40, b""]), TEXTS, st.sampled_from([b"", b"\xff"]), HEADS) | (
    st.builds(Failure, st.builds(ErrorFact, TEXTS, TEXTS), st.just(b""), HEADS)
)
DIFFERING = ("kind", "name", "effect", "rule", "head", "media", "ordinal", "source", "observed")
SAID = st.tuples(st.sampled_from(Fidelity), st.just("") | TEXTS)
TIMES = st.integers(0, 1 << 40)


@st.composite
def rows_of_runs(draw: st.DrawFn) -> list[tuple[Columns, Call, Any]]:
    """Rows of a run that makes few different calls many times, and what they were made of."""
    calls, outcomes = [draw(CALLS)], draw(st.lists(OUTCOMES, min_size=2, max_size=4))
    other = draw(CALLS)
    for name in draw(st.lists(st.sampled_from(DIFFERING), max_size=3, unique=True)):  # two calls that differ in little
        calls.append(replace(calls[0], **{name: getattr(other, name)}))
    said = draw(st.lists(SAID, min_size=1, max_size=3))
    found: list[tuple[Columns, Call, Any]] = []
    for number in range(draw(st.integers(2, 8))):
        call, outcome = draw(st.sampled_from(calls)), draw(st.none() | st.sampled_from(outcomes))
        digest = draw(st.binary(min_size=DIGEST_SIZE, max_size=DIGEST_SIZE))
        parent, delivery = draw(st.none() | TIMES), draw(st.none() | TIMES)
        exact, word = draw(st.sampled_from(said)), draw(st.sampled_from(said))
        asked = asked_row(
            CallIssued(number, 0, draw(TIMES), parent, draw(TIMES), call, *exact), digest if call.body else b""
        )
        came = None
        if outcome is not None:
            size = len(outcome.body) if isinstance(outcome, Value) else 0
            came = settled_row(
                CallSettled(number, draw(TIMES), outcome, delivery, *word), digest if size else b"", size
            )
        sums = sum_of(number, asked), None if came is None else sum_of(number, came)
        found.append(((number, "root", asked, sums[0], came, sums[1], None, None, None), call, outcome))
    return found


@settings(max_examples=settings().max_examples * 4)
@given(rows_of_runs())
def test_an_event_is_what_its_own_row_says(rows: list[tuple[Columns, Call, Any]]) -> None:
    recurring = RecurringFacts()
    for columns, call, outcome in rows:
        made, alone = event_of("r", columns, {}, recurring), event_of("r", columns, {}, RecurringFacts())
        assert made == alone and repr(made) == repr(alone)
        assert made.call == replace(call, body=b"")
        assert made.outcome == (replace(outcome, body=b"") if isinstance(outcome, Value) else outcome)
        assert (made.request is None) == (not call.body)
        assert made.answer is None or (type(made.answer) is Payload and made.answer.size)


def test_what_recurs_is_made_once() -> None:
    recurring = RecurringFacts()
    call, value = Call(Kind.TOOL, "look", Effect.READ, "tool/1", {"tool": "look"}, b"{}"), Value(b"1")
    events = []
    for number in range(3):
        asked = asked_row(CallIssued(number, 0, number, None, number, call), bytes([number]) * DIGEST_SIZE)
        came = settled_row(CallSettled(number, number, value, number), bytes([number + 9]) * DIGEST_SIZE, 1)
        columns = (number, "root", asked, sum_of(number, asked), came, sum_of(number, came), None, None, None)
        events.append(event_of("r", columns, {}, recurring))
    assert [event.position for event in events] == [0, 1, 2] and len({event.request for event in events}) == 3
    assert len({id(event.call) for event in events}) == 1 and len({id(event.outcome) for event in events}) == 1
    assert [event.answer.digest[:2] for event in events if event.answer] == ["09", "0a", "0b"]
