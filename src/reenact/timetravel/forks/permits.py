"""Which calls ask a model, and which writes a fork may make: named ones, and requests that a provider only stores."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fnmatch import fnmatchcase

from reenact.facts.call import Call, Effect, Kind
from reenact.facts.dialects import is_model_request, stateless_model_request

_KEEPS = {"store": False, "previous_response_id": None}
"""Fields of a request that stores nothing and continues no earlier answer, which it would only read."""


def is_model(call: Call) -> bool:
    """Whether a call asks a model."""
    if call.kind is Kind.MODEL:
        return True
    if call.kind is not Kind.HTTP:
        return False
    return is_model_request(str(call.head.get("method")), str(call.head.get("url")), call.body)


def meant(patterns: Iterable[str], *names: str) -> str:
    """The first pattern (``send_*``, ``POST api.example.com/*``) that matches one of ``names``; empty without one."""
    return next((each for each in patterns for name in names if each == name or fnmatchcase(name, each)), "")


def commits(patterns: Iterable[str], call: Call) -> bool:
    """Whether a call commits writes to a database that patterns allow."""
    if call.kind is not Kind.DB or call.head.get("what") != "commit":
        return False
    database = str(call.head.get("database"))
    return any(meant((each.rpartition(" ")[2],), database) for each in patterns if " " in each)


def only_kept(call: Call) -> bool:
    """Whether a call is a write only because its provider stores the request and the answer of a model.

    OpenAI's responses are stored unless they say ``store=False``. Hosted tools, background work and conversations at
    the provider do more than store.
    """
    if call.kind is not Kind.HTTP or call.effect is not Effect.WRITE:
        return False
    asked = str(call.head.get("method")), str(call.head.get("url"))
    if not is_model_request(*asked, call.body):
        return False
    try:
        request = json.loads(call.body)
        return stateless_model_request(*asked, json.dumps({**request, **_KEEPS}).encode())
    except (ValueError, TypeError):
        return False
