"""Conversations in JSON Lines, read as the exchanges that must have produced them.

Two sorts of lines are read. A line of *pairs* holds a request to a model and its answer (``request`` and ``response``,
as loggers and proxies write them). A line of *messages* (``{"messages": [...]}``, as for fine-tuning) holds only a
conversation: each message of the assistant is then the answer to all messages before it. Such a line names no model and
no parameters; ignore rules, which every report names, leave them out of the comparison.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from reenact.errors import UsageError
from reenact.facts.imported_runs import MADE_UP, PAIRED
from reenact.facts.lazy_dataclass import dataclass
from reenact.interop.exchange_assembly import exchange
from reenact.interop.exchanges import ExchangesOfRun, ImportedExchange
from reenact.interop.file_refusal import refused
from reenact.interop.foreign_documents import lines

OPENAI: Final = "https://api.openai.com/v1/chat/completions"
RESPONSES: Final = "https://api.openai.com/v1/responses"
ANTHROPIC: Final = "https://api.anthropic.com/v1/messages"

_UNSAID: Final = (
    "model", "temperature", "top_p", "top_k", "n", "seed", "max_tokens", "max_completion_tokens", "stop",
    "stop_sequences", "tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort", "thinking", "user",
    "metadata", "frequency_penalty", "presence_penalty", "logprobs", "service_tier", "store",
)  # fmt: skip
"""Fields of a request that a line of messages does not say. ``stream`` is not among them: an answer that was
not streamed is never given to a client that asked for a stream."""
MOST: Final = 24 << 20
"""Most bytes of all requests and answers that are made of messages: each request holds all messages before it."""
_ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
_JSON: Final = (("Content-Type", "application/json"),)


@dataclass(frozen=True, slots=True)
class ConversationOptions:
    """The user's facts about a file of messages.

    Attributes:
        url: The address of the requests; empty for the provider's own, by the shape of the line.
        params: The fields of every request.
    """

    url: str
    params: Mapping[str, Any]


def read(data: bytes, url: str = "", params: Mapping[str, Any] | None = None, only: str = "") -> list[ExchangesOfRun]:
    """The conversations of a file: all pairs of it are one run, each line of messages is a run of its own.

    Args:
        data: The file.
        url: The address of the requests, for lines without one.
        params: The fields of every request, for lines of messages.
        only: Leave out exchanges whose address does not begin with this text.

    Raises:
        InteropError: A line holds neither a pair nor messages, or cannot be read (it is named).
        UsageError: ``url`` belongs to no provider whose answers can be made.
    """
    known = ConversationOptions(url, dict(params or {}))
    pairs: list[ImportedExchange] = []
    found: list[ExchangesOfRun] = []
    room = MOST
    for number, line in lines(data):
        where = f"line {number}"
        if not isinstance(line, Mapping):
            raise refused("it is no object", "no JSON Lines of messages", where=where)
        if "request" in line and "response" in line:
            pairs.append(_pair(where, line, known))
        elif isinstance(line.get("messages"), list):
            found.append(_conversation(where, line, known, room))
            room -= sum(len(each.body) + len(each.answer) for each in found[-1].exchanges)
        else:
            names = ", ".join(sorted(map(str, line))[:5])[:80]
            raise refused(
                f"it has neither messages nor request and response (it has {names})",
                "JSON Lines of another sort",
                where=where,
            )
    if pairs:
        clock = next((each.at_us for each in pairs if each.at_us is not None), None)
        found.insert(0, ExchangesOfRun("messages (pairs)", tuple(pairs), clock))
    left = [_only(each, only) for each in found]
    found = [each for each in left if each.exchanges]
    if not found:
        raise refused(
            "the file holds no exchange", "no message of it is an assistant's, or --only names another address"
        )
    return found


def _only(found: ExchangesOfRun, prefix: str) -> ExchangesOfRun:
    kept = tuple(each for each in found.exchanges if each.url.startswith(prefix))
    return ExchangesOfRun(found.source, kept, found.clock_us, found.ignore, found.label)


# --- pairs -------------------------------------------------------------------------------------------------------


def _pair(where: str, line: Mapping[str, Any], known: ConversationOptions) -> ImportedExchange:
    """A logged request and its response, with or without their HTTP envelope."""
    asked, answered = line["request"], line["response"]
    if not isinstance(asked, Mapping) or not isinstance(answered, Mapping):
        raise refused("its request or response is no object", "a log of another sort", where=where)
    around = isinstance(asked.get("body"), Mapping | str) and not isinstance(asked.get("messages"), list)
    body = asked["body"] if around else asked
    status: Any = answered.get("status_code", answered.get("status"))
    if isinstance(status, int) and not isinstance(status, bool) and "body" in answered:
        reply = answered["body"]
    else:
        status, reply = line.get("status_code", 200), answered
    if isinstance(status, bool) or not isinstance(status, int):
        raise refused("its status is no number", "a log of another sort", where=where)
    url = (asked.get("url") if around else None) or line.get("url") or known.url or _address(body, reply)
    if not url:
        raise refused(
            "it does not say where it was asked", "its shape is that of no known provider: give --url", where=where
        )
    method = (asked.get("method") if around else None) or "POST"
    raw = ImportedExchange(
        method,
        _absolute(str(url), body, reply),
        _JSON,
        _text(body),
        status,
        headers=_JSON,
        answer=_text(reply),
        remarks=(PAIRED,),
    )
    return exchange(where, raw, decoded=False)


def _absolute(url: str, body: Any, reply: Any) -> str:
    """The whole address, where a log keeps only the path."""
    if not url.startswith("/"):
        return url
    known = _address(body, reply)
    return "/".join(known.split("/", 3)[:3]) + url if known else url


def _address(body: Any, reply: Any) -> str:
    """The provider's address, by the shape of the request and the answer; empty where it is not known."""
    if isinstance(reply, Mapping):
        if reply.get("object") in ("chat.completion", "chat.completion.chunk"):
            return OPENAI
        if reply.get("object") == "response":
            return RESPONSES
        if reply.get("type") in ("message", "error") and ("content" in reply or "error" in reply):
            return ANTHROPIC
    if isinstance(body, Mapping) and "input" in body:
        return RESPONSES
    return OPENAI if isinstance(body, Mapping) and isinstance(body.get("messages"), list) else ""


