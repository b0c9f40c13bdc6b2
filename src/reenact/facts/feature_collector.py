"""Gathers a run's features from its records as they are written, so that the end of the run costs almost no time. For
an older run, a reader gives the same facts in the same order of time. The collector keeps only names, the last answer
of each tool and the first request of a model, all bounded.
"""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from reenact.facts.call import Call, EndKind, Failure, Fidelity, Json, Kind, Outcome, Value, calls_a_tool
from reenact.facts.compression import Decoder
from reenact.facts.event import REWRITTEN
from reenact.facts.features import MOST, STEPS, Features, clipped, ended_with, some
from reenact.facts.large_values import is_large, is_withheld
from reenact.facts.late import late
from reenact.facts.open_calls import MODELS, OpenCalls, item_of
from reenact.facts.plumbing import is_plumbing
from reenact.facts.record import (
    CallIssued,
    CallSettled,
    EvidenceNoted,
    HeadArrived,
    LaneOpened,
    Record,
    RunOpened,
    SegmentArrived,
    StreamEnded,
)  # fmt: skip
from reenact.facts.run import Run
from reenact.facts.thinned_runs import PAYLOADS, why_thinned
from reenact.facts.trace_runs import NEEDED, SPAN, Grade, is_traced, is_traced_model, reading_in
from reenact.facts.values import jsonable

if TYPE_CHECKING:
    from reenact.facts.dialects import read
    from reenact.facts.dialects.request_rewriting import as_sent
else:
    as_sent = late("reenact.facts.dialects.request_rewriting", "as_sent")
    read = late("reenact.facts.dialects", "read")

LARGEST: Final = 32 << 10
"""The most bytes of an answer whose form is determined."""
LARGEST_REQUEST: Final = 128 << 10
"""The most bytes of a model request whose system prompt is read."""

_FAILING: Final = 400
_KEPT: Final = 32
_MODEL: Final = "model"
_KEYS, _DIGEST, _ENDED, _CALLS = 10, 16, 64, 4096
_UNSTORED: Final = 256
_ACTS: Final = frozenset((Kind.TOOL, Kind.RETRIEVAL, Kind.HTTP, Kind.MODEL, Kind.MCP, Kind.DB, Kind.PROCESS))
_SHORT: Final = 12


class _Part:
    """The facts noticed about one run: the log's own, or a child run."""

    def __init__(self) -> None:
        self.steps: deque[str] = deque(maxlen=_KEPT)
        self.calls: deque[str] = deque(maxlen=_KEPT)
        self.outermost: deque[str] = deque(maxlen=2)
        """Steps in no other call. In a trace, the step that contains all others is the run itself."""
        self.failing = ""
        self.tools: dict[str, None] = {}
        self.answers: dict[str, bytes | str] = {}
        self.asked: dict[str, None] = {}
        self.answered: dict[str, None] = {}
        self.schemas: dict[str, None] = {}
        self.prompts: dict[str, None] = {}
        self.requests: dict[int, Call] = {}
        self.endpoints: set[str] = set()
        """The names of calls that are model calls. Features name such a call without
        its model, and keep no form of its answers."""
        self.told: Counter[str] = Counter()
        self.untold: Counter[str] = Counter()
        """For a trace, how many calls each item of the kit concerns, and for how many of them the item is absent."""
        self.unstored: dict[int, str] = {}
        """Calls whose answers are not kept, each with its item of the kit."""
        self.commit = ""

    def came(self, name: str, failed: bool, answer: bytes | str | None) -> None:
        """Note that a call has ended."""
        if failed:
            self.failing = name
        elif self.failing == name:
            self.failing = ""
        if answer is not None and (name in self.answers or len(self.answers) < MOST):
            self.answers[name] = answer


class _Call:
    """A call under way."""

    __slots__ = ("head", "name", "nested", "parts", "size", "where")

    def __init__(self, name: str, where: tuple[_Part, ...], nested: bool) -> None:
        self.name = name
        self.where = where
        self.nested = nested
        self.head: Mapping[str, Json] | None = None
        self.parts: list[bytes] = []
        self.size = 0


