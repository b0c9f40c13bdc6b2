"""The world of the judge: a scripted model that finds a claim true when the answer says so; it is not a model."""

from __future__ import annotations

import json

from reenact.testing.provider import Ask, Rule, Script, When


def verdict(ask: Ask) -> str:
    """A score by what stands in the answer, wrapped up as models do."""
    told = json.loads(ask.last_user)
    good = "no documents" in told["answer"] or "any documents" in told["answer"]
    reply = {"score": 0.9 if good else 0.1, "reason": f"the answer is {told['answer'][:20]!r}"}
    return f"Here you are:\n```json\n{json.dumps(reply)}\n```"


SCRIPT = Script(
    rules=(
        Rule(say="I would rather not say.", when=When(model="silent")),
        Rule(say=verdict, when=When(system="You judge whether a claim")),
    )
)
