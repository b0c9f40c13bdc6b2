"""A bundle whose bytes were altered anywhere is refused, and what its format promises about its bytes holds."""

from __future__ import annotations

import json
import random
import zipfile
from pathlib import Path
from typing import Any

import pytest

from reenact.errors import FormatTooNew, ReenactError, StoreError, UsageError
from reenact.facts.record import CallIssued, EvidenceNoted
from reenact.facts.run import Status
from reenact.store.bundles import read_bundle, write_bundle
from reenact.store.bundles.archive import _PIECE
from reenact.store.bundles.limits import INLINE
from tests.bundles.forging import (
    COMMENT,
    LINES,
    contained,
    honest,
    lines,
    parts,
    relined,
    sealed,
    small,
    summed,
    written,
)
from tests.store.records import closing, issued, new_run


def refusal(path: Path, data: bytes) -> StoreError:
    """How some bytes are refused."""
    path.write_bytes(data)
    with pytest.raises(StoreError) as caught:
        read_bundle(path)
    return caught.value


def test_any_altered_byte_is_refused(tmp_path: Path, sweep: bool) -> None:
    data = written(tmp_path / "x.reenact").read_bytes()
    other = tmp_path / "y.reenact"
    for at in range(len(data)):
        for change in (1, 0x20, 0x80) if sweep else ((1, 0x20, 0x80)[at % 3],):
            altered = bytearray(data)
            altered[at] ^= change
            refusal(other, bytes(altered))


def test_a_bundle_that_was_cut_or_has_more_bytes_is_refused(tmp_path: Path, sweep: bool) -> None:
    data = written(tmp_path / "x.reenact").read_bytes()
    other = tmp_path / "y.reenact"
    for end in range(0, len(data), 1 if sweep else 7):
        refusal(other, data[:end])
    for altered in (data + b"\0", b"\0" + data, data + data, data[:40] + b"\0" + data[40:]):
        assert refusal(other, altered).exit_code == 4


def test_an_altered_byte_under_a_fitting_seal_changes_nothing_or_is_refused(tmp_path: Path, sweep: bool) -> None:
    path = written(tmp_path / "x.reenact")
    data, digest = path.read_bytes(), read_bundle(path).digest
    other = tmp_path / "y.reenact"
    accepted = 0
    for at in range(0, len(data) - len(COMMENT) - 64 - 2, 1 if sweep else 3):
        altered = bytearray(data)
        altered[at] ^= 1
        try:
            other.write_bytes(sealed(bytes(altered)))
        except ValueError:  # the end record itself is no longer found
            continue
        try:
            assert read_bundle(other).digest == digest  # bits behind the end of a compressed member mean nothing
            accepted += 1
        except StoreError:
            pass
    assert accepted < 8


def test_a_line_cannot_be_left_out_moved_or_altered_even_with_a_fitting_manifest(tmp_path: Path) -> None:
    members = honest()
    name = "runs/0000-run.jsonl"
    text = members[name].splitlines(keepends=True)
    for altered in (text[:2] + text[3:], text[:1] + text[2:3] + text[1:2] + text[3:], [*text, text[-1]]):
        forged = contained(tmp_path / "y.reenact", summed({**members, name: b"".join(altered)}))
        assert "chained" in refusal(tmp_path / "z.reenact", forged.read_bytes()).message


def test_a_newer_format_is_refused_by_name_and_says_what_to_do(tmp_path: Path) -> None:
    data = written(tmp_path / "x.reenact").read_bytes()
    path = tmp_path / "y.reenact"
    path.write_bytes(data.replace(b"written=1 reader=1", b"written=3 reader=2"))
    with pytest.raises(FormatTooNew, match="bundle format 3") as caught:
        read_bundle(path)
    assert caught.value.next_command == "pip install --upgrade reenact"


@pytest.mark.parametrize("place", ["absent.reenact", "folder.reenact", "odd\0.reenact"])
def test_what_is_no_file_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder.reenact").mkdir()
    with pytest.raises(ReenactError):
        read_bundle(tmp_path / place)


def test_a_file_that_cannot_be_written_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        write_bundle(tmp_path / "absent" / "x.reenact", [small()])
    (tmp_path / "x.reenact").mkdir()
    with pytest.raises(UsageError):
        write_bundle(tmp_path / "x.reenact", [small()])
    assert [each.name for each in tmp_path.iterdir()] == ["x.reenact"]


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    packed = small()
    first, second = (written(tmp_path / f"{n}.reenact", packed).read_bytes() for n in "ab")
    assert first == second


