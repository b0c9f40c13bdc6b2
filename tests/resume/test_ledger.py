"""A write is made once in a lineage, whatever resumes it, forks it, or asks for it twice; counted by a server."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import reenact
from reenact.errors import EffectInDoubt, EffectRefused
from reenact.facts.call import Call, Effect, Kind
from reenact.facts.effects import Claim, Identities
from tests.resume.conftest import Scene


def _finish(scene: Scene) -> int:
    """Resume until it is done, as somebody does who looks at the bank first; gives how often a write was repeated."""
    repeated = 0
    for _ in range(12):
        run = next(each for each in scene.runs() if each["relation"] != "attempt")
        if run["status"] == "ok":
            return repeated
        done = scene.desk.run("reenact", "resume", run["run"])
        if done.code == 3 and b"--settle" in done.err:
            repeated += 1
            done = scene.desk.run("reenact", "resume", run["run"], "--settle", "retry")
        assert done.code in (0, 1), done
    raise AssertionError("it never comes to an end")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(3))
def test_killed_at_any_time_no_write_is_made_twice_and_none_is_lost(scene: Scene, seed: int, sweep: bool) -> None:
    """The recording is killed, and then the resumption, as often as not while it re-executes what there was."""
    chance = random.Random(seed)
    for _ in range(70 if sweep else 1):
        before = scene.counts()["asked"]
        command = ["reenact", "record", "--", "python", "agent.py"]
        for _ in range(3):
            with subprocess.Popen(
                command,
                cwd=scene.folder,
                env=scene.desk.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            ) as process:
                assert process.stdout is not None
                process.stdout.readline()
                time.sleep(chance.random() * 0.1)  # anywhere in it: where, is what the chance is for
                subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=False)
                process.send_signal(signal.SIGKILL)
            command = ["reenact", "resume", "@", "--settle", "retry"]
            if scene.runs()[0]["status"] == "ok":
                break
        repeated = _finish(scene)
        asked = {key: count - before.get(key, 0) for key, count in scene.counts()["asked"].items()}
        asked = {key: count for key, count in asked.items() if count}
        assert sorted(key.split()[0] for key in asked) == ["1", "2", "3", "4", "5"], "each payment has one key"
        assert sum(asked.values()) - 5 <= repeated + 2, "only what was in doubt has been asked for again"
        scene.replays_exactly("@")


@pytest.fixture
def paid(tmp_path: Path) -> Path:
    """What a tool has written, one line a write."""
    (tmp_path / "paid").touch()
    return tmp_path / "paid"


def _paying(paid: Path, store: str, orders: list[str]) -> Callable[[], list[str]]:
    @reenact.tool
    def pay(order: str) -> str:
        run = reenact.current_run()
        assert run is not None
        key = run.effect_key
        with paid.open("a") as file:
            file.write(f"{order} {key}\n")
        return f"paid {order}"

    @reenact.record(store=store)
    def agent() -> list[str]:
        return [pay(order) for order in orders]

    return agent


def test_a_fork_never_repeats_what_its_lineage_has_written(paid: Path) -> None:
    store_url, orders = "memory:lineage", ["a", "b"]
    agent = _paying(paid, store_url, orders)
    agent()
    lines = paid.read_text()
    with reenact.open_store(store_url) as store:
        run = store.run("@").id
        orders[:] = ["a", "new", "b"]
        with pytest.raises(EffectRefused):
            reenact.fork(run, 0, entry=agent, store=store)
        assert paid.read_text() == lines
        first = reenact.fork(run, 0, entry=agent, allow_writes=["pay"], store=store)
        written = paid.read_text().splitlines()
        assert [line.split()[0] for line in written] == ["a", "b", "new"], "an inserted write repeats none"
        reenact.fork(run, 0, entry=agent, allow_writes=["pay"], store=store)
        reenact.fork(first, 0, entry=agent, store=store)
        assert paid.read_text().splitlines() == written, "the next fork is given what came of it"
        orders[:] = ["a", "a", "b"]
        reenact.fork(first, 0, entry=agent, allow_writes=["pay"], store=store)
        again = paid.read_text().splitlines()
        assert [line.split()[0] for line in again] == ["a", "b", "new", "a"], "a second one of its kind is another"
        assert len(set(again)) == 4


def test_a_fork_of_an_attempt_never_repeats_what_the_resumption_has_written(paid: Path) -> None:
    """Of the run that was resumed the attempt is a part: what today's code is tried on is mostly the failed one."""
    store_url, orders = "memory:attempt", ["a", ""]
    pay = _paying(paid, store_url, orders)

    @reenact.record(store=store_url)
    def agent() -> list[str]:
        if not orders[-1]:
            raise RuntimeError("no order")
        return pay.__wrapped__()  # type: ignore[attr-defined, no-any-return]

    with pytest.raises(RuntimeError):
        agent()
    orders[:] = ["a"]
    with reenact.open_store(store_url) as store:
        resumed = reenact.resume(store.run("@"), entry=agent, store=store)
        written = paid.read_text()
        assert [line.split()[0] for line in written.splitlines()] == ["a"]
        (attempt,) = (run for run in store.runs() if run.relation == "attempt")
        assert attempt.parent == resumed.id
        reenact.fork(attempt, 0, entry=agent, allow_writes=["pay"], store=store)
        assert paid.read_text() == written


