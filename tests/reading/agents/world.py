"""What the models and tools of the sample agents say."""

from reenact.testing.provider import Ask, Route, Rule, Script, ToolUse, When


def _next(ask: Ask) -> tuple[ToolUse, ...]:
    """Look the order up, then give the money back."""
    if not ask.results:
        return (ToolUse("find_order", {"order_id": "4471"}),)
    return (ToolUse("refund", {"order_id": "4471", "amount": 990.0, "reason": "arrived broken"}),)


SCRIPT = Script(
    rules=(
        Rule(say="Refunded: 990.00 for order 4471.", when=When(result="receipt")),
        Rule(uses=_next, when=When(tool="refund")),
        Rule(say=lambda ask: f"{ask.last_user.split()[-1]} is fine today.", when=When(system="weather")),
        Rule(say=lambda ask: f"The answer to {ask.last_user!r} is 42."),
    ),
    routes=(Route("/orders/4471", answer={"id": "4471", "item": "espresso machine", "total": 990.0}),),
)
