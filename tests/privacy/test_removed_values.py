"""What a run has removed is found again as text in its process and by keyed digest in others; words are not."""

from __future__ import annotations

import base64
import json
import secrets
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.call import Call, Effect, Kind, Value
from reenact.facts.credentials import STANDIN
from reenact.facts.guess_cost import LISTED_BITS, SOUGHT_BITS, bits, is_sought, may_be_listed
from reenact.facts.keys import Rules
from reenact.facts.known_credentials import KnownCredentials
from reenact.facts.record import (
    CallIssued,
    CallSettled,
    EvidenceNoted,
    HeadArrived,
    OutputPrinted,
    Record,
    RunClosed,
    SegmentArrived,
)
from reenact.facts.removed_digests import NOTHING, REMOVED, RemovedDigests, entry, listed, noted
from reenact.facts.run import Run
from reenact.privacy import make_redactor
from reenact.privacy.removed_values import MOST, RemovedValues

TOKEN = "Zq3vT9xKb7LmW2nRc4Yd8sPf"
SHORT = "k3J9x0QpZ"
KEY = b"k" * 16

WORDS = [
    *(
        "password1",
        "postgres1",
        "dark-mode1",
        "en-US",
        "gpt-4o-mini-2024-07-18",
        "claude-sonnet-4-20250514",
        "deadbeef",
    ),
    *("2026-11-22", "correct-horse-battery-staple9", "application/json", "v1.2.3-beta4", "projects/foo/secrets/db-2"),
    *("00000000000000000000", "abababababababab", "production-database-main"),
]


@pytest.mark.parametrize("word", WORDS)
def test_what_is_made_of_words_is_not_looked_for(word: str) -> None:
    assert bits(word.encode()) < SOUGHT_BITS
    assert not is_sought(word.encode())


@given(st.binary(min_size=16, max_size=40))
def test_what_chance_has_made_is_looked_for_and_listed(data: bytes) -> None:
    assert bits(b"") == 0
    if len(set(data)) > 12:
        for value in (data.hex(), str(uuid.UUID(bytes=data[:16])), base64.urlsafe_b64encode(data).decode().rstrip("=")):
            assert is_sought(value.encode()), value
    assert 0 <= bits(data) <= 8 * len(data)


def test_short_values_are_looked_for_and_never_listed() -> None:
    assert SOUGHT_BITS < bits(SHORT.encode()) < LISTED_BITS
    assert is_sought(SHORT.encode())
    assert not may_be_listed(SHORT.encode())
    assert entry(KEY, "c", SHORT.encode()) == ""
    assert not is_sought(b"k3J9x0Q")


@pytest.mark.parametrize(
    "around",
    [
        *("{}", "x {} y", '{{"a":"{}"}}', "sid={}; Path=/", "http://h/p/{}?x=1", "--token={}", '"text\\n{}"', "'{}',"),
        *('"\\u0022{}\\u0022"', "\x1b[1m{}\x1b[0m", "user:{}@host", "[('sid', '{}')]", "{}.", "a={}&b=1", "<t>{}</t>"),
    ],
)
@pytest.mark.parametrize("value", [TOKEN, str(uuid.UUID(int=7**45)), f"sess.{TOKEN}", f"{TOKEN[:21]}/+=="])
def test_a_listed_value_is_found_as_a_whole_token(around: str, value: str) -> None:
    list_ = RemovedDigests(KEY, [entry(KEY, "c", value.encode())])
    text = around.format(value).encode()
    (span,) = list_.spans(text)
    assert text[span.start : span.end] == value.encode()
    assert list_.erased(text) == around.format("~rxc~").encode()
    assert list_.erased(list_.erased(text)) == list_.erased(text)


def test_a_listed_value_that_is_percent_encoded_is_found() -> None:
    value = f"{TOKEN}/x=="
    list_ = RemovedDigests(KEY, [entry(KEY, "c", value.encode())])
    assert list_.erased(f"a {TOKEN}%2Fx%3D%3D b".encode()) == b"a ~rxc~ b"


def test_a_value_glued_to_letters_is_found_in_the_process_alone() -> None:
    removed = RemovedValues(kept=True)
    removed.add(TOKEN.encode(), "c")
    removed.add(SHORT.encode(), "c")
    text = f"x{TOKEN}x x{SHORT}x {SHORT}".encode()
    assert [text[each.start : each.end].decode() for each in removed.spans(text)] == [TOKEN, SHORT]
    assert removed.listed
    assert not removed.listed.spans(text)


def test_nothing_is_listed_but_digests_under_a_key_of_the_run() -> None:
    first, second = RemovedValues(kept=True), RemovedValues(kept=True)
    for removed in (first, second):
        removed.add(TOKEN.encode(), "c")
    assert first.listed.entries[0].startswith("c24.")
    assert first.listed.entries != second.listed.entries
    assert TOKEN not in repr(first.listed.to_json())
    assert not RemovedValues().listed


@pytest.mark.parametrize(
    "found", [None, 1, [], {}, {"key": "x"}, {"key": "", "values": []}, {"key": "00" * 99, "values": []}]
)
def test_a_list_that_is_none_is_no_list(found: object) -> None:
    assert listed(found) is NOTHING
    assert not RemovedDigests(KEY, ["c24", "?24.0000000000000000", "c24.xx", "é"])


def test_of_very_many_values_the_first_are_still_found_as_tokens() -> None:
    removed = RemovedValues()
    values = [secrets.token_urlsafe(18).encode() for _ in range(3 * MOST)]
    for value in values:
        removed.add(value, "c")
    text = b" ".join(values)
    found = sorted({text[span.start : span.end] for span in removed.spans(text)})
    assert found == sorted(value for value in values if is_sought(value))


