"""What the shop's agent meets: no documents, a model that says so, and one that judges."""

from __future__ import annotations

from reenact.testing.provider import Route, Rule, Script, When

SCRIPT = Script(
    rules=(
        Rule(say='{"score": 0.9, "reason": "it does"}', when=When(system="You judge whether a claim")),
        Rule(say="Welcome!", when=When(last_user="Greet")),
        Rule(say="I don't have any documents."),
    ),
    routes=(Route("/docs", {"docs": []}),),
)
