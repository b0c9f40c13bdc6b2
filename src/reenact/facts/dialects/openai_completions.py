"""OpenAI's older completions of one prompt, which many servers still speak, and Mistral's fill-in-the-middle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reenact.facts.call import Json
from reenact.facts.dialects.dialect import (
    RequestContent,
    ResponseContent,
    compact,
    failure,
    listing,
    mapping,
    neutral,
    parameters,
    text,
)
from reenact.facts.dialects.openai_chat import OpenAIChat, counted
from reenact.facts.lazy_regex import lazy_regex

_DEPLOYMENT = lazy_regex(r"/deployments/([^/]+)/")
_CHAT = OpenAIChat()


class OpenAICompletions:
    """``POST …/completions`` with a prompt. Fill-in-the-middle answers in the shape of chat."""

    name = "openai.completions"
    sort = ""

    def speaks(self, path: str, body: bytes) -> bool:
        """Recognised by the end of the path, a prompt in the body, and a model in the path or the body."""
        if not path.endswith("/completions") or path.endswith("/chat/completions") or b'"prompt"' not in body:
            return False
        return b'"model"' in body or _DEPLOYMENT.search(path) is not None

    def stateless(self, body: bytes) -> bool:
        """True, as for chat, unless the request is stored or a hosted tool acts for it."""
        return _CHAT.stateless(body)

    def asked(self, path: str, request: Mapping[str, Json]) -> RequestContent:
        """Read a request."""
        deployment = _DEPLOYMENT.search(path)
        prompt = request.get("prompt")
        prompts = prompt if isinstance(prompt, list) and all(isinstance(one, str) for one in prompt) else [prompt]
        return RequestContent(
            text(request.get("model")) or (deployment[1] if deployment else ""),
            neutral(parameters(request, ("model", "prompt"))),
            "",
            [{"role": "user", "text": one if isinstance(one, str) else compact(one)} for one in prompts],
        )

    def answered(self, response: Mapping[str, Json]) -> ResponseContent:
        """Read a completion: its first choice."""
        choice = mapping((listing(response.get("choices")) or [{}])[0])
        found = _CHAT.answered(response)
        found.text = found.text or text(choice.get("text"))
        return found

    def streamed(self, events: Iterable[tuple[str, Json]]) -> ResponseContent:
        """Join the texts of the first choice."""
        chunks = list(events)
        found = _CHAT.streamed(chunks)
        for _, chunk in chunks:
            for choice in map(mapping, listing(chunk.get("choices"))):
                found.text += text(choice.get("text")) if choice.get("index", 0) == 0 else ""
            found.error = failure(chunk) if chunk.get("error") else found.error
            found.usage = counted(chunk.get("usage")) or found.usage
        return found
