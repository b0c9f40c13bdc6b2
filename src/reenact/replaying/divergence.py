"""Divergences in words: what was recorded, what happens now, where they first differ, and what likely caused it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from reenact.errors import Divergence
from reenact.facts.abridging import LARGE, abridged
from reenact.facts.call import Call, Failure, Json, Kind, Value
from reenact.facts.credential_search import normalise
from reenact.facts.difference import first_difference, parted, value_at
from reenact.facts.event import Event
from reenact.facts.values import jsonable
from reenact.replaying.replay_lines import NOT_PROVEN, NOT_THE_CODE
from reenact.seams.nodes import node_now

_SHOWN = 300
_COMPUTES = "the agent's own code computes something else from the same answers"
_GAVE = "the code of {} now gives another result, as expected after a fix"
_LEAD = 60
"""The number of characters shown before the place where two long texts begin to differ."""


def asked(head: Any, body: bytes, kind: Kind, *, tagged: bool = False) -> Json:
    """The request of a call as JSON-able data, for people and the diff; ``tagged``: with the types of its values."""
    shown: dict[str, Json] = {}
    for name in ("method", "url", "tool", "step", "model", "prompt"):
        if name in head:
            shown[name] = _plain(head[name])
    if body:
        plain = tagged or kind is Kind.HTTP
        shown["body" if kind is Kind.HTTP else "arguments"] = readable(normalise(body), encoded=not plain)
    return shown


def _in_short(head: Any, body: bytes, kind: Kind) -> Json:
    """The request of a call, shown without another one beside it; a large body is shortened."""
    told = asked(head, body, kind)
    return abridged(told, "arguments") if len(body) > LARGE else told


def _plain(value: Json) -> Json:
    """A value in which credentials and their stand-ins are equal, so that they are never the difference."""
    return normalise(value.encode()).decode() if isinstance(value, str) else value


def readable(body: bytes, *, encoded: bool) -> Json:
    """Bytes as JSON where they are JSON, as text where they are text, as hexadecimal otherwise."""
    try:
        return jsonable(body) if encoded else json.loads(body)
    except Exception:
        try:
            return body.decode()
        except UnicodeDecodeError:
            return body.hex()


def changed(nearest: Event, recorded_body: bytes, call: Call, next_command: str) -> Divergence:
    """The divergence of a call whose request differs from the recording's next one."""
    before = asked(nearest.call.head, recorded_body, nearest.call.kind)
    now = asked(call.head, call.body, call.kind)
    if nearest.call.name != call.name:
        before = {"call": nearest.call.name, **before}
        now = {"call": call.name, **now}
    path, left, right = parted(
        (before, now),
        lambda: (
            asked(nearest.call.head, recorded_body, nearest.call.kind, tagged=True),
            asked(call.head, call.body, call.kind, tagged=True),
        ),
    )
    return _parted(
        nearest,
        f"{call.kind.value} {call.name} differs at {path or 'its kind'}{_sides(left, right)}",
        (before, now),
        path,
        call,
        large=max(len(recorded_body), len(call.body)) > LARGE,
        reason="changed",
        cause=_cause(nearest, call, path),
        next_command=next_command,
    )


def _parted(
    event: Event, told: str, sides: tuple[Json, Json], path: str, call: Call | None, *, large: bool, **said: str
) -> Divergence:
    """The difference between both sides of a recorded event.

    Args:
        event: The event.
        told: The difference, in words, with both sides.
        sides: The recorded data, and the present one.
        path: The path of the difference; empty where all of it differs.
        call: The present call; None where the body of the event ran again.
        large: Whether the sides are shown in short.
        **said: Further fields of the ``Divergence``.
    """
    was, now = sides
    return Divergence(
        f"diverged at event {event.number}: {told}" + (_place(call) if call is not None else ""),
        event=event.number,
        source=(call or event.call).source,
        recorded=abridged(was, path) if large else was,
        now=abridged(now, path) if large else now,
        path=path,
        **said,
    )


