"""Recognition: finds the recorded exchanges that are model calls, and reads them. Nothing here raises."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from urllib.parse import urlsplit

from reenact.facts.call import Json
from reenact.facts.compression import undo
from reenact.facts.dialects.answer_streams import collected, framing_of
from reenact.facts.dialects.anthropic_messages import AnthropicMessages
from reenact.facts.dialects.bedrock_converse import BedrockConverse, counted
from reenact.facts.dialects.bedrock_invoke import BedrockInvoke
from reenact.facts.dialects.cohere_chat import CohereChat
from reenact.facts.dialects.dialect import Dialect, RequestContent, ResponseContent, failure, mapping
from reenact.facts.dialects.embeddings import EMBEDDINGS
from reenact.facts.dialects.google_gemini import GoogleGemini
from reenact.facts.dialects.hosts import provider_of, region_of
from reenact.facts.dialects.ollama import Ollama
from reenact.facts.dialects.openai_chat import OpenAIChat
from reenact.facts.dialects.openai_completions import OpenAICompletions
from reenact.facts.dialects.openai_responses import OpenAIResponses
from reenact.facts.framing import header, unframed
from reenact.facts.interruptions import let_through
from reenact.facts.reading import Reading

DIALECTS: tuple[Dialect, ...] = (
    OpenAIChat(),
    OpenAIResponses(),
    AnthropicMessages(),
    GoogleGemini(),
    BedrockConverse(),
    *EMBEDDINGS,
    BedrockInvoke(),
    OpenAICompletions(),
    Ollama(),
    CohereChat(),
)
"""Every dialect. The first one that recognises a request reads it."""

_LARGEST = 64 << 20
_ERROR = 400
_COUNTED = "x-amzn-bedrock-{}-token-count"


def recognise(head: Mapping[str, Json], body: bytes) -> str | None:
    """The dialect of a request, or None.

    Args:
        head: Head of the call (``method``, ``url``, ``headers``).
        body: Its body.

    Cost: a few µs for a model call, under 1 µs for others.
    """
    try:
        found = _dialect(str(head.get("method", "")), str(head.get("url", "")), request_body(head, body))
    except Exception as error:
        let_through(error)
        return None
    return None if found is None else found.name


def sort_of(name: str) -> str:
    """The sort of a dialect's requests: ``embedding``, or empty for words."""
    return next((one.sort for one in DIALECTS if one.name == name), "")


def stateless_model_request(method: str, url: str, body: bytes) -> bool:
    """Whether a request is a model call that changes nothing on the provider's side.

    A request is a write if it stores, continues, runs in the background or lets hosted tools act; it is also a write if
    something in it is not recognised.
    """
    try:
        found = _dialect(method, url, body)
        return found is not None and found.stateless(body)
    except Exception as error:
        let_through(error)
        return False


def is_model_request(method: str, url: str, body: bytes) -> bool:
    """Whether a request is a model call in any known protocol."""
    try:
        return _dialect(method, url, body) is not None
    except Exception as error:
        let_through(error)
        return False


def read(
    head: Mapping[str, Json], body: bytes, response_head: Mapping[str, Json], response: bytes | Iterable[bytes]
) -> Reading | None:
    """The reading of an exchange; None when it is no model call.

    Args:
        head, body: The request.
        response_head: Head of the response (``facts.call.Stream.head``): status, headers, framing; empty where no
            response came, which alone does not make the reading partial.
        response: Its bytes as recorded (all segments joined, or the segments), before content decoding.

    Returns:
        A reading; a partial one where request or response are cut off or malformed.
    """
    try:
        plain = request_body(head, body)
        dialect = _dialect(str(head.get("method", "")), str(head.get("url", "")), plain)
    except Exception as error:
        let_through(error)
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
        region=region_of(url),
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
        usage=answered.usage or _counted_by_gateway(response_head),
        stateless=stateless_model_request("POST", url, plain),
        streamed=streamed,
        error=answered.error,
        partial=partial or cut,
        response_id=answered.response_id,
        sort=dialect.sort,
        dimensions=answered.dimensions,
    )


