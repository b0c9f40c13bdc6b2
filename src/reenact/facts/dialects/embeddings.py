"""Embedding calls of every provider: one dialect each, from a table of their endpoints and fields."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import unquote

from reenact.facts.call import Json
from reenact.facts.dialects import bedrock_converse, cohere_chat, google_gemini, openai_chat
from reenact.facts.dialects.dialect import (
    RequestContent,
    ResponseContent,
    at,
    compact,
    failure,
    listing,
    mapping,
    neutral,
    parameters,
    text,
    usage,
)
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.lazy_regex import lazy_regex

_FLOAT = 4


@dataclass(frozen=True, slots=True)
class Embeddings:
    """The embeddings of one provider.

    Attributes:
        name: Name of the dialect.
        path: The pattern of its path; a group is the model, if the path names it.
        words: The words that the body must hold, each of them.
        texts: The texts a request asks for.
        vector: The first vector of a response.
        counts: The tokens of a response.
        inner: The member that holds parameters, in addition to the top of the request.
    """

    name: str
    path: re.Pattern[str]
    words: tuple[re.Pattern[bytes], ...]
    texts: Callable[[Mapping[str, Json]], Json]
    vector: Callable[[Mapping[str, Json]], Json]
    counts: Callable[[Mapping[str, Json]], dict[str, int]]
    inner: str = ""

    @property
    def sort(self) -> str:
        """The sort of the request."""
        return "embedding"

    def speaks(self, path: str, body: bytes) -> bool:
        """Recognised by the path and the words in the body."""
        found = self.path.search(path)
        if found is None:
            return False
        words = self.words[:-1] if any(found.groups()) else self.words
        return all(word.search(body) is not None for word in words)

    def stateless(self, body: bytes) -> bool:
        """Always true, because embedding changes nothing."""
        return True

    def asked(self, path: str, request: Mapping[str, Json]) -> RequestContent:
        """Read a request: each text is a message of role ``input``."""
        found = self.path.search(path)
        named = next((group for group in found.groups() if group), "") if found else ""
        given = self.texts(request)
        several = isinstance(given, list) and not (given and isinstance(given[0], int))
        texts = [one for one in (given if several else [given]) if one is not None]
        each = parameters(mapping(_first(request.get("requests"))), _CONTENT)
        params = {**each, **parameters(request, _CONTENT), **mapping(request.get(self.inner))}
        return RequestContent(
            text(request.get("model")) or unquote(named),
            neutral(params),
            "",
            [{"role": "input", "text": one if isinstance(one, str) else compact(one)} for one in texts],
        )

    def answered(self, response: Mapping[str, Json]) -> ResponseContent:
        """Read a response. Only the length of its vectors is read; their numbers stay in the bytes."""
        length = _length(self.vector(response))
        failed = failure(response) if response.get("error") else None
        return ResponseContent(
            text(response.get("model")),
            usage=self.counts(response),
            response_id=text(response.get("id")),
            error=failed,
            ended=bool(length or failed),
            dimensions=length,
        )

    def streamed(self, events: Iterable[tuple[str, Json]]) -> ResponseContent:
        """Not supported, because no provider streams vectors."""
        return ResponseContent(ended=False)


_CONTENT = frozenset(
    ("model", "input", "inputs", "texts", "images", "prompt", "content", "requests", "instances", "inputText")
)


def _length(vector: Json) -> int:
    """How many numbers a vector has. It is a list of numbers, or base64 of floats."""
    if isinstance(vector, str):
        return len(base64.b64decode(vector)) // _FLOAT
    return len(listing(vector))


def _first(items: Json) -> Json:
    return next(iter(listing(items)), None)


def _values(one: Json) -> Json:
    return mapping(one).get("values")


def _content_text(content: Json) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(text(mapping(part).get("text")) for part in listing(mapping(content).get("parts")))


def _google_texts(request: Mapping[str, Json]) -> Json:
    if "instances" in request:
        return [_content_text(mapping(one).get("content")) for one in listing(request["instances"])]
    if "requests" in request:
        return [_content_text(mapping(one).get("content")) for one in listing(request["requests"])]
    return _content_text(request.get("content"))


def _google_vector(response: Mapping[str, Json]) -> Json:
    if "predictions" in response:
        return _values(mapping(_first(response["predictions"])).get("embeddings"))
    return _values(response.get("embedding") or _first(response.get("embeddings")))


def _google_counts(response: Mapping[str, Json]) -> dict[str, int]:
    counts = google_gemini.counted(at(response, "usageMetadata"))
    statistics = [
        mapping(mapping(mapping(one).get("embeddings")).get("statistics")).get("token_count")
        for one in listing(response.get("predictions"))
    ]
    known = [int(count) for count in statistics if isinstance(count, int | float)]
    return counts or usage(sum(known) if known and len(known) == len(statistics) else None, None)


def _cohere_texts(request: Mapping[str, Json]) -> Json:
    return next((request[name] for name in ("texts", "inputs", "images") if request.get(name)), None)


def _cohere_vector(response: Mapping[str, Json]) -> Json:
    found = response.get("embeddings")
    return _first(next(iter(mapping(found).values()), found))


def _cohere_counts(response: Mapping[str, Json]) -> dict[str, int]:
    meta = mapping(response.get("meta"))
    return cohere_chat.counted({"tokens": meta.get("tokens"), "billed_units": meta.get("billed_units")})


def _bedrock_texts(request: Mapping[str, Json]) -> Json:
    return request.get("inputText") or _cohere_texts(request)


def _bedrock_vector(response: Mapping[str, Json]) -> Json:
    return response.get("embedding") or _cohere_vector(response)


def _words(*words: bytes) -> tuple[re.Pattern[bytes], ...]:
    return tuple(re.compile(rb'"(?:' + word + rb')"\s*:') for word in words)


EMBEDDINGS: tuple[Embeddings, ...] = (
    Embeddings(
        "openai.embeddings",
        lazy_regex(r"(?:/deployments/([^/]+))?(?<!/api)/embeddings$"),
        _words(rb"input", rb"model"),
        lambda request: request.get("input"),
        lambda response: mapping(_first(response.get("data"))).get("embedding"),
        lambda response: openai_chat.counted(response.get("usage")),
    ),
    Embeddings(
        "google.embeddings",
        lazy_regex(r"/models/([^/:]+)(?::|%3[Aa])(?:embedContent|batchEmbedContents)$"),
        _words(rb"content", rb"model"),
        _google_texts,
        _google_vector,
        _google_counts,
        "embedContentConfig",
    ),
    Embeddings(
        "google.embeddings",
        lazy_regex(r"/publishers/google/models/([^/:]+)(?::|%3[Aa])predict$"),
        _words(rb"instances", rb"content", rb"model"),
        _google_texts,
        _google_vector,
        _google_counts,
        "parameters",
    ),
    Embeddings(
        "cohere.embeddings",
        lazy_regex(r"/v[12]/embed$"),
        _words(rb"input_type", rb"texts|inputs|images", rb"model"),
        _cohere_texts,
        _cohere_vector,
        _cohere_counts,
    ),
    Embeddings(
        "ollama.embeddings",
        lazy_regex(r"/api/(?:embed|embeddings)$"),
        _words(rb"input|prompt", rb"model"),
        lambda request: request.get("input", request.get("prompt")),
        lambda response: response.get("embedding") or _first(response.get("embeddings")),
        lambda response: usage(response.get("prompt_eval_count"), None),
        "options",
    ),
    Embeddings(
        "bedrock.embeddings",
        lazy_regex(r"/model/([^/]*embed[^/]*)/invoke$"),
        _words(rb"inputText|texts|inputs|images", rb"model"),
        _bedrock_texts,
        _bedrock_vector,
        lambda response: bedrock_converse.counted({"inputTokens": response.get("inputTextTokenCount")}),
    ),
)
"""Every provider's embeddings. The last word of each names the model, which the path may name instead."""
