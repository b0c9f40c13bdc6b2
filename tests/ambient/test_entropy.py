"""Proves that every draw replays exactly, and that seeded randomness is what it is anywhere, recorded or not."""

from __future__ import annotations

import copy
import os
import pickle
import random
import secrets
import subprocess
import sys
import tempfile
import textwrap
import threading
import uuid
from collections.abc import Callable
from os import urandom
from pathlib import Path
from random import choice, getrandbits, randint, seed, shuffle
from random import random as early_random
from secrets import token_hex
from typing import Any
from uuid import uuid1, uuid4

import pytest

from reenact.abc.sources import ENTROPY
from reenact.seams import entropy, lanes

from .fakes import Player, Recorder, lane_of, listening, twice


def _shuffled() -> list[int]:
    cards = list(range(40))
    random.shuffle(cards)
    shuffle(cards)
    return cards


DRAWS: dict[str, Callable[[], Any]] = {
    "os.urandom": lambda: os.urandom(9),
    "early urandom": lambda: urandom(9),
    "token_bytes": lambda: secrets.token_bytes(),
    "token_hex": lambda: secrets.token_hex(8),
    "early token_hex": lambda: token_hex(8),
    "token_urlsafe": lambda: secrets.token_urlsafe(),
    "secrets.choice": lambda: [secrets.choice("abcdefgh") for _ in range(20)],
    "secrets.randbelow": lambda: secrets.randbelow(10**9),
    "secrets.randbits": lambda: secrets.randbits(77),
    "SystemRandom": lambda: (random.SystemRandom().random(), secrets.SystemRandom().randrange(10**12)),
    "uuid1": lambda: (uuid.uuid1(), uuid.uuid1().is_safe),
    "early uuid1": lambda: uuid1(),
    "uuid1 of a node": lambda: uuid.uuid1(node=5),
    "uuid1 with a sequence": lambda: uuid.uuid1(clock_seq=5),
    "uuid4": lambda: uuid.uuid4(),
    "early uuid4": lambda: uuid4(),
    "getnode": lambda: (uuid.getnode(), os.urandom(4)),
    "random": lambda: random.random(),
    "early random": lambda: early_random(),
    "getrandbits": lambda: random.getrandbits(64),
    "early getrandbits": lambda: getrandbits(64),
    "randbytes": lambda: random.randbytes(33),
    "randint": lambda: random.randint(0, 10**9),
    "early randint": lambda: randint(0, 10**9),
    "choice": lambda: (random.choice(range(10**6)), choice(range(10**6))),
    "choices": lambda: random.choices(range(10**6), k=5),
    "sample": lambda: random.sample(range(10**6), 5),
    "shuffle": _shuffled,
    "uniform": lambda: random.uniform(0, 1e9),
    "gauss": lambda: (random.gauss(0, 1), random.gauss(0, 1)),
    "normalvariate": lambda: random.normalvariate(0, 1),
    "seed()": lambda: (random.seed(), random.random()),
    "early seed()": lambda: (seed(), early_random()),
    "Random()": lambda: random.Random().random(),
    "Random().seed()": lambda: _reseeded(),
    "temporary names": lambda: next(tempfile._RandomNameSequence()),  # type: ignore[attr-defined]
}
if hasattr(os, "getrandom"):
    DRAWS["getrandom"] = lambda: os.getrandom(8)
for _name in ("uuid6", "uuid7", "uuid8"):
    if hasattr(uuid, _name):
        DRAWS[_name] = getattr(uuid, _name)


def _reseeded() -> float:
    generator = random.Random(1)
    generator.seed()
    return generator.random()


@pytest.mark.parametrize("name", DRAWS)
def test_each_form_replays_exactly(name: str) -> None:
    draw = DRAWS[name]
    recorded, played, recorder, player = twice(lambda: [draw() for _ in range(3)])
    assert played == recorded
    assert recorder.read, "nothing was recorded: the equality above would be luck"
    assert player.surplus == 0 and player.left == []
    assert recorder.faults == [] and player.faults == []


def _seeded_agent() -> list[Any]:
    random.seed(42)
    cards = list(range(20))
    random.shuffle(cards)
    own = random.Random(7)
    return [
        random.random(),
        early_random(),
        random.getrandbits(70),
        random.gauss(0, 1),
        random.gauss(0, 1),
        random.sample(range(1000), 7),
        random.choices("abc", [1, 2, 3], k=9),
        random.randbytes(5),
        random.triangular(),
        cards,
        own.random(),
        own.sample(range(99), 4),
        random.getstate(),
    ]


def test_a_seeded_run_draws_what_it_draws_unrecorded() -> None:
    state = random.getstate()
    try:
        bare = _seeded_agent()
        recorded, played, _, player = twice(_seeded_agent)
    finally:
        random.setstate(state)
    assert recorded == bare
    assert played == bare
    assert player.surplus == 0


