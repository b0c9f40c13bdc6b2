"""A line of a bundle becomes the record that it was made of, and none where one of its values is of another sort."""

from __future__ import annotations

from typing import Any

import pytest

from reenact.facts.call import Call, Effect, Fidelity, Kind, Value
from reenact.facts.order import Delivery, Interruption, Tag
from reenact.facts.record import CallIssued, CallSettled, Record, TurnsDelivered
from reenact.store.bundles import limits
from reenact.store.bundles.record_lines import line_of, record_of

CALL = Call(
    Kind.TOOL, "look", Effect.READ, "tool/1", {"tool": "look"}, b"{}", "text/plain", "c", "o", "a.py:1", observed=True
)
ISSUED = CallIssued(3, 1, 2, 0, -5, CALL, Fidelity.REDACTED, "cleaned")
SETTLED = CallSettled(3, 7, Value(b"\xff1", "text/plain", b"[]", {"checked": True}), 4, Fidelity.SEALED, "n")
SIGNAL = TurnsDelivered((Delivery(4, Tag("i", "root", 15, Interruption(9, 1, 0).packed()), 873861, True),))
"""Where a signal came: three numbers in one, which is more than any other count."""
LEAST = (CallIssued(0, 0, 0, None, 0, Call(Kind.HTTP, "", Effect.NONE, "")), CallSettled(0, 0, Value(b"")))
COUNTS = ("event", "lane", "position", "parent", "delivery")
OTHERS: tuple[Any, ...] = (
    None,
    True,
    1,
    -1,
    1.5,
    limits.NUMBER + 1,
    limits.TIME + 1,
    "text",
    ["YQ=="],
    {"a": 1},
    [[1]],
)
FITS = {
    **dict.fromkeys(COUNTS, (1,)),
    "at_us": (1, -1, limits.NUMBER + 1),
    "head": ({"a": 1},),
    "observed": (True,),
    "body": ("text", ["YQ=="]),
    "changes": ("text", ["YQ=="], None),
    **dict.fromkeys(("parent", "delivery"), (None, 1)),
    **dict.fromkeys(("ordinal", "source"), (None, "text")),
    **dict.fromkeys(("name", "rule", "media", "channel", "note"), ("text",)),
}


def lined(record: Record) -> dict[str, Any]:
    return line_of(record, lambda data: pytest.fail("nothing here is long"))


def read(line: dict[str, Any]) -> Record:
    return record_of(line, lambda digest, size: pytest.fail("and no blob is asked for"))


@pytest.mark.parametrize("record", [ISSUED, SETTLED, SIGNAL, *LEAST])
def test_a_record_comes_back(record: Record) -> None:
    assert read(lined(record)) == record


@pytest.mark.parametrize(
    ("record", "name"), [(record, name) for record in (ISSUED, SETTLED) for name in lined(record) if name != "is"]
)
def test_a_value_of_another_sort_is_refused(record: Record, name: str) -> None:
    for value in OTHERS:
        fits = any(type(value) is type(each) and value == each for each in FITS.get(name, ()))
        line = {**lined(record), name: value}
        if fits:
            read(line)
            continue
        with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
            pytest.fail(f"{name} may not be {value!r}, and became {read(line)}")


@pytest.mark.parametrize("name", ["event", "lane", "position", "at_us", "kind", "name", "effect", "rule"])
def test_what_every_call_says_cannot_be_missing(name: str) -> None:
    line = lined(ISSUED)
    del line[name]
    with pytest.raises(KeyError):
        read(line)
