"""For tests: expectations over runs, and stubs: recorded tools, scripted models, frozen time, seeded chance.

Each name is loaded at its first use, so that the pytest plugin here does not load an HTTP server that no test starts.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reenact.facts.answers.asks import ToolUse
    from reenact.testing import expecting
    from reenact.testing.expectations.courts import Court, Opinion, Question
    from reenact.testing.expectations.expectation import Expectation, expect
    from reenact.testing.expectations.expectation_verdict import Verdict
    from reenact.testing.expectations.kept_opinions import KeptOpinions
    from reenact.testing.expectations.runview import RunView
    from reenact.testing.expectations.strength import Strength, strength, weak
    from reenact.testing.fake_sources import FrozenClock, SeededEntropy
    from reenact.testing.frozen_time import frozen_clock, seeded_entropy
    from reenact.testing.goldens.replayed_golden import GoldenCall, Replayed
    from reenact.testing.provider import ProviderProcess, ScriptedProvider
    from reenact.testing.scripted import Said, ScriptedModel, scripted_model
    from reenact.testing.stubs import RecordedTool, recorded_tool

__all__ = [
    "Court",
    "Expectation",
    "FrozenClock",
    "GoldenCall",
    "KeptOpinions",
    "Opinion",
    "ProviderProcess",
    "Question",
    "RecordedTool",
    "Replayed",
    "RunView",
    "Said",
    "ScriptedModel",
    "ScriptedProvider",
    "SeededEntropy",
    "Strength",
    "ToolUse",
    "Verdict",
    "expect",
    "expecting",
    "frozen_clock",
    "recorded_tool",
    "scripted_model",
    "seeded_entropy",
    "strength",
    "weak",
]

_HOMES = {
    "Court": "expectations.courts",
    "KeptOpinions": "expectations.kept_opinions",
    "Opinion": "expectations.courts",
    "Question": "expectations.courts",
    "GoldenCall": "goldens.replayed_golden",
    "RecordedTool": "stubs",
    "Replayed": "goldens.replayed_golden",
    "RunView": "expectations.runview",
    "Said": "scripted",
    "ScriptedModel": "scripted",
    "ToolUse": "provider",
    "frozen_clock": "frozen_time",
    "recorded_tool": "stubs",
    "scripted_model": "scripted",
    "seeded_entropy": "frozen_time",
    "Expectation": "expectations.expectation",
    "FrozenClock": "fake_sources",
    "ProviderProcess": "provider",
    "ScriptedProvider": "provider",
    "SeededEntropy": "fake_sources",
    "Strength": "expectations.strength",
    "Verdict": "expectations.expectation_verdict",
    "expect": "expectations.expectation",
    "expecting": "expecting",
    "strength": "expectations.strength",
    "weak": "expectations.strength",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{home}")
    value = module if name == home else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
