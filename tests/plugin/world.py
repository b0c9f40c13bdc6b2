"""What the shop's agent meets: no documents, and a model that says so."""

from __future__ import annotations

from reenact.testing.provider import Route, Rule, Script, When

SCRIPT = Script(
    rules=(Rule(say="Welcome!", when=When(last_user="Greet")), Rule(say="I don't have any documents.")),
    routes=(Route("/docs", {"docs": []}),),
)
