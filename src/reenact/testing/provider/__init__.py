"""A scripted provider: speaks the protocols of model providers, and answers from a script. It is not a model.

``ScriptedProvider`` runs in this process, ``ProviderProcess`` in its own, which is better for a program that is
recorded; ``python -m reenact.testing.provider --script FILE`` does the same from a shell. The answers are a ``Script``
(see ``script``); the faults are ``Fault`` values.
"""

from __future__ import annotations

from reenact.facts.answers.asks import Ask, OfferedTool, ToolResult, ToolUse, Turn
from reenact.testing.provider.provider_process import ProviderProcess
from reenact.testing.provider.script import (
    Fault,
    Reply,
    Route,
    Rule,
    Script,
    Visit,
    When,
    rate_limited,
    refused,
    reset,
    server_error,
    silent,
    slow,
    truncated,
)
from reenact.testing.provider.server import ScriptedProvider, environment

__all__ = [
    "Ask",
    "Fault",
    "OfferedTool",
    "ProviderProcess",
    "Reply",
    "Route",
    "Rule",
    "Script",
    "ScriptedProvider",
    "ToolResult",
    "ToolUse",
    "Turn",
    "Visit",
    "When",
    "environment",
    "rate_limited",
    "refused",
    "reset",
    "server_error",
    "silent",
    "slow",
    "truncated",
]