class FeatureCollector:
    """The features of the runs of one log, so far."""

    def __init__(self) -> None:
        self._own = _Part()
        self._inside: dict[str, _Part] = {}
        self._left: dict[str, _Part] = {}
        """Inner runs that have ended. They are kept because readings of their model calls may still come."""
        self._paths: dict[int, str] = {}
        self._open: dict[int, _Call] = {}
        self._asked = OpenCalls[tuple[_Part, ...]]()
        self._unkept: dict[int, Record] = {}
        self._lanes: dict[int, str] = {}
        """The lane of each call that may be a model call, while runs are inside this one."""

    def take(self, record: Record) -> None:
        """Take in a record, unless it was taken in before, because a batch that could not be written comes again. About
        1 µs."""
        if id(record) not in self._unkept:
            self._unkept[id(record)] = record
            self.see(record)

    def kept(self) -> None:
        """Note that all records taken in are written."""
        self._unkept.clear()

    def see(self, record: Record) -> None:
        """Take in a record that comes only once."""
        seen = _SEEN_BY.get(type(record))
        if seen is not None:
            seen(self, record)

    def features(self, run: Run) -> Features:
        """The features of a run of this log that has ended. 0.1 ms, with a long prompt up to 2 ms."""
        part = self._ended_part(run.lane) if run.lane else self._own
        kind, message = ended_with(run)
        git = run.environment.get("git")
        commit = part.commit or self._own.commit or str(git.get("commit") or "" if isinstance(git, Mapping) else "")
        steps = list(part.steps)
        if is_traced(run) and len(part.outermost) == 1 and steps[:1] == list(part.outermost):
            del steps[0]
        return Features(
            error=kind,
            template=message,
            tool="a model call" if part.failing in part.endpoints else part.failing,
            steps=_last(steps) if steps else _last(_plain(part.calls, part.endpoints)),
            asked=some(part.asked),
            answered=some(part.answered),
            version=clipped(run.version),
            tools=some(part.tools),
            shapes=some(shape(name, said) for name, said in part.answers.items() if name not in part.endpoints),
            prompts=some(part.prompts or map(_prompt, part.requests.values())),
            schemas=some(digest[:_SHORT] for digest in part.schemas),
            commit=commit[:_SHORT],
            cold=tuple(dict.fromkeys(_cold(run, part))),
        )

    def _ended_part(self, lane: str) -> _Part:
        part = self._inside.pop(lane, None) or self._left.get(lane) or _Part()
        self._left[lane] = part
        if len(self._left) > _ENDED:
            del self._left[next(iter(self._left))]
        return part

    # --- what happens ----------------------------------------------------------------------------------------------

    def issued(self, event: int, lane: str, parent: int | None, call: Call) -> None:
        """Note that a call was issued."""
        kind = call.kind
        if kind is Kind.STEP:
            self._stepped(lane, parent, clipped(call.name))
            return
        if item_of(call):
            self._asked.issued(event, parent, call, self._where(lane))
        if kind not in _ACTS or is_plumbing(call):
            return
        name, where, tool = clipped(call.name), self._where(lane), calls_a_tool(call)
        nested = parent in self._open
        self._open[event] = _Call(name, where, nested)
        if self._inside:
            self._lanes[event] = lane
            if len(self._lanes) > _CALLS:
                del self._lanes[next(iter(self._lanes))]
        for part in where:
            if not nested:
                _add(part.calls, name)
            if tool and len(part.tools) < MOST:
                part.tools[name] = None
            if kind is Kind.MODEL:
                part.endpoints.add(name)
            if kind is Kind.MODEL and not is_traced_model(call):
                part.asked[name] = None
            elif len(part.requests) < STEPS and _may_ask(call):
                part.requests[event] = call

    def _stepped(self, lane: str, parent: int | None, name: str) -> None:
        for part in self._where(lane):
            _add(part.steps, name)
            if parent is None:
                part.outermost.append(name)

    def settled(self, event: int, outcome: Outcome, fidelity: Fidelity = Fidelity.EXACT) -> None:
        """Note that a call returned or raised."""
        self._stored(event, outcome, fidelity)
        seen = self._open.pop(event, None)
        if seen is None or seen.nested:
            return
        answer: bytes | str | None = None
        if isinstance(outcome, Failure):
            answer = f"raises {outcome.error.type}"
        elif isinstance(outcome, Value) and not is_large(outcome.body) and not is_withheld(outcome.body):
            answer = bytes(outcome.body) if len(outcome.body) <= LARGEST else "large"
        for part in seen.where:
            part.came(seen.name, isinstance(outcome, Failure), answer)

    def began(self, event: int, head: Mapping[str, Json]) -> None:
        """Note that a stream began."""
        seen = self._open.get(event)
        if seen is not None:
            seen.head = head

    def withheld(self, event: int) -> None:
        """Note that a part of a stream is not kept."""
        self._asked.withheld(event)

    def arrived(self, event: int, data: bytes) -> None:
        """Take in bytes of a stream."""
        seen = self._open.get(event)
        if seen is not None and not seen.nested:
            seen.size += len(data)
            if seen.size <= LARGEST:
                seen.parts.append(bytes(data))

    def ended(self, event: int, kind: EndKind) -> None:
        """Note that a stream ended."""
        self._stored(event, None, Fidelity.EXACT)
        seen = self._open.pop(event, None)
        if seen is None or seen.nested:
            return
        status = (seen.head or {}).get("status")
        failed = kind is EndKind.ERROR or (isinstance(status, int) and status >= _FAILING)
        answer = f"status {status}" if failed else _json_of(seen)
        for part in seen.where:
            part.came(seen.name, failed, answer)

    def _stored(self, event: int, outcome: Outcome | None, fidelity: Fidelity) -> None:
        missed = self._asked.ended(event, outcome, fidelity)
        for part in missed[1] if missed else ():
            if missed and len(part.unstored) < _UNSTORED:
                part.unstored[event] = missed[0]

    def noted(self, event: int | None, key: str, value: Json) -> None:
        """Take in evidence."""
        if key == "prompt_version" and value:
            for part in self._where_of(event):
                part.prompts[str(value)] = None
        elif event is None:
            if key == "kit.revision" and isinstance(value, Mapping):
                self._own.commit = str(value.get("commit") or "")
        elif key == "reading" and isinstance(value, Mapping):
            for part in self._where_of(event):
                if event in part.unstored:
                    part.unstored[event] = MODELS
                if event in part.requests:
                    part.endpoints.add(clipped(part.requests[event].name))
                _note_model(part, value)
        elif key == REWRITTEN:
            for part in self._where_of(event):
                if event in part.requests:
                    part.requests[event] = as_sent(part.requests[event], value)
        elif key == SPAN and isinstance(value, Mapping):
            self._span(event, value)

    def _span(self, event: int, value: Mapping[str, Json]) -> None:
        grades = value.get("fidelity")
        for item, (said, wanted) in NEEDED.items():
            if isinstance(grades, Mapping) and said in grades:
                for part in self._where_of(event):
                    part.told[item] += 1
                    part.untold[item] += grades.get(wanted, Grade.ABSENT) == Grade.ABSENT

    def _where(self, lane: str) -> tuple[_Part, ...]:
        """The runs that a lane belongs to."""
        if not self._inside:
            return (self._own,)
        return (self._own, *(part for own, part in self._inside.items() if _belongs(lane, own)))

    def _where_of(self, event: int | None) -> tuple[_Part, ...]:
        """The runs that an event belongs to."""
        lane = "" if event is None else self._lanes.get(event, "")
        if not lane:
            return (self._own,)
        inside = {**self._left, **self._inside}
        return (self._own, *(part for own, part in inside.items() if _belongs(lane, own)))

    # --- records ---------------------------------------------------------------------------------------------------

    def _opened(self, record: RunOpened) -> None:
        if record.run.lane:
            self._inside[record.run.lane] = _Part()

    def _lane(self, record: LaneOpened) -> None:
        self._paths[record.number] = record.path

    def _issued(self, record: CallIssued) -> None:
        self.issued(record.event, self._paths.get(record.lane, ""), record.parent, record.call)

    def _settled(self, record: CallSettled) -> None:
        self.settled(record.event, record.outcome, record.fidelity)

    def _head(self, record: HeadArrived) -> None:
        self.began(record.event, record.head)

    def _segment(self, record: SegmentArrived) -> None:
        if record.fidelity is Fidelity.WITHHELD:
            self.withheld(record.event)
        self.arrived(record.event, record.data)

    def _stream(self, record: StreamEnded) -> None:
        self.ended(record.event, record.end.kind)

    def _noted(self, record: EvidenceNoted) -> None:
        self.noted(record.event, record.key, record.value)