def added(call: Call, lane: str, next_command: str, *, imported: bool = False) -> Divergence:
    """The divergence of a call for which the recording holds nothing; an imported recording holds only HTTP
    exchanges."""
    now = _in_short(call.head, call.body, call.kind)
    cause = f"the code makes a further call in lane {lane}, or makes it elsewhere than before"
    if imported and call.kind is Kind.HTTP:
        cause = "the imported file holds no such exchange, or fewer of them than the code requests"
    elif imported:
        cause = f"an imported file holds HTTP exchanges only, and nothing that answers a {call.kind.value}"
    return Divergence(
        f"diverged: {call.kind.value} {call.name} was not made in the recording"
        f"\n  now       {clip(now)}" + _place(call),
        source=call.source,
        now=now,
        reason="added",
        cause=cause,
        next_command=next_command,
    )


def ambiguous(nearest: Event | None, call: Call, next_command: str) -> Divergence:
    """The divergence of a call for which several recorded calls with different outcomes would fit."""
    return Divergence(
        f"diverged: {call.kind.value} {call.name} fits several recorded calls that hold different outcomes"
        + _place(call),
        event=nearest.number if nearest is not None else None,
        source=call.source,
        now=_in_short(call.head, call.body, call.kind),
        reason="ambiguous",
        cause="calls with equal arguments changed places; which recorded answer belongs to which cannot be known",
        next_command=next_command,
    )


def renamed(nearest: Event | None, names: Sequence[str], lane: str, call: Call, next_command: str) -> Divergence:
    """The divergence of a strand with a new name that may be several recorded strands, which had different outcomes."""
    now = lane.rpartition("/")[2]
    return Divergence(
        f"diverged: {call.kind.value} {call.name} is made by {now}, a name that the recording does not have"
        + _place(call),
        event=nearest.number if nearest is not None else None,
        source=call.source,
        now=asked(call.head, call.body, call.kind),
        reason="renamed",
        cause=f"{now.partition('#')[0]} may be what was {' or '.join(names)}: in the recording these made the same"
        " request and got different answers, so it is not known which of them was renamed",
        next_command=next_command,
    )


def missing(event: Event, body: bytes, next_command: str, node: str = "") -> Divergence:
    """The divergence of a recorded call that the agent did not make; ``node``: the node of a graph that had made it."""
    return Divergence(
        f"diverged at event {event.number}: the recorded {event.kind} {event.name} was not made" + _of_node(node),
        event=event.number,
        source=event.call.source,
        recorded=_in_short(event.call.head, body, event.call.kind),
        reason="missing",
        cause="the code no longer makes this call, or waits for something that comes only after it",
        next_command=next_command,
    )


def unproven_order(numbers: Sequence[int], order: Json) -> str:
    """Why unchanged code may behave differently: the order of deliveries was not proven.

    Args:
        numbers: The recorded deliveries with an unproven place, in order.
        order: The policy's order.
    """
    places = f"{numbers[0]} and {len(numbers) - 1} more" if len(numbers) > 1 else str(numbers[0])
    if order == "arrival":
        return f"{NOT_PROVEN}{places}: it was recorded with order = arrival; record with REENACT_ORDER=exact"
    return (
        f"{NOT_PROVEN}{places}: something else could still run there when it was recorded (a busy machine, a "
        f"busy wait){NOT_THE_CODE}; record with REENACT_HOLD_MS=1000 (setting hold_ms)"
    )


def signal_near(name: str) -> str:
    """Why unchanged code may behave differently: a signal came there."""
    return f"{name} came there: a handler that raises may leave the code at another place than it did{NOT_THE_CODE}"


def result_differs(
    event: Event, before: Value | Failure | None, body: bytes, after: Value | Failure, next_command: str
) -> Divergence:
    """The divergence of a body that ran again and returned something else."""
    body_now = after.body if isinstance(after, Value) else b""
    was, now = _result(before, body), _result(after, body_now)
    # If one of them raised, the whole outcome differs: a path into it would say nothing.
    path, left, right = "", was, now
    if isinstance(before, Value) and isinstance(after, Value):
        path, left, right = parted(
            (was, now), lambda: (_result(before, body, tagged=True), _result(after, body_now, tagged=True))
        )
    return _parted(
        event,
        f"{event.kind} {event.name} ended differently, first at {path or 'the value'}{_sides(left, right)}",
        (was, now),
        path,
        None,
        large=max(len(body), len(after.body) if isinstance(after, Value) else 0) > LARGE,
        reason="result",
        cause=_COMPUTES if event.call.observed else _GAVE.format(event.name),
        next_command=next_command,
    )


