"""The answer of a model: from the script's rules, or improvised from the request where no rule holds.

Everything here is pure. Chance comes in as bytes: at temperature 0 or with a seed, a *draw* depends on the request
alone; else it also takes fresh entropy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from reenact.facts.answers.asks import Ask, ModelAnswer, OfferedTool, ToolUse
from reenact.facts.answers.seeded_choices import Draw, pieces
from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import replace
from reenact.testing.provider.script import Rule

_OPENINGS = ("I read", "You wrote", "As I understand it, you said", "Noted", "Here is what I have")
_CLOSINGS = (
    "Shall I go on?",
    "That is all I can tell.",
    "Ask me for more.",
    "I hope this helps.",
    "Nothing else stands out.",
)
_LONGEST_QUOTE = 160


def drawn(ask: Ask, fresh: bytes) -> Draw:
    """The chance of one request: ``fresh`` is not used if the request alone settles the answer."""
    return Draw(ask.fingerprint if ask.settled else ask.fingerprint[:32] + fresh[:32], greedy=ask.temperature == 0)


def answered(ask: Ask, rule: Rule | None, draw: Draw) -> ModelAnswer:
    """The answer to ``ask``.

    Args:
        ask: The request.
        rule: The rule that holds; None improvises.
        draw: Its chance.
    """
    answer = _improvised(ask, draw) if rule is None else _by_rule(ask, rule, draw)
    return _within_limit(answer, ask.max_tokens)


def _by_rule(ask: Ask, rule: Rule, draw: Draw) -> ModelAnswer:
    say = rule.say(ask) if callable(rule.say) else rule.say
    text = say if isinstance(say, str) else draw.likely(say)
    uses = rule.uses(ask) if callable(rule.uses) else rule.uses
    return ModelAnswer(text, uses)


def _improvised(ask: Ask, draw: Draw) -> ModelAnswer:
    if ask.choice not in {"auto", "none", "any"}:
        named = [tool for tool in ask.tools if tool.name == ask.choice]
        return ModelAnswer(uses=tuple(_use(tool, ask, draw) for tool in named))
    if ask.tools and (ask.choice == "any" or (ask.choice == "auto" and not ask.results)):
        return ModelAnswer(uses=(_use(_fitting(ask), ask, draw),))
    if ask.schema is not None:
        return ModelAnswer(json.dumps(_sample(ask.schema, ask.last_user, draw)))
    heard = ask.results[-1].text if ask.results else ask.last_user
    source = f" from {ask.results[-1].name}" if ask.results else ""
    note = draw.token(6, "0123456789abcdef")
    quoted = heard if len(heard) <= _LONGEST_QUOTE else heard[:_LONGEST_QUOTE] + "…"
    return ModelAnswer(f"{draw.pick(_OPENINGS)}{source}: {quoted} {draw.pick(_CLOSINGS)} (scripted, {note})")


def _fitting(ask: Ask) -> OfferedTool:
    words = set(re.findall(r"[a-z]{3,}", ask.last_user.lower()))
    shares = [len(words & set(re.findall(r"[a-z]{3,}", tool.name.lower()))) for tool in ask.tools]
    return ask.tools[shares.index(max(shares))]


def _use(tool: OfferedTool, ask: Ask, draw: Draw) -> ToolUse:
    sample = _sample(tool.schema, ask.last_user, draw)
    return ToolUse(tool.name, sample if isinstance(sample, dict) else {})


def _sample(schema: Mapping[str, Json], text: str, draw: Draw, depth: int = 0) -> Json:
    """Data that follows a JSON schema well enough for the schemas that agents send."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return draw.likely(schema["enum"])
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0]
    if kind is None and schema.get("anyOf"):
        return _sample(schema["anyOf"][0], text, draw, depth)
    if kind == "object" or (kind is None and "properties" in schema):
        properties = schema.get("properties") or {}
        wanted = schema.get("required", list(properties)) if depth < 8 else []
        return {name: _sample(properties.get(name) or {}, text, draw, depth + 1) for name in wanted}
    plain: dict[Json, Json] = {
        "integer": draw.number(10),
        "number": draw.number(100) / 10,
        "boolean": True,
        "null": None,
    }
    if kind == "array":
        return [_sample(schema.get("items") or {}, text, draw, depth + 1)] if depth < 8 else []
    return plain[kind] if kind in plain else text[:80]


def _within_limit(answer: ModelAnswer, limit: int | None) -> ModelAnswer:
    parts = pieces(answer.text)
    if limit is None or len(parts) <= limit or answer.uses:
        return answer
    return replace(answer, text="".join(parts[:limit]), cut=True)