_SEEN_BY: Final[Mapping[type, Callable[[FeatureCollector, Any], None]]] = {
    RunOpened: FeatureCollector._opened,
    LaneOpened: FeatureCollector._lane,
    CallIssued: FeatureCollector._issued,
    CallSettled: FeatureCollector._settled,
    HeadArrived: FeatureCollector._head,
    SegmentArrived: FeatureCollector._segment,
    StreamEnded: FeatureCollector._stream,
    EvidenceNoted: FeatureCollector._noted,
}


def _cold(run: Run, part: _Part) -> Iterator[str]:
    """Items of the kit without which a run cannot be replayed: those that its kit lists, except for damaged bytes."""
    if is_traced(run):
        yield from (item for item, calls in part.told.items() if part.untold[item] == calls)
    else:
        yield from part.unstored.values()
    if why_thinned(run):
        yield PAYLOADS


def _belongs(path: str, lane: str) -> bool:
    return path.startswith(lane) and path[len(lane) : len(lane) + 1] in ("", "/", ">")


def _add(last: deque[str], name: str) -> None:
    """Add a step. A repeated step is added once, because the number of repetitions makes no difference to a failure."""
    if not last or last[-1] != name:
        last.append(name)


def _plain(calls: Iterable[str], models: Container[str]) -> Iterator[str]:
    """The names of calls, without the names of models: a failure stays the same failure with another model."""
    return (_MODEL if name in models else name for name in calls)


