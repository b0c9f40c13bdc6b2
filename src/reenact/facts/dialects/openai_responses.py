"""OpenAI's responses."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from reenact.facts.call import Json
from reenact.facts.dialects.dialect import (
    RequestContent,
    ResponseContent,
    failure,
    listing,
    mapping,
    parameters,
    text,
    usage,
)
from reenact.facts.dialects.openai_chat import parts

_NOT_PARAMETERS = ("model", "input", "instructions", "tools")
_OWN = ("function", "custom", "local_shell", "apply_patch", "computer_use_preview", "computer")
_CALLS = ("function_call", "custom_tool_call", "mcp_call", "local_shell_call", "computer_call")
_ENDS = ("response.completed", "response.incomplete", "response.failed")


class OpenAIResponses:
    """``POST …/responses``."""

    name = "openai.responses"
    sort = ""

    def speaks(self, path: str, body: bytes) -> bool:
        """Recognised by the end of the path and by the body."""
        return path.endswith("/responses") and (b'"input"' in body or b'"prompt"' in body)

    def stateless(self, body: bytes) -> bool:
        """True only if the request turns storing off, because this protocol stores by default."""
        if b'"store"' not in body:
            return False
        request = json.loads(body)
        if request.get("store") is not False:
            return False
        if any(request.get(name) for name in ("conversation", "previous_response_id", "background")):
            return False
        return all(mapping(one).get("type", "function") in _OWN for one in listing(request.get("tools")))

    def asked(self, path: str, request: Mapping[str, Json]) -> RequestContent:
        """Read a request."""
        given = request.get("input")
        items = [{"role": "user", "text": given}] if isinstance(given, str) else [item(one) for one in listing(given)]
        system = [text(request.get("instructions"))] if request.get("instructions") else []
        while items and items[0]["role"] in ("system", "developer"):
            system.append(items.pop(0)["text"])
        return RequestContent(
            text(request.get("model")),
            parameters(request, _NOT_PARAMETERS, ("max_output_tokens",)),
            "\n\n".join(system),
            items,
            [_tool(mapping(one)) for one in listing(request.get("tools"))],
        )

    def answered(self, response: Mapping[str, Json]) -> ResponseContent:
        """Read a response."""
        out = ResponseContent(text(response.get("model")), response_id=text(response.get("id")))
        for one in map(mapping, listing(response.get("output"))):
            _add(out, one)
        details = mapping(response.get("incomplete_details"))
        out.finish = text(details.get("reason")) or text(response.get("status"))
        out.usage = counted(response.get("usage"))
        out.error = failure(response) if response.get("error") else None
        out.ended = bool(response.get("output") is not None or response.get("error"))
        return out

    def streamed(self, events: Iterable[tuple[str, Json]]) -> ResponseContent:
        """Read the last event, which repeats the whole response. Where it is missing, join the finished items and
        deltas."""
        out = ResponseContent(ended=False)
        pending: dict[Json, str] = {}
        for _, event in events:
            kind = text(event.get("type"))
            if kind in _ENDS:
                return self.answered(mapping(event.get("response")))
            if kind == "error":
                out.error = failure(event)
            elif kind in ("response.created", "response.in_progress"):
                begun = mapping(event.get("response"))
                out.model, out.response_id = text(begun.get("model")), text(begun.get("id"))
            elif kind == "response.output_text.delta":
                place = (event.get("output_index"), event.get("content_index"))
                pending[place] = pending.get(place, "") + text(event.get("delta"))
            elif kind == "response.output_item.done":
                for place in [place for place in pending if place[0] == event.get("output_index")]:
                    del pending[place]
                _add(out, mapping(event.get("item")))
        out.text += "".join(pending.values())
        return out


def _add(out: ResponseContent, one: Mapping[str, Json]) -> None:
    kind = one.get("type")
    if kind == "message":
        out.text += parts(one.get("content"))[0]
    elif kind == "reasoning":
        out.thinking += "\n".join(text(mapping(part).get("text")) for part in listing(one.get("summary")))
    elif kind in _CALLS:
        out.tool_calls.append(_called(one))


def _called(one: Mapping[str, Json]) -> dict[str, Json]:
    arguments = next((one[name] for name in ("arguments", "input", "action") if one.get(name) is not None), "")
    name = text(one.get("name")) or text(one.get("type")).removesuffix("_call")
    return {"id": text(one.get("call_id")) or text(one.get("id")), "name": name, "arguments": arguments}


def _tool(one: Mapping[str, Json]) -> dict[str, Json]:
    if one.get("type", "function") not in ("function", "custom"):
        return dict(one)
    schema = one.get("parameters")
    return {"name": text(one.get("name")), "description": text(one.get("description")), "schema": schema}


def item(one: Json) -> dict[str, Json]:
    """An item of the input."""
    one = mapping(one)
    kind = text(one.get("type")) or "message"
    if kind == "message":
        said, other = parts(one.get("content"))
        return {"role": text(one.get("role")), "text": said} | ({"other": other} if other else {})
    if kind in _CALLS:
        return {"role": "assistant", "text": "", "tool_calls": [_called(one)]}
    if kind.endswith("_output"):
        result = {"id": text(one.get("call_id")), "text": parts(one.get("output"))[0]}
        return {"role": "tool", "text": "", "tool_results": [result]}
    if kind == "reasoning":
        summary = "\n".join(text(mapping(part).get("text")) for part in listing(one.get("summary")))
        return {"role": "assistant", "text": "", "thinking": summary}
    return {"role": "assistant", "text": "", "other": [kind]}


def counted(counts: Json) -> dict[str, int]:
    """Tokens of a response."""
    counts = mapping(counts)
    return usage(
        counts.get("input_tokens"),
        counts.get("output_tokens"),
        mapping(counts.get("input_tokens_details")).get("cached_tokens"),
        mapping(counts.get("output_tokens_details")).get("reasoning_tokens"),
    )
