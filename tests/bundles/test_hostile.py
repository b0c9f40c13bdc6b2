"""Bundles that somebody made to do harm are refused by a named error or shown: fast, small, and nothing is written."""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reenact.errors import ReenactError
from reenact.facts.record import OutputPrinted
from reenact.store.bundles import PackedRun, bundle_store
from reenact.store.bundles.archive import write_archive
from reenact.store.bundles.limits import INLINE
from reenact.store.bundles.text import text_of
from reenact.store.sqlite_store import SqliteStore
from reenact.timetravel.bundling.unpacking import unpack
from tests.bundles import hostile
from tests.bundles.forging import (
    LINES,
    contained,
    honest,
    info,
    leaves,
    lines,
    relined,
    sealed,
    small,
    summed,
    with_other,
    zipped,
)
from tests.bundles.test_faithful import full
from tests.store.records import closing, issued, new_run
from tests.store.test_machine import everything

SECONDS = 5.0


def entries(**fields: Any) -> list[tuple[zipfile.ZipInfo, bytes]]:
    """The entries of an honest bundle, but for some fields."""
    return [(info(name, **fields), data) for name, data in sorted(honest().items())]


def twice() -> bytes:
    """Two entries of one name."""
    with pytest.warns(UserWarning, match="Duplicate name"):
        return zipped([*entries(), entries()[-1]])


def overlapping() -> bytes:
    """Two entries of the directory over the same bytes."""
    data = zipped(entries())
    end = data.rindex(b"PK\x05\x06")
    count, length, start = struct.unpack_from("<HLL", data, end + 10)
    directory = data[start : start + length]
    again = directory[directory.rindex(b"PK\x01\x02") :].replace(b"runs/0000", b"runs/0001")
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count + 1, count + 1, length + len(again), start, 0)
    return sealed(data[:start] + directory + again + tail)


def hiding() -> bytes:
    """Bytes between the last member and the directory."""
    data = zipped(entries())
    end = data.rindex(b"PK\x05\x06")
    count, length, start = struct.unpack_from("<HLL", data, end + 10)
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, length, start + 6, 0)
    return sealed(data[:start] + b"hidden" + data[start : start + length] + tail)


def encrypted() -> bytes:
    """An entry that says it is encrypted."""
    return sealed(_flagged(zipped(entries()), 1))


def _flagged(data: bytes, flag: int) -> bytes:
    at = data.index(b"PK\x01\x02")
    return data[: at + 8] + bytes([flag, 0]) + data[at + 10 :]


def lying(size: int) -> bytes:
    """A member that unpacks to far more than it says."""
    bomb = zipped([(info("bundle.json"), b" " * size)])
    for mark, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = bomb.index(mark) + at
        bomb = bomb[:place] + (100).to_bytes(4, "little") + bomb[place + 4 :]
    return sealed(bomb)


