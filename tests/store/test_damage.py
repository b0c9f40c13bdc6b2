"""Damage in the file is found, named and contained: no wrong byte is given, no error of SQLite comes out."""

from __future__ import annotations

import random
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing as closed
from pathlib import Path

import pytest

from reenact.abc.store import Recording
from reenact.errors import BlobCorrupt, BlobMissing, ReenactError, StoreBusy, StoreError
from reenact.facts.call import Kind
from reenact.facts.record import AmbientRead, CheckpointTaken, EvidenceNoted, OutputPrinted
from reenact.store.sqlite_store import SqliteStore
from tests.store.records import closing, issued, new_run, opening, settled, streamed, turns

PIECES = [bytes([n]) * 50_000 for n in range(30)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store with one run."""
    path = tmp_path / "store.db"
    with SqliteStore(path) as store:
        run = new_run()
        log = store.begin(run)
        log.write([*opening(run), issued(0, b"q" * 900), settled(0, b"a" * 900), issued(1, kind=Kind.HTTP)])
        for record in streamed(1, PIECES):
            log.write([record])
        log.write(
            [
                AmbientRead(0, 0, "wall", b"12"),
                OutputPrinted(1, 1, b"hello"),
                turns(0, 5),
                EvidenceNoted(0, "k", "short"),
            ]
        )
        log.write([EvidenceNoted(0, "long", "n" * 2000), CheckpointTaken(0, "in", {"": b"[1]" * 200}), closing(run)])
        log.close()
    return path


def change(path: Path, sql: str, *values: object) -> None:
    """Change a row behind the store's back."""
    with closed(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(sql, values).rowcount > 0


def flipped(data: bytes, at: int = -1) -> bytes:
    """The same with one bit changed."""
    found = bytearray(data)
    found[at] ^= 1
    return bytes(found)


def payload(path: Path, body: bytes) -> tuple[int, bytes]:
    """Row and content of the payload of a body."""
    with closed(sqlite3.connect(path)) as connection:
        for number, codec, data in connection.execute("SELECT id, codec, data FROM payload"):
            if (zlib.decompress(data) if codec else data) == body:
                return number, data
    raise AssertionError("no such payload")


@pytest.mark.parametrize(("event", "body"), [(0, b"q" * 900), (0, b"a" * 900)])
@pytest.mark.parametrize(
    "content", [flipped, lambda data: data[:-3], lambda data: b"", lambda data: zlib.compress(b"zzz")]
)
def test_a_changed_payload_is_corrupt_and_names_its_event(
    path: Path, event: int, body: bytes, content: Callable[[bytes], bytes]
) -> None:
    number, data = payload(path, body)
    change(path, "UPDATE payload SET data = ? WHERE id = ?", content(data), number)
    with SqliteStore(path) as store:
        recording = store.open("@")
        found = recording.event(event)
        place = found.request if body[:1] == b"q" else found.answer
        assert place is not None
        reads: list[Callable[[], bytes]] = [lambda: recording.body(place), lambda: store.payload(place.digest)]
        for read in reads:
            with pytest.raises(BlobCorrupt) as caught:
                read()
            assert caught.value.digest == place.digest
        with pytest.raises(BlobCorrupt, match=f"of event {found.run}:{event} is corrupt"):
            recording.body(place)
        other = found.answer if body[:1] == b"q" else found.request
        assert len(recording.body(other)) == 900, "the rest is usable"


def test_a_lost_payload_is_missing_and_names_its_event(path: Path) -> None:
    change(path, "DELETE FROM payload WHERE id = ?", payload(path, b"a" * 900)[0])
    with SqliteStore(path) as store:
        recording = store.open("@")
        event = recording.event(0)
        with pytest.raises(BlobMissing, match=f"of event {event.run}:0 is missing"):
            recording.body(event.answer)
        assert recording.body(event.request) == b"q" * 900


def test_two_payloads_that_changed_places_are_corrupt(path: Path) -> None:
    (one, first), (two, second) = payload(path, b"q" * 900), payload(path, b"a" * 900)
    change(path, "UPDATE payload SET data = ? WHERE id = ?", second, one)
    change(path, "UPDATE payload SET data = ? WHERE id = ?", first, two)
    with SqliteStore(path) as store:
        for event in store.open("@").events(limit=1):
            with pytest.raises(BlobCorrupt):
                store.open("@").body(event.request)


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("UPDATE chunk SET data = X'00' WHERE n = 3", BlobCorrupt),
        ("UPDATE chunk SET segments = X'0000' WHERE n = 3", BlobCorrupt),
        ("UPDATE chunk SET n = n + 1000 WHERE n = 3", BlobMissing),
        ("DELETE FROM chunk WHERE n = 3", BlobMissing),
        ("DELETE FROM chunk WHERE n = (SELECT max(n) FROM chunk)", BlobMissing),
        ("UPDATE chunk SET event = event + 1, n = n + 9 WHERE n = 3", BlobMissing),
    ],
)
def test_a_damaged_stream_gives_what_lies_before_the_damage_and_then_stops(
    path: Path, sql: str, error: type[StoreError]
) -> None:
    change(path, sql)
    with SqliteStore(path) as store:
        recording = store.open("@")
        found = []
        with pytest.raises(error, match=r"of event \w+:1 is"):
            for _, _, data in recording.parts(1):
                found.append(data)
        assert found == PIECES[: len(found)] and len(found) < len(PIECES)
        with pytest.raises(error):
            recording.body(recording.event(1).answer)


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("UPDATE event SET asked = replace(asked, 'search', 'fetch')", lambda r: r.event(0)),
        ("UPDATE event SET came = '[]' WHERE name = 'search_docs'", lambda r: [*r.events()]),
        ("UPDATE event SET asked = CAST(X'5BFF' AS TEXT)", lambda r: r.event(0)),
        ("UPDATE stream SET ended = replace(ended, 'eof', 'closed')", lambda r: r.event(1)),
        ("UPDATE ambient SET data = X'00'", lambda r: r.ambient("root", 0)),
        ("UPDATE turns SET data = X'00'", lambda r: [*r.deliveries()]),
        ("UPDATE printed SET data = X'00'", lambda r: [*r.printed(1)]),
        ("UPDATE note SET value = '\"other\"' WHERE value IS NOT NULL", lambda r: r.notes(0)),
        ("DELETE FROM payload", lambda r: r.notes(0)),
        ("DELETE FROM payload", lambda r: r.checkpoint_slots(0, "in")),
        ("DROP TABLE event", lambda r: r.event(0)),
        ("UPDATE event SET name = 'other' WHERE name = 'search_docs'", lambda r: r.event(0)),
        ("UPDATE event SET kind = 'step' WHERE id & 1 = 0", lambda r: [*r.events()]),
        ("UPDATE event SET came = CAST(came AS BLOB)", lambda r: [*r.events()]),
        ("UPDATE turns SET data = 'text'", lambda r: [*r.deliveries()]),
        ("UPDATE ambient SET data = 'text'", lambda r: [*r.reads()]),
        ("UPDATE note SET value = CAST(value AS BLOB) WHERE value IS NOT NULL", lambda r: r.notes(0)),
    ],
)
def test_a_damaged_row_is_found_when_it_is_read(path: Path, sql: str, read: Callable[[Recording], object]) -> None:
    with closed(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql)
    with SqliteStore(path) as store, pytest.raises(StoreError, match=r"next: reenact (fsck|show)") as caught:
        read(store.open("@"))
    assert caught.value.exit_code == 4


