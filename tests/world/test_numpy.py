"""Proves that numpy's chance replays exactly: entropy, the global generator, shared by threads or used before."""

from __future__ import annotations

import sys

import pytest

from .conftest import Place

ENTROPY = """
import numpy as np
from numpy.random import PCG64, SFC64, Generator, RandomState, SeedSequence, default_rng
print(default_rng().integers(1 << 60), SeedSequence().entropy, PCG64().random_raw(), RandomState().rand())
print(Generator(SFC64()).normal(size=3), [g.random() for g in default_rng().spawn(2)])
np.random.seed()
print(np.random.rand(2), np.random.standard_normal(3), np.random.permutation(5))
"""
GLOBAL = """
import numpy as np
print(np.random.rand(), np.random.normal(), np.random.mtrand._rand.normal(), np.random.choice(100, 3))
np.random.seed(7)
print(np.random.rand(), np.random.get_state()[2])
state = np.random.get_state()
first = np.random.rand()
np.random.set_state(state)
print(first == np.random.rand(), np.random.sample(), np.random.randint(1000))
"""
THREADS = """
import threading
import numpy as np
drawn = {}
go = threading.Barrier(4)
def draw(name):
    go.wait()
    drawn[name] = [float(np.random.normal()) for _ in range(300)]
threads = [threading.Thread(target=draw, args=(n,)) for n in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print(sorted(drawn.items()), np.random.rand())
"""
TOOLS = """
import numpy as np
import reenact
@reenact.tool
def shuffle():
    return float(np.random.rand())
@reenact.step("think")
def think():
    return float(np.random.rand())
print(np.random.rand(), shuffle(), np.random.rand(), think(), np.random.rand(), shuffle(), think())
"""


@pytest.mark.parametrize("program", [ENTROPY, GLOBAL, THREADS, TOOLS], ids=["entropy", "global", "threads", "tools"])
def test_a_program_draws_again_what_it_drew(world: Place, program: str) -> None:
    recorded = world.record(program)
    world.exact(recorded)


OVERTAKEN = """
import asyncio
import numpy as np
async def draws(name, pauses):
    first = float(np.random.rand())
    for _ in range(pauses):
        await asyncio.sleep(0)
    print(name, first, float(np.random.rand()))
async def main():
    await asyncio.gather(draws("a", PAUSES), draws("b", 2))
asyncio.run(main())
"""


def test_a_strand_that_another_overtakes_goes_on_from_where_it_left_the_generator(world: Place) -> None:
    """That the generator was as it had left it is all that is recorded of its second draw."""
    recorded = world.record(OVERTAKEN.replace("PAUSES", "0"))
    world.write(OVERTAKEN.replace("PAUSES", "1"))
    replayed = world.replay()
    assert sorted(replayed.stdout.splitlines()) == sorted(recorded.stdout.splitlines()), replayed.stderr


def test_a_run_inside_a_program_begins_from_the_state_of_then(world: Place) -> None:
    world.write(
        """
        import numpy as np
        import reenact
        @reenact.record
        def main(n):
            return [float(x) for x in np.random.rand(n)] + [int(np.random.default_rng().integers(1 << 60))]
        if __name__ == "__main__":
            np.random.rand(5)
            print(main(3))
        """
    )
    done = world.run(sys.executable, "agent.py")
    assert done.returncode == 0, done.stderr
    replayed = world.replay()
    assert replayed.returncode == 0, replayed.stderr
    assert "verdict: same (exact)" in replayed.stderr


def test_a_seed_means_what_it_means_anywhere(world: Place) -> None:
    text = "import numpy as np\nnp.random.seed(1)\nprint(np.random.rand(3), np.random.normal(size=2))\n"
    recorded = world.record(text)
    assert recorded.stdout == world.run(sys.executable, "agent.py").stdout
    world.exact(recorded)
