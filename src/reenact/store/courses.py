"""The course of a recorded run, read for the rules of suspicion within a budget of bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from reenact.abc.store import Recording
from reenact.errors import StoreError
from reenact.facts.call import Effect, EndKind, Failure, Json, Kind, Stream, Value, calls_a_tool
from reenact.facts.compression import undo
from reenact.facts.conversations import data_of
from reenact.facts.event import Event, Payload, strand_of
from reenact.facts.framing import header, unframed
from reenact.facts.quiet_events import group_of, is_housekeeping
from reenact.facts.reading import Reading
from reenact.facts.run import Run, run_failed
from reenact.facts.suspicions import UNREAD, Act, Course, ModelTurn, Sort
from reenact.facts.values import jsonable
from reenact.store.checkpoints import conversation_of

LONGEST: Final = 20_000
"""The most events that are read. Of a longer run only the first events are read, and the run never counts as whole."""
BUDGET: Final = 8 << 20
"""The most bytes of contents that are read of one run."""
_LARGEST: Final = 512 << 10
_UNREAD: Final = frozenset((Kind.STEP, Kind.TOOL))
_ENDED_BADLY: Final = (EndKind.ERROR, EndKind.CANCELLED)


def course_of(recording: Recording, events: Iterable[Event] | None = None, *, budget: int = BUDGET) -> Course:
    """The course of a run, as the rules of suspicion read it.

    Args:
        recording: The run.
        events: The events of the run, where they have been read already.
        budget: The most bytes of contents that are read. With 0 no contents are read, and rules about contents find
            nothing.

    Returns:
        The course. It costs one pass over the events, and reads the contents of tools and conversations up to the
        budget.
    """
    listed: list[Event] = []
    for event in events if events is not None else recording.events():
        if len(listed) == LONGEST:
            break
        listed.append(event)
    return _Reader(recording, listed, budget).course()


class _Reader:
    """Reads the course of one run, with contents up to the budget."""

    def __init__(self, recording: Recording, events: list[Event], budget: int) -> None:
        self._recording = recording
        self._events = events
        self._left = budget
        self._whole = len(events) < LONGEST and budget > 0
        self._base = recording.run.started_us
        self._tools = {event.name for event in events if _is_tool(event)}
        self._waiting: dict[str, list[tuple[str, str, Json, int]]] = {}
        """Tool calls that a model requested and that have no event yet, by strand: id, name, arguments, event of the
        request."""
        self._met: set[str] = set()
        self._inside: set[int] = set()
        """The numbers of events inside a call of a tool or of a model."""

    def course(self) -> Course:
        """The course of the run."""
        acts: list[Act] = []
        given: dict[str, Json] = _given(self._recording.run)
        for event in self._events:
            if event.parent in self._inside or _is_tool(event) or is_decision(event):
                self._inside.add(event.number)
            if event.kind == Kind.INPUT:
                found = self._content(event.request, event.call.head)
                found = self._answer(event) if found is None else found
                given["input"] = None if found is UNREAD else found
            acts += self._acts(event)
        run = self._recording.run
        return Course(tuple(acts), given, run_failed(run), run.error, self._whole)

    def _acts(self, event: Event) -> Iterator[Act]:
        if is_decision(event):
            reading = self._reading(event)
            yield from self._told(event, reading)
            yield self._act(event, Sort.MODEL, said=self._said(event, reading))
        elif _is_tool(event) or (event.kind == Kind.HTTP and event.parent not in self._inside and not group_of(event)):
            yield self._act(event, Sort.TOOL)
        else:
            yield self._act(event, Sort.OTHER)

    def _act(self, event: Event, sort: Sort, said: ModelTurn | None = None) -> Act:
        outcome = event.outcome
        stream = outcome if isinstance(outcome, Stream) else None
        head = stream.head if stream is not None else {}
        reads = sort is Sort.TOOL
        status = head.get("status")
        result = self._answer(event) if reads else UNREAD
        return Act(
            event.number,
            sort,
            "model" if sort is Sort.MODEL else event.kind,
            event.name,
            strand_of(event.lane),
            key=event.asked if sort is not Sort.OTHER else event.key,
            came=event.answer.digest if event.answer is not None else "",
            writes=event.call.effect is Effect.WRITE,
            quiet=bool(group_of(event)),
            observed=event.call.observed,
            args=self._asked(event) if reads else UNREAD,
            result=result,
            error=f"{outcome.error.type}: {outcome.error.text}" if isinstance(outcome, Failure) else "",
            ending="" if stream is None else _ending(event, stream),
            answered=outcome is not None,
            status=status if isinstance(status, int) else None,
            json="json" in header(head, "content-type").lower().partition(";")[0],
            missing=0 if stream is None else _missing(event, stream, result),
            at_us=self._base + event.issued_us if self._base else 0,
            said=said,
        )

    # --- contents -------------------------------------------------------------------------------------------------

    def _spend(self, payload: Payload) -> bool:
        """Whether the budget allows a payload to be read; if so, its bytes are deducted."""
        if payload.size > _LARGEST or payload.size > self._left:
            self._whole = False
            return False
        self._left -= payload.size
        return True

    def _asked(self, event: Event) -> Json:
        """The arguments of a call. The request to a tool of an MCP server also has the tool's name, which is left
        out."""
        content = self._content(event.request, event.call.head)
        if event.kind == Kind.MCP and isinstance(content, Mapping):
            return content.get("arguments", content)
        if isinstance(content, Mapping) and set(content) == {"args", "kwargs"}:
            return content["kwargs"] if not content["args"] else [content["args"], content["kwargs"]]
        return content

    def _answer(self, event: Event) -> Json:
        outcome = event.outcome
        if isinstance(outcome, Stream):
            if event.answer is None or not self._spend(event.answer):
                return UNREAD if event.answer is not None else None
            try:
                raw = b"".join(part for _, _, part in self._recording.parts(event.number))
            except StoreError:
                self._whole = False
                return UNREAD
            return jsonable(_decoded(outcome.head, raw))
        return self._content(event.answer, {}) if isinstance(outcome, Value) else None

    def _content(self, payload: Payload | None, head: Mapping[str, Json]) -> Json:
        if payload is None or payload.size == 0:
            return None
        if not self._spend(payload):
            return UNREAD
        try:
            return jsonable(_decoded(head, self._recording.body(payload)))
        except StoreError:
            self._whole = False
            return UNREAD

    def _reading(self, event: Event) -> Reading | None:
        """The whole conversation of a model call; None where it cannot be read, or is too long."""
        if event.request is None or not self._spend(event.request):
            return None
        try:
            return conversation_of(self._recording, event)
        except StoreError:
            self._whole = False
            return None

    # --- conversations --------------------------------------------------------------------------------------------

    def _said(self, event: Event, reading: Reading | None) -> ModelTurn:
        kept = event.attributes.get("reading")
        data: Mapping[str, Json] = kept if isinstance(kept, Mapping) else reading.to_json() if reading else {}
        params = data.get("params") or {}
        strand = strand_of(event.lane)
        calls = [call for call in data.get("tool_calls") or () if isinstance(call, Mapping)]
        for call in calls:
            name = str(call.get("name") or "")
            if name not in self._tools:
                one = (str(call.get("id") or ""), name, data_of(call.get("arguments")), event.number)
                self._waiting.setdefault(strand, []).append(one)
        new = strand not in self._met
        self._met.add(strand)
        return ModelTurn(
            asked=str(data.get("model_asked") or ""),
            answered=str(data.get("model_answered") or ""),
            provider=str(data.get("provider") or ""),
            text=str(data.get("text") or ""),
            calls=tuple((str(call.get("name") or ""), data_of(call.get("arguments"))) for call in calls),
            finish=str(data.get("finish") or ""),
            partial=data.get("partial") is True and _is_over(event),
            promised_json=_promises_json(params) if isinstance(params, Mapping) else False,
            prompt=reading.system if reading is not None else "",
            heard=tuple(_heard(reading, new)) if reading is not None else (),
        )

    def _told(self, event: Event, reading: Reading | None) -> Iterator[Act]:
        """The tool calls that are known only from a conversation, with their results."""
        waiting = self._waiting.get(strand_of(event.lane))
        if not waiting or reading is None:
            return
        for number, text in _results(reading):
            found = next((each for each in waiting if number and each[0] == number), waiting[0])
            waiting.remove(found)
            _, name, arguments, decided = found
            key = json.dumps(arguments, sort_keys=True, default=str)
            result = data_of(text)
            yield Act(
                decided,
                Sort.TOOL,
                Kind.TOOL.value,
                name,
                strand_of(event.lane),
                key=key,
                came=str(text),
                args=arguments,
                result=result,
            )
            if not waiting:
                return


def is_decision(event: Event) -> bool:
    """Whether an event is a model call that may decide something; a request for embeddings does not."""
    if event.kind == Kind.MODEL:
        return True
    reading = None if event.call.kind in _UNREAD else event.attributes.get("reading")
    return isinstance(reading, Mapping) and reading.get("sort") != "embedding"


def _is_tool(event: Event) -> bool:
    return event.kind == Kind.RETRIEVAL or calls_a_tool(event.call)


def _given(run: Run) -> dict[str, Json]:
    pairs = (("user", run.user), ("tenant", run.tenant), ("session", run.session))
    return {name: value for name, value in pairs if value}


def _ending(event: Event, stream: Stream) -> str:
    """How a stream broke; empty where it ended well. A stream that was cancelled because its session closed counts as
    ended well."""
    end = stream.end
    if end is None:
        return "broken off"
    closed = end.kind is EndKind.CANCELLED and is_housekeeping(event)
    broken = end.kind in _ENDED_BADLY or end.error is not None
    return f"stream {end.kind.value}" if broken and not closed else ""


def _is_over(event: Event) -> bool:
    """Whether an answer is complete; an answer that its reader closed early may be partial."""
    end = event.outcome.end if isinstance(event.outcome, Stream) else None
    return not isinstance(event.outcome, Stream) or (end is not None and end.kind is EndKind.EOF)


def _missing(event: Event, stream: Stream, result: Json) -> int:
    """The number of declared bytes that did not arrive, in a stream that seemed to end well. Where the raw bytes of the
    connection were recorded, the number is known only for bodies that were read as text."""
    if stream.end is None or stream.end.kind is not EndKind.EOF:
        return 0
    declared, size = header(stream.head, "content-length"), stream.size
    if stream.head.get("framing") == "wire":
        if not isinstance(result, str) or header(stream.head, "content-encoding"):
            return 0
        size = len(result.encode())
    bodiless = event.call.head.get("method") == "HEAD" or stream.head.get("status") in (204, 304)
    return max(int(declared) - size, 0) if declared.isdigit() and not bodiless else 0


def _decoded(head: Mapping[str, Json], raw: bytes) -> bytes:
    if "headers" not in head:
        return raw
    encoding = header(head, "content-encoding")
    body = unframed(head, raw)
    undone = undo(encoding, body, _LARGEST << 3) if encoding else None
    return body if undone is None else undone.data


def _promises_json(params: Mapping[str, Json]) -> bool:
    """Whether the parameters of a request, as any of the providers names them, ask for an answer in JSON."""
    found: Any = params.get("response_format") or params.get("format")
    text = params.get("text")
    found = found or (text.get("format") if isinstance(text, Mapping) else None)
    kind = found.get("type") if isinstance(found, Mapping) else found
    mime = params.get("response_mime_type") or params.get("responseMimeType")
    return kind in ("json_object", "json_schema", "json") or mime == "application/json"


def _news(reading: Reading, new: bool) -> Iterator[Mapping[str, Json]]:
    """The messages after the model's last message; with ``new``, all messages: those of a strand's first request."""
    messages = [each for each in reading.messages if isinstance(each, Mapping)]
    last = max((n for n, each in enumerate(messages) if each.get("role") in ("assistant", "model")), default=-1)
    yield from messages if new else messages[last + 1 :]


def _heard(reading: Reading, new: bool) -> Iterator[str]:
    for message in _news(reading, new):
        text = message.get("text") or message.get("content")
        if isinstance(text, str) and text and message.get("role") != "tool":
            yield text


def _results(reading: Reading) -> Iterator[tuple[str, Json]]:
    """The id and the text of each tool result among the new messages."""
    for message in _news(reading, False):
        results = message.get("tool_results")
        if isinstance(results, (list, tuple)):
            yield from ((str(each.get("id") or ""), each.get("text")) for each in results if isinstance(each, Mapping))
        elif message.get("role") == "tool" and isinstance(message.get("text"), str):
            yield str(message.get("id") or ""), message["text"]