def test_draws_below_a_transport_take_nothing_from_the_agent() -> None:
    recorder, player = Recorder(), None

    def agent(session: Recorder, *, transport: bool) -> list[Any]:
        out = [random.random(), os.urandom(4)]
        if transport:
            with lanes.inside(lane_of(session, "below", below=True)):
                random.random(), random.getrandbits(8), os.urandom(4), uuid.uuid4(), random.Random()
        return [*out, random.random(), os.urandom(4), random.getrandbits(9)]

    with listening(recorder):
        state = entropy.snapshot()
        recorded = agent(recorder, transport=True)
    player = Player(recorder.tape())
    with listening(player):
        entropy.restore(state)
        played = agent(player, transport=False)
    assert played == recorded
    assert player.surplus == 0 and player.left == []


def test_racing_lanes_get_their_own_draws_again() -> None:
    def agent(order: list[int]) -> dict[int, list[float]]:
        lane = lanes.current()
        assert lane is not None
        children = [lane.child("worker") for _ in order]
        out: dict[int, list[float]] = {number: [] for number in order}

        def draw(number: int) -> None:
            lanes.adopt_thread(children[number])
            out[number].append(random.random())

        for _ in range(3):
            for number in order:
                thread = threading.Thread(target=draw, args=(number,))
                thread.start()
                thread.join()
        return out

    recorder = Recorder()
    with listening(recorder):
        recorded = agent([0, 1, 2])
    with listening(Player(recorder.tape())):
        assert agent([2, 0, 1]) == recorded


def test_the_shared_generator_can_be_put_back() -> None:
    random.gauss(0, 1)
    state = entropy.snapshot()
    first = [random.gauss(0, 1), random.random()]
    entropy.restore(state)
    assert [random.gauss(0, 1), random.random()] == first
    assert len(state) < 3000
    for wrong in (b"", state[:-1], b"x" * len(state)):
        with pytest.raises(ValueError):
            entropy.restore(wrong)


def test_afterwards_everything_is_as_before() -> None:
    before = {(module, name): value for module in (os, random, secrets) for name, value in vars(module).items()}
    mine = (early_random, getrandbits, seed, urandom)
    with listening(Recorder()):
        assert early_random is not mine[0]
    assert {(module, name): value for module in (os, random, secrets) for name, value in vars(module).items()} == before
    assert (early_random, getrandbits, seed, urandom) == mine
    assert type(random._inst) is random.Random
    assert random.Random.__dict__["seed"] is random.Random.seed


def test_errors_are_those_of_the_originals() -> None:
    with listening(Recorder()) as lane:
        for call in (lambda: os.urandom(-1), lambda: random.getrandbits(-1), lambda: os.urandom("x")):  # type: ignore[arg-type]
            with pytest.raises((ValueError, TypeError)):
                call()
        assert os.urandom(0) == b"" and random.getrandbits(0) == 0
        assert isinstance(lane.session, Recorder) and lane.session.read == []


def test_generators_can_still_be_copied_and_pickled() -> None:
    with listening(Recorder()):
        shared = random._inst
        twin = pickle.loads(pickle.dumps(shared))
        assert type(twin) is random.Random and twin.getstate() == random.getstate()
        assert copy.deepcopy(shared).random() == twin.random()
        held: dict[str, Callable[..., object]] = {"draw": random.random, "bytes": os.urandom}
    assert copy.deepcopy(held)["bytes"](2)


def test_our_own_entropy_stays_real() -> None:
    recorder = Recorder()
    with listening(recorder):
        assert len(ENTROPY.bytes(8)) == 8
    assert recorder.read == []


def test_a_fault_of_the_recorder_leaves_the_draw_alone() -> None:
    recorder = Recorder()
    with listening(recorder):
        recorder.ambient = lambda *_: 1 / 0  # type: ignore[method-assign]
        assert 0 <= random.random() < 1 and len(os.urandom(3)) == 3 and uuid.uuid4() != uuid.uuid4()
        assert random.Random().random() >= 0
    assert len(recorder.faults) == 5


def test_ids_made_in_rust_replay_too() -> None:
    pytest.importorskip("uuid_utils.compat")
    script = """
        import sys
        sys.path.append(TESTS)
        from ambient.fakes import twice

        def agent():
            import uuid_utils, uuid_utils.compat
            return [str(uuid_utils.uuid4()), str(uuid_utils.uuid7()), str(uuid_utils.uuid1()), str(uuid_utils.uuid4()),
                    str(uuid_utils.compat.uuid7()), str(uuid_utils.compat.uuid4())]

        recorded, played, *_ = twice(agent)
        assert recorded == played, (recorded, played)
        assert len(set(recorded)) == 6
        print("fine")
    """
    text = textwrap.dedent(script).replace("TESTS", repr(str(Path(__file__).parent.parent)))
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "fine\n", done.stderr
