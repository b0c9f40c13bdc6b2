"""A mark is a line in time: a command sets, lists and removes it; runs are chosen, listed and added up across it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reenact.facts.ids import make_run_id
from reenact.facts.marks import Mark
from reenact.facts.record import LaneOpened, RunClosed, RunOpened
from reenact.facts.run import Run, Status, Totals
from reenact.interfaces.cli import run_opening
from reenact.store.sqlite_store import SqliteStore
from tests.store.records import new_run

HOUR_US = 3_600_000_000
NOW_US = 1_790_000_000_000_000


def run_at(store: SqliteStore, at_us: int, *, status: Status = Status.OK, agent: str = "shop") -> Run:
    """A run that began and ended at a moment."""
    run = new_run(started_us=at_us, agent=agent)
    log = store.begin(run)
    log.write([RunOpened(run), LaneOpened(0, "root", None)])
    log.write([RunClosed(replace(run, status=status, ended_us=at_us + 9, totals=Totals(0)))])
    log.close()
    return run


@pytest.fixture
def kept(tmp_path: Path, record_store: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    """A store of rows behind the command line, two hours of runs in it."""
    with SqliteStore(tmp_path / "kept" / "store.db") as store:
        for n in range(20):
            run_at(store, NOW_US - 2 * HOUR_US + n, status=Status.FAILED if n < 15 else Status.OK)
        for n in range(20):
            run_at(store, NOW_US - HOUR_US // 2 + n, status=Status.FAILED if n < 2 else Status.OK)
        monkeypatch.setattr(run_opening, "open_store", lambda url=None: SqliteStore(store.path))
        yield store


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A git repository here; gives the hash of its commit, which has the tag v2."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "a.txt").write_text("a")
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "one"), ("tag", "v2")):
        subprocess.run(["git", *words], check=True)
    done = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return done.stdout.strip()


Cli = Callable[..., Any]


def test_a_mark_is_set_with_its_commit_listed_and_removed(
    kept: SqliteStore, reenact: Cli, repository: str, tmp_path: Path
) -> None:
    answer = reenact("mark", "v2  deployed", "--rev", "v2")
    assert answer.code == 0 and repository[:12] in answer.out and "v2 deployed" in answer.out
    assert "next: reenact golden run --mark 'v2 deployed'" in answer.err
    reenact("mark", "the model was changed", "--at", "2020-01-02T03:04Z")
    listed = reenact("mark")
    assert [line.split("  ")[-1] for line in listed.lines] == ["the model was changed", "v2 deployed"]
    assert "2020-01-02 03:04:00Z" in listed.lines[0]
    first, second = reenact("mark", "--json").data
    assert first["text"] == "the model was changed" and first["at_us"] == 1_577_934_240_000_000
    assert second["revision"] == repository
    assert reenact("mark", "--rm", second["id"][-8:]).out.endswith("removed\n")
    assert [each["text"] for each in reenact("--json", "mark").data] == ["the model was changed"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("x", "--rev", "nothing"), "there is no revision nothing here"),
        (("x", "--rev", "--all"), "there is no revision --all here"),
        (("x", "--at", "tomorrow"), "is no moment"),
        (("x", "--at", "9000-01-01"), "is still to come"),
        ((" ",), "is no text for a mark"),
        (("x" * 201,), "is no text for a mark"),
        (("@",), "names the last mark"),
        (("--rev", "v2"), "is either set, listed or removed"),
        (("x", "--rm", "y"), "is either set, listed or removed"),
        (("--rm", "y"), "no mark matches 'y'"),
    ],
)
def test_what_is_no_mark_is_refused_and_nothing_kept(
    kept: SqliteStore, reenact: Cli, repository: str, words: tuple[str, ...], said: str
) -> None:
    answer = reenact("mark", *words)
    assert answer.code == 2 and said in answer.err and "next: " in answer.err
    assert kept.marks() == ()


def test_where_no_repository_is_a_hash_is_taken_as_it_is(
    kept: SqliteStore, reenact: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert reenact("mark", "v2", "--rev", "0123abcdef").code == 0
    assert kept.marks()[0].revision == "0123abcdef"
    assert "only a commit's hash is known" in reenact("mark", "v2", "--rev", "main").err


def test_a_credential_in_the_text_is_not_kept(kept: SqliteStore, reenact: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    key, shaped = "mf83nDkeo2Lx74Qw", "sk-proj-" + "4fK9" * 12
    monkeypatch.setenv("DEPLOY_TOKEN", key)
    answer = reenact("mark", f"v2 deployed with {key} and {shaped}")
    assert answer.code == 0 and "v2 deployed with" in kept.marks()[0].text
    for each in (key, shaped):
        assert each not in answer.out and each.encode() not in kept.path.read_bytes()
        assert each.encode() not in kept.path.with_name("store.db-wal").read_bytes()


def test_ls_draws_a_line_where_a_mark_lies_and_chooses_by_it(kept: SqliteStore, reenact: Cli) -> None:
    mark = Mark(make_run_id(NOW_US, b"mmmmm"), "v2 deployed", NOW_US - HOUR_US, "c" * 40)
    kept.mark(mark)
    lines = reenact("ls").lines
    assert [n for n, line in enumerate(lines) if "v2 deployed" in line] == [21]
    assert lines[21].startswith("--------") and "cccccccccccc" in lines[21]
    kept.mark(Mark(make_run_id(NOW_US, b"nnnnn"), "v3 deployed", NOW_US + HOUR_US))
    assert "v3 deployed" in reenact("ls").lines[1]
    assert len(reenact("--json", "ls", "--since", "v2 deployed").data) == 20
    assert len(reenact("--json", "ls", "--before", mark.id[-8:]).data) == 20
    assert len(reenact("--json", "ls", "--since", "v2 deployed", "--before", "@", "--failed").data) == 2
    assert {each["period"] for each in reenact("--json", "ls").data} == {"before v2 deployed", "since v2 deployed"}


def test_what_is_neither_a_span_nor_a_mark_is_refused(kept: SqliteStore, reenact: Cli) -> None:
    answer = reenact("ls", "--since", "5 parsecs")
    assert answer.code == 2 and "'5 parsecs' is neither a span of time nor a mark" in answer.err
    assert "15min" in answer.err and "next: reenact ls --help" in answer.err
    kept.mark(Mark(make_run_id(NOW_US, b"mmmmm"), "v2 deployed", NOW_US))
    assert "the marks are: v2 deployed" in reenact("kit", "--before", "v3").err


def test_stats_compare_before_and_after(kept: SqliteStore, reenact: Cli) -> None:
    kept.mark(Mark(make_run_id(NOW_US, b"mmmmm"), "v2 deployed", NOW_US - HOUR_US))
    answer = reenact("stats", "--by", "mark")
    rows = [re.split(r"\s{2,}", line)[:3] for line in answer.lines]
    assert rows[1:3] == [["since v2 deployed", "20", "2"], ["before v2 deployed", "20", "15"]]
    assert "fewer runs fail, 2/20 (3-30 %) after 15/20 (53-89 %); difference -81 to -35 points (95 %)" in answer.out
    since, before, total = reenact("--json", "stats", "--by", "mark").data
    assert (since["mark"], since["failed"], before["failed"]) == ("since v2 deployed", 2, 15)
    assert total["runs"] == 40


@pytest.mark.parametrize("failed", [0, 10, 20])
def test_stats_say_which_way_the_failures_moved(kept: SqliteStore, reenact: Cli, failed: int) -> None:
    at = NOW_US + HOUR_US
    kept.mark(Mark(make_run_id(NOW_US, b"mmmmm"), "v2", NOW_US - HOUR_US))
    kept.mark(Mark(make_run_id(at, b"nnnnn"), "v3", at))
    assert "difference" not in reenact("stats", "--by", "mark").out
    for n in range(20):
        run_at(kept, at + n, status=Status.FAILED if n < failed else Status.OK)
    said = "since v3: more runs fail" if failed else "since v3: no difference is shown"
    assert said in reenact("stats", "--by", "mark").out


def test_without_marks_all_is_one_stretch(kept: SqliteStore, reenact: Cli) -> None:
    answer = reenact("--json", "stats", "--by", "mark")
    assert [each.get("mark") for each in answer.data] == ["", None]
    assert json.loads(reenact("--json", "ls", "-n", "1").out)["period"] == ""
    assert "no marks yet" in reenact("mark").err


def test_twenty_marks_at_once_are_all_kept(kept: SqliteStore) -> None:
    words = ["import sys", "from pathlib import Path", "from reenact.store.sqlite_store import SqliteStore"]
    words += ["from reenact.facts.marks import Mark", "n = int(sys.argv[2])"]
    words += ["SqliteStore(Path(sys.argv[1])).mark(Mark(f'01k90000{n:02d}aaaaaaaa', f'v{n}', n))"]
    started = [subprocess.Popen([sys.executable, "-c", "\n".join(words), str(kept.path), str(n)]) for n in range(20)]
    assert [process.wait() for process in started] == [0] * 20
    assert [mark.text for mark in kept.marks()] == [f"v{n}" for n in range(20)]
