"""Nothing leaves a run that is packed while a credential is in it, and what looks like personal data is found."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reenact.errors import RedactionLeak
from reenact.facts import texts
from reenact.facts.call import Fidelity, Kind
from reenact.facts.known_credentials import KnownCredentials
from reenact.facts.record import (
    AmbientRead,
    CallIssued,
    CheckpointTaken,
    EvidenceNoted,
    OutputPrinted,
    Record,
    RunClosed,
    SegmentArrived,
)
from reenact.facts.run import Run
from reenact.privacy.personal_data import personal
from reenact.store.bundles import read_bundle
from reenact.store.memory_store import MemoryStore
from reenact.store.run_records import records_of
from reenact.timetravel.bundling.cleaning import clean, known_here
from reenact.timetravel.bundling.packing import pack, require_no_secret
from tests.store.records import closing, issued, new_run, opening, settled, streamed
from tests.store.test_machine import Writer, batch_of

SECRET = "shop-9f8e7d6c5b4a39281706"
KNOWN = KnownCredentials({"SHOP_API_KEY": SECRET}, ["SHOP_API_KEY"])


def everywhere(run: Run) -> list[Record]:
    """A run with the credential in each place that a record has."""
    secret = SECRET.encode()
    read = texts.pack([texts.known(f"and {SECRET}"), texts.absent()])
    return [
        *opening(run),
        issued(0, b'{"q":"' + secret + b'"}', head={"tool": SECRET}),
        settled(0, b'{"a":"' + secret + b'"}'),
        issued(1, b"{}", kind=Kind.HTTP, name="POST x", head={"method": "POST", "url": f"http://x/?key={SECRET}"}),
        *streamed(1, [b"data: " + secret[:9], secret[9:] + b"\n\n", b"data: end\n\n"]),
        EvidenceNoted(0, "k", {"deep": [SECRET]}),
        EvidenceNoted(None, "kit.process", {"texts": {"a.py": f"x = '{SECRET}'"}}),
        CheckpointTaken(0, "in", {"state": b'{"a":"' + secret + b'"}'}),
        AmbientRead(0, 0, "env/OTHER", len(read).to_bytes(4, "big") + read),
        OutputPrinted(1, 0, b"the key is " + secret[:4]),
        OutputPrinted(1, 0, secret[4:] + b"\n"),
        closing(run, tags={"t": SECRET}, error=f"failed with {SECRET}", environment={"argv": [SECRET]}),
    ]


def kept(records: list[Record], run: Run) -> MemoryStore:
    """A store that holds a run."""
    store = MemoryStore()
    log = store.begin(run)
    log.write(records)
    log.close()
    return store


def test_a_value_that_became_a_credential_is_removed_from_every_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    run = new_run(user="anna")
    store = kept(everywhere(run), run)
    packed = pack(store, [("run", store.run(run.id))], tmp_path / "x.reenact")
    assert SECRET.encode() not in repr(read_bundle(tmp_path / "x.reenact")).encode()
    places = {place for _, place in packed.removed}
    assert {"the request of event 0", "the answer of event 0", "the request of event 1", "the answer of event 1",
            "the state of event 0", "the evidence of event 0", "the run's evidence", "its output",
            "what it read of its surroundings", "the run itself"} == places  # fmt: skip
    records = read_bundle(tmp_path / "x.reenact").main.records
    (asked,) = [each for each in records if isinstance(each, CallIssued) and each.event == 0]
    assert asked.fidelity is Fidelity.REDACTED
    assert b"".join(each.data for each in records if isinstance(each, SegmentArrived)).endswith(b"data: end\n\n")


def test_what_redaction_does_not_see_is_not_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    run = new_run()
    store = kept([*opening(run), closing(run)], run)
    path = tmp_path / "x.reenact"
    with pytest.raises(RedactionLeak, match=r"golden\.json"):
        pack(store, [("recorded", store.run(run.id))], path, {"about": f"it said {SECRET}"})
    assert not path.exists()
    with pytest.raises(RedactionLeak):
        require_no_secret({"blobs/x": SECRET.encode()}, [(run.id, known_here(run, os.environ).spans)])


def test_a_credential_that_comes_back_out_of_the_gate_is_not_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        rules = ()

        def clean(self, record: Any) -> tuple[Any, ...]:
            if isinstance(record, OutputPrinted):
                return (OutputPrinted(record.stream, record.at_us, record.data + b"!", Fidelity.REDACTED),)
            return (record,)

        def flush(self) -> tuple[Any, ...]:
            return ()

    monkeypatch.setattr("reenact.timetravel.bundling.cleaning.make_redactor", lambda **_: Broken())
    run = new_run()
    with pytest.raises(RedactionLeak, match="its output"):
        clean(run, [*opening(run), OutputPrinted(1, 0, b"x"), closing(run)], KNOWN)


@settings(max_examples=settings().max_examples // 4)
@given(data=st.data())
def test_a_run_without_credentials_is_handed_on_as_it_is(data: st.DataObject) -> None:
    run = new_run()
    store = MemoryStore()
    writer = Writer(run, [store.begin(run)])
    writer.logs[0].write(opening(run))
    for _ in range(data.draw(st.integers(0, 3))):
        writer.logs[0].write(batch_of(writer, data))
    writer.logs[0].write([closing(run)])
    records = tuple(records_of(store.open(run)))
    cleaned = clean(run, records, KNOWN)
    assert cleaned.removed == ()
    ends = [n for n, each in enumerate(cleaned.records) if isinstance(each, RunClosed)]
    assert ends == [len(records) - 1]
    again = kept(list(cleaned.records), run)
    assert tuple(records_of(again.open(run))) == records


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("write to anna.muster@kundin.de or ANNA@kundin.de", {"e-mail address": 2}),
        ('{"text":"\\n@reenact.tool and a@b"}', {}),
        ("+@reenact.tool\n-@pytest.mark.reenact", {}),
        ("nobody@example.com, x@host.invalid, y@localhost", {}),
        ("card 4111 1111 1111 1111 and 4111111111111112", {"card number": 1}),
        ("DE89 3704 0044 0532 0130 00, DE88370400440532013000", {"bank account": 1}),
        ("call +49 30 1234567 or (212) 555-0123", {"telephone number": 2}),
        ("ssn 078-05-1120, not 000-12-3456", {"social security number": 1}),
        ("from 93.184.216.34 to 127.0.0.1, 10.0.0.1 and 1.2.3.4.5 and version 999.1.1.1", {"IP address": 1}),
        ("1795277765.1212866 at 2026-11-21T16:00:00, id 01m7ze9e65jvg2ek3f, 0x7f3c", {}),
    ],
)
def test_what_looks_like_personal_data_is_found_and_nothing_else(text: str, expected: dict[str, int]) -> None:
    assert personal(text) == expected


def test_versions_of_packages_are_no_addresses() -> None:
    packages = [["opencv-python", "4.10.0.84"], ["apsw", "3.54.1.0"]]
    run = new_run()
    noted = EvidenceNoted(None, "kit.process", {"packages": packages, "texts": {"a.py": "HOST = '93.184.216.34'"}})
    cleaned = clean(run, (*opening(run), noted, closing(run)), KNOWN)
    assert cleaned.personal == {"IP address": {"the run's evidence": 1}}


def test_looking_for_personal_data_takes_time_by_length_alone() -> None:
    for text in ("a" * 300_000, "a@" * 100_000, "1 " * 200_000, "+1 2" * 80_000, "AB12 " * 60_000, "1." * 200_000):
        assert personal(text) in ({}, {"e-mail address": 1}) or len(personal(text)) < 3