def _last(names: Iterable[str]) -> tuple[str, ...]:
    """The last of some names, without repeats."""
    return tuple(name for name, _ in groupby(names))[-STEPS:]


def _may_ask(call: Call) -> bool:
    """Whether a call may be a request to a model that is short enough to be read."""
    return (call.kind is Kind.MODEL or call.head.get("method") == "POST") and len(call.body) <= LARGEST_REQUEST


def _note_model(part: _Part, reading: Mapping[str, Json]) -> None:
    for names, key in ((part.asked, "model_asked"), (part.answered, "model_answered"), (part.schemas, "tools_hash")):
        if reading.get(key) and len(names) < MOST:
            names[str(reading[key])] = None


def _prompt(call: Call) -> str:
    """The short digest of the system prompt of a model request, as a checkpoint names it; empty where it has none."""
    body = bytes(call.body)
    reading = reading_in(body, b"") if is_traced_model(call) else read(call.head, body, {}, b"")
    system = "" if reading is None else reading.system
    return hashlib.sha256(system.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST] if system else ""


def _json_of(seen: _Call) -> bytes | None:
    """The data of an answer's body; None for a body that is no JSON, or was too long to keep."""
    if seen.head is None or seen.size > LARGEST:
        return None
    pairs = seen.head.get("headers")
    headers = {str(name).lower(): str(value) for name, value in pairs} if isinstance(pairs, (list, tuple)) else {}
    if "json" not in headers.get("content-type", ""):
        return None
    return Decoder(headers.get("content-encoding", "")).feed(b"".join(seen.parts), LARGEST)


# --- the form of an answer -------------------------------------------------------------------------------------------


def shape(name: str, answer: bytes | str) -> str:
    """The form of a tool's result, without its values: ``lookup_order {id: text, items: [{sku: text}]}``.

    Args:
        name: The name of the tool.
        answer: The encoded value, or a text in its place.

    Returns:
        The form, at most as long as a name may be. A longer form is cut, and ends with a digest of the whole.
    """
    form = answer if isinstance(answer, str) else _form(jsonable(answer), 2)
    text = f"{name} {form}"
    if len(text) <= _LONGEST:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_SHORT]
    return f"{text[: _LONGEST - _SHORT - 3]}… #{digest}"


_LONGEST: Final = 118


def _form(value: Json, depth: int) -> str:
    if isinstance(value, Mapping):
        if depth == 0:
            return "{…}"
        items = sorted(((str(key), item) for key, item in value.items()), key=lambda pair: pair[0])
        parts = [f"{_key(key)}: {_form(item, depth - 1)}" for key, item in items[:_KEYS]]
        return f"{{{', '.join(dict.fromkeys(parts))}{', …' if len(items) > _KEYS else ''}}}"
    if isinstance(value, (list, tuple)):
        return f"[{_form(value[0], depth)}]" if value else "[]"
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    return "number" if isinstance(value, int | float) else "text"


def _key(key: str) -> str:
    """The name of a field; for a name with a digit a mark, because the name is then a value."""
    return "*" if any(letter.isdigit() for letter in key) else key[:40]