def test_a_damaged_run_is_found_when_it_is_read(path: Path) -> None:
    change(path, "UPDATE run SET body = replace(body, 'ok', 'no')")
    with SqliteStore(path) as store, pytest.raises(StoreError, match="damaged"):
        store.run("@")


def test_a_schema_that_is_no_text_is_damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[data.index(b"CREATE TABLE gap") + 4] = 0xFF
    path.write_bytes(data)
    with SqliteStore(path) as store, pytest.raises(StoreError, match="damaged"):
        [*store.open("@").gaps()]


def test_a_damaged_index_of_lanes_hides_no_lane(path: Path) -> None:
    with closed(sqlite3.connect(path)) as connection:
        root, size = connection.execute(
            "SELECT rootpage, (SELECT * FROM pragma_page_size) FROM sqlite_master WHERE name = 'lane_path'"
        ).fetchone()
    data = bytearray(path.read_bytes())
    data[data.index(b"root", (root - 1) * size, root * size)] ^= 2
    path.write_bytes(data)
    with SqliteStore(path) as store:
        assert store.open("@").lane("root") is not None
        assert [event.number for event in store.open("@").events(lane="root")] == [0, 1]


def read_all(path: Path) -> dict[str, object]:
    """Everything in a store, each part by itself, as what it says or the error it raises."""
    found: dict[str, object] = {}

    def note(name: str, read: Callable[[], object]) -> None:
        try:
            found[name] = read()
        except ReenactError as error:
            found[name] = error

    def recording(store: SqliteStore) -> Recording:
        return store.open("@")

    with SqliteStore(path) as store:
        note("runs", lambda: [*store.runs()])
        for n in (0, 1):
            note(f"event {n}", lambda n=n: recording(store).event(n))  # type: ignore[misc]
            note(f"request {n}", lambda n=n: recording(store).body(recording(store).event(n).request))  # type: ignore[misc]
            note(f"answer {n}", lambda n=n: recording(store).body(recording(store).event(n).answer))  # type: ignore[misc]
            note(f"notes {n}", lambda n=n: dict(recording(store).notes(n)))  # type: ignore[misc]
        note("order", lambda: [*recording(store).deliveries()])
        note("printed", lambda: [*recording(store).printed(1)])
        note("ambient", lambda: dict(recording(store).ambient("root", 0)))
        note("slots", lambda: recording(store).checkpoint_slots(0, "in"))
    return found