def nested() -> bytes:
    """A bomb inside a blob that a record names."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x", b"\0" * (64 << 20))
    return _container(honest(small(None, issued(1, inner.getvalue()))))


def _container(members: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    write_archive(made, members.items())
    return made.getvalue()


def raw_lines(data: bytes, members: dict[str, bytes] | None = None) -> bytes:
    """A member of lines that are no JSON as it should be, chained all the same."""
    link = hashlib.sha256(b"reenact " + LINES.encode()).hexdigest()[:32].encode()
    out = b""
    for text in data.split(b"\n"):
        link = hashlib.sha256(link + text).hexdigest()[:32].encode()
        out += text + b',"chain":"' + link + b'"}\n'
    return _container(summed({**(members or honest()), LINES: out}))


def records(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> bytes:
    """Honest lines, changed."""
    members = honest()
    return _container(relined(members, change(lines(members))))


def manifest(change: Callable[[dict[str, Any]], object]) -> bytes:
    """An honest manifest, changed."""
    return _container(summed(honest(), change))


def values(count: int, times: int = 1) -> bytes:
    """Few bytes that become a great many objects."""
    line = b'{"is":"note","event":null,"key":"k","value":[' + b"[]," * count + b"[]]"
    members = honest()
    opened = [json.dumps(each).encode()[:-1] for each in lines(members)]
    return raw_lines(b"\n".join([*opened, *[line] * times]), members)


FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "bomb": (lambda: zipped([(info("bundle.json"), b"\0" * (140 << 20))]), "more than"),
    "lying": (lambda: lying(40 << 20), "size that the directory gives"),
    "nested": (nested, "shown"),
    "wide bomb": (
        lambda: zipped([(info(f"blobs/{n:064x}"), b"\0" * (70 << 20)) for n in range(2)]), "more than",
    ),
    "overlapping": (overlapping, "lies over another"),
    "hiding": (hiding, "belong to none"),
    "up": (lambda: zipped([*entries(), (info("../x"), b"")]), "out of order or in a way"),
    "absolute": (lambda: zipped([(info("/etc/x"), b""), *entries()]), "out of order or in a way"),
    "windows": (lambda: zipped([(info("c:\\x"), b""), *entries()]), "out of order or in a way"),
    "odd name": (lambda: zipped([*entries(), (info("zürich"), b"")]), "out of order or in a way"),
    "link": (lambda: zipped(entries(external_attr=0o120777 << 16)), "not described"),
    "twice": (twice, "out of order"),
    "crowd": (lambda: zipped([(info(f"blobs/{n:064x}"), b"") for n in range(20_000)]), "has 20000 files"),
    "comment": (lambda: zipped(entries(comment=b"hidden")), "not described"),
    "extra": (lambda: zipped(entries(extra=struct.pack("<HH4s", 0xCAFE, 4, b"abcd"))), "not described"),
    "encrypted": (encrypted, "encrypted"),
    "stored": (lambda: zipped(entries(), zipfile.ZIP_STORED), "method"),
    "bzip2": (lambda: zipped(entries(), zipfile.ZIP_BZIP2), "method"),
    "empty": (lambda: b"", "does not end"),
    "text": (lambda: b"PK\x03\x04 nothing", "does not end"),
    "seal alone": (lambda: sealed(struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0, 0, 0, 0, 0)), "has 0 files"),
    "no manifest": (lambda: _container({LINES: b""}), "missing"),
    "deep manifest": (lambda: _container({**honest(), "bundle.json": b"[" * 100_000}), "deeply"),
    "other members": (lambda: _container({**honest(), "golden.json": b"{}"}), "not those that it names"),
    "idle blob": (lambda: _container(summed({**honest(), "blobs/" + "0" * 64: b"x"})), "belongs to no record"),
    "no golden": (lambda: _container(summed({**honest(), "golden.json": b"[]"})), "no object"),
    "odd digest": (lambda: manifest(lambda m: m["members"][LINES].update(sha256="0" * 64)), "not what the manifest"),
    "odd size": (lambda: manifest(lambda m: m["members"][LINES].update(size=-1)), "not what the manifest"),
    "odd count": (lambda: manifest(lambda m: m["runs"][0].update(lines=1)), "another count"),
    "odd chain": (lambda: manifest(lambda m: m["runs"][0].update(chain="0" * 32)), "another count or chain"),
    "wide line": (lambda: values(2_600_000), "values"),
    "no runs": (lambda: manifest(lambda m: m.update(runs=[])), "not those that it names"),
    "other run": (lambda: manifest(lambda m: m["runs"][0].update(id="0" * 18)), "does not begin"),
    "odd runs": (lambda: manifest(lambda m: m.update(runs={"a": 1})), "is none"),
    "odd role": (lambda: manifest(lambda m: m["runs"][0].update(role=["run"])), "not those that it names"),
    "other format": (lambda: manifest(lambda m: m.update(format={"written": 1})), "another format"),
    "no json": (lambda: raw_lines(b'{"is":"lane",'), "no JSON"),
    "no utf-8": (lambda: raw_lines(b'{"is":"lane","path":"\xff"'), "is no"),
    "deep": (lambda: raw_lines(b'{"is":"note","event":null,"key":"k","value":' + b"[" * 200_000), "deeply"),
    "huge number": (lambda: raw_lines(b'{"is":"lane","lane":' + b"9" * 5_000), "is no"),
    "large number": (lambda: raw_lines(b'{"is":"lane","path":"x","parent":null,"lane":' + b"9" * 4_000), "count"),
    "long line": (lambda: raw_lines(b'{"is":"note","event":null,"key":"' + b"x" * (9 << 20) + b'"'), "long"),
    "many values": (lambda: values(200_000, 20), "values"),
    "twice the event": (lambda: records(lambda found: [*found, found[2]]), "occurs twice"),
    "inside itself": (lambda: records(lambda f: [f[0], f[1], f[2] | {"parent": 0}, *f[3:]]), "parent comes later"),
    "twice the run": (lambda: records(lambda found: [*found, found[0]]), "twice"),
    "no opening": (lambda: records(lambda found: found[1:]), "does not begin"),
    "no line": (lambda: records(lambda found: []), "no log of a run"),
    "odd record": (lambda: records(lambda found: [*found, {"is": ["run"]}]), "no record"),
    "absent blob": (
        lambda: records(lambda f: [*f[:2], f[2] | {"body": {"blob": "0" * 64, "size": 3}}, *f[3:]]), "not there",
    ),
}  # fmt: skip


def test_each_is_refused_for_what_it_is_or_shown_fast_and_small(tmp_path: Path) -> None:
    for name, (make, _) in FILES.items():
        (tmp_path / f"{name}.reenact").write_bytes(make())
    before = sorted(each.name for each in tmp_path.iterdir())
    done = subprocess.run(
        [sys.executable, hostile.__file__, *(str(tmp_path / f"{name}.reenact") for name in FILES)],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    found = {each["file"].removesuffix(".reenact"): each for each in map(json.loads, done.stdout.splitlines())}
    assert found.keys() == FILES.keys()
    for name, (_, expected) in FILES.items():
        assert expected in found[name]["said"].replace(f"{name}.reenact", ""), (name, found[name])
        assert found[name]["seconds"] < SECONDS, name
    assert sorted(each.name for each in tmp_path.iterdir()) == before


ODD: list[Any] = [None, -1, 2**70, 1.5, "x", "\x1b[2J\udcff", [], {}, [[1]], True, ["not base64!"]]


def _sort(key: Any) -> Any:
    """Elements of one list are of one sort."""
    return "*" if isinstance(key, int) else key


def test_a_value_of_another_sort_anywhere_is_refused_or_does_no_harm(tmp_path: Path, sweep: bool) -> None:
    run = new_run()
    records = [each for each in full(run) if not (isinstance(each, OutputPrinted) and len(each.data) > INLINE)]
    members = honest(PackedRun("run", run, (*records, closing(run))))
    found = lines(members)
    path = tmp_path / "x.reenact"
    places = {(line["is"], *map(_sort, place)): (n, place) for n, line in enumerate(found) for place in leaves(line)}
    refused = shown = 0
    for at, (n, place) in enumerate(places.values()):
        for other in ODD if sweep else (ODD[at % len(ODD)], ODD[(at + 5) % len(ODD)]):
            altered = [*found[:n], with_other(found[n], place, other), *found[n + 1 :]]
            contained(path, relined(members, altered))
            try:
                store = bundle_store(path)
            except ReenactError:
                refused += 1
                continue
            for run in store.runs():
                everything(store, run)
            for text in text_of(path):
                assert text.isprintable()
            shown += 1
    assert refused > shown > 0


def test_what_is_shown_can_be_unpacked_or_is_refused_with_the_store_as_it_was(tmp_path: Path) -> None:
    members = honest()
    good = contained(tmp_path / "good.reenact", members)
    store = SqliteStore(tmp_path / "store.db")
    unpack(good, store)
    run = new_run()
    honest_lines = lines(honest(small(run)))
    turn = {"is": "order", "turns": [[3, "e", "", 0, 0, 5, True]]}
    lane = {"is": "lane", "lane": 1, "path": "root", "parent": None}
    twice: list[list[dict[str, Any]]] = [[turn, turn], [lane, lane]]
    for n, more in enumerate(twice):
        forged = contained(tmp_path / f"{n}.reenact", relined(honest(small(run)), [*honest_lines, *more]))
        with pytest.raises(ReenactError):
            unpack(forged, store)
        assert [each.id for each in store.runs()] == [lines(members)[0]["run"]["id"]]
    store.close()