def test_one_of_two_processes_makes_a_write(tmp_path: Path) -> None:
    claims = [Claim("x", f"run{n}", n) for n in range(8)]
    won: list[Claim] = []
    path = tmp_path / "ledger.db"
    with reenact.record(store=f"sqlite:///{path}"):
        pass

    def claim(each: Claim) -> None:
        with reenact.open_store(f"sqlite:///{path}") as store:
            if store.claim(each):
                won.append(each)

    threads = [threading.Thread(target=claim, args=(each,)) for each in claims]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with reenact.open_store(f"sqlite:///{path}") as store:
        assert won == [store.claimed("x")]
        other = next(each for each in claims if each not in won)
        assert not store.claim(other, over=other)
        assert store.claim(other, over=won[0])
        assert store.claimed("x") == other


def test_a_write_that_was_never_seen_to_end_is_in_doubt_for_every_fork(paid: Path) -> None:
    store_url, orders = "memory:unseen", ["a"]
    agent = _paying(paid, store_url, orders)
    agent()
    with reenact.open_store(store_url) as store:
        run = store.run("@")
        head, body = {"tool": "pay", "effect": "write"}, json.dumps({"order": "b"}).encode()
        asked = Call(Kind.TOOL, "pay", Effect.WRITE, "tool/1", head, body)
        assert store.claim(Claim(Identities(run.id, {}).of(asked), "gone", 4))
        orders.append("b")
        with pytest.raises(EffectInDoubt, match="not there any more"):
            reenact.fork(run, 0, entry=agent, allow_writes=["pay"], store=store)
    assert len(paid.read_text().splitlines()) == 1


def test_a_second_call_under_one_key_is_given_what_the_first_one_came_to(paid: Path) -> None:
    @reenact.tool(key="order")
    def pay(order: str, amount: int) -> dict[str, int]:
        with paid.open("a") as file:
            file.write(f"{order} {amount}\n")
        time.sleep(0.02)
        return {"amount": amount}

    @reenact.tool(key=lambda order: f"refund {order}")
    async def refund(order: str) -> str:
        with paid.open("a") as file:
            file.write(f"refund {order}\n")
        await asyncio.sleep(0.01)
        return order

    @reenact.tool(key="order")
    def cancel(order: str) -> str:
        with paid.open("a") as file:
            file.write(f"cancel {order}\n")
        raise LookupError(order)

    @reenact.record(store="memory:keyed")
    def agent(more: bool = False) -> list[object]:
        given: list[object] = [pay("a", 1), pay("a", 2), pay("b", 3)]
        threads = [threading.Thread(target=lambda: given.append(pay("c", 4))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        async def both() -> list[str]:
            return list(await asyncio.gather(refund("d"), refund("d"), refund("e")))

        given.append(asyncio.run(both()))
        for _ in range(2):
            with pytest.raises(LookupError):
                cancel("f")
        if more:
            given.append(pay("a", 9))
        return given

    expected = [{"amount": 1}, {"amount": 1}, {"amount": 3}, *[{"amount": 4}] * 4, ["d", "d", "e"]]
    assert agent() == expected
    lines = ["a 1", "b 3", "c 4", "refund d", "refund e", "cancel f", "cancel f"]
    assert paid.read_text().splitlines() == lines
    with reenact.open_store("memory:keyed") as store:
        run = store.run("@")
        assert not list(store.open(run).gaps())
        assert reenact.replay(run, entry=agent, store=store).verdict == "exact"
        fork = reenact.fork(run, 0, entry=lambda: agent.__wrapped__(True), allow_writes=["pay"], store=store)  # type: ignore[attr-defined]
        assert fork.status == "ok"
    assert paid.read_text().splitlines() == lines, "another call under a key of the lineage is given the first result"


def test_no_key_without_a_write() -> None:
    @reenact.tool(effect="read")
    def look() -> str:
        run = reenact.current_run()
        assert run is not None
        return run.effect_key

    with reenact.record(store="memory:nowrite"), pytest.raises(reenact.ReenactError, match="no write under way"):
        look()