def login(*values: str) -> HeadArrived:
    """The head of an answer that sets cookies."""
    return HeadArrived(
        0, 1, {"status": 200, "headers": [["Set-Cookie", f"n{at}={v}; Path=/"] for at, v in enumerate(values)]}
    )


def asked(body: str) -> CallIssued:
    """A tool's call."""
    return CallIssued(1, 0, 1, None, 2, Call(Kind.TOOL, "t", Effect.READ, "tool/1", {"tool": "t"}, body.encode()))


def test_a_run_keeps_its_list_as_it_goes_and_at_its_end() -> None:
    gate = make_redactor(removed=RemovedValues(kept=True))
    out: list[Record] = [*gate.clean(login(TOKEN, SHORT)), *gate.clean(asked(f'"{TOKEN} {SHORT}"'))]
    out += [*gate.clean(OutputPrinted(1, 3, f"{TOKEN} {SHORT}\n".encode())), *gate.clean(RunClosed(Run("r")))]
    assert TOKEN not in repr(out)
    assert SHORT not in repr(out)
    (note,) = [each for each in out if isinstance(each, EvidenceNoted)]
    list_ = noted({note.key: note.value})
    (closed,) = [each for each in out if isinstance(each, RunClosed)]
    assert list_.entries == listed(closed.run.capture[REMOVED]).entries
    assert list_.spans(TOKEN.encode())
    (head,) = [each for each in out if isinstance(each, HeadArrived)]
    (printed,) = [each for each in out if isinstance(each, OutputPrinted)]
    stand_in = STANDIN.search(printed.data)
    assert stand_in is not None
    assert stand_in[0].decode() in str(head.head)  # what the program has in a replay
    assert printed.data.endswith(b" ~rxc0000~\n")


def test_a_run_that_removes_nothing_keeps_no_list() -> None:
    gate = make_redactor(removed=RemovedValues(kept=True))
    assert gate.clean(RunClosed(Run("r"))) == (RunClosed(Run("r")),)
    assert gate.flush() == ()


def test_a_later_process_finds_what_an_earlier_one_has_removed() -> None:
    first = RemovedValues(kept=True)
    first.add(TOKEN.encode(), "c")
    gate = make_redactor(
        known=KnownCredentials({}, ()).with_listed(first.listed), removed=RemovedValues(first.listed, kept=True)
    )
    out = [*gate.clean(asked(f'"say {TOKEN}"')), *gate.clean(RunClosed(Run("s")))]
    assert TOKEN not in repr(out)
    (closed,) = [each for each in out if isinstance(each, RunClosed)]
    assert closed.run.capture[REMOVED] == first.listed.to_json()


def test_both_sides_of_a_comparison_are_without_what_was_removed() -> None:
    """A program that holds the value itself asks with it before and after it became known."""
    removed = RemovedValues(kept=True)
    removed.add(TOKEN.encode(), "b")
    rules = Rules(removed=removed.listed)
    head = {"method": "POST", "url": f"http://x/{TOKEN}"}
    assert rules.same(
        "http/1", head, f'{{"a":"{TOKEN}"}}'.encode(), {**head, "url": "http://x/~rxbabc~"}, b'{"a":"~rxb~"}'
    )
    assert not rules.same("http/1", head, f'{{"a":"{TOKEN}"}}'.encode(), head, b'{"a":"other"}')
    gate = make_redactor(known=KnownCredentials({}, ()).with_listed(removed.listed))
    assert gate.printed([f"it is {TOKEN}".encode()]) == [b"it is ~rxn~"]
    gate.call(
        Call(
            Kind.HTTP,
            "n",
            Effect.READ,
            "http/1",
            {"method": "GET", "url": "http://x", "headers": [["x-api-key", SHORT]]},
            b"",
        )
    )
    assert gate.printed([f"it is {SHORT}".encode()]) == [b"it is ~rxn~"]


def test_a_value_first_removed_from_a_result_is_found_in_what_follows() -> None:
    gate = make_redactor()
    gate.clean(CallSettled(1, 2, Value(f'{{"access_token":"{TOKEN}"}}'.encode())))
    (printed,) = gate.clean(OutputPrinted(1, 3, f"x{TOKEN}x\n".encode()))
    assert TOKEN not in repr(printed)


def test_a_value_that_a_model_spells_out_over_the_events_of_a_stream_is_found() -> None:
    gate = make_redactor()
    gate.clean(login(TOKEN, SHORT))
    head = HeadArrived(2, 3, {"status": 200, "headers": [["content-type", "text/event-stream"]]})
    pieces = ["it is ", TOKEN[:5], TOKEN[5:14], TOKEN[14:], " or ", SHORT[:4], SHORT[4:], " you know"]
    data = b"".join(b'data: {"delta": "%s"}\n\n' % piece.encode() for piece in pieces)
    out = [*gate.clean(head), *gate.clean(SegmentArrived(2, 4, data)), *gate.flush()]
    joined = b"".join(each.data for each in out if isinstance(each, SegmentArrived))
    assert len(joined) == len(data)
    said = "".join(json.loads(line[6:])["delta"] for line in joined.splitlines() if line)
    assert STANDIN.sub(b"", said.encode()) == b"it is  or  you know"


def test_the_value_of_a_variable_is_found_anyway_and_never_listed() -> None:
    known = KnownCredentials({"SHOP_API_KEY": TOKEN}, ["SHOP_API_KEY"])
    removed = RemovedValues(kept=True)
    gate = make_redactor(known=known, removed=removed)
    gate.clean(login(TOKEN))
    assert not removed
    assert not removed.listed
    assert TOKEN not in repr(gate.clean(asked(f'"{TOKEN}"')))
