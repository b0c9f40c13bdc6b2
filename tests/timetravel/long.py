"""Long runs, written through the store's own interface: steps with state, model calls, tools."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from reenact.abc.store import Store
from reenact.facts.call import Call, Effect, End, EndKind, Kind, Value
from reenact.facts.ids import make_run_id
from reenact.facts.record import (
    CallIssued,
    CallSettled,
    CheckpointTaken,
    EvidenceNoted,
    HeadArrived,
    LaneOpened,
    Record,
    RunClosed,
    RunOpened,
    SegmentArrived,
    StreamEnded,
)
from reenact.facts.run import Run, Status, Totals

TURN = 10
"""Events of one turn: a step that holds three model calls and six tools."""

_START_US = 1_760_000_000_000_000
_BATCH = 5000
_URL = "https://api.openai.test/v1/chat/completions"


def keep_long(store: Store, size: int, seed: int = 1, *, odd: int | None = None) -> Run:
    """A run of so many events; from the turn ``odd`` on its tools ask something else."""
    run = Run(make_run_id(_START_US + seed, bytes([seed] * 5)), agent="long", started_us=_START_US + seed)
    log = store.begin(run)
    log.write([RunOpened(run), LaneOpened(0, "root", None)])
    records = _turns(size // TURN, odd)
    while batch := [*islice(records, _BATCH)]:
        log.write(batch)
    run = replace(run, status=Status.OK, ended_us=run.started_us + size, totals=Totals(events=size, models=size // 3))
    log.write([RunClosed(run)])
    log.close()
    return run


def _turns(count: int, odd: int | None) -> Iterator[Record]:
    docs: list[str] = []
    for turn in range(count):
        number = turn * TURN
        yield LaneOpened(turn + 1, f"root>work#{turn + 1}", 0, scope=True)
        yield CallIssued(number, 0, turn, None, number * 10, _step())
        yield CheckpointTaken(number, "in", _state(turn, docs))
        for n in range(1, TURN):
            if n % 3 == 1:
                yield from _model(turn, number, n)
            else:
                yield from _tool(turn, number, n, "else" if odd is not None and turn >= odd else "q")
        docs.append(f"d{turn}")
        yield CheckpointTaken(number, "out", _state(turn + 1, docs))
        yield CallSettled(number, (number + TURN) * 10, Value(b"null"))


def _state(turn: int, docs: list[str]) -> dict[str, bytes]:
    plan = {"goal": "refund", "turn": turn}
    return {
        "goal": b'"refund"', "turn": b"%d" % turn, "docs": json.dumps(docs[-5:]).encode(),
        "plan": json.dumps(plan).encode(),
    }  # fmt: skip


def _step() -> Call:
    return Call(Kind.STEP, "work", Effect.NONE, "step/1", {"step": "work"}, b"{}", source="agent.py:1", observed=True)


def _tool(turn: int, step: int, n: int, asked: str) -> Iterator[Record]:
    body = json.dumps({"args": [], "kwargs": {"query": f"{asked} {turn * TURN + n}"}}).encode()
    call = Call(Kind.TOOL, "search_docs", Effect.READ, "tool/1", {"tool": "search_docs"}, body, "application/json")
    yield CallIssued(step + n, turn + 1, n - 1, step, (step + n) * 10, call)
    yield CallSettled(step + n, (step + n) * 10 + 1, Value(json.dumps({"docs": [f"d{step + n}"]}).encode()))


def _model(turn: int, step: int, n: int) -> Iterator[Record]:
    number = step + n
    asked = {"model": "m", "messages": [{"role": "user", "content": f"question {turn}"}]}
    said = {"model": "m", "choices": [{"message": {"role": "assistant", "content": f"answer {number}"}}]}
    headers = [["content-type", "application/json"]]
    head = {"method": "POST", "url": _URL, "headers": headers}
    body = json.dumps(asked).encode()
    call = Call(Kind.HTTP, "POST api.openai.test", Effect.READ, "http/1", head, body, "application/json")
    yield CallIssued(number, turn + 1, n - 1, step, number * 10, call)
    yield HeadArrived(number, number * 10 + 1, {"status": 429 if number % 997 == 0 else 200, "headers": headers})
    yield SegmentArrived(number, number * 10 + 2, json.dumps({"id": f"chat-{number}", **said}).encode())
    yield StreamEnded(number, number * 10 + 3, End(EndKind.EOF))
    reading = {"dialect": "openai.chat", "model_asked": "m", "model_answered": "m", "text": f"answer {number}"}
    yield EvidenceNoted(
        number, "reading", {**reading, "usage": {"tokens_in": 3, "tokens_out": 2, "input": 3, "output": 2}}
    )
