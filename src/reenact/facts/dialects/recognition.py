"""Recognition: which recorded exchange is a model call, and what it says. Nothing here raises."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any
from urllib.parse import urlsplit

from reenact.facts.call import Json
from reenact.facts.compression import undo
from reenact.facts.dialects.anthropic_messages import AnthropicMessages
from reenact.facts.dialects.dialect import Answered, Asked, Dialect, failure
from reenact.facts.dialects.events import events
from reenact.facts.dialects.openai_chat import OpenAIChat
from reenact.facts.dialects.openai_responses import OpenAIResponses
from reenact.facts.framing import header, unframed
from reenact.facts.reading import Reading

DIALECTS: tuple[Dialect, ...] = (OpenAIChat(), OpenAIResponses(), AnthropicMessages())
"""Every dialect; the first that speaks a request's protocol reads it."""

_LARGEST = 64 << 20
_ERROR = 400
_PROVIDERS = (
    ("openai.azure.com", "azure"),
    ("cognitiveservices.azure.com", "azure"),
    ("services.ai.azure.com", "azure"),
    ("api.openai.com", "openai"),
    ("api.anthropic.com", "anthropic"),
    ("api.groq.com", "groq"),
    ("openrouter.ai", "openrouter"),
    ("api.mistral.ai", "mistral"),
    ("api.deepseek.com", "deepseek"),
    ("api.x.ai", "xai"),
    ("api.together.xyz", "together"),
    ("api.fireworks.ai", "fireworks"),
    ("api.cerebras.ai", "cerebras"),
    ("api.perplexity.ai", "perplexity"),
    ("generativelanguage.googleapis.com", "google"),
    ("aiplatform.googleapis.com", "vertex"),
    ("amazonaws.com", "bedrock"),
)
_REGION = re.compile(
    r"bedrock(?:-runtime)?\.([a-z0-9-]+)\.amazonaws\.com$|^([a-z0-9-]+)-aiplatform\.googleapis\.com$"
    r"|^([a-z]{2})\.api\.(?:openai|anthropic)\.com$|^[^.]+\.([a-z0-9]+)\.(?:inference|models)\.ai\.azure\.com$"
)


def recognise(head: Mapping[str, Json], body: bytes) -> str | None:
    """The dialect of a request, or None.

    Args:
        head: Head of the call (``method``, ``url``, ``headers``).
        body: Its body.

    Cost: under 1 µs for what is no model call, a few µs for what is one.
    """
    try:
        found = _dialect(str(head.get("method", "")), str(head.get("url", "")), _request_body(head, body))
    except Exception:
        return None
    return None if found is None else found.name


def stateless_model_request(method: str, url: str, body: bytes) -> bool:
    """Whether a request is a model call that changes nothing on the provider's side.

    What it stores, continues, runs in the background or lets hosted tools do makes it a write; so does everything
    that is not recognised.
    """
    try:
        found = _dialect(method, url, body)
        return found is not None and found.stateless(body)
    except Exception:
        return False


def read(
    head: Mapping[str, Json], body: bytes, response_head: Mapping[str, Json], response: bytes | Iterable[bytes]
) -> Reading | None:
    """The reading of an exchange; None when it is no model call.

    Args:
        head, body: The request.
        response_head: Head of the response (``facts.call.Stream.head``): status, headers, framing.
        response: Its bytes as recorded (all segments joined, or the segments), before content decoding.

    Returns:
        A reading; a partial one where request or response are cut off or malformed.
    """
    try:
        plain = _request_body(head, body)
        dialect = _dialect(str(head.get("method", "")), str(head.get("url", "")), plain)
    except Exception:
        return None
    if dialect is None:
        return None
    url = str(head.get("url", ""))
    asked, tools_hash, partial = _asked(dialect, url, plain)
    data = response if isinstance(response, bytes) else b"".join(response)
    answered, streamed, cut = _answered(dialect, response_head, data)
    params = asked.params if not answered.fingerprint else {**asked.params, "fingerprint": answered.fingerprint}
    host = urlsplit(url).hostname or ""
    return Reading(
        dialect=dialect.name,
        provider=provider_of(host),
        region=_region_of(host),
        model_asked=asked.model,
        model_answered=answered.model,
        params=params,
        system=asked.system,
        messages=tuple(asked.messages),
        tools=tuple(asked.tools),
        tools_hash=tools_hash,
        tool_calls=tuple(answered.tool_calls),
        text=answered.text,
        thinking=answered.thinking,
        finish=answered.finish,
        usage=answered.usage,
        stateless=stateless_model_request("POST", url, plain),
        streamed=streamed,
        error=answered.error,
        partial=partial or cut,
        response_id=answered.response_id,
    )