def test_random_flips_in_the_file_never_come_out_as_a_traceback_or_as_other_bytes(path: Path, tmp_path: Path) -> None:
    whole = path.read_bytes()
    good = read_all(path)
    chance = random.Random(11)
    copy = tmp_path / "copy" / "store.db"
    copy.parent.mkdir()
    spoilt = 0
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(4):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        copy.write_bytes(data)
        for name, value in read_all(copy).items():
            if isinstance(value, ReenactError):
                spoilt += 1
            elif name.startswith(("request", "answer", "order", "printed", "ambient", "slots")) and value:
                assert value == good[name], name
        shutil.rmtree(copy.parent)
        copy.parent.mkdir()
    assert spoilt, "no flip was felt: the test proves nothing"


@pytest.mark.parametrize("content", [b"", b"not a database" * 100, b"SQLite format 3\0" + bytes(4080)])
def test_what_is_no_store_says_so(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(content)
    uses: list[Callable[[SqliteStore], object]] = [
        lambda store: [*store.runs()],
        lambda store: store.run("@"),
        lambda store: store.begin(new_run()),
    ]
    for use in uses:
        with SqliteStore(path) as store, pytest.raises(StoreError) as caught:
            use(store)
        assert caught.value.exit_code == 4
    assert path.read_bytes() == content


def test_a_cut_file_is_damaged_not_empty(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 4096 * 6])
    with SqliteStore(path) as store, pytest.raises(StoreError):
        recording = store.open("@")
        [recording.body(event.request) for event in recording.events()]


def test_a_store_that_another_process_holds_is_busy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reenact.store.connection.BUSY_MS", 10)
    with closed(sqlite3.connect(path, isolation_level=None)) as other, SqliteStore(path) as store:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy):
            store.begin(new_run())
        assert store.run("@").totals is not None, "reading goes on"
        other.execute("ROLLBACK")
        run = new_run()
        store.begin(run).close()
        assert store.run("@").id == run.id
