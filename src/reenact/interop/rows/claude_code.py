"""Sessions of Claude Code: a row for each message and each part of an answer, which name the message before them.

Rows of one answer share its id. System prompt, tool definitions and parameters are in no row.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.reading import Reading
from reenact.facts.trace_runs import Grade
from reenact.interop.questions import ModelQuestion, conversation
from reenact.interop.rows.call_items import (
    LoggedCall,
    exact,
    listing,
    mapping,
    microseconds,
    model_call,
    semantic,
    since,
    text,
    tool_call,
)
from reenact.interop.rows.row_reader import Belongs, Row, Teller
from reenact.interop.traces import Facts, SpanSort, TraceItem, Wrong

SOURCE: Final = "claude-code"

_URL: Final = "https://api.anthropic.com/v1/messages"
_LIKE: Final = lazy_regex(rb'"(?:parentUuid|isSidechain|leafUuid)"')
_SPOKEN: Final = ("user", "assistant")
_CONTEXT: Final = 64
"""The most earlier messages that are kept with a call. A session may have thousands, and each call got all of them."""
_CONTEXT_LETTERS: Final = 64_000


def fits(head: bytes) -> bool:
    """Whether a file with this beginning looks like a session."""
    return _LIKE.search(head) is not None and b'"sessionId"' in head


class Sessions:
    """The rows of sessions."""

    source: Final = SOURCE

    def belongs(self, row: Row) -> Belongs | str:
        """A row belongs to the run of its session; the parts of one answer are read together."""
        session = text(row.get("sessionId"))
        if not session:
            return f"a row of type {str(row.get('type'))[:40]!r} that names no session"
        message = mapping(row.get("message"))
        key = text(message.get("id")) if row.get("type") == "assistant" else ""
        return Belongs(session, key, microseconds(row.get("timestamp")))

    def facts(self, row: Row) -> Facts:
        """The session, and the agent: Claude Code with its version."""
        return Facts(SOURCE, text(row.get("version")), session=text(row.get("sessionId")), service=SOURCE)

    def teller(self, began_us: int | None) -> Teller:
        """Reads answers as model calls, results as calls of tools, and every other row as a step."""
        return _SessionState(began_us)


@dataclass(frozen=True, slots=True)
class _OpenTool:
    """A call of a tool that waits for its result."""

    name: str
    arguments: Json
    at_us: int | None


class _SessionState:
    """A session while it is read: each of its threads (the main one, each subagent) with its last messages."""

    def __init__(self, began_us: int | None) -> None:
        self._began_us = began_us
        self._threads: OrderedDict[str, deque[Mapping[str, Json]]] = OrderedDict()
        self._waiting: OrderedDict[str, _OpenTool] = OrderedDict()

    def told(self, rows: list[Row]) -> Iterator[TraceItem]:
        """The items of one message."""
        first = rows[0]
        message = mapping(first.get("message"))
        if first.get("type") not in _SPOKEN or not message:
            yield self._step(first)
            return
        thread = self._thread(first)
        if first.get("type") == "assistant":
            yield self._answer(rows, thread)
            return
        for part in listing(message.get("content")):
            if mapping(part).get("type") == "tool_result":
                yield self._result(first, mapping(part))
        _append(thread, message)

    def rest(self) -> Iterator[TraceItem]:
        """Calls of tools that were never answered."""
        for call_id, asked in self._waiting.items():
            yield _timed(tool_call(asked.name, call_id, asked.arguments, None), asked.at_us, None)

    def _thread(self, row: Row) -> deque[Mapping[str, Json]]:
        name = text(row.get("agentId")) or ("side" if row.get("isSidechain") is True else "")
        thread = self._threads.setdefault(name, deque(maxlen=_CONTEXT))
        self._threads.move_to_end(name)
        if len(self._threads) > _CONTEXT:
            self._threads.popitem(last=False)
        return thread

    def _answer(self, rows: list[Row], thread: deque[Mapping[str, Json]]) -> TraceItem:
        last = rows[-1]
        message = mapping(last.get("message"))
        parts: list[Json] = []
        for row in rows:
            parts += [each for each in listing(mapping(row.get("message")).get("content")) if each not in parts]
        at_us = since(microseconds(rows[0].get("timestamp")), self._began_us)
        end_us = since(microseconds(last.get("timestamp")), self._began_us)
        for part in map(mapping, parts):
            if part.get("type") == "tool_use" and text(part.get("id")):
                self._waiting[text(part.get("id"))] = _OpenTool(text(part.get("name")), part.get("input"), end_us)
        failed = last.get("isApiErrorMessage") is True
        said = " ".join(text(mapping(part).get("text")) for part in parts)[:2000]
        whole = {**message, "content": parts, "stop_reason": message.get("stop_reason") or "unknown"}
        item = model_call(
            LoggedCall(
                _URL,
                None,
                None if failed else whole,
                error=Wrong("APIError", said) if failed else None,
                span=text(last.get("uuid")),
                start_us=at_us,
                end_us=end_us,
                rest={name: last[name] for name in ("requestId", "cwd", "gitBranch", "agentId") if last.get(name)},
            )
        )
        before = conversation(_recent(thread))
        _append(thread, {"role": "assistant", "content": parts})
        return _with(item, before, text(message.get("stop_reason")))

    def _result(self, row: Row, part: Mapping[str, Any]) -> TraceItem:
        call_id = text(part.get("tool_use_id"))
        asked = self._waiting.pop(call_id, None) or _OpenTool("", None, None)
        content = part.get("content")
        error = Wrong("ToolError", _words(content)) if part.get("is_error") is True else None
        end_us = since(microseconds(row.get("timestamp")), self._began_us)
        item = tool_call(asked.name or "tool", call_id, asked.arguments, "" if content is None else content, error)
        return _timed(item, asked.at_us, end_us)

    def _step(self, row: Row) -> TraceItem:
        at_us = since(microseconds(row.get("timestamp")), self._began_us)
        name = text(row.get("subtype")) or text(row.get("type")) or "row"
        rest = {key: value for key, value in row.items() if key not in ("uuid", "parentUuid", "sessionId")}
        return TraceItem(
            SpanSort.OTHER, name[:200], span=text(row.get("uuid")), start_us=at_us, end_us=at_us, rest=rest
        )


def _timed(item: TraceItem, start_us: int | None, end_us: int | None) -> TraceItem:
    return TraceItem(
        item.sort,
        item.name,
        start_us=start_us,
        end_us=end_us,
        asked=item.asked,
        answered=item.answered,
        call_id=item.call_id,
        error=item.error,
        grades={**item.grades, "times": semantic(start_us is not None and end_us is not None)},
        dialect=SOURCE,
    )


def _with(item: TraceItem, before: ModelQuestion, finish: str) -> TraceItem:
    """A model call with the messages before it."""
    assert item.reading is not None
    data = item.reading.to_json()
    data |= {"messages": before.messages, "system": before.system, "finish": finish, "partial": False}
    grades = {**item.grades, "messages": semantic(before.messages), "system": Grade.ABSENT, "tools": Grade.ABSENT}
    grades["usage"] = exact(item.reading.usage)
    return TraceItem(
        SpanSort.MODEL,
        item.name,
        span=item.span,
        start_us=item.start_us,
        end_us=item.end_us,
        reading=Reading.from_json(data),
        error=item.error,
        grades={**grades, "times": semantic(item.start_us is not None)},
        dialect=SOURCE,
        rest=item.rest,
    )


def _append(thread: deque[Mapping[str, Json]], message: Mapping[str, Any]) -> None:
    thread.append({"role": message.get("role"), "content": message.get("content")})


def _recent(thread: Iterable[Mapping[str, Json]]) -> list[Json]:
    """The last messages of a thread, up to a total length."""
    kept: list[Json] = []
    size = 0
    for message in reversed([*thread]):
        size += len(str(message.get("content")))
        if size > _CONTEXT_LETTERS and kept:
            break
        kept.append(dict(message))
    return kept[::-1]


def _words(content: Json) -> str:
    if isinstance(content, list):
        return "\n".join(text(mapping(part).get("text")) for part in content)[:2000]
    return str(content)[:2000]
