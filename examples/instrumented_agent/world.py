"""The model of the instrumented agent, scripted: it wants the refund, then it says how that went."""

from __future__ import annotations

from reenact.testing.provider import Ask, Rule, Script, ToolUse, When


def told(ask: Ask) -> str:
    """What it says of the tool's result."""
    return f"Done: {ask.results[-1].text}."


SCRIPT = Script(
    rules=(
        Rule(uses=(ToolUse("refund", {"order": "7"}),), when=When(tool="refund", results=False)),
        Rule(say=told, when=When(tool="refund", results=True)),
    )
)
