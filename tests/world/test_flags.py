"""Proves that evaluations of feature flags are recorded and frozen at the provider, hooks and errors included."""

from __future__ import annotations

import re

import pytest

from tests.programs import read_program

from .conftest import Place

PROVIDER = read_program("world/wild_flags.py")
ASKS = """
from flags import *
import asyncio
who = EvaluationContext("u_1", {"plan": "gold"})
print(client.get_boolean_value("new-ui", False, who), client.get_string_details("theme", "plain", who))
print(client.get_integer_value("limit", 3), client.get_float_value("rate", 0.1), client.get_object_value("tiers", {}))
for name in ("missing", "crash", "fault"):
    print(client.get_boolean_details(name, True, who))
print(client.get_string_details("limit", "plain", EvaluationContext("u_2")))
async def main():
    print(await asyncio.gather(*[client.get_string_value_async("theme", "plain", who) for _ in range(3)]))
asyncio.run(main())
"""


def test_evaluations_are_frozen_and_the_provider_is_not_asked(world: Place) -> None:
    world.write(PROVIDER, "flags.py")
    recorded = world.record(ASKS)
    marks = (world.folder / "marks").read_text()
    assert len(marks.split()) == 12
    world.exact(recorded)
    assert (world.folder / "marks").read_text() == marks
    assert re.search(r"flag +theme", world.shown())
    assert re.search(r"captured +flags +12 evaluations", world.kit())


def test_a_provider_that_is_not_ready_now_answers_what_it_answered_then(world: Place) -> None:
    world.write(PROVIDER, "flags.py")
    recorded = world.record(ASKS)
    (world.folder / "broken").touch()
    replayed = world.replay()  # the provider's own thread tells of another event, so its order is not proven
    assert (replayed.returncode, replayed.stdout) == (0, recorded.stdout), replayed.stderr


def test_a_provider_that_was_not_ready_then_is_not_ready_again(world: Place) -> None:
    world.write(PROVIDER, "flags.py")
    (world.folder / "broken").touch()
    recorded = world.record(ASKS)
    assert "error ProviderFatalError" in recorded.stdout
    (world.folder / "broken").unlink()
    world.exact(recorded)
    assert not (world.folder / "marks").exists()


@pytest.mark.parametrize(
    ("change", "names"), [('"theme"', "them2"), ('"u_1"', "u_9")], ids=["another flag", "another user"]
)
def test_another_question_diverges_and_is_named(world: Place, change: str, names: str) -> None:
    world.write(PROVIDER, "flags.py")
    world.record(ASKS)
    world.write(ASKS.replace(change, f'"{names}"'))
    replayed = world.replay()
    assert replayed.returncode == 1 and names in replayed.stderr


def test_a_flag_of_no_provider_is_noted(world: Place) -> None:
    recorded = world.record('import reenact\nreenact.note("flag.new-ui", True)\nprint("ok")\n')
    assert "1 notes" in world.kit()
    world.exact(recorded)
