"""A scripted answer of a model (``{"say": TEXT, "uses": [TOOL CALL…]}``), said in the protocol of the request."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from reenact.errors import UsageError
from reenact.facts.answers.asks import ToolUse
from reenact.facts.call import Call, Json
from reenact.facts.dialects import is_model_request
from reenact.testing.provider.deciding import DIALECTS, Request, decide
from reenact.testing.provider.script import Reply, Rule, Script

_MEMBERS: Final = frozenset({"say", "uses"})
_CREATED_S: Final = 1_760_000_000


def speaks(call: Call, value: Json) -> bool:
    """Whether a scripted value is what a model says, and not the body of a response."""
    if not isinstance(value, Mapping) or not value or not _MEMBERS.issuperset(value):
        return False
    return is_model_request(str(call.head.get("method")), str(call.head.get("url")), call.body)


def spoken(call: Call, value: Mapping[str, Any]) -> Reply:
    """The response to a model request that says it: streamed where the request wants that.

    Args:
        call: The request.
        value: ``say`` is the text, ``uses`` the tool calls: ``name`` and ``arguments`` each.

    Raises:
        UsageError: It cannot be said in the request's protocol.
    """
    uses = tuple(ToolUse(str(each["name"]), dict(each.get("arguments") or {})) for each in value.get("uses") or ())
    path = urlsplit(str(call.head.get("url"))).path
    known = next((each.path for each in DIALECTS if each.place is None and path.endswith(each.path)), path)
    headers = {str(name).lower(): str(text) for name, text in call.head.get("headers") or ()}
    key = {"authorization": "Bearer scripted", "x-api-key": "scripted", "x-goog-api-key": "scripted"}
    chance = hashlib.sha512(call.body).digest()
    script = Script(rules=(Rule(say=str(value.get("say") or ""), uses=uses),))
    request = Request(str(call.head.get("method")), known, headers | key, call.body, 1, 1)
    reply = decide(script, request, lambda _: None, chance, _CREATED_S).reply
    if reply.status != 200:
        raise UsageError(
            f"a scripted answer cannot be said in the protocol of {call.name}: {reply.body[:200].decode()}",
            cause="the scripted provider does not speak it, or not with these tool calls",
            next_command="reenact golden add --help",
        )
    return reply


def body_of(reply: Reply) -> bytes:
    """All bytes of its body."""
    return reply.body if reply.frames is None else b"".join(reply.frames)
