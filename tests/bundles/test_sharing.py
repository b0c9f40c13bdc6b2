"""A packed run replays, forks and compares in a clone of its project elsewhere, by the public commands alone."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from copy import copy
from pathlib import Path

import pytest

import reenact
from reenact.errors import StoreError, UsageError
from reenact.facts.record import OutputPrinted
from reenact.store import open_store
from reenact.store.bundles import PackedRun, bundle_store, write_bundle
from reenact.store.run_records import records_of
from tests.bundles.conftest import SECRET, Place
from tests.bundles.forging import small, written
from tests.store.records import issued, settled


def test_packing_replays_the_result_and_lists_what_looks_like_personal_data(shop: Place) -> None:
    said = shop.packed.stderr  # type: ignore[attr-defined]
    assert "verdict: same (exact)" in said
    assert "no further credential was found" in said
    assert "looks like personal data: e-mail address in the answer of event" in said


def test_it_replays_in_a_clone_elsewhere_without_the_store(shop: Place, clone: Place) -> None:
    (shop.folder.parent).rename(shop.folder.parent.with_name("gone"))
    try:
        report = clone.told("replay", "run.reenact")
    finally:
        shop.folder.parent.with_name("gone").rename(shop.folder.parent)
    assert (report["verdict"], report["live_calls"], report["matched"]) == ("exact", 0, 4), report
    assert not (clone.folder / ".reenact").exists()


def test_it_replays_from_any_folder_of_a_repository(clone: Place) -> None:
    (clone.folder / ".git").mkdir()
    (clone.folder / "docs").mkdir()
    place = replace_folder(clone, clone.folder / "docs")
    assert place.told("replay", "../run.reenact")["verdict"] == "exact"


def test_the_code_of_another_revision_replays_a_file_from_elsewhere(clone: Place) -> None:
    environment = {**clone.environment, "GIT_CONFIG_GLOBAL": os.devnull}
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "one")):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.invalid", *words]
        subprocess.run(command, cwd=clone.folder, env=environment, check=True)
    clone.write("agent.py", "print('other')")
    report = clone.told("replay", "run.reenact", "--rev", "HEAD")
    assert report["verdict"] == "exact", report


def replace_folder(place: Place, folder: Path) -> Place:
    """The same place, standing in another folder of it."""
    other = copy(place)
    other.folder = folder
    return other


def test_the_clone_is_looked_at_not_the_recorded_place(clone: Place) -> None:
    clone.write("data.txt", "other")
    done = clone.reenact("replay", "run.reenact")
    assert done.returncode == 1
    assert "data.txt" in done.stderr


def test_every_command_that_reads_takes_the_file(clone: Place) -> None:
    for words, expected in (
        (("show", "run.reenact"), "fetch"),
        (("show", "run.reenact:fetch#2"), "euro 0"),
        (("cat", "run.reenact:fetch#2.response.body"), "anna@kundin.de"),
        (("kit", "run.reenact"), "replays as code"),
        (("timeline", "run.reenact"), ""),
        (("diff", "run.reenact", "run.reenact"), "the same"),
        (("--store", "run.reenact", "ls"), "shop"),
    ):
        done = clone.reenact(*words)
        assert done.returncode == 0, (words, done.stderr)
        assert expected in done.stdout, (words, done.stdout)
    assert "next: reenact replay run.reenact" in clone.reenact("show", "run.reenact").stderr
    for words in (("flag", "run.reenact", "bad"), ("tag", "run.reenact", "k=v")):
        done = clone.reenact(*words)
        assert done.returncode == 2
        assert "reenact unpack run.reenact" in done.stderr
    assert not (clone.folder / ".reenact").exists()


def test_it_is_unpacked_once_and_packs_to_the_same_bytes(clone: Place) -> None:
    first = clone.told("unpack", "run.reenact")
    again = clone.told("unpack", "run.reenact")
    assert (len(first["fresh"]), again["fresh"]) == (1, [])
    clone.reenact("tag", "@", "seen=yes")  # what people say later makes it no other run
    assert clone.told("unpack", "run.reenact")["fresh"] == []
    assert len(clone.reenact("--json", "ls").stdout.splitlines()) == 2  # the run, and the one inside it
    assert clone.told("replay", "@")["verdict"] == "exact"


def test_a_second_pack_is_the_same_file(clone: Place) -> None:
    clone.reenact("unpack", "run.reenact")
    done = clone.reenact("pack", "@", "-o", "again.reenact", "--no-check")
    assert "not replayed (--no-check)" in done.stderr
    assert (clone.folder / "again.reenact").read_bytes() == (clone.folder / "run.reenact").read_bytes()
    done = clone.reenact("pack", "run.reenact", "-o", "third.reenact", "--no-check")
    assert (clone.folder / "third.reenact").read_bytes() == (clone.folder / "run.reenact").read_bytes()


def test_a_fork_of_a_file_lies_in_the_store_and_replays_there(clone: Place) -> None:
    fork = clone.reenact("fork", "run.reenact:2", "--result", '2={"rate": 18}', "--live", "none")
    assert fork.returncode == 0, fork.stderr
    assert "unpacked, as run" in fork.stderr
    report = clone.told("replay", "@")
    assert report["verdict"] == "exact", report
    assert clone.reenact("diff", "run.reenact", "@").returncode == 1


def test_python_takes_the_file_too(shop: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop.folder)
    with reenact.open_store("run.reenact") as store:
        run = store.run("@")
        assert run.agent == "shop"
        assert [event.name for event in store.events("run.reenact")] == ["inner", "fetch", "fetch", "fetch"]
        assert store.event("run.reenact:fetch#2").number == 2
        with pytest.raises(UsageError, match="bundle"):
            store.delete(run)
        with pytest.raises(UsageError, match="bundle"):
            store.begin(run)
    with pytest.raises(UsageError, match="unpack"):
        open_store(".reenact").run("run.reenact")


def test_another_run_of_the_same_id_is_not_overwritten(clone: Place) -> None:
    clone.reenact("unpack", "run.reenact")
    with open_store(clone.folder / ".reenact") as store:
        run = store.run("@")
        packed = clone.folder / "other.reenact"
        inner = [store.open(each) for each in store.runs(parent=run.id)]
        records = [each for each in records_of(store.open(run), inner) if not isinstance(each, OutputPrinted)]
    write_bundle(packed, [PackedRun("run", run, tuple(records))])
    done = clone.reenact("unpack", "other.reenact")
    assert done.returncode == StoreError.exit_code
    assert "is here already, with other content" in done.stderr
    assert "reenact diff" in done.stderr


def test_a_credential_that_was_kept_is_removed_and_told(tmp_path: Path) -> None:
    place = Place(tmp_path / "proj", tmp_path / "home")
    place.write("agent.py", "import reenact\nprint('we have seen " + SECRET + "')\n")
    place.reenact("record", "--", "python", "agent.py")  # nobody knew that it was one
    done = place.reenact("pack", "@", "-o", "x.reenact", "--no-check", SHOP_API_KEY=SECRET)
    assert "credentials removed in" in done.stderr
    assert "its output" in done.stderr
    data = place.reenact("textconv", "x.reenact").stdout
    assert SECRET not in data
    assert "we have seen" in data
    with open_store(place.folder / ".reenact") as store:
        assert SECRET.encode() in b"".join(store.open("@").printed(1))


def test_a_kill_in_the_middle_of_unpacking_leaves_nothing_or_all(clone: Place) -> None:
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from reenact.store import open_store, sqlite_log\n"
        "from reenact.timetravel.bundling.unpacking import unpack\n"
        "real, count = sqlite_log._Batch.write, 0\n"
        "sqlite_log._AT_ONCE = 4\n"
        "def write(self, connection, records):\n"
        "    global count\n"
        "    count += 1\n"
        "    real(self, connection, records)\n"
        "    if count == int(sys.argv[1]):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "sqlite_log._Batch.write = write\n"
        "with open_store('.reenact') as store:\n"
        "    unpack(Path('run.reenact'), store)\n"
    )
    for at in (1, 3):
        done = subprocess.run(
            [sys.executable, "-c", program, str(at)], cwd=clone.folder, env=clone.environment, check=False
        )
        assert done.returncode == -signal.SIGKILL
        assert clone.reenact("--json", "ls").stdout == ""
    assert len(clone.told("unpack", "run.reenact")["fresh"]) == 1


def test_packing_what_cannot_be_packed_says_why(shop: Place) -> None:
    done = shop.reenact("pack", "@", "-o", "run.zip")
    assert (done.returncode, "-o run.reenact" in done.stderr) == (2, True)
    with open_store(shop.folder / ".reenact") as store:
        (inner,) = [run for run in store.runs() if run.lane]
    done = shop.reenact("pack", inner.id, "-o", "x.reenact")
    assert (done.returncode, "lies in the log of another run" in done.stderr) == (2, True)
    assert not (shop.folder / "x.reenact").exists()


def test_a_run_in_progress_is_not_packed(tmp_path: Path) -> None:
    place = Place(tmp_path / "proj", tmp_path / "home")
    place.write("agent.py", "import reenact, sys\nprint('begun', flush=True)\nsys.stdin.read()\n")
    recording = subprocess.Popen(
        [sys.executable, "-m", "reenact", "record", "--", "python", "agent.py"],
        cwd=place.folder, env=place.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert recording.stdout is not None
    recording.stdout.readline()
    done = place.reenact("pack", "@", "-o", "x.reenact")
    recording.communicate(b"", timeout=60)
    assert (done.returncode, "still being recorded" in done.stderr) == (2, True)


def test_textconv_shows_what_was_asked_and_answered(shop: Place) -> None:
    text = shop.reenact("textconv", "run.reenact").stdout
    assert "#2 call tool read fetch\n  head:\n" in text
    assert "    what: euro 0\n" in text
    assert "at_us" not in text
    bad = shop.folder / "bad.reenact"
    bad.write_bytes(b"no bundle")
    assert shop.reenact("textconv", "bad.reenact").returncode == StoreError.exit_code
    told = shop.reenact("textconv", "--git", "bad.reenact")
    bad.unlink()
    assert (told.returncode, told.stdout[:8]) == (0, "refused:")


def test_git_shows_what_changed_in_a_bundle(clone: Place) -> None:
    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.invalid", *words],
            cwd=clone.folder, env={**clone.environment, "GIT_CONFIG_GLOBAL": os.devnull}, capture_output=True,
            text=True, check=True,
        )  # fmt: skip
        return done.stdout

    git("init", "-q")
    clone.reenact("init")
    assert "*.reenact diff=reenact" in (clone.folder / ".gitattributes").read_text()
    git("config", "diff.reenact.textconv", f"{shlex.quote(sys.executable)} -m reenact textconv --git")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    clone.reenact("unpack", "run.reenact")
    clone.reenact("tag", "@", "seen=yes")
    clone.reenact("pack", "@", "-o", "run.reenact", "--no-check")
    shown = git("diff")
    assert "+    seen: yes" in shown
    assert "Binary files" not in shown


def test_opening_a_bundle_of_twenty_calls_is_quick(tmp_path: Path) -> None:
    more = [each for n in range(1, 21) for each in (issued(n, b"x" * 2000), settled(n, b'{"a":"%d"}' % n * 100))]
    path = written(tmp_path / "x.reenact", small(None, *more))
    best = 1.0
    for _ in range(20):
        began = time.process_time()
        bundle_store(path)
        best = min(best, time.process_time() - began)
    assert best < 0.02, f"{best * 1000:.1f} ms of work"  # 1.8 ms where nothing else runs


def test_the_manifest_of_json_names_what_is_in_it(shop: Place, tmp_path: Path) -> None:
    said = shop.told("pack", "@", "-o", str(tmp_path / "x.reenact"), "--no-check")
    again = shop.told("pack", "@", "-o", str(tmp_path / "y.reenact"), "--no-check")
    assert said["replayed"] is None
    assert said["removed"] == []
    assert [each["sort"] for each in said["personal"]] == ["e-mail address"]
    assert json.loads(json.dumps(said))["digest"] == again["digest"]
