"""A divergence points at what differs, where it differs, and never at what redaction made of the same credential."""

from __future__ import annotations

import json

from reenact.facts.call import Call, Effect, Kind
from reenact.facts.difference import first_difference
from reenact.facts.event import Event
from reenact.replaying.divergence import asked, changed


def test_stand_ins_of_one_class_are_no_difference() -> None:
    recorded = asked({"url": "http://u:~rxuatgfpyviisa~@host/x?api_key=~rxnfebsaztmnld~"}, b'{"a":1}', Kind.HTTP)
    now = asked({"url": "http://u:~rxu~@host/x?api_key=~rxn~"}, b'{"a":2}', Kind.HTTP)
    assert recorded["url"] == now["url"]  # type: ignore[index, call-overload]
    assert first_difference(recorded, now) == "body.a"


def _parted(before: str, after: str) -> list[str]:
    head = {"method": "POST", "url": "http://host/x"}

    def call(prompt: str) -> Call:
        body = json.dumps({"prompt": prompt}).encode()
        return Call(Kind.HTTP, "POST host/x", Effect.READ, "http/1", head, body)

    recorded = Event("run", 3, "root", 3, None, call(before))
    told = changed(recorded, recorded.call.body, call(after), "reenact show @:3")
    return [line for line in str(told).splitlines() if line.startswith(("  recorded", "  now"))]


def test_two_long_texts_are_shown_where_they_part() -> None:
    common = "the same instructions as ever. " * 60
    recorded, now = _parted(common + "Be kind." + "x" * 900, common + "Be terse." + "x" * 900)
    assert "Be kind." in recorded and "Be terse." in now
    assert "instructions as ever" in recorded and max(len(recorded), len(now)) < 400
    assert f"({len(common) + 908} characters)" in recorded


def test_each_side_stays_on_one_line() -> None:
    recorded, now = _parted("one\ntwo", "one\nthree")
    assert recorded == '  recorded  "one\\ntwo"' and now == '  now       "one\\nthree"'
