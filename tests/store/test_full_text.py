"""By which words a run is found: all that were new in it, each kept once, and gone with the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.call import Kind
from reenact.facts.record import OutputPrinted, Record
from reenact.facts.run import Run
from reenact.store import full_text
from reenact.store.connection import connect_reading
from reenact.store.full_text import TextGatherer, occurs
from reenact.store.sqlite_store import SqliteStore
from tests.store.records import closing, issued, new_run, opening, settled

LATER = 1_700_000_000_000_000 + 3 * 86_400_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of a store."""
    return tmp_path / "store.db"


def kept(store: SqliteStore, run: Run, records: list[Record]) -> Run:
    """Keep a run of some records."""
    log = store.begin(run)
    log.write([*opening(run), *records, closing(run)])
    log.close()
    return run


def asked(event: int, body: bytes) -> Record:
    """One of a conversation's requests."""
    return issued(event, body, kind=Kind.HTTP, channel="POST host/path")


def said(n: int) -> str:
    return " ".join([f"word{n}x0", *(f"common{(n * 7 + each) % 300}" for each in range(40)), f"word{n}x39"])


def conversation(turns: int) -> list[bytes]:
    messages: list[dict[str, str]] = []
    bodies = []
    for n in range(turns):
        messages.append({"role": "user", "content": f"zoë\nsaid {said(n)}"})
        bodies.append(json.dumps({"model": "m", "messages": messages, "tools": []}).encode())
    return bodies


def spent(path: Path) -> int:
    """Bytes that words and their index take, pages and all."""
    reading = connect_reading(path)
    try:
        return int(reading.execute("SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'words%'").fetchone()[0])
    finally:
        reading.close()


def test_a_run_is_found_by_all_of_its_words_however_long_it_is(path: Path) -> None:
    bodies = conversation(1500)
    assert len(bodies[-1]) > 500_000
    with SqliteStore(path) as store:
        run = kept(store, new_run(), [asked(n, body) for n, body in enumerate(bodies[::100])])
        for word in ("word0x0", "word700x39", "word1400x39", "zoë", "said"):
            assert [each.id for each in store.runs(text=word)] == [run.id], word
        assert [*store.runs(text="nzoë")] == [] == [*store.runs(text="word1401x1")]


def test_words_that_are_said_again_take_nothing(path: Path, tmp_path: Path) -> None:
    bodies = conversation(1000)[::20]
    once = tmp_path / "once.db"
    with SqliteStore(path) as store, SqliteStore(once) as other:
        kept(store, new_run(), [asked(n, body) for n, body in enumerate(bodies)])
        kept(other, new_run(), [asked(0, bodies[-1])])
    assert spent(path) == spent(once) <= len(bodies[-1]) / 4


@pytest.mark.parametrize("edge", range(12))
def test_what_is_put_between_words_cuts_none(edge: int) -> None:
    before, after = b'{"m":["alpha beta"', b'],"tools":["omega"]}'
    gathered = TextGatherer()
    for n, middle in enumerate(
        (b"", b',"\\u00e9tude gam\\nma"', b',"\\u00e9tude gam\\nma","\\nmade alphabet"'[: 40 - edge])
    ):
        gathered.see(asked(n, before + middle + after))
    found = gathered.text().split()
    assert set(found[:8]) == {"m", "alpha", "beta", "tools", "omega", "étude", "gam", "ma"}, "no part of a word"
    assert "nma" not in found and "nmade" not in found


@given(st.lists(st.text('ab\\n"é ,', max_size=30), max_size=6))
def test_what_is_gathered_from_versions_is_what_each_of_them_says(texts: list[str]) -> None:
    gathered, whole = TextGatherer(), set[str]()
    for n, text in enumerate(texts):
        body = json.dumps([text, "end"], ensure_ascii=False).encode()
        gathered.see(asked(n, body))
        alone = TextGatherer()
        alone.see(asked(n, body))
        whole |= set(alone.text().split())
    assert set(gathered.text().split()) == whole


def test_output_that_comes_in_pieces_is_no_piece_of_a_word() -> None:
    gathered = TextGatherer()
    for data in (b"hel", b"lo wor", b"ld"):
        gathered.see(OutputPrinted(1, 0, data))
    assert gathered.text() == "hello world"
    assert occurs(gathered.text(), "HELL world") and not occurs(gathered.text(), "ello")


def test_an_image_is_no_word() -> None:
    gathered = TextGatherer()
    gathered.see(asked(0, b'["see",{"data":"' + b"aGVsbG8/" * 9000 + b'"},"there"]'))
    assert gathered.text().split() == ["see", "data", "there"]


def test_a_word_is_found_by_its_beginning_however_long(path: Path) -> None:
    long = "q" * 300
    with SqliteStore(path) as store:
        run = kept(store, new_run(), [asked(0, f'["{long}"]'.encode())])
        assert [each.id for each in store.runs(text=long)] == [run.id] == [each.id for each in store.runs(text="q" * 9)]


def test_words_of_a_deleted_run_are_gone_from_the_file(path: Path) -> None:
    secret = "xylographer"
    with SqliteStore(path) as store:
        other = kept(store, new_run(), [asked(0, b'["kept words"]')])
        run = kept(store, new_run(), [asked(0, f'["the {secret} spoke"]'.encode()), settled(0)])
        store._file.write()[0].checkpoint()
        assert secret.encode() in path.read_bytes()
        store.delete(run)
        assert [*store.runs(text=secret)] == []
        assert [each.id for each in store.runs(text="kept")] == [other.id]
    assert not path.with_name("store.db-wal").exists()
    content = path.read_bytes()
    assert not any(secret.encode()[at : at + 6] in content for at in range(5))


@pytest.mark.parametrize("way", ["expire", "discard", "killed"])
def test_words_of_runs_that_went_otherwise_leave_the_file_with_the_next_housekeeping(path: Path, way: str) -> None:
    with SqliteStore(path) as store:
        run = kept(store, new_run(), [asked(0, b'{"a":"zqxsecretword alone here"}')])
        for n in range(5):
            kept(store, new_run(started_us=LATER + n), [asked(0, b'{"a":"hello world %d"}' % n)])
    with SqliteStore(path) as store:
        if way == "discard":
            assert store.discard(run.id)
        else:
            (going,) = store.housekeeping().due({"ok": "1d"}, LATER)
            assert store.expire(going, LATER)
        if way == "killed":  # between two steps
            next(store.give_back())
    with SqliteStore(path) as store:
        assert not [*store.runs(text="zqxsecretword")]
        assert list(store.give_back())[-1] == 0
        assert len([*store.runs(text="hello")]) == 5
    assert b"zqxsecretword" not in b"".join(each.read_bytes() for each in path.parent.iterdir() if each.is_file())


def test_words_are_found_without_the_index_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SqliteStore(path) as store:
        run = kept(store, new_run(), [asked(0, b'["some words"]')])
        assert store.runs(text="words")
        store._file.indexed = False
        assert [each.id for each in store.runs(text="some word")] == [run.id]
        assert [*store.runs(text="others")] == []


@given(
    st.lists(
        st.sampled_from(
            ["Wo_rd", "x9", "\\\\n", "\\n", '\\"', "\\u00e9", "É", "_", " ", ",", "\x00", "\x1c", "K", "-a"]
        )
    )
)
def test_words_of_plain_text_are_those_that_the_pattern_finds(parts: list[str]) -> None:
    data = "".join(parts).encode()
    assert full_text._read(data) == full_text._WORD.findall(full_text.readable(data).casefold())