def provider_of(host: str) -> str:
    """Who answers at a host; the host itself where nobody known does."""
    for suffix, name in _PROVIDERS:
        if host == suffix or host.endswith(("." + suffix, "-" + suffix)):
            return name
    return host


def _region_of(host: str) -> str:
    match = _REGION.search(host)
    return next((group for group in match.groups() if group), "") if match is not None else ""


def _dialect(method: str, url: str, body: bytes) -> Dialect | None:
    if method.upper() != "POST" or not body:
        return None
    path = url.partition("?")[0].partition("#")[0].rstrip("/")
    return next((one for one in DIALECTS if one.speaks(path, body)), None)


def _request_body(head: Mapping[str, Json], body: bytes) -> bytes:
    encoding = header(head, "content-encoding")
    if not encoding:
        return body
    undone = undo(encoding, body, _LARGEST)
    return body if undone is None else undone.data


def _asked(dialect: Dialect, url: str, body: bytes) -> tuple[Asked, str, bool]:
    """What the request says, the digest of its tools, and whether it could not be read."""
    try:
        request = json.loads(body)
        tools = request.get("tools") or request.get("functions")
        digest = ""
        if tools:
            text = json.dumps(tools, sort_keys=True, separators=(",", ":"))
            digest = blake2b(text.encode(), digest_size=16).hexdigest()
        return dialect.asked(url.partition("?")[0].rstrip("/"), request), digest, False
    except Exception:
        return Asked(), "", True


def _answered(dialect: Dialect, head: Mapping[str, Json], data: bytes) -> tuple[Answered, bool, bool]:
    """What the response says, whether it was streamed, and whether it could not be read to its end."""
    status = head.get("status") or 0
    streamed = header(head, "content-type").lower().startswith("text/event-stream")
    try:
        body = unframed(head, data)
        encoding = header(head, "content-encoding")
        if encoding and head.get("read") != "decoded":
            undone = undo(encoding, body, _LARGEST)
            body = body if undone is None else undone.data
        if status >= _ERROR:
            return Answered(error=_failed(status, body)), streamed, False
        streamed = streamed or body[:16].lstrip().startswith((b"data:", b"event:"))
        if streamed:
            collected, whole = _events(body)
            found = dialect.streamed(collected)
            return found, True, not (whole and found.ended)
        found = dialect.answered(json.loads(body))
        return found, False, not found.ended
    except Exception:
        return Answered(), streamed, True


def _events(body: bytes) -> tuple[list[tuple[str, Any]], bool]:
    """The events up to the first that cannot be read, and whether all could be."""
    collected: list[tuple[str, Any]] = []
    try:
        for name, data in events(body):
            if not isinstance(data, Mapping):
                return collected, False
            collected.append((name, data))
    except (ValueError, RecursionError):
        return collected, False
    return collected, True


def _failed(status: int, body: bytes) -> dict[str, Json]:
    try:
        return failure(json.loads(body), status)
    except Exception:
        return {"status": status, "type": "", "message": body[:2000].decode("utf-8", "replace")}