def _dialect(method: str, url: str, body: bytes) -> Dialect | None:
    if method.upper() != "POST" or not body:
        return None
    path = url.partition("?")[0].partition("#")[0].rstrip("/")
    return next((one for one in DIALECTS if one.speaks(path, body)), None)


def request_body(head: Mapping[str, Json], body: bytes) -> bytes:
    """A request's body without its content encodings."""
    encoding = header(head, "content-encoding")
    if not encoding:
        return body
    undone = undo(encoding, body, _LARGEST)
    return body if undone is None else undone.data


def _asked(dialect: Dialect, url: str, body: bytes) -> tuple[RequestContent, str, bool]:
    """The content of the request, the digest of its tools, and whether reading the request failed."""
    try:
        request = json.loads(body)
        tools = request.get("tools") or request.get("functions") or mapping(request.get("toolConfig")).get("tools")
        digest = ""
        if tools:
            text = json.dumps(tools, sort_keys=True, separators=(",", ":"))
            digest = blake2b(text.encode(), digest_size=16).hexdigest()
        return dialect.asked(url.partition("?")[0].rstrip("/"), request), digest, False
    except Exception as error:
        let_through(error)
        return RequestContent(), "", True


def _answered(dialect: Dialect, head: Mapping[str, Json], data: bytes) -> tuple[ResponseContent, bool, bool]:
    """The content of the response, whether it was streamed, and whether reading it stopped before its end."""
    status = head.get("status") or 0
    kind = header(head, "content-type")
    streamed = kind.lower().startswith("text/event-stream")
    if not head and not data:
        return ResponseContent(), False, False
    try:
        body = _response_body(head, data)
        framing = framing_of(kind, body)
        streamed = framing is not None
        if status >= _ERROR:
            return ResponseContent(error=_failed(status, body, head)), streamed, False
        if framing is not None:
            events, whole = collected(framing, body)
            found = dialect.streamed(events)
            return found, True, not (whole and found.ended)
        found = dialect.answered(json.loads(body))
        return found, False, not found.ended
    except Exception as error:
        let_through(error)
        return ResponseContent(), streamed, True


def documents(head: Mapping[str, Json], data: bytes) -> tuple[list[Mapping[str, Json]], bool]:
    """The JSON documents of a response, and whether they are the events of a stream; an empty list where it has none.

    Args:
        head: Head of the response.
        data: Its bytes as recorded, all segments joined.
    """
    try:
        body = _response_body(head, data)
        framing = framing_of(header(head, "content-type"), body)
        if framing is not None:
            return [mapping(event) for _, event in collected(framing, body)[0]], True
        return [mapping(json.loads(body))], False
    except Exception as error:
        let_through(error)
        return [], False


def _response_body(head: Mapping[str, Json], data: bytes) -> bytes:
    """A response's body without its framing and its content encodings."""
    body = unframed(head, data)
    encoding = header(head, "content-encoding")
    if not encoding or head.get("read") == "decoded":
        return body
    undone = undo(encoding, body, _LARGEST)
    return body if undone is None else undone.data


def _counted_by_gateway(head: Mapping[str, Json]) -> dict[str, int]:
    """The tokens that Bedrock counts in headers, for models that do not have them in their answers."""
    named = {"inputTokens": "input", "outputTokens": "output"}
    found = {ours: header(head, _COUNTED.format(theirs)) for ours, theirs in named.items()}
    return counted({name: int(value) for name, value in found.items() if value.isdecimal()})


def _failed(status: int, body: bytes, head: Mapping[str, Json]) -> dict[str, Json]:
    try:
        said = json.loads(body)
        found = failure(said[0] if isinstance(said, list) else said, status)
        found["type"] = found["type"] or header(head, "x-amzn-errortype").partition(":")[0]
        return found
    except Exception as error:
        let_through(error)
        return {"status": status, "type": "", "message": body[:2000].decode("utf-8", "replace")}
