"""Records a program in a slow, jittery world and replays it where the world is gone.

A *program* is a function of a ``World``: it asks questions and says what it did. Every answer of the world is new, so
an answer that reaches another caller than the one it was recorded for shows in what the program returns and says.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import reenact
from reenact.facts.call import Call, Effect, ErrorFact, Failure, Kind, Value
from reenact.replaying.replay_api import Replay
from reenact.seams import switchboard

Program = Callable[["World"], Any]

PATIENT = reenact.Policy(hold_ms=2000)
"""A bound on holds that a busy test machine does not reach: what is proved here is order, not speed."""

TRIES = 3
"""How often a program is tried whose order a busy machine could not prove. A doubt that comes each time is its own."""

_answers = itertools.count(1000)
_stores = itertools.count()


@dataclass
class World:
    """What a program can do: ask, and say what it did.

    Attributes:
        pace: How long the slowest answer takes, in seconds; None where the world is gone.
        chance: Decides how long each answer takes.
        performed: How many questions reached the world.
        said: What the program did, in the order of doing, whoever did it.
        sleep: How a task waits, in the library that carries it.
    """

    pace: float | None
    chance: random.Random
    performed: int = 0
    said: list[Any] = field(default_factory=list)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def did(self, *what: Any) -> None:
        """The program's effect log."""
        self.said.append(what)

    def ask(self, question: str, *, delay: float | None = None, fail: bool = False, write: bool = False) -> int:
        """Ask from a thread: an answer nobody was given before, after a while."""

        def perform() -> int:
            time.sleep(self._arrives(delay))
            return self._answer(question, fail)

        lane = switchboard.listening()
        if lane is None:
            return perform()
        answer: int = switchboard.cross(lane, lambda: _call(question, write), perform, _seal, _reveal)
        return answer

    async def aask(self, question: str, *, delay: float | None = None, fail: bool = False, write: bool = False) -> int:
        """Ask from a task."""

        async def perform() -> int:
            await self.sleep(self._arrives(delay))
            return self._answer(question, fail)

        lane = switchboard.listening()
        if lane is None:
            return await perform()
        return await switchboard.across(lane, lambda: _call(question, write), perform, _seal, _reveal)

    def pause(self, most: float = 0.004) -> float:
        """A length for a sleep of the program: any while recording, one and the same where the world is gone.

        So a timer that is not recorded as a delivery of its own cannot be in the right place by luck. Never zero:
        ``asyncio.sleep(0)`` is no timer.
        """
        return most if self.pace is None else most * (self.chance.random() + 0.01)

    def _arrives(self, delay: float | None) -> float:
        self.performed += 1
        assert self.pace is not None, "the world was asked although it is gone"
        return delay if delay is not None else self.chance.random() * self.pace

    def _answer(self, question: str, fail: bool) -> int:
        if fail:
            raise ConnectionError(f"no answer to {question}: {next(_answers)}")
        return next(_answers)


def _call(question: str, write: bool) -> Call:
    head = {"method": "POST" if write else "GET", "url": f"http://world/{question}"}
    return Call(Kind.HTTP, "ask", Effect.WRITE if write else Effect.READ, "http/1", head)


def _seal(value: int | None, error: BaseException | None) -> Value | Failure:
    if error is not None:
        return Failure(ErrorFact(type(error).__name__, str(error)))
    return Value(json.dumps(value).encode())


def _reveal(outcome: Value | Failure) -> Any:
    if isinstance(outcome, Failure):
        raise ConnectionError(outcome.error.text)
    return json.loads(outcome.body)


@dataclass
class Recorded:
    """One recording of a program.

    Attributes:
        store: Where it is.
        run: The run.
        output: What the program returned.
        said: What it did.
    """

    store: reenact.Store
    run: reenact.Run
    output: Any
    said: list[Any]


def record(program: Program, *, pace: float = 0.004, seed: int = 0, policy: reenact.Policy = PATIENT) -> Recorded:
    """Run ``program`` once in a world that answers within ``pace`` seconds, recorded in memory."""
    store = reenact.open_store(f"memory:order-{next(_stores)}")
    world = World(pace, random.Random(seed))

    def main() -> Any:
        return program(world)

    output = reenact.record(main, store=store, policy=policy, agent="program")()
    run = next(run for run in store.runs() if run.parent is None)
    return Recorded(store, run, output, world.said)


@dataclass
class Replayed:
    """One replay of a recording."""

    replay: Replay
    said: list[Any]
    performed: int


def replay(recorded: Recorded, program: Program, *, order: str = "exact") -> Replayed:
    """Replay ``recorded`` with the code of ``program`` where the world is gone.

    Raises:
        Divergence: As ``reenact.replay``.
    """
    world = World(None, random.Random(0))

    def main() -> Any:
        return program(world)

    result = reenact.replay(recorded.run.id, entry=main, store=recorded.store, order=order)
    return Replayed(result, world.said, world.performed)


def assert_exact(recorded: Recorded, replayed: Replayed) -> None:
    """Everything the program returned and did is as it was, in proven order, and nothing touched the world."""
    result = replayed.replay
    assert replayed.said == recorded.said, result.report.last_line
    assert result.output == recorded.output
    assert (result.verdict, result.report.unproven, result.report.differences) == ("exact", (), ()), result.report
    assert (result.live_calls, replayed.performed) == (0, 0)
    assert (result.reordered, result.moved, result.unused) == (0, 0, 0)
    assert result.matched == result.report.events


def _replay_until_proven(recorded: Recorded, program: Program) -> Replayed:
    """A replay whose order is proven, or the last of some. What each did must be what was recorded, proven or not."""
    for _ in range(TRIES):
        replayed = replay(recorded, program)
        assert replayed.said == recorded.said, replayed.replay.report.last_line
        if not replayed.replay.report.unproven:
            break
    return replayed


def record_and_replay(program: Program, *, rounds: int = 3, pace: float = 0.004, replays: int = 2) -> None:
    """Record ``program`` with jittered answers, replay it with instant ones, and assert that both are one.

    Args:
        program: What to run.
        rounds: Recordings, each with other delays; ``REENACT_SWEEP=1`` makes ten times as many.
        pace: How long the slowest answer takes, in seconds.
        replays: Replays of each recording.
    """
    from tests.conftest import SWEEP

    for seed in range(rounds * (10 if SWEEP else 1)):
        for _ in range(TRIES):
            recorded = record(program, pace=pace, seed=seed)
            if recorded.run.totals.unproven == 0:
                break
        assert recorded.run.totals.unproven == 0, "the recording itself could not prove its order"
        chains = set()
        for _ in range(replays):
            replayed = _replay_until_proven(recorded, program)
            assert_exact(recorded, replayed)
            chains.add(replayed.replay.report.digest_chain)
        assert len(chains) == 1
        recorded.store.close()
