"""The world of the refund loop: a model that never takes no for an answer, and documents without a refund policy."""

from __future__ import annotations

import json

from reenact.testing.provider import Ask, Route, Rule, Script, ToolUse, When


def told(ask: Ask) -> str:
    """An answer from the documents that were found."""
    found = json.loads(ask.results[-1].text)
    return " ".join(doc["text"] for doc in found["docs"])


SCRIPT = Script(
    rules=(
        Rule(
            uses=(ToolUse("search_docs", {"query": "refund policy"}),),
            when=When(last_user="refund", tool="search_docs", results=False),
        ),
        Rule(
            uses=(ToolUse("search_docs", {"query": "refund policy"}),),
            when=When(last_user="refund", tool="search_docs", result='"count": 0'),
        ),
        Rule(say=told, when=When(tool="search_docs", results=True)),
    ),
    routes=(Route("/docs", {"docs": [], "count": 0}),),
)
