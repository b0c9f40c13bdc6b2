"""Proves this engine on the experiments in which others gave a green, wrong replay.

Each docstring begins with the experiment as it was run against another engine, and what that one did. For unchanged
code the only good ending is *exact*; for changed code it is *exact* or a named divergence, and never an answer that
belongs to another call. Nothing may run live in any of them.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import reenact
from tests.http.server import Request, Server, as_json

from .driver import Program, Recorded, World, assert_exact, record, replay


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that answers each request with a number of its own, when it likes."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    numbers, chance = itertools.count(1), random.Random()

    def answers(request: Request) -> list[bytes]:
        time.sleep(chance.random() * 0.005)
        return as_json({"number": next(numbers) * 1_000_000 + chance.randrange(1_000_000)})

    made = Server()
    made.routes["*"] = answers
    yield made
    made.close()


def divergence_of(recorded: Recorded, program: Program) -> reenact.Divergence:
    """Replaying ``program`` must stop at a named divergence."""
    with pytest.raises(reenact.Divergence) as caught:
        replay(recorded, program)
    assert caught.value.reason
    assert caught.value.exit_code == 1
    return caught.value


def test_e1_random_delays_before_identical_posts(server: Server) -> None:
    """E1. Retrace 0.2.30: 8 `asyncio.gather` branches, each sleeps `random.random()*0.02` s then posts to a local
    server that answers with a random number; record, then replay with the server down (2 recordings, 8 replays).

    There: 5 replays failed with exit 1 and an internal error; 3 exited 0 with a complete answer list in which 6 to 8
    of the 8 responses were handed to the wrong branch.
    """

    def program(world: World) -> object:
        async def branch(client: httpx.AsyncClient, name: int) -> tuple[int, int]:
            await asyncio.sleep(random.random() * 0.02)
            answer = (await client.post(server.url, json={"prompt": "the same"})).json()["number"]
            world.did(name, answer)
            return name, answer

        async def main() -> object:
            async with httpx.AsyncClient() as client:
                return await asyncio.gather(*(branch(client, n) for n in range(8)))

        return asyncio.run(main())

    recordings = [record(program) for _ in range(2)]
    server.close()
    for recorded in recordings:
        chains = set()
        for _ in range(4):
            replayed = replay(recorded, program)
            assert_exact(recorded, replayed)
            chains.add(replayed.replay.report.digest_chain)
        assert len(chains) == 1


_E2 = """
import os, random, secrets, time, uuid
print(time.time(), uuid.uuid4(), os.urandom(4).hex(), secrets.token_hex(4), random.Random().random())
print(random.random())
print(hash("abc"), {"ape", "bee", "cat", "dog", "elk"})
"""


def _reenact(folder: Path, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "reenact", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    return done


def test_e2_every_source_of_chance_in_one_line(tmp_path: Path) -> None:
    """E2. Retrace: single-line script.

    There: `time.time`, `uuid4`, `os.urandom`, `secrets`, `random.Random()` reproduced; module-level `random.random()`
    not; `hash("abc")` and set print order not (hash seed is not restored).
    """
    (tmp_path / "agent.py").write_text(_E2)
    recorded = _reenact(tmp_path, "record", "--", sys.executable, "agent.py")
    replayed = _reenact(tmp_path, "replay", "@")
    assert recorded.stdout
    assert recorded.stdout in replayed.stdout


def test_e3_one_more_look_at_the_clock(tmp_path: Path) -> None:
    """E3. Retrace: edit one line (an extra `time.time()`) and replay.

    There: dies with an internal "bind marker" RuntimeError; no diff, no user-level divergence.
    """
    program = """
    import random, time
    began = time.time()
    {more}
    print(f"{{began}} {{random.random()}}")
    """
    script = tmp_path / "agent.py"
    script.write_text(textwrap.dedent(program.format(more="")))
    recorded = _reenact(tmp_path, "record", "--", sys.executable, "agent.py")
    script.write_text(textwrap.dedent(program.format(more="again = time.time(); assert again > began")))
    replayed = _reenact(tmp_path, "replay", "@")
    assert recorded.stdout in replayed.stdout, "a read that was not there disturbs nobody's answers"


def test_e3_one_more_look_at_the_clock_that_reaches_a_question() -> None:
    """E3, where the extra read goes into a question: a named divergence with both sides, not an internal error."""

    def program(world: World, stamp: bool = False) -> object:
        return world.ask(f"question at {time.time()}" if stamp else "question")

    recorded = record(program)
    diverged = divergence_of(recorded, lambda world: program(world, stamp=True))
    assert (diverged.reason, diverged.event, diverged.path) == ("changed", 1, "url")
    assert diverged.recorded["url"] == "http://world/question"
    assert diverged.now["url"].startswith("http://world/question at ")


def _two_branches(world: World, slow: str) -> object:
    """Two branches, each with two calls of the same tool; ``slow`` says which of them takes its time."""

    async def look(name: str) -> str:
        await asyncio.sleep(0.005 if name.startswith(slow) else 0.001)
        return f"{name}: {await world.aask('same')}"

    @reenact.tool(effect="read")
    async def step(text: str) -> str:
        return await look(text)

    async def branch(name: str) -> list[str]:
        found = []
        for part in "xy":
            await asyncio.sleep(0.005 if name == slow else 0.001)
            found.append(await step(f"{name}{part}"))
            world.did(found[-1])
        return found

    async def main() -> object:
        return await asyncio.gather(branch("r0"), branch("r1"))

    return asyncio.run(main())


def test_e5_same_step_name_with_timing_flipped() -> None:
    """E5. DBOS 3.4.0 (SQLite): workflow = `gather` of two branches, each doing two calls of the **same step name**;
    fork with every step frozen, step timing flipped.

    There: original `[r0x r0y, r1x r1y]`; frozen fork returned `[r0x r1y, r1x r0y]` in 5 of 6 runs. Silent
    cross-wiring, nothing ran live, no error.
    """
    for seed in range(6):
        recorded = record(lambda world: _two_branches(world, slow="r0"), seed=seed)
        replayed = replay(recorded, lambda world: _two_branches(world, slow="r1"))
        assert replayed.said == recorded.said
        assert replayed.replay.output == recorded.output
        assert [[text[:3] for text in found] for found in recorded.output] == [["r0x", "r0y"], ["r1x", "r1y"]]
        assert (replayed.replay.verdict, replayed.performed) == ("exact", 0)


def test_e5_same_arguments_too() -> None:
    """E5, harder: even the arguments are the same, so that only the lane tells the calls apart."""

    def program(world: World, slow: int) -> object:
        async def look() -> int:
            return await world.aask("same")

        @reenact.tool(effect="read")
        async def step() -> int:
            return await look()

        async def branch(name: int) -> list[int]:
            found = []
            for _ in range(2):
                await asyncio.sleep(0.004 if name == slow else 0.001)
                found.append(await step())
                world.did(name, found[-1])
            return found

        async def main() -> object:
            return await asyncio.gather(branch(0), branch(1))

        return asyncio.run(main())

    recorded = record(lambda world: program(world, slow=0))
    replayed = replay(recorded, lambda world: program(world, slow=1))
    assert (replayed.said, replayed.replay.output) == (recorded.said, recorded.output)
    assert (replayed.replay.verdict, replayed.performed) == ("exact", 0)


def _steps(world: World, *names: str, effect: str = "read") -> list[str]:
    """Calls one tool once for each name, and says what came back for which."""

    def look(name: str) -> int:
        return world.ask(name)

    @reenact.tool(effect=effect)
    def step(name: str) -> int:
        return look(name)

    answers = []
    for name in names:
        answers.append(f"{name}={step(name)}")
        world.did(answers[-1])
    return answers


@pytest.mark.parametrize("effect", ["read", "write"])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_e6_a_call_of_a_used_step_name_is_inserted(effect: str, position: int) -> None:
    """E6. DBOS: insert a call of an already used step name, fork with the prefix frozen.

    There: the new call silently received the old call's recorded result, the old call was re-run live. No
    DBOSUnexpectedStepError.
    """
    recorded = record(lambda world: _steps(world, "one", "two", effect=effect))
    names = ["one", "two"]
    names.insert(position, "new")
    diverged = divergence_of(recorded, lambda world: _steps(world, *names, effect=effect))
    assert diverged.reason == ("added" if position == 2 else "changed")
    assert "new" in json.dumps(diverged.now)


def test_e6_the_inserted_call_asks_what_was_asked_before() -> None:
    """E6, harder: the inserted call repeats an older question. What was recorded once is served once."""
    recorded = record(lambda world: _steps(world, "one", "two"))
    diverged = divergence_of(recorded, lambda world: _steps(world, "one", "one", "two"))
    assert "one" in json.dumps(diverged.now)


@pytest.mark.parametrize("effect", ["read", "write"])
def test_e7_two_answers_of_a_person_change_places(effect: str) -> None:
    """E7. LangGraph functional API: two `interrupt()`s answered, code swaps their order, resume.

    There: `{"email": "Bob", "name": "bob@x"}`: answers silently swapped (match is by index only). Here a tool stands
    in for the person. Questions that only read may change places, and each keeps its answer; across a write nothing
    is found, and the replay says so.
    """
    person = {"email": "bob@x", "name": "Bob"}

    def program(world: World, order: tuple[str, ...]) -> dict[str, str]:
        def say(field: str) -> str:
            world.ask(field)
            return person[field]

        @reenact.tool(effect=effect)
        def ask_person(field: str) -> str:
            return say(field)

        return {field: ask_person(field) for field in order}

    recorded = record(lambda world: program(world, ("email", "name")))
    if effect == "write":
        diverged = divergence_of(recorded, lambda world: program(world, ("name", "email")))
        assert diverged.reason == "changed"
        return
    replayed = replay(recorded, lambda world: program(world, ("name", "email")))
    assert replayed.replay.output == person
    assert (replayed.replay.verdict, replayed.replay.reordered, replayed.performed) == ("same", 1, 0)


def test_e8_a_task_is_inserted_before_a_finished_one() -> None:
    """E8. LangGraph functional API: insert a `@task` before an already finished one, resume.

    There: finished task re-executed live, silently (task identity includes its position).
    """

    def program(world: World, inserted: bool) -> object:
        def look(name: str) -> int:
            return world.ask(name)

        @reenact.tool(effect="write")
        async def finished() -> int:
            return look("finished")

        @reenact.tool(effect="none")
        async def inserted_task() -> int:
            return 0

        async def main() -> object:
            if inserted:
                await asyncio.create_task(inserted_task())
            return await asyncio.create_task(finished())

        return asyncio.run(main())

    recorded = record(lambda world: program(world, inserted=False))
    diverged = divergence_of(recorded, lambda world: program(world, inserted=True))
    assert diverged.reason == "added"
    assert "inserted_task" in diverged.message


def test_e8_a_task_of_another_name_shifts_nothing() -> None:
    """E8, where the inserted task touches no seam: the finished one keeps its identity and its answer."""

    def program(world: World, inserted: bool) -> object:
        async def other() -> None:
            await asyncio.sleep(0)

        async def main() -> object:
            if inserted:
                await asyncio.create_task(other())
            return await asyncio.create_task(world.aask("finished"))

        return asyncio.run(main())

    recorded = record(lambda world: program(world, inserted=False))
    replayed = replay(recorded, lambda world: program(world, inserted=True))
    assert_exact(recorded, replayed)


def test_e12_identical_requests_with_the_delays_reversed(server: Server) -> None:
    """E12. vcrpy 9.4.2: 4 concurrent requests with identical method/URI/body; replay with the delays reversed.

    There: responses silently swapped between callers (all 4).
    """
    delays = [0.001, 0.003, 0.005, 0.007]

    def program(world: World, delays: list[float]) -> object:
        async def branch(client: httpx.AsyncClient, name: int) -> int:
            await asyncio.sleep(delays[name])
            answer: int = (await client.post(server.url, json={"prompt": "the same"})).json()["number"]
            world.did(name, answer)
            return answer

        async def main() -> object:
            async with httpx.AsyncClient() as client:
                return await asyncio.gather(*(branch(client, n) for n in range(4)))

        return asyncio.run(main())

    recorded = record(lambda world: program(world, delays))
    server.close()
    replayed = replay(recorded, lambda world: program(world, delays[::-1]))
    assert_exact(recorded, replayed)


def test_e12_a_replay_that_makes_fewer_calls(server: Server) -> None:
    """E12, second half: a replay that makes fewer calls passes by default (`all_played` is False but nothing fails)."""

    def program(world: World, calls: int) -> object:
        async def main() -> object:
            async with httpx.AsyncClient() as client:
                posts = [client.post(server.url, json={"prompt": "the same"}) for _ in range(calls)]
                return [answer.json()["number"] for answer in await asyncio.gather(*posts)]

        return asyncio.run(main())

    recorded = record(lambda world: program(world, 4))
    server.close()
    diverged = divergence_of(recorded, lambda world: program(world, 3))
    assert diverged.reason in ("missing", "result")


def test_fewer_calls_where_nobody_waits_for_the_rest() -> None:
    """A replay that ends without making the last recorded calls is different, and names them."""
    recorded = record(lambda world: [world.ask(f"{n}") for n in range(3)][:1])
    result = replay(recorded, lambda world: [world.ask(f"{n}") for n in range(1)]).replay
    assert (result.verdict, result.unused, result.report.exit_code) == ("different", 2, 1)
    assert [difference.what for difference in result.report.differences] == ["unused"]


def _changed(world: World, change: Any) -> object:
    """Three branches of three questions; ``change`` edits the questions before they are asked."""

    async def branch(name: int) -> list[str]:
        found = []
        for question in change([f"{name}/a", "same", f"{name}/b"], name):
            found.append(f"{name}: {question} = {await world.aask(question)}")
            world.did(found[-1])
        return found

    async def main() -> object:
        return await asyncio.gather(*(branch(n) for n in range(3)))

    return asyncio.run(main())


CHANGES: dict[str, Any] = {
    "a question is worded otherwise": lambda asked, name: [q.replace("1/b", "1/B") for q in asked],
    "a question is added": lambda asked, name: [*asked, "more"] if name == 1 else asked,
    "a question is left out": lambda asked, name: asked[:1] + asked[2:] if name == 1 else asked,
    "two questions change places": lambda asked, name: [asked[2], asked[1], asked[0]] if name == 1 else asked,
    "two branches change places": lambda asked, name: [q.replace(f"{name}/", f"{2 - name}/") for q in asked],
    "a question is asked twice": lambda asked, name: [q for q in asked for _ in range(2)] if name == 1 else asked,
    "every question is the same": lambda asked, name: ["same"] * 3,
}


@pytest.mark.parametrize("change", list(CHANGES.values()), ids=list(CHANGES))
def test_changed_code_gets_its_own_answers_or_none(change: Any) -> None:
    """Whatever is edited: what a question was answered is what this question was answered in this branch, or, for a
    branch that has moved as a whole, in the branch it moved from; else the replay stops."""
    for seed in range(3):
        recorded = record(lambda world: _changed(world, lambda asked, name: asked), seed=seed)
        theirs = {said[0].partition(": ")[2] for said in recorded.said}
        try:
            replayed = replay(recorded, lambda world: _changed(world, change))
        except reenact.Divergence as diverged:
            # a question found out of its place gets its own answer, and the run then ends in another result
            assert diverged.reason in ("changed", "added", "missing", "ambiguous", "result")
            continue
        answered = [said[0].partition(": ")[2] for said in replayed.said]
        assert set(answered) <= theirs
        assert len(set(answered)) == len(answered), "no recorded answer is served twice"
        same = {said[0] for said in recorded.said if " same = " in said[0]}
        assert {said[0] for said in replayed.said if " same = " in said[0]} <= same, "what is ambiguous is not guessed"
        assert replayed.performed == 0
        assert replayed.replay.verdict != "exact" or replayed.said == recorded.said


def test_a_branch_that_moves_keeps_its_answers() -> None:
    """The same questions, asked by tasks of another name once the recorded ones cannot come any more: *moved*."""

    def program(world: World, renamed: bool) -> object:
        async def branch(name: str) -> str:
            return f"{name} = {await world.aask(name)}"

        async def other(name: str) -> str:
            return f"{name} = {await world.aask(name)}"

        async def main() -> list[str]:
            return [await branch("a")]

        async def later() -> list[str]:
            return [await (other if renamed else branch)("a")]

        return asyncio.run((later if renamed else main)())

    recorded = record(lambda world: program(world, renamed=False))
    try:
        replayed = replay(recorded, lambda world: program(world, renamed=True))
    except reenact.Divergence as diverged:
        assert diverged.reason == "added"
    else:
        assert (replayed.replay.output, replayed.replay.verdict) == (recorded.output, "same")


def test_a_call_that_moves_out_of_a_finished_task() -> None:
    def program(world: World, moved: bool) -> object:
        async def branch() -> int:
            return await world.aask("first") + (0 if moved else await world.aask("second"))

        async def main() -> int:
            found = await asyncio.create_task(branch())
            return found + (await world.aask("second") if moved else 0)

        return asyncio.run(main())

    recorded = record(lambda world: program(world, moved=False))
    replayed = replay(recorded, lambda world: program(world, moved=True))
    result = replayed.replay
    assert (result.output, result.verdict, result.moved) == (recorded.output, "same", 1)
    assert (replayed.performed, result.live_calls, result.unused) == (0, 0, 0)
