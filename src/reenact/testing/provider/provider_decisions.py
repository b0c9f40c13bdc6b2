"""The answer to one request: pure, from the request, the script and some chance."""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from reenact.facts.answers import (
    anthropic_messages,
    bedrock_converse,
    cohere_chat,
    google_gemini,
    ollama_chat,
    openai_chat,
    openai_responses,
)
from reenact.facts.answers.asks import BadAsk, Turn
from reenact.facts.answers.seeded_choices import Draw
from reenact.facts.answers.wire_formats import Recall, Stamp, WireFormat, encoded
from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass
from reenact.testing.provider.answer_choice import answered, drawn
from reenact.testing.provider.script import Fault, Reply, Script, Visit

DIALECTS: tuple[WireFormat, ...] = (
    openai_chat.DIALECT,
    openai_responses.DIALECT,
    anthropic_messages.DIALECT,
    google_gemini.DIALECT,
    bedrock_converse.DIALECT,
    ollama_chat.DIALECT,
    cohere_chat.DIALECT,
)
"""The wire formats."""

_STABLE_CREATED_S = 1_760_000_000
_JSON = ("content-type", "application/json")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One HTTP request, read.

    Attributes:
        method: Upper case.
        target: Path and query as sent.
        headers: Header values by lower-case name.
        body: The body's bytes.
        call: The number of the request among those to this path, from 1.
        day: The world's day.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    call: int
    day: int

    @property
    def path(self) -> str:
        """The path without the query."""
        return urlsplit(self.target).path


@dataclass(frozen=True, slots=True)
class RequestDecision:
    """The decision on a request.

    Attributes:
        reply: The answer.
        fault: The fault in it.
        remember: Id and conversation of a response that later requests may refer to.
    """

    reply: Reply
    fault: Fault | None = None
    remember: tuple[str, tuple[Turn, ...]] | None = None


def decide(script: Script, request: HttpRequest, recall: Recall, fresh: bytes, now_s: int) -> RequestDecision:
    """The answer to ``request``.

    Args:
        script: The world.
        request: The request.
        recall: Finds earlier responses by id.
        fresh: 64 bytes of entropy of this call.
        now_s: Seconds since the epoch.
    """
    dialect, said = _dialect(request.path)
    if dialect is not None and request.method == "POST":
        return _model(script, request, dialect, said, recall, fresh, now_s)
    return _route(script, request)


def _dialect(path: str) -> tuple[WireFormat | None, Mapping[str, Json]]:
    """The protocol of a path, and the facts that the path states about the request."""
    for dialect in DIALECTS:
        said = dialect.said_by(path)
        if said is not None:
            return dialect, said
    return None, {}


def failed(request: HttpRequest, fault: Fault) -> Reply:
    """The answer of a fault of kind ``status``, in the dialect of the request's path."""
    texts = {429: "Rate limit reached, please try again later.", 529: "Overloaded"}
    message = texts.get(fault.status, "The server had an error while processing your request.")
    dialect, _ = _dialect(request.path)
    body = encoded(dialect.error(fault.status, message, "req_scripted") if dialect else {"error": message})
    wait = () if fault.retry_after_s is None else (("retry-after", f"{fault.retry_after_s:g}"),)
    return Reply(fault.status, (_JSON, *wait), body[: len(body) // 2] if fault.half else body)


def _model(
    script: Script,
    request: HttpRequest,
    dialect: WireFormat,
    said: Mapping[str, Json],
    recall: Recall,
    fresh: bytes,
    now_s: int,
) -> RequestDecision:
    stamp = Stamp(Draw(fresh[32:64]), now_s)
    own = dialect.headers(stamp)
    if dialect.key_headers and not any(_key(request.headers.get(name, "")) for name in dialect.key_headers):
        return RequestDecision(_refusal(dialect, 401, "You didn't provide an API key.", own))
    try:
        body = json.loads(request.body)
        if not isinstance(body, dict):
            raise BadAsk("the body must be a JSON object")
        body |= said
        ask = dialect.read(body, request.call, request.day, recall)
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        return RequestDecision(_refusal(dialect, 400, f"Invalid request: {wrong}", own))
    rule = next((rule for rule in script.rules if rule.when.holds(ask)), None)
    answer = answered(ask, rule, drawn(ask, fresh))
    if script.stable_ids and ask.settled:
        stamp = Stamp(Draw(ask.fingerprint), _STABLE_CREATED_S)
    written = dialect.write(ask, answer, body, stamp)
    if ask.stream:
        reply = Reply(
            headers=(("content-type", dialect.media), ("cache-control", "no-cache"), *own), frames=written.frames()
        )
    else:
        reply = Reply(headers=(_JSON, *own), body=encoded(written.whole()))
    fault = None if rule is None else rule.fault
    if dialect is not openai_responses.DIALECT:
        return RequestDecision(reply, fault)
    return RequestDecision(reply, fault, (written.id, (*ask.turns, Turn("assistant", answer.text, answer.uses))))


def _key(value: str) -> str:
    return value.removeprefix("Bearer").strip()


def _refusal(dialect: WireFormat, status: int, message: str, headers: tuple[tuple[str, str], ...]) -> Reply:
    return Reply(status, (_JSON, *headers), encoded(dialect.error(status, message, headers[0][1])))


def _route(script: Script, request: HttpRequest) -> RequestDecision:
    try:
        body = json.loads(request.body) if request.body else None
    except ValueError:
        return RequestDecision(Reply(400, (_JSON,), encoded({"error": "the body is not JSON"})))
    query = dict(parse_qsl(urlsplit(request.target).query, keep_blank_values=True))
    visit = Visit(request.method, request.path, query, body, request.call, request.day)
    route = next((route for route in script.routes if route.holds(visit)), None)
    if route is None:
        return RequestDecision(Reply(404, (_JSON,), encoded({"error": f"nothing at {request.method} {request.path}"})))
    answer = route.answer(visit) if callable(route.answer) else route.answer
    reply = answer if isinstance(answer, Reply) else Reply(route.status, (_JSON,), encoded(answer))
    return RequestDecision(reply, route.fault)
