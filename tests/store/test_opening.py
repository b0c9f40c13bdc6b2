"""The front door: which store a URL names, where the default lies, and what is told when there is none."""

from __future__ import annotations

import inspect
import os
import stat
import traceback
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from reenact import open_store
from reenact.errors import StoreError, UsageError
from reenact.facts.run import Run
from reenact.store.memory_store import MemoryStore
from reenact.store.sqlite_store import SqliteStore
from reenact.store.store_location import find_directory, find_project
from tests.store.records import closing, new_run, opening


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without a store."""
    monkeypatch.delenv("REENACT_STORE", raising=False)
    place = tmp_path / "project" / "deep"
    place.mkdir(parents=True)
    monkeypatch.chdir(place)
    return place


def record_into(url: str | None) -> Run:
    """One empty run in a store."""
    with open_store(url) as store:
        run = new_run()
        log = store.begin(run)
        log.write([*opening(run), closing(run)])
        log.close()
    return run


def test_reading_where_nothing_was_recorded_says_so_and_makes_nothing(elsewhere: Path) -> None:
    with open_store() as store, pytest.raises(StoreError, match=r"no store here[\s\S]*next: reenact record -- python"):
        store.runs()
    with open_store("sqlite:///other.db") as store, pytest.raises(StoreError, match="no store here"):
        store.run("@")
    assert [*elsewhere.iterdir()] == []


def test_what_lies_above_the_root_of_a_repository_belongs_to_other_projects(elsewhere: Path) -> None:
    above, root = elsewhere.parent.parent, elsewhere.parent
    (above / ".reenact").mkdir()
    assert (find_directory(elsewhere), find_project(elsewhere)) == (above / ".reenact", above)
    (root / ".git").write_text("gitdir: elsewhere")  # a worktree has a file
    assert (find_directory(elsewhere), find_project(elsewhere)) == (elsewhere / ".reenact", root)
    (root / ".reenact").mkdir()
    assert (find_directory(elsewhere), find_project(elsewhere)) == (root / ".reenact", root)


def test_the_default_is_made_in_the_working_directory_and_found_from_below(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = record_into(None)
    directory = elsewhere / ".reenact"
    assert {path.name for path in directory.iterdir()} == {".gitignore", "live", "store.db"}
    assert [*(directory / "live").iterdir()] == []
    below = elsewhere / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    with open_store() as store:
        assert store.run("@").id == run.id
        assert store.url == str(directory)
        with open_store(store.url) as same:
            assert same.run("@").id == run.id
    other = record_into(None)
    assert not (below / ".reenact").exists()
    with open_store(directory) as store:
        assert store.run("@").id == other.id


@pytest.mark.skipif(os.name == "nt", reason="permissions are not bits there")
def test_nobody_else_may_read_what_is_recorded(elsewhere: Path) -> None:
    old = os.umask(0)
    try:
        with open_store() as store:
            run = new_run()
            log = store.begin(run)
            log.write(opening(run))
            found = {path: stat.S_IMODE(path.stat().st_mode) for path in (elsewhere / ".reenact").rglob("*")}
            found[elsewhere / ".reenact"] = stat.S_IMODE((elsewhere / ".reenact").stat().st_mode)
            log.close()
    finally:
        os.umask(old)
    assert {"store.db", "store.db-wal", "store.db-shm"} <= {path.name for path in found}
    assert {path.name: mode for path, mode in found.items() if mode & 0o077 and path.name != ".gitignore"} == {}


def test_urls_name_stores(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = record_into("sqlite:///one.db")
    for url in ("sqlite:///one.db", f"sqlite:///{elsewhere}/one.db", "one.db"):
        with open_store(url) as store:
            assert isinstance(store, SqliteStore) and store.run("@").id == run.id
            assert store.url == f"sqlite:///{elsewhere}/one.db", "the same from any directory"
    monkeypatch.setenv("REENACT_STORE", "sqlite:///one.db")
    with open_store() as store:
        assert store.run("@").id == run.id
    inside = record_into("memory:here")
    assert open_store("memory:here").run("@").id == inside.id
    assert isinstance(open_store("memory:"), MemoryStore) and [*open_store("memory:there").runs()] == []


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://host/db", "not available yet"),
        ("mysql://host/db", "no store is called"),
        ("sqlite://one.db", "names no file"),
        ("sqlite:///", "names no file"),
    ],
)
def test_other_urls_are_refused(url: str, said: str) -> None:
    with pytest.raises(UsageError, match=rf"{said}[\s\S]*next: reenact ") as caught:
        open_store(url)
    assert caught.value.exit_code == 2


def test_a_closed_store_says_so_and_closes_again(elsewhere: Path) -> None:
    record_into(None)
    store = open_store()
    recording = store.open("@")
    store.close()
    store.close()
    for use in (lambda: store.runs(), lambda: store.begin(new_run()), lambda: recording.count()):
        with pytest.raises(StoreError, match="the store is closed"):
            use()


def test_a_directory_that_cannot_be_written_is_told_in_our_words(elsewhere: Path) -> None:
    (elsewhere / "file").write_text("x")
    with open_store("sqlite:///file/below/x.db") as store, pytest.raises(StoreError, match="cannot be made"):
        store.begin(new_run())


def test_every_public_method_of_the_contract_is_there() -> None:
    from reenact.abc.store import Store

    names = [name for name, _ in inspect.getmembers(Store, inspect.isfunction) if not name.startswith("_")]
    for kind in (MemoryStore, SqliteStore):
        assert [name for name in names if not callable(getattr(kind, name, None))] == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a process that may write less than this one")
def test_a_store_in_a_directory_that_may_not_be_written_is_read() -> None:
    with TemporaryDirectory() as name:
        place = Path(name) / "kept"
        run = record_into(f"sqlite:///{place}/x.db")
        for path in (Path(name), place, place / "x.db"):
            path.chmod(0o755 if path.is_dir() else 0o444)
        place.chmod(0o555)
        child = os.fork()
        if child == 0:
            try:
                if os.geteuid() == 0:
                    os.setuid(65534)
                with open_store(f"sqlite:///{place}/x.db") as store:
                    assert store.run("@").id == run.id
                    with pytest.raises(StoreError, match=r"cannot be written[\s\S]*next: reenact config"):
                        store.begin(new_run())
                    os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(2)
        _, status = os.waitpid(child, 0)
        place.chmod(0o755)
        assert os.waitstatus_to_exitcode(status) == 0
