"""Sampling is decided when a run has ended: what went wrong or is needed stays, and the rest is forgotten whole."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reenact
from reenact.facts.run import Entry, Run, Status
from reenact.facts.sampling import leaves_out, share_of

SHARED = "shared" * 500
NONE = reenact.Policy(sample=0)


@reenact.tool(effect="read")
def look(what: str) -> str:
    """A tool."""
    return what * 2


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)  # a run that fails keeps the sources of its project: here that would be this one
    return f"sqlite:///{tmp_path}/runs.db"


def kept(url: str) -> list[reenact.Run]:
    """The runs that are there, oldest first."""
    with reenact.open_store(url) as store:
        return [*store.runs()][::-1]


def rows(url: str) -> dict[str, int]:
    """How many rows each table of a store has; those without any are left out."""
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        own = [name for name in names if name != "meta" and not name.startswith(("sqlite_", "words_"))]
        counted = {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in own}
    connection.close()
    return {name: count for name, count in counted.items() if count}


# --- the decision ----------------------------------------------------------------------------------------------------


@given(st.text(), st.sampled_from(Status), st.floats(0, 1))
def test_only_what_ended_well_is_left_out_and_a_larger_share_keeps_more(
    name: str, status: Status, share: float
) -> None:
    run, well = Run(name, status=status), Run(name, status=Status.OK)
    left_out = leaves_out(run, share, {})
    assert left_out is leaves_out(run, share, {})
    assert not left_out or status is Status.OK
    assert left_out or not leaves_out(run, (1 + share) / 2, {})
    assert leaves_out(well, 0, {}) and not leaves_out(well, 1, {})


def test_the_share_is_about_what_was_asked_for() -> None:
    left_out = sum(leaves_out(Run(f"01h{n:023}", status=Status.OK), 0.25, {}) for n in range(4000))
    assert 2850 < left_out < 3150


@given(st.text(min_size=1), st.text(), st.floats(0, 1))
def test_a_lineage_is_drawn_once(root: str, later: str, share: float) -> None:
    first = Run(root, status=Status.OK)
    came = Run(later, status=Status.OK, parent=root, environment={"root": root})
    assert leaves_out(first, share, {}) is leaves_out(came, share, {})


def test_the_closest_rule_decides() -> None:
    rules = {"refunds": 0.1, "/ask": 0.2, "POST /ask*": 0.3, "refunds@/ask": 0.4, "*": 0.9}

    def share(agent: str = "", route: str = "") -> float:
        return share_of(Run("x", agent=agent, entry=Entry("request" if route else "command", target=route)), 0.5, rules)

    assert share("other") == share() == 0.5
    assert share("refunds") == 0.1
    assert share("refunds", "GET /ask") == 0.4 and share("other", "GET /ask") == 0.2
    assert share("other", "POST /ask/again") == 0.3 and share("refunds", "GET /else") == 0.9


@pytest.mark.parametrize("rules", [{"": 0.1}, {"@/ask": 1}, {"a@": 1}, {"a@b": 1}, {"a": 2}, {"a": "x"}, {"a": True}])
def test_a_rule_that_cannot_be_read_is_refused(rules: dict[str, Any]) -> None:
    with pytest.raises(reenact.ReenactError, match="sampling has"):
        reenact.Policy(sampling=rules)


def test_each_run_is_asked_for_the_share_of_its_agent(url: str) -> None:
    rules = reenact.Policy(sampling={"chatty": 0, "GET /x": 0.5})
    for agent in ("chatty", "rare"):
        with reenact.record(agent=agent, store=url, policy=rules):
            look("x")
    assert [run.agent for run in kept(url)] == ["rare"]


# --- a run in code ---------------------------------------------------------------------------------------------------


def test_nothing_is_left_of_a_run_that_is_left_out(url: str) -> None:
    with reenact.record(store=url, policy=NONE):
        look("x")
        reenact.note("long", "evidence " * 100)
        with reenact.record(agent="nested"):
            look("y")
    assert rows(url) == {}


def test_no_failure_is_ever_left_out(url: str) -> None:
    for number in range(20):
        with pytest.raises(LookupError), reenact.record(agent=f"agent{number}", store=url, policy=NONE):
            look("x")
            raise LookupError
    with pytest.raises(TimeoutError), reenact.record(agent="late", store=url, policy=NONE):
        raise TimeoutError
    with pytest.raises(KeyboardInterrupt), reenact.record(agent="stopped", store=url, policy=NONE):
        raise KeyboardInterrupt
    runs = kept(url)
    assert len(runs) == 22
    assert {run.status for run in runs} == {Status.FAILED, Status.TIMEOUT}
    with reenact.open_store(url) as store:
        assert [event.name for event in store.events(runs[0])] == ["look"]


def test_a_failure_inside_keeps_the_run_around_it(url: str) -> None:
    with reenact.record(agent="outer", store=url, policy=NONE):
        with pytest.raises(LookupError), reenact.record(agent="inner"):
            raise LookupError
    assert [(run.agent, run.status) for run in kept(url)] == [("outer", Status.OK), ("inner", Status.FAILED)]


def _function(fails: bool) -> None:
    @reenact.record(policy=NONE)
    def agent() -> str:
        if fails:
            raise LookupError
        return look("x")

    agent()


def _coroutine(fails: bool) -> None:
    @reenact.record(policy=NONE)
    async def agent() -> str:
        if fails:
            raise LookupError
        return look("x")

    asyncio.run(agent())


def _generator(fails: bool) -> None:
    @reenact.record(policy=NONE)
    def agent() -> Iterator[str]:
        yield look("x")
        if fails:
            raise LookupError

    assert [*agent()]


def _async_generator(fails: bool) -> None:
    @reenact.record(policy=NONE)
    async def agent() -> AsyncIterator[str]:
        yield look("x")
        if fails:
            raise LookupError

    async def main() -> None:
        assert [each async for each in agent()]

    asyncio.run(main())


@pytest.mark.parametrize("agent", [_function, _coroutine, _generator, _async_generator])
def test_each_call_of_an_entry_point_is_decided_alone(
    url: str, agent: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REENACT_STORE", url)
    agent(False)
    assert rows(url) == {}
    with pytest.raises(LookupError):
        agent(True)
    agent(False)
    assert [run.status for run in kept(url)] == [Status.FAILED]


@pytest.mark.parametrize("words", [{"flag": "wrong order"}, {"tags": {"ticket": "8"}}])
def test_a_run_that_is_flagged_meanwhile_stays(url: str, words: dict[str, Any]) -> None:
    with reenact.record(store=url, policy=NONE) as run:
        look("x")
        with reenact.open_store(url) as elsewhere:
            elsewhere.amend(run.id, **words)
    assert [each.id for each in kept(url)] == [run.id]


def test_what_other_runs_use_of_it_stays(url: str) -> None:
    with reenact.record(store=url, policy=NONE):
        look("x")
        with reenact.record(store=url) as other:  # nested: it goes with the run around it
            pass
    with reenact.record(agent="first", store=url, policy=NONE):
        look(SHARED)
    with reenact.record(agent="second", store=url):
        look(SHARED)
    assert [run.agent for run in kept(url)] == ["second"] and not other.agent
    with reenact.open_store(url) as store:
        recording = store.open("@")
        assert SHARED.encode() in recording.body(recording.event(0).request)


def test_two_runs_at_a_time_with_the_same_bodies(url: str) -> None:
    async def agent(policy: reenact.Policy, other: asyncio.Event, own: asyncio.Event) -> None:
        async with reenact.record(store=url, policy=policy):
            look(SHARED)
            own.set()
            await other.wait()
            look(SHARED)

    async def main() -> None:
        one, two = asyncio.Event(), asyncio.Event()
        await asyncio.gather(agent(NONE, one, two), agent(reenact.Policy(), two, one))

    asyncio.run(main())
    (run,) = kept(url)
    with reenact.open_store(url) as store:
        recording = store.open(run)
        assert all(SHARED.encode() in recording.body(event.request) for event in recording.events())
        assert recording.count() == 2


def test_the_agents_own_chance_stays_as_it_is(url: str) -> None:
    drawn = []
    for share in (0, 0.5, 1):
        random.seed(7)
        with reenact.record(store=url, policy=reenact.Policy(sample=share)):
            drawn.append([random.random(), random.random()])
        drawn[-1].append(random.random())
    assert drawn[0] == drawn[1] == drawn[2]


def test_a_store_that_cannot_forget_keeps_the_run(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from reenact.store.sqlite_store import SqliteStore

    def busy(self: SqliteStore, run_id: str) -> bool:
        raise reenact.errors.StoreBusy("the store is busy")

    monkeypatch.setattr(SqliteStore, "discard", busy)
    with reenact.record(store=url, policy=NONE):
        assert look("x")
    assert [run.status for run in kept(url)] == [Status.OK]


# --- a program -------------------------------------------------------------------------------------------------------


def recorded(folder: Path, text: str, *options: str, **environment: str) -> tuple[int, str]:
    """Run a program under ``reenact record --``; its status, and what stood on standard error."""
    (folder / "agent.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "reenact", *options, "record", "--", sys.executable, "agent.py"],
        cwd=folder,
        env={**os.environ, "REENACT_STORE": f"sqlite:///{folder}/runs.db", "REENACT_SAMPLE": "0", **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.returncode, done.stderr


def test_a_program_that_ended_well_is_left_out_and_said_to_be(tmp_path: Path, url: str) -> None:
    status, said = recorded(tmp_path, "print('well')", REENACT_SAMPLE="0.0")
    assert status == 0
    assert said.rstrip().endswith("not kept: sample 0") and "reenact show" not in said
    assert rows(url) == {}
    assert '"kept": false' in recorded(tmp_path, "print('well')", "--json")[1]
    status, said = recorded(tmp_path, "print('well')", REENACT_SAMPLE="1")
    assert "not kept" not in said and len(kept(url)) == 1


@pytest.mark.parametrize(
    ("text", "status", "stands"),
    [
        ("raise LookupError('no')", 1, Status.FAILED),
        ("import sys; sys.exit(3)", 3, Status.FAILED),
        ("import os; os._exit(3)", 3, Status.FAILED),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, Status.INTERRUPTED),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM, Status.INTERRUPTED),
        ("import os, signal; os.kill(os.getpid(), signal.SIGINT)", -signal.SIGINT, Status.FAILED),
    ],
)
def test_a_program_that_did_not_end_well_stays(
    tmp_path: Path, url: str, text: str, status: int, stands: Status
) -> None:
    ended, said = recorded(tmp_path, text)
    assert ended == status
    assert "not kept" not in said
    assert [run.status for run in kept(url)] == [stands]


FLAGS = """
import subprocess, sys
subprocess.run([sys.executable, "-m", "reenact", "flag", "@", "odd"], check=True)
"""


def test_a_program_that_is_flagged_while_it_runs_stays(tmp_path: Path, url: str) -> None:
    status, said = recorded(tmp_path, FLAGS)
    assert status == 0, said
    assert "odd" in [run.flag for run in kept(url)]


STARTS = """
import subprocess, sys
subprocess.run([sys.executable, "-c", {code!r}])
"""


def test_what_a_program_starts_follows_it(tmp_path: Path, url: str) -> None:
    """What it has started is replayed with it, so one decision holds for all."""
    status, _ = recorded(tmp_path, STARTS.format(code="print('well')"))
    assert status == 0 and rows(url) == {}
    status, said = recorded(tmp_path, STARTS.format(code="1 / 0"))
    assert status == 0 and "not kept" not in said
    assert sorted(run.status for run in kept(url)) == [Status.FAILED, Status.OK]


def test_the_settings_give_an_agent_a_share(tmp_path: Path) -> None:
    (tmp_path / "reenact.toml").write_text('[sampling]\nchatty = 0\n"POST /ask" = 0.5\n')
    status, said = recorded(tmp_path, "print('well')", REENACT_AGENT="chatty", REENACT_SAMPLE="1")
    assert (status, "not kept: sample 0" in said) == (0, True)
    status, said = recorded(tmp_path, "print('well')", REENACT_AGENT="rare", REENACT_SAMPLE="1")
    assert (status, "not kept" in said) == (0, False)