def test_any_program_can_unzip_it_and_read_its_lines(tmp_path: Path) -> None:
    run = new_run(agent="größe")
    path = written(tmp_path / "x.reenact", small(run, issued(1, b"x" * (INLINE + 1)), issued(2, b"\xff" * 300)))
    with zipfile.ZipFile(path) as found:
        assert found.testzip() is None
        assert found.namelist() == sorted(found.namelist())
        texts = found.read("runs/0000-run.jsonl").decode().splitlines()
    assert [json.loads(text)["is"] for text in texts] == ["run", "lane", "call", "answer", "call", "call", "run-end"]
    assert "größe" in texts[0]
    blobs = [each["body"]["blob"] for each in map(json.loads, texts) if isinstance(each.get("body"), dict)]
    assert {f"blobs/{each}" for each in blobs} == {name for name in parts(path) if name.startswith("blobs/")}


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    members = honest()
    path = contained(tmp_path / "x.reenact", relined(members, lines(members)))
    assert read_bundle(path).main.run.id == lines(members)[0]["run"]["id"]


def test_a_golden_says_more_and_holds_several_runs(tmp_path: Path) -> None:
    runs = [small(), small(), small()]
    roles = ("recorded", "fixed", "overlay")
    packed = [type(each)(role, each.run, each.records) for role, each in zip(roles, runs, strict=True)]
    path = tmp_path / "golden.reenact"
    write_bundle(path, packed, {"about": "look here", "expect": ["len(calls('x')) < 3"]})
    found = read_bundle(path)
    assert [(each.role, each.run.id) for each in found.runs] == [(each.role, each.run.id) for each in packed]
    assert found.golden == {"about": "look here", "expect": ["len(calls('x')) < 3"]}
    with pytest.raises(StoreError, match="main run"):
        write_bundle(path, packed[1:])


def test_a_bundle_that_is_not_read_at_once_is_checked_as_one_that_is(tmp_path: Path) -> None:
    long = random.Random(1).randbytes(3 * _PIECE // 2)
    path = written(tmp_path / "x.reenact", small(new_run(), issued(1, long)))
    data, other = path.read_bytes(), tmp_path / "y.reenact"
    assert len(data) > _PIECE > len(written(tmp_path / "z.reenact").read_bytes())
    assert long in [each.call.body for each in read_bundle(path).main.records if isinstance(each, CallIssued)]
    for at in (5, _PIECE - 1, _PIECE, _PIECE + 1, len(data) - 80, len(data) - 1):
        refusal(other, data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    for cut in (data[:_PIECE], data[:-1], data + b"\n", data[: _PIECE // 2]):
        refusal(other, cut)


@pytest.mark.parametrize("altered", [{"status": "failed"}, {"agent": 1}, {"ended_us": "late"}, {"entry": {"kind": 2}}])
def test_an_end_that_says_other_than_the_beginning_is_looked_at_by_itself(
    tmp_path: Path, altered: dict[str, Any]
) -> None:
    """Where it says the same, that is looked at once."""
    run = new_run()
    members = parts(written(tmp_path / "x.reenact", small(run, closing(run))))
    said = lines(members)
    assert said[-1]["is"] == "run-end"
    said[0]["run"] = dict(said[-1]["run"])
    same = contained(tmp_path / "same.reenact", relined(members, said))
    assert read_bundle(same).main.run == read_bundle(tmp_path / "x.reenact").main.run
    said[-1] = {**said[-1], "run": {**said[-1]["run"], **altered}}
    other = contained(tmp_path / "y.reenact", relined(members, said))
    if altered == {"status": "failed"}:
        assert read_bundle(other).main.run.status is Status.FAILED
    else:
        with pytest.raises(StoreError, match="refused"):
            read_bundle(other)


def test_what_two_runs_say_of_their_surroundings_is_read_once_and_checked_in_each(tmp_path: Path) -> None:
    said = EvidenceNoted(None, "kit.process", {"packages": [["httpx", "0.28.1"]]})
    first, second = (written(tmp_path / f"{name}.reenact", small(new_run(), said)) for name in "ab")
    (told,), (again,) = ([r for r in read_bundle(each).main.records if r == said] for each in (first, second))
    assert told is again
    members = parts(second)
    records = lines(members)
    (place,) = (at for at, each in enumerate(records) if each.get("key") == "kit.process")
    records[place]["value"]["packages"][0][1] = "0.28.2"
    other = contained(tmp_path / "c.reenact", relined(members, records))
    (changed,) = (each for each in read_bundle(other).main.records if isinstance(each, EvidenceNoted))
    assert changed.value == {"packages": [["httpx", "0.28.2"]]}
    data = members[LINES].replace(b"0.28.1", b"0.28.3")
    refusal(tmp_path / "d.reenact", contained(tmp_path / "e.reenact", summed({**members, LINES: data})).read_bytes())
