"""Long text and bytes are recorded and replayed in little memory beside themselves, without credentials, and sound."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact.errors import BlobCorrupt
from reenact.facts.call import Fidelity
from reenact.facts.large_values import LARGE
from reenact.facts.policy import Policy
from reenact.store.store_check import check_store

SECRET = "sk-proj-" + "".join(f"{n:02x}" for n in range(40))[:48]
CEILING = 64
"""MiB beside the value."""
SIZE = 40
"""MiB of it: some copies of it would be over the ceiling."""

AGENT = f"""
import os, sys
import reenact

def rows():
    return [{{"id": n, "name": f"customer {{n}}", "note": "x" * 1000}} for n in range({SIZE} << 10)]

@reenact.tool(effect="read")
def fetch(kind):
    if kind == "rows":
        return rows()
    return os.urandom(1 << 20) * {SIZE} if kind == "bytes" else "hélló wörld, " * ({SIZE} << 16)

print(len(fetch(sys.argv[1])))
"""

MEASURE = """
import json, resource, subprocess, sys
ran = subprocess.run(sys.argv[1:], capture_output=True, text=True, timeout=300)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
print(json.dumps({"peak": peak, "status": ran.returncode, "out": ran.stdout, "err": ran.stderr}))
"""


@reenact.tool(effect="read")
def fetch(what: str, size: int) -> Any:
    """A tool that gives a value of some length."""
    if what == "bytes":
        return bytes(range(256)) * (size // 256)
    text = "hello wörld, " * (size // 13)
    return text if what == "str" else f'{text}{{"api_key": "{SECRET}"}}, {text}'


@reenact.tool(effect="read")
def many() -> list[dict[str, int]]:
    """A tool that gives more rows than a value may have parts that are looked at one by one."""
    return [{"number of the row": n, "its square": n * n} for n in range(200_000)]


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[reenact.Store]:
    url = f"sqlite:///{tmp_path}/runs.db" if request.param == "sqlite" else f"memory:{request.node.nodeid}"
    with reenact.open_store(url) as opened:
        yield opened


def measured(folder: Path, *words: str) -> dict[str, Any]:
    """How a command ended, and the most memory that a process of it took, in MiB."""
    command = [sys.executable, "-c", MEASURE, *words]
    env = {**os.environ, "REENACT_STORE": str(folder / "store"), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=400, check=True)
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss is another elsewhere")
@pytest.mark.parametrize(("kind", "copies"), [("bytes", 0), ("str", 0), ("rows", 1)])
def test_it_costs_little_memory_beside_itself(tmp_path: Path, kind: str, copies: int) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    program = (sys.executable, "agent.py", kind)
    bare = measured(tmp_path, *program)
    recorded = measured(tmp_path, sys.executable, "-m", "reenact", "record", "--", *program)
    replayed = measured(tmp_path, sys.executable, "-m", "reenact", "replay", "@")
    value = bare["peak"]
    assert (recorded["status"], recorded["out"]) == (0, bare["out"]), recorded["err"]
    assert recorded["peak"] - value <= CEILING + copies * SIZE, recorded["err"]
    assert replayed["status"] == 0 and "verdict: same" in replayed["err"], replayed["err"]
    assert replayed["peak"] - value <= CEILING + 2 * copies * SIZE  # as text, too, while it is read


@pytest.mark.parametrize("what", ["bytes", "str"])
def test_a_replay_hands_out_the_same(store: reenact.Store, what: str) -> None:
    seen: list[Any] = []

    def agent() -> int:
        seen.append(fetch(what, LARGE + 4096))
        return len(seen[-1])

    reenact.record(agent, store=store)()
    run = store.run("@")
    assert run.status == "ok" and not run.degraded
    (event,) = store.open(run).events(name="fetch")
    assert event.fidelity is Fidelity.EXACT and event.answer is not None
    assert len(store.open(run).body(event.answer)) == event.answer.size == len(store.payload(event.answer))
    seen[1:] = []
    chains = set()
    for _ in range(2):
        replayed = reenact.replay(run.id, entry=agent, store=store)
        chains.add(replayed.report.digest_chain)
        assert replayed.verdict == "exact" and seen[-1] == seen[0] and type(seen[-1]) is type(seen[0])
    assert len(chains) == 1
    assert reenact.replay(run.id, mode="events", store=store).verdict == "exact"


def test_a_list_of_many_rows_is_kept_whole(store: reenact.Store) -> None:
    seen: list[Any] = []

    def agent() -> int:
        seen.append(many())
        return len(seen[-1])

    reenact.record(agent, store=store)()
    run = store.run("@")
    (event,) = store.open(run).events(name="many")
    assert event.fidelity is Fidelity.EXACT and event.outcome is not None and not event.outcome.head
    assert reenact.replay(run.id, entry=agent, store=store).verdict == "exact"
    assert seen[0] == seen[1]


def test_what_is_secret_in_it_is_not_kept(tmp_path: Path) -> None:
    def agent() -> int:
        return len(fetch("secret", LARGE))

    with reenact.open_store(f"sqlite:///{tmp_path}/runs.db") as store:
        reenact.record(agent, store=store)()
        run = store.run("@")
        (event,) = store.open(run).events(name="fetch")
        body = store.open(run).body(event.answer)
        assert event.fidelity is Fidelity.REDACTED and b'\\"api_key\\": \\"' in body and SECRET.encode() not in body
        assert reenact.replay(run.id, entry=agent, store=store).verdict == "exact"
    assert check_store(tmp_path / "runs.db").breaks == ()


def test_it_goes_over_to_a_run_that_has_it_too(tmp_path: Path) -> None:
    def agent() -> int:
        return len(fetch("str", LARGE * 2))

    with reenact.open_store(f"sqlite:///{tmp_path}/runs.db") as store:
        for policy in (Policy(), Policy(largest_value_mb=1), Policy()):
            reenact.record(agent, store=store, policy=policy)()
        first, withheld, last = reversed(list(store.runs()))
        store.delete(first)
        for run in (withheld, last):
            assert reenact.replay(run.id, entry=agent, store=store).verdict == "exact"
        assert check_store(tmp_path / "runs.db").breaks == ()
        store.delete(withheld)
        store.delete(last)
    with sqlite3.connect(tmp_path / "runs.db") as connection:
        assert connection.execute("SELECT count(*) FROM frame").fetchone() == (0,)


def test_what_was_withheld_first_is_kept_once_it_may_be(tmp_path: Path) -> None:
    def agent() -> int:
        return len(fetch("str", LARGE * 2))

    with reenact.open_store(f"sqlite:///{tmp_path}/runs.db") as store:
        for policy in (Policy(largest_value_mb=1), Policy()):
            reenact.record(agent, store=store, policy=policy)()
        for run in store.runs():
            assert reenact.replay(run.id, entry=agent, store=store).verdict == "exact"
        assert check_store(tmp_path / "runs.db").breaks == ()


def test_damage_in_it_is_named(tmp_path: Path) -> None:
    def agent() -> int:
        return len(fetch("str", LARGE * 2))

    with reenact.open_store(f"sqlite:///{tmp_path}/runs.db") as store:
        reenact.record(agent, store=store)()
    with sqlite3.connect(tmp_path / "runs.db") as connection:
        (row, data) = connection.execute("SELECT id, data FROM frame ORDER BY id LIMIT 1 OFFSET 5").fetchone()
        connection.execute("UPDATE frame SET data = ? WHERE id = ?", (data[:-9] + bytes(9), row))
    with reenact.open_store(f"sqlite:///{tmp_path}/runs.db") as store:
        with pytest.raises(BlobCorrupt, match=r"payload .* of event .*:1 is corrupt"):
            reenact.replay("@", entry=agent, store=store)
    assert check_store(tmp_path / "runs.db").breaks != ()
