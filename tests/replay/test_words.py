"""A divergence points at what differs, never at what redaction made of the same credential."""

from __future__ import annotations

from reenact.facts.call import Kind
from reenact.facts.difference import first_difference
from reenact.replaying.divergence import asked


def test_stand_ins_of_one_class_are_no_difference() -> None:
    recorded = asked({"url": "http://u:~rxuatgfpyviisa~@host/x?api_key=~rxnfebsaztmnld~"}, b'{"a":1}', Kind.HTTP)
    now = asked({"url": "http://u:~rxu~@host/x?api_key=~rxn~"}, b'{"a":2}', Kind.HTTP)
    assert recorded["url"] == now["url"]  # type: ignore[index, call-overload]
    assert first_difference(recorded, now) == "body.a"
