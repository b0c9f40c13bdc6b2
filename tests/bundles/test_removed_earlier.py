"""What was removed anywhere in a run is in no part of its bundle: earlier, in another process, behind an encoding."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import pytest

from reenact.errors import RedactionLeak
from reenact.facts.call import Fidelity, Kind
from reenact.facts.record import EvidenceNoted, OutputPrinted
from reenact.facts.removed_digests import REMOVED, RemovedDigests, entry, listed
from reenact.store.bundles import read_bundle
from reenact.store.memory_store import MemoryStore
from reenact.timetravel.bundling.leftovers import leftover
from reenact.timetravel.bundling.packing import pack, require_no_secret
from tests.bundles.test_cleaned import kept
from tests.store.records import closing, issued, new_run, opening, settled, streamed

TOKEN = "Zq3vT9xKb7LmW2nRc4Yd8sPf"
KEY = b"k" * 16
LIST = RemovedDigests(KEY, [entry(KEY, "b", TOKEN.encode())])


def packed(store: MemoryStore, run: str, folder: Path) -> tuple[str, set[str]]:
    """The bundle of a run, and where something was removed from it."""
    made = pack(store, [("run", store.run(run))], folder / "x.reenact")
    return repr(read_bundle(folder / "x.reenact")), {place for _, place in made.removed}


def test_what_stood_earlier_than_it_was_known_is_removed(tmp_path: Path) -> None:
    run = new_run()
    head = [["authorization", f"Bearer {TOKEN}"], ["x", "y"]]
    records = [
        *opening(run),
        OutputPrinted(1, 0, f"trying {TOKEN}\n".encode()),
        issued(0, json.dumps({"q": f"is {TOKEN} good"}).encode()),
        settled(0, base64.b64encode(f"it is {TOKEN}, yes".encode())),
        issued(1, b"", kind=Kind.HTTP, name="GET x", head={"method": "GET", "url": "http://x/", "headers": head}),
        *streamed(1, [b"data: ok\n\n"]),
        closing(run),
    ]
    told, places = packed(kept(records, run), run.id, tmp_path)
    assert TOKEN not in told
    assert base64.b64encode(TOKEN.encode()).decode()[:20] not in told
    assert {"its output", "the request of event 0", "the answer of event 0", "the request of event 1"} <= places
    main = read_bundle(tmp_path / "x.reenact").main
    assert listed(main.run.capture[REMOVED]).spans(TOKEN.encode())  # for what a program holds itself, in a replay


def test_what_another_process_has_removed_is_found_by_its_digest(tmp_path: Path) -> None:
    run = new_run()
    ends = closing(run, capture={REMOVED: LIST.to_json()})
    records = [
        *opening(run),
        OutputPrinted(1, 0, b"~rxbaaaaaaaaaaa~ and ", Fidelity.REDACTED, "credentials"),
        OutputPrinted(1, 0, f"trying {TOKEN}\n".encode()),
        issued(0, json.dumps({"q": f"is {TOKEN} good"}).encode()),
        ends,
    ]
    told, places = packed(kept(records, run), run.id, tmp_path)
    assert TOKEN not in told
    assert places == {"its output", "the request of event 0"}
    main = read_bundle(tmp_path / "x.reenact").main
    once_more = kept(list(main.records), run)
    again = pack(once_more, [("run", once_more.run(run.id))], tmp_path / "y.reenact")
    assert again.removed == ()


def test_a_run_that_was_cut_short_tells_its_list_bit_by_bit(tmp_path: Path) -> None:
    run = new_run()
    records = [
        *opening(run),
        OutputPrinted(1, 0, f"{TOKEN}\n".encode()),
        EvidenceNoted(None, f"{REMOVED}#1", LIST.to_json()),
        closing(run),
    ]
    told, places = packed(kept(records, run), run.id, tmp_path)
    assert TOKEN not in told
    assert places == {"its output"}


def test_what_is_still_there_is_not_handed_on_and_named(tmp_path: Path) -> None:
    """In what is said about a golden, and in an image, redaction does not look."""
    run = new_run()
    image = b"\x89PNG\r\n\x1a\n" + json.dumps({"note": f"{TOKEN}"}).encode()
    head = {"method": "GET", "url": "http://x/", "headers": []}
    records = [
        *opening(run),
        issued(0, b"", kind=Kind.HTTP, name="GET x", head=head),
        *streamed(0, [image]),
        closing(run, capture={REMOVED: LIST.to_json()}),
    ]
    store = kept(records, run)
    with pytest.raises(RedactionLeak, match="the answer of event 0") as leak:
        pack(store, [("run", store.run(run.id))], tmp_path / "x.reenact")
    assert "redact =" not in str(leak.value.cause)  # no rule looks into an image
    assert str(leak.value.next_command).endswith(":0")
    assert not (tmp_path / "x.reenact").exists()
    clean = kept([*opening(run), closing(run, capture={REMOVED: LIST.to_json()})], run)
    with pytest.raises(RedactionLeak, match=r"golden\.json"):
        pack(clean, [("recorded", clean.run(run.id))], tmp_path / "x.reenact", {"about": f"it said {TOKEN}"})


@pytest.mark.parametrize(
    "text",
    [
        TOKEN,
        json.dumps({"a": [TOKEN]}),
        f"x={TOKEN}; y",
        base64.b64encode(f"the token is {TOKEN}.".encode()).decode(),
        json.dumps(json.dumps({"a": TOKEN})),
    ],
)
def test_a_value_is_found_in_finished_bytes(text: str) -> None:
    line = json.dumps({"is": "state", "event": 3, "slots": {"s": text}}).encode()
    found = leftover({"runs/0000-run.jsonl": b'{"is":"lane"}\n' + line}, LIST.spans)
    assert found is not None
    assert (found.place, found.event) == ("the state of event 3", 3)
    assert leftover({"runs/0000-run.jsonl": line.replace(b"Zq3v", b"Zq4v")}, RemovedDigests(KEY, []).spans) is None
    named = b'{"is":"answer","event":7,"body":{"blob":"beef"}}'
    blob = {"runs/0000-run.jsonl": named, "blobs/beef": gzip.compress(text.encode())}
    inside = leftover(blob, LIST.spans)
    assert inside is not None
    assert (inside.member, inside.place) == ("blobs/beef", "the answer of event 7")
    with pytest.raises(RedactionLeak, match="answer of event 7"):
        require_no_secret(blob, [("01m7ze9e65jvg2ek3f", LIST.spans)])
    with pytest.raises(RedactionLeak) as leak:
        require_no_secret({"runs/0000-run.jsonl": line}, [("01m7ze9e65jvg2ek3f", LIST.spans)])
    assert 'redact = {"' in str(leak.value.cause)


def test_bytes_that_hold_nothing_are_handed_on() -> None:
    require_no_secret({"blobs/x": TOKEN.encode()}, [])
    require_no_secret({"runs/0000-run.jsonl": b"not json", "blobs/x": b"\xff\xfe"}, [("r", LIST.spans)])
