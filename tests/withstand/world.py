"""The world of the corpus: what its models say and its endpoints answer. Every answer depends on its request."""

from __future__ import annotations

import hashlib

from reenact.testing.provider import Reply, Route, Rule, Script, ToolUse, Visit, When, rate_limited


def figure(text: str) -> str:
    """Five letters that follow from a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:5].translate(str.maketrans("0123456789", "ghjkmnpqrs"))


def _stock(visit: Visit) -> Reply:
    return Reply(body=f'{{"left": "{figure(visit.query.get("item", ""))}"}}'.encode())


def _order(visit: Visit) -> Reply:
    words = repr(visit.body)
    return Reply(status=201, body=f'{{"receipt": "{figure(words)}"}}'.encode())


SCRIPT = Script(
    rules=(
        Rule(fault=rate_limited(), when=When(last_user="crowded", to_call=1)),
        Rule(fault=rate_limited(), when=When(last_user="crowded", from_call=3, to_call=3)),
        Rule(
            uses=(ToolUse("stock", {"item": "lamp"}), ToolUse("stock", {"item": "desk"})),
            when=When(tool="stock", results=False),
        ),
        Rule(say=lambda ask: "both: " + " and ".join(result.text for result in ask.results), when=When(results=True)),
        Rule(
            say=lambda ask: f"I hear {figure(ask.system + ask.last_user)} from you, and {len(ask.turns)} turns so far"
        ),
    ),
    routes=(Route("/stock", answer=_stock), Route("/order", answer=_order, method="POST")),
)
