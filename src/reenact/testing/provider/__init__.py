"""A scripted provider: speaks the wire formats of the model providers, answers from a script. It is not a model.

``ScriptedProvider`` runs in this process, ``ProviderProcess`` in one of its own, which is how a recorded program
should meet it; ``python -m reenact.testing.provider --script FILE`` does the same from a shell. What it answers is a
``Script`` (see ``script``); what can go wrong is a ``Fault``.
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
