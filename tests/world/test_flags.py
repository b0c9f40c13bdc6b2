"""Proves that evaluations of feature flags are recorded and frozen at the provider, hooks and errors included."""

from __future__ import annotations

import re

import pytest

from .conftest import World

PROVIDER = """
import os
from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode, FlagNotFoundError, ProviderFatalError
from openfeature.flag_evaluation import FlagResolutionDetails, Reason
from openfeature.hook import Hook
from openfeature.provider import AbstractProvider, Metadata

class Wild(AbstractProvider):
    "Answers otherwise every time it is asked by another process, and leaves a mark for each question."
    def get_metadata(self):
        return Metadata("wild")
    def initialize(self, evaluation_context):
        if os.path.exists("broken"):
            raise ProviderFatalError("no contact")
    def _asked(self, key, default, kind):
        with open("marks", "a") as marks:
            marks.write(key + "\\n")
        if key == "missing":
            raise FlagNotFoundError("no such flag")
        if key == "crash":
            raise ValueError("crashed")
        if key == "fault":
            return FlagResolutionDetails(default, error_code=ErrorCode.TARGETING_KEY_MISSING, error_message="who?")
        value = {"bool": True, "str": f"{os.urandom(4).hex()}", "int": int.from_bytes(os.urandom(4), "big"),
                 "float": 0.5, "object": {"tiers": ["a", {"b": None}], "pid": os.urandom(2).hex()}}[kind]
        return FlagResolutionDetails(value, variant="v1", reason=Reason.SPLIT, flag_metadata={"rule": 7})
    def resolve_boolean_details(self, flag_key, default_value, evaluation_context=None):
        return self._asked(flag_key, default_value, "bool")
    def resolve_string_details(self, flag_key, default_value, evaluation_context=None):
        return self._asked(flag_key, default_value, "str")
    def resolve_integer_details(self, flag_key, default_value, evaluation_context=None):
        return self._asked(flag_key, default_value, "int")
    def resolve_float_details(self, flag_key, default_value, evaluation_context=None):
        return self._asked(flag_key, default_value, "float")
    def resolve_object_details(self, flag_key, default_value, evaluation_context=None):
        return self._asked(flag_key, default_value, "object")

class Telling(Hook):
    def before(self, hook_context, hints):
        print("before", hook_context.flag_key)
    def after(self, hook_context, details, hints):
        print("after", details.value, details.variant, repr(details.reason))
    def error(self, hook_context, exception, hints):
        print("error", type(exception).__name__, exception)

try:
    api.set_provider_and_wait(Wild())
except ProviderFatalError:
    pass
api.add_hooks([Telling()])
client = api.get_client()
"""
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


def test_evaluations_are_frozen_and_the_provider_is_not_asked(world: World) -> None:
    world.write(PROVIDER, "flags.py")
    recorded = world.record(ASKS)
    marks = (world.folder / "marks").read_text()
    assert len(marks.split()) == 12
    world.exact(recorded)
    assert (world.folder / "marks").read_text() == marks
    assert re.search(r"flag +theme", world.shown())
    assert re.search(r"captured +flags +12 evaluations", world.kit())


def test_a_provider_that_is_not_ready_now_answers_what_it_answered_then(world: World) -> None:
    world.write(PROVIDER, "flags.py")
    recorded = world.record(ASKS)
    (world.folder / "broken").touch()
    replayed = world.replay()  # the provider's own thread tells of another event, so its order is not proven
    assert (replayed.returncode, replayed.stdout) == (0, recorded.stdout), replayed.stderr


def test_a_provider_that_was_not_ready_then_is_not_ready_again(world: World) -> None:
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
def test_another_question_diverges_and_is_named(world: World, change: str, names: str) -> None:
    world.write(PROVIDER, "flags.py")
    world.record(ASKS)
    world.write(ASKS.replace(change, f'"{names}"'))
    replayed = world.replay()
    assert replayed.returncode == 1 and names in replayed.stderr


def test_a_flag_of_no_provider_is_noted(world: World) -> None:
    recorded = world.record('import reenact\nreenact.note("flag.new-ui", True)\nprint("ok")\n')
    assert "1 notes" in world.kit()
    world.exact(recorded)