def output_differs(nearest: Event, recorded_body: bytes, call: Call, next_command: str) -> Divergence:
    """The divergence of a server's program that answers a request with something else."""
    was: Json
    now: Json
    was, now = _answer(nearest.call.head, recorded_body), _answer(call.head, call.body)
    if was == now:  # headers, most of which are not compared, count where nothing else differs
        was, now = dict(nearest.call.head), dict(call.head)
    if isinstance(nearest.outcome, Failure):
        was = _result(nearest.outcome, b"")
    path = "" if isinstance(nearest.outcome, Failure) else first_difference(was, now)
    return _parted(
        nearest,
        f"the {call.name} differs{f' at {path}' if path else ''}{_sides(value_at(was, path), value_at(now, path))}",
        (was, now),
        path,
        call,
        large=max(len(recorded_body), len(call.body)) > LARGE,
        reason="result",
        cause=_COMPUTES,
        next_command=next_command,
    )


def _answer(head: Any, body: bytes) -> Json:
    """The answer of a server's program, as data: its status and its body."""
    return {"status": head.get("status"), "body": readable(normalise(body), encoded=False)}


def read_past(event: Event, next_command: str) -> Divergence:
    """The divergence of an agent that reads a stream further than the recorded run did."""
    return Divergence(
        f"diverged at event {event.number}: {event.name} is read past the point where the recorded run stopped reading",
        event=event.number,
        source=event.call.source,
        reason="end",
        cause="the code reads more of the answer than it did; what follows was never received",
        next_command=next_command,
    )


def end_of_recording(event: int | None, next_command: str, call: Call | None = None) -> Divergence:
    """The divergence where the recording has nothing more: for a further ``call``, or since everything waits."""
    told = ": the agent waits for something that was never handed over"
    if call is not None:
        told = f", before {call.kind.value} {call.name}{_place(call)}"
    return Divergence(
        f"the recording ends here{told}",
        event=event,
        source=call.source if call is not None else None,
        reason="end",
        cause="the recorded process died or was cut off at this point",
        next_command=next_command,
    )


def _result(outcome: Value | Failure | None, body: bytes, *, tagged: bool = False) -> Json:
    if isinstance(outcome, Value):
        return {"value": readable(body, encoded=not tagged)}
    if isinstance(outcome, Failure):
        return {"raised": outcome.error.type, "text": outcome.error.text}
    return None


def _cause(nearest: Event, call: Call, path: str) -> str:
    if nearest.call.name != call.name:
        return "the code calls something else at this point"
    if path.startswith(("body.messages", "body.input", "body.system")):
        return "a prompt or an earlier result that goes into it is different now"
    return "your code now builds a different request"


def _place(call: Call) -> str:
    """Where in the agent's code a call is made, and by which node of a graph."""
    return (f"\n  source    {call.source}" if call.source else "") + _of_node(node_now())


def _of_node(node: str) -> str:
    return f"\n  node      {node if node.isprintable() else clip(node)}" if node else ""


def clip(value: Json) -> str:
    """One line, cut to a length that fits a terminal."""
    text = _line(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + f"… ({len(text)} characters)"


def given(turns: Sequence[str]) -> list[str]:
    """Which turn of a user an agent was given, and of how many; nothing without turns."""
    return [f"input: {clip(' '.join(turns[0].split()))} (turn 1 of {len(turns)})"] if turns else []


def _sides(recorded: Json, now: Json) -> str:
    """Both sides, each on its own line, cut so that the place where they begin to differ is seen, wherever it lies."""
    was, is_now = _line(recorded), _line(now)
    start = 0
    if max(len(was), len(is_now)) > _SHOWN:
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(was, is_now, strict=False)))
        start = max(0, shared - _LEAD)
    return f"\n  recorded  {_stretch(was, start)}\n  now       {_stretch(is_now, start)}"


def _stretch(text: str, start: int) -> str:
    cut = text[start : start + _SHOWN]
    if len(cut) == len(text):
        return text
    rest = "…" if start + _SHOWN < len(text) else ""
    return f"{'…' if start else ''}{cut}{rest} ({len(text)} characters)"


def _line(value: Json) -> str:
    if isinstance(value, str) and value.isprintable():
        return value
    return json.dumps(value, ensure_ascii=False, default=str)