def _text(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()


# --- messages ----------------------------------------------------------------------------------------------------


def _conversation(where: str, line: Mapping[str, Any], known: ConversationOptions, room: int) -> ExchangesOfRun:
    """Each message of the assistant as the answer to all messages before it. ``room``: the most bytes of all requests
    and answers that are made."""
    said = line["messages"]
    for at, message in enumerate(said):
        if not isinstance(message, Mapping) or message.get("role") not in _ROLES:
            raise refused(f"message {at} has no role that is known", "a conversation of another sort", where=where)
    given = {name: value for name, value in line.items() if name in ("system", "tools", "functions", "model")}
    given |= known.params
    anthropic = _speaks_anthropic(line, known.url)
    url = known.url or (ANTHROPIC if anthropic else OPENAI)
    made: list[ImportedExchange] = []
    for at, message in enumerate(said):
        if message["role"] != "assistant":
            continue
        number = len(made)
        body = {**given, "messages": list(said[:at])}
        model = str(given.get("model") or "unknown")
        reply = (_anthropic if anthropic else _openai)(where, message, number, model)
        raw = ImportedExchange("POST", url, _JSON, _text(body), 200, "OK", _JSON, _text(reply), remarks=(MADE_UP,))
        made.append(exchange(f"{where}, message {at}", raw, decoded=False))
        room -= len(raw.body) + len(raw.answer)
        if room < 0:
            raise refused(
                f"its requests would come to more than {MOST >> 20} MiB",
                "a conversation of very many messages: split the file",
                where=where,
            )
    unsaid = [name for name in _UNSAID if name not in given]
    unsaid += [
        name for name in ("tools", "functions", "system") if name not in given and not (anthropic and name == "system")
    ]
    return ExchangesOfRun("messages", tuple(made), None, {f"unsaid: {name}": f"body.{name}" for name in unsaid}, where)


def _speaks_anthropic(line: Mapping[str, Any], url: str) -> bool:
    if url:
        path = url.partition("?")[0].rstrip("/")
        if path.endswith("/messages"):
            return True
        if path.endswith("/chat/completions"):
            return False
        raise UsageError(
            f"{url} is not an address that answers messages",
            cause="an answer is made for /v1/chat/completions or /v1/messages",
            next_command="reenact import --help",
        )
    if "system" in line:
        return True
    blocks = [block for message in line["messages"] for block in _blocks(message)]
    return any(block.get("type") in ("tool_use", "tool_result", "thinking") for block in blocks)


def _blocks(message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    content = message.get("content")
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def _openai(where: str, message: Mapping[str, Any], number: int, model: str) -> dict[str, Any]:
    called = bool(message.get("tool_calls"))
    reason = "tool_calls" if called else "function_call" if message.get("function_call") else "stop"
    kept = {name: value for name, value in message.items() if name != "weight"}
    return {
        "id": f"chatcmpl-imported-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": {"content": None, **kept}, "finish_reason": reason}],
    }


def _anthropic(where: str, message: Mapping[str, Any], number: int, model: str) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise refused("a message of the assistant has no content", "a conversation of another sort", where=where)
    called = any(block.get("type") == "tool_use" for block in _blocks({"content": content}))
    return {
        "id": f"msg_imported_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if called else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
