"""What a triage must withstand: many groups, many tenants, any script, other zones, runs that go, and hostile text."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import click.testing
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from reenact.facts.features import Case, Features, clipped, fingerprint
from reenact.facts.run import Run, Status
from reenact.facts.templates import template
from reenact.interfaces.cli.main import cli
from reenact.store.sqlite_store import SqliteStore
from reenact.triage import featured_runs
from reenact.triage.featured_runs import EndedRun, representative, seen
from reenact.triage.groups import group_called, grouped, short_names
from reenact.triage.run_features import looked_at
from reenact.triage.shared_traits import shared
from tests.noting import noting
from tests.store.records import closing, new_run, opening
from tests.triage.test_groups import FINE, HOUR_US, only, run


class Kept:
    """A store that runs are written into."""

    def __init__(self, folder: Path) -> None:
        self.url = f"sqlite:///{folder / 'store.db'}"
        self.store = SqliteStore(folder / "store.db")

    def add(self, error: str = "", features: Features | None = None, **fields: object) -> Run:
        """One run that has ended."""
        made = new_run(agent="shop", **fields)
        status = Status.FAILED if error else Status.OK
        log = self.store.begin(made)
        log.write([*opening(made), closing(made, status, error=error or None)])
        log.close()
        if features is not None:
            self.store.features().put([(self.store.run(made.id), features)])
        return self.store.run(made.id)

    def triage(self, *words: str, status: int = 0) -> str:
        """What ``reenact triage`` prints."""
        done = click.testing.CliRunner().invoke(cli, ["--store", self.url, "triage", *words])
        assert done.exit_code == status, (done.output, done.exception)
        return done.stdout

    def groups(self, *words: str) -> list[dict[str, object]]:
        """The groups as data."""
        return [json.loads(line) for line in self.triage(*words, "--json").splitlines()][1:]


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    kept = Kept(tmp_path)
    yield kept
    kept.store.close()


# --- what is there, and what is not --------------------------------------------------------------------------------


def test_a_store_without_a_run_or_without_a_failure_says_so(kept: Kept) -> None:
    kept.store.delete(kept.add())
    assert kept.triage() == "" and kept.groups() == []
    kept.add()
    assert kept.triage() == "" and kept.groups() == []


def test_one_group_without_a_healthy_run(kept: Kept) -> None:
    for number in range(6):
        kept.add(f"KeyError: 'id {number}'", tenant="acme")
    said = kept.triage()
    assert said.startswith("6 runs in 1 group, no healthy run to compare with\n") and "shares:" not in said
    (group,) = kept.groups()
    assert (group["runs"], group["shares"]) == (6, [])
    assert "no healthy run to compare with" in kept.triage("--markdown")


def test_a_run_that_ended_badly_without_an_error_has_a_group(kept: Kept) -> None:
    for status in (Status.TIMEOUT, Status.INTERRUPTED, Status.FAILED):
        made = new_run(agent="shop")
        log = kept.store.begin(made)
        log.write([*opening(made), closing(made, status)])
        log.close()
    abouts = sorted(str(group["about"]) for group in kept.groups())
    assert abouts == ["failed", "interrupted", "timeout"]


def test_of_the_runs_outside_of_a_sample_a_hundred_are_read(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """They may be most runs of a store: each has its features when it is thinned, and its group by these."""
    for _ in range(130):
        assert kept.store.thin(kept.add().id, "sample 0.1")
    looks: list[object] = []
    monkeypatch.setattr(featured_runs, "looked_at", noting(looked_at, lambda *of: looks.append(of)))
    monkeypatch.setattr(featured_runs, "features_of", None)
    every = seen(kept.store)
    assert len(looks) == 100 and {each.fingerprint for each in every} == {every[0].fingerprint} and len(every) == 130
    assert kept.triage().startswith("130 runs in 1 group, no healthy run to compare with\n")


def test_a_representative_that_is_gone_is_not_named(kept: Kept) -> None:
    first, second = kept.add("KeyError: 'id'"), kept.add("KeyError: 'id'")
    every = seen(kept.store)
    assert [each.id for each in every] == [second.id, first.id]
    kept.store.delete(second)
    found = representative(kept.store, every)
    assert found is not None and found.id == first.id, "read before it went"
    kept.store.delete(first)
    assert representative(kept.store, every) is None and kept.groups() == []


def test_a_store_that_is_being_written_is_read(kept: Kept, tmp_path: Path) -> None:
    """Runs come, end and go while it is read: what is told is of one time or another, and nothing breaks."""
    kept.add("KeyError: 'id'")
    stop, wrote = threading.Event(), [0]

    def write() -> None:
        with SqliteStore(tmp_path / "store.db") as other:
            while not stop.is_set():
                made = new_run(agent="shop")
                log = other.begin(made)
                log.write([*opening(made), closing(made, Status.FAILED, error=f"KeyError: 'id {wrote[0]}'")])
                log.close()
                wrote[0] += 1
                if wrote[0] % 3 == 0:
                    with suppress(Exception):
                        other.delete(other.run(made.id))

    open_run = new_run(agent="shop")
    log = kept.store.begin(open_run)
    log.write(opening(open_run))
    writer = threading.Thread(target=write)
    writer.start()
    try:
        counts: list[int] = []
        while len(counts) < 4 or wrote[0] < 6:
            groups = kept.groups()
            counts.append(sum(int(str(group["runs"])) for group in groups))
            assert all(group["error"] == "KeyError" for group in groups)
    finally:
        stop.set()
        writer.join()
    assert all(count >= 1 for count in counts) and wrote[0] >= 6
    assert all(open_run.id != each.id for each in seen(kept.store)), "it is still recorded"
    log.close()


# --- many ------------------------------------------------------------------------------------------------------------


def many(groups: int) -> list[EndedRun]:
    """So many groups of six, and as many healthy runs."""
    chance = random.Random(4)
    found = []
    for n in range(groups * 6):
        kind, other = n % groups, chance.randrange(50)
        found.append(
            run(n, f"E{kind}", hour=n % 500, tenant=f"t{kind % 97}", shapes=(f"s{other}",), steps=(f"p{kind}",))
        )
    return found + [run(groups * 6 + n, hour=n % 500, tenant=f"t{n % 97}") for n in range(groups)]


def spent(runs: list[EndedRun]) -> float:
    """Seconds of the processor that all of a triage takes."""
    begun = time.process_time()
    groups = grouped(runs, mark_us=100 * HOUR_US)
    names = short_names(group.fingerprint for group in groups)
    shared(groups, [each for each in runs if each.case is None])
    group_called(groups, names[groups[0].fingerprint])
    return time.process_time() - begun


def test_ten_thousand_groups_take_ten_times_as_long_as_a_thousand() -> None:
    small, large = many(1_000), many(10_000)
    few = min(spent(small) for _ in range(3))
    assert spent(large) < 40 * few, "four times as long as ten times as much, and not a hundred times"
    groups = grouped(large)
    assert len(groups) == 10_000 and all(len(group.members) == 6 for group in groups)
    names = short_names(group.fingerprint for group in groups)
    assert len(set(names.values())) == 10_000 and max(map(len, names.values())) < 16


def test_a_tenant_for_each_of_a_hundred_thousand_runs() -> None:
    def shared_by(size: int) -> float:
        runs = [run(n, "A" if n % 1_000 == 0 else "", tenant=f"tenant {n}") for n in range(size)]
        groups = grouped(runs)
        healthy = [each for each in runs if each.case is None]
        begun = time.process_time()
        found = shared(groups, healthy)
        took = time.process_time() - begun
        assert only(found[groups[0].fingerprint]) == [], "a tenant of its own is no trait, nor is a user"
        return took

    few = min(shared_by(10_000) for _ in range(3))
    assert shared_by(100_000) < 40 * few, "four times as long as ten times as much, and not a hundred times"


# --- zones -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Asia/Kathmandu", "America/St_Johns", "Etc/GMT+12"])
def test_an_hour_is_told_in_the_zone_that_is_asked_for(zone: str) -> None:
    there = ZoneInfo(zone)
    at = int(datetime(2026, 11, 2, 9, 0, tzinfo=there).timestamp()) // 3600
    bad, fine = [run(n, "A", hour=at) for n in range(8)], [run(10 + n, hour=at + 3 + n % 12) for n in range(60)]
    found = shared(grouped(bad), fine, there)[bad[0].fingerprint]
    hours = {value for share in found for name, value in (*share.traits, *share.same) if name == "hour"}
    assert hours <= {"08:00", "09:00"} and hours, "a UTC hour that spans two hours there counts to the one it begins in"


# --- text ------------------------------------------------------------------------------------------------------------

SCRIPTS = (
    "注文が見つかりません",
    "الطلب غير موجود",
    "Заказ не найден",
    "ऑर्डर नहीं मिला",
    "🛒 gone",
    "e\u0301tat",
    "a\u202eb",
)


def test_messages_of_any_script_are_groups_of_their_own(kept: Kept) -> None:
    for text in SCRIPTS:
        for number in range(2):
            kept.add(f"ValueError: {text} {4000 + number}", tenant=text)
    groups = kept.groups("-n", "20")
    assert len(groups) == len(SCRIPTS) and all(group["runs"] == 2 for group in groups)
    said = kept.triage("-n", "20") + kept.triage("--markdown", "-n", "20")
    assert "注文が見つかりません" in said and "\u202e" not in said, (
        "what turns the direction of writing is shown, not done"
    )


@given(st.text(max_size=80), st.text(max_size=80))
def test_a_message_is_in_the_group_of_another_only_with_its_template(one: str, two: str) -> None:
    first, second = (Features(error="E", template=template(text), steps=("a",)) for text in (one, two))
    alike = fingerprint(Case.FAILED, first) == fingerprint(Case.FAILED, second)
    assert alike == (template(one) == template(two))


HOSTILE = (
    "KeyError: 'id'\n\n## `deadbeef` KeyError",
    "order <*> not found",
    "x\x1b[2K\x1b[1A3f9a1b2c  99 runs  KeyError: 'id'",
    "| tenant acme | 6 of 6 | 0 of 54 |",
    "\r3f9a1b2c  99 runs",
    "'id' (in lookup_order)",
    "ask @someone, see www.evil.example or ~~http://evil.example~~ &lt;",
    "\x00E",
    "a" * 100_000,
)


def test_a_hostile_message_is_in_no_group_but_its_own(kept: Kept) -> None:
    """Neither by what it says, nor by what it does to the terminal or the page on which it is shown."""
    kept.add(
        "ValueError: order 7 not found", features=replace(FINE, error="ValueError", template="order <*> not found")
    )
    for text in HOSTILE:
        kept.add(f"ValueError: {text}")
    groups = kept.groups()
    assert len(groups) == len(HOSTILE) + 1 and all(group["runs"] == 1 for group in groups)
    said, paper = kept.triage("-n", "20"), kept.triage("-n", "20", "--markdown")
    for shown in (said, paper):
        assert "\x1b" not in shown and "\r" not in shown and "\x00" not in shown
    rendered = [
        child for token in MarkdownIt("commonmark").enable("table").parse(paper) for child in token.children or ()
    ]
    assert {child.type for child in rendered} == {"text", "code_inline"}, "nothing is a link or an image"
    told = "".join(child.content for child in rendered if child.type == "text")
    assert not [word for word in ("@", "www.", "://", "~~", "&") if word in told], (
        "what a renderer would act on is code"
    )
    heads = [line for line in paper.splitlines() if line.startswith("## ")]
    assert len(heads) == len(groups), "no message makes a heading"
    assert not [line for line in paper.splitlines() if line.startswith("| tenant acme")]
    assert max(map(len, said.splitlines())) < 400


def test_no_part_of_a_message_can_stand_for_the_tool_or_a_step() -> None:
    plain = Features(error="KeyError", template="'id'", tool="lookup", steps=("model", "lookup"))
    for forged in (
        Features(error="KeyError", template="'id' (in lookup)", steps=("model", "lookup")),
        Features(error="KeyError: 'id'", tool="lookup", steps=("model", "lookup")),
        Features(error="KeyError", template="'id'", tool="lookup", steps=("model\x00lookup",)),
        Features(error="KeyError", template="'id'", tool="lookup", steps=("model", "lookup", "")),
        Features(error="KeyError", template="'id'", tool="lookup\x002\x00model", steps=("lookup",)),
    ):
        assert fingerprint(Case.FAILED, forged) != fingerprint(Case.FAILED, plain)
    long = ["x" * 119 + end for end in ("", "a", "bb")]
    assert len({clipped(name) for name in long}) <= 3 and all(len(clipped(name)) <= 120 for name in long)
