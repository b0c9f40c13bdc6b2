"""A value that is longer than a recording keeps: its event has size and digest, and what needs it says so by name."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact.errors import BlobMissing, UsageError
from reenact.facts.call import Fidelity
from reenact.facts.large_values import LARGE
from reenact.facts.policy import Policy
from reenact.store.salvaged_store import salvage
from reenact.store.store_check import check_store
from reenact.timetravel.bundling.packing import pack
from reenact.timetravel.bundling.unpacking import unpack
from reenact.triage.kit_of_run import kit_of

SIZES = [5000]
"""How long what is computed is."""

SMALL = Policy(largest_value_mb=0.01)


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[reenact.Store]:
    url = f"sqlite:///{tmp_path}/runs.db" if request.param == "sqlite" else f"memory:{request.node.nodeid}"
    with reenact.open_store(url) as opened:
        yield opened


@reenact.tool(effect="read")
def fetch(what: str, size: int) -> Any:
    """A tool that gives a value of some length."""
    return {"bytes": b"b" * size, "str": "e" * size, "list": ["x" * 100] * (size // 100)}[what]


@reenact.tool(effect="none")
def compute() -> list[int]:
    """One that always runs."""
    return list(range(SIZES[-1]))


def recorded(store: reenact.Store, agent: Any, policy: Policy = SMALL) -> reenact.Run:
    reenact.record(agent, store=store, policy=policy)()
    return store.run("@")


@pytest.mark.parametrize(
    ("what", "size"), [("bytes", 20_000), ("str", 20_000), ("list", 20_000), ("bytes", LARGE), ("str", LARGE)]
)
def test_its_event_keeps_size_and_digest(store: reenact.Store, what: str, size: int) -> None:
    def agent() -> int:
        return len(fetch(what, 3) or "none") + len(fetch(what, size))

    run = recorded(store, agent)
    assert run.status == "ok" and not run.degraded
    recording = store.open(run)
    short, long = recording.events(name="fetch")
    assert short.fidelity is Fidelity.EXACT and recording.body(short.answer)
    assert long.fidelity is Fidelity.WITHHELD and "largest_value_mb = 0.01" in long.fidelity_note
    answer = long.answer
    assert answer is not None and answer.size >= size and len(answer.digest) == 32
    asks: list[Callable[[], bytes]] = [lambda: recording.body(answer), lambda: store.payload(answer)]
    for ask in asks:
        with pytest.raises(BlobMissing, match="was removed: only its size and digest are left") as caught:
            ask()
        assert caught.value.reason == "withheld"
    lacking = kit_of(store, run).lacking
    assert any("1 of 2 are withheld" in item.about and "largest_value_mb" in item.about for item in lacking)


def test_of_a_run_that_has_kept_enough_further_values_keep_size_and_digest(store: reenact.Store) -> None:
    def agent() -> int:
        return sum(len(fetch("str", size)) for size in (4_000, 5_000, 3_000, 900))

    run = recorded(store, agent, Policy(largest_run_mb=0.01))
    assert run.status == "ok" and not run.degraded
    found = [(each.fidelity, each.answer.size) for each in store.open(run).events(name="fetch") if each.answer]
    whole, size_alone = Fidelity.EXACT, Fidelity.WITHHELD
    assert found == [(whole, 4_002), (whole, 5_002), (size_alone, 3_002), (whole, 902)], "a short one still fits"
    assert "more than largest_run_mb = 0.01 of its run" in list(store.open(run).events(name="fetch"))[2].fidelity_note
    report = reenact.replay(run.id, entry=agent, store=store).report
    assert (report.exit_code, report.differences[0].what) == (3, "unreplayable")


def test_a_replay_that_needs_it_says_so_and_the_tool_can_run_its_own_code(store: reenact.Store) -> None:
    def agent() -> int:
        return len(fetch("str", 20_000))

    run = recorded(store, agent)
    report = reenact.replay(run.id, entry=agent, store=store).report
    (told,) = report.differences
    assert (report.exit_code, told.what) == (3, "unreplayable")
    assert told.text.startswith("what fetch gave at event 1 is withheld: of its 20,002 bytes only the digest is kept")
    assert "larger than largest_value_mb = 0.01" in told.text and "--through fetch" in told.text
    replayed = reenact.replay(run.id, entry=agent, store=store, through=["fetch"])
    assert (replayed.verdict, replayed.output) == ("exact", 20_000)
    assert reenact.replay(run.id, mode="events", store=store).verdict == "exact"


def test_one_that_is_computed_again_is_compared_by_its_digest(store: reenact.Store) -> None:
    def agent() -> int:
        return len(compute()) * 0

    run = recorded(store, agent)
    assert next(store.open(run).events(name="compute")).fidelity is Fidelity.WITHHELD
    assert reenact.replay(run.id, entry=agent, store=store).verdict == "exact"
    SIZES.append(5001)
    try:
        with pytest.raises(reenact.Divergence, match="compute ended differently: its value is not the recorded one"):
            reenact.replay(run.id, entry=agent, store=store)
    finally:
        SIZES.pop()


def test_the_store_is_sound_and_the_same_value_may_be_kept_by_another_run(tmp_path: Path) -> None:
    def agent() -> int:
        return len(fetch("list", 20_000))

    with reenact.open_store(f"sqlite:///{tmp_path}/runs.db") as store:
        first = recorded(store, agent)
        assert check_store(tmp_path / "runs.db").breaks == ()
        second = recorded(store, agent, Policy())
        third = recorded(store, agent)
        for run in (second, first, third):  # one row for all of them, which has the bytes now
            (event,) = store.open(run).events(name="fetch")
            assert len(store.open(run).body(event.answer)) > 20_000
            assert reenact.replay(run.id, entry=agent, store=store).verdict == "exact"
        assert check_store(tmp_path / "runs.db").breaks == ()
        store.delete(second)
        assert check_store(tmp_path / "runs.db").breaks == ()


def test_a_file_of_the_run_and_a_salvaged_store_have_its_size_and_digest(tmp_path: Path) -> None:
    def agent() -> int:
        return len(fetch("list", 20_000))

    with reenact.open_store(f"sqlite:///{tmp_path}/runs.db") as store:
        run = recorded(store, agent)
        (event,) = store.open(run).events(name="fetch")
        pack(store, [("run", run)], tmp_path / "run.reenact")
    salvage(tmp_path / "runs.db", tmp_path / "new" / "store.db", lambda *_: None, own_directory=True)
    with reenact.open_store(f"sqlite:///{tmp_path}/second.db") as second:
        unpack(tmp_path / "run.reenact", second)
    for url in (f"{tmp_path}/run.reenact", f"sqlite:///{tmp_path}/second.db", f"sqlite:///{tmp_path}/new/store.db"):
        with reenact.open_store(url) as other:
            (copied,) = other.open(run.id).events(name="fetch")
            assert (copied.answer, copied.fidelity) == (event.answer, event.fidelity), url
            with pytest.raises(BlobMissing, match="was removed"):
                other.open(run.id).body(copied.answer)
            assert reenact.replay(run.id, entry=agent, store=other).report.exit_code == 3
    for path in ("second.db", "new/store.db"):
        assert check_store(tmp_path / path).breaks == ()


def test_it_is_shown_as_withheld(tmp_path: Path) -> None:
    program = "import reenact\n@reenact.tool\ndef fetch():\n    return 'x' * 30_000\nprint(len(fetch()))\n"
    (tmp_path / "agent.py").write_text(program)
    env = {**os.environ, "REENACT_LARGEST_VALUE_MB": "0.02", "PYTHONDONTWRITEBYTECODE": "1"}

    def reenact_(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "reenact", *words]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)

    assert reenact_("record", "--", sys.executable, "agent.py").returncode == 0
    assert "<30.0 kB, withheld>" in reenact_("show", "@").stdout
    shown = reenact_("show", "@:0").stdout
    assert "withheld" in shown and "largest_value_mb = 0.02" in shown
    replayed = reenact_("replay", "@")
    assert replayed.returncode == 3
    told = " ".join((replayed.stdout + replayed.stderr).split())
    assert "what fetch gave at event 0 is withheld" in told and "larger than largest_value_mb = 0.02" in told
    kit = reenact_("kit", "@").stdout
    assert "largest_value_mb" in " ".join(kit.split())


@pytest.mark.parametrize("wrong", [-1, float("nan")])
def test_what_is_no_size_is_refused(wrong: float) -> None:
    with pytest.raises(UsageError, match="is no size"):
        Policy(largest_value_mb=wrong)
