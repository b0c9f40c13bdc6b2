"""Recorded runs for the command line's tests, written as records: a loop, a failure, declared steps, an open end."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from reenact.facts.call import Call, Effect, End, EndKind, ErrorFact, Failure, Kind, Value
from reenact.facts.ids import make_run_id
from reenact.facts.record import (
    CallIssued,
    CallSettled,
    CheckpointTaken,
    EvidenceNoted,
    HeadArrived,
    LaneOpened,
    OutputPrinted,
    Record,
    RunClosed,
    SegmentArrived,
    StreamEnded,
)
from reenact.facts.run import Entry, Run, Status, Totals

START_US = 1_760_000_000_000_000
URL = "https://api.openai.test/v1/chat/completions?a=1"


class Scene:
    """Writes one run into a store, event by event."""

    def __init__(self, store: Any, seed: int, **fields: Any) -> None:
        self.run = Run(
            make_run_id(START_US + seed * 1_000_000, bytes([seed] * 5)), started_us=START_US + seed, **fields
        )
        self._log = store.begin(self.run)
        self._put(LaneOpened(0, "root", None))
        self._next = 0

    def _put(self, *records: Record) -> None:
        self._log.write(records)

    def lane(self, number: int, path: str) -> None:
        """Open a further lane."""
        self._put(LaneOpened(number, path, 0))

    def issue(self, kind: Kind, name: str, body: bytes = b"", *, parent: int | None = None, **more: Any) -> int:
        number = self._next
        self._next += 1
        lane = more.pop("lane", 0)
        call = Call(kind, name, more.pop("effect", Effect.READ), "test/1", body=body, source="agent.py:41", **more)
        self._put(CallIssued(number, lane, number, parent, number * 1000, call))
        return number

    def settle(self, number: int, value: Any) -> int:
        self._put(CallSettled(number, number * 1000 + 400, Value(json.dumps(value).encode())))
        return number

    def tool(self, name: str, result: Any = None, *, parent: int | None = None, **kwargs: Any) -> int:
        body = json.dumps(kwargs).encode()
        return self.settle(self.issue(Kind.TOOL, name, body, parent=parent), result)

    def fail(self, name: str, type_: str, text: str, **kwargs: Any) -> int:
        number = self.issue(Kind.TOOL, name, json.dumps(kwargs).encode())
        self._put(CallSettled(number, number * 1000 + 400, Failure(ErrorFact(type_, text))))
        return number

    def http(self, request: bytes, answer: bytes, status: int = 200, reading: Any = None, **more: Any) -> int:
        answer_head = more.pop("head", {"status": status, "headers": [["content-type", "application/json"]]})
        head = {
            "method": "POST",
            "url": URL,
            "headers": [["Content-Type", "application/json"], ["Authorization", "‹credential›"], ["X-Odd", "it's"]],
        }
        number = self.issue(Kind.HTTP, "POST api.openai.test", request, head=head, **more)
        self._put(HeadArrived(number, number * 1000 + 100, answer_head))
        for part in (answer[:5], answer[5:]):
            self._put(SegmentArrived(number, number * 1000 + 200, part))
        self._put(StreamEnded(number, number * 1000 + 400, End(EndKind.EOF)))
        if reading is not None:
            self._put(EvidenceNoted(number, "reading", reading))
        return number

    def step(self, name: str, before: Any, after: Any) -> int:
        number = self.issue(Kind.STEP, name, observed=True, effect=Effect.NONE)
        self._put(CheckpointTaken(number, "in", _slots(before)))
        self._put(CheckpointTaken(number, "out", _slots(after)))
        return self.settle(number, None)

    def note(self, key: str, value: Any) -> None:
        self._put(EvidenceNoted(None, key, value))

    def print(self, text: str) -> None:
        self._put(OutputPrinted(1, 0, text.encode()))

    def close(self, status: Status, **fields: Any) -> Run:
        totals = Totals(events=self._next, **fields.pop("totals", {}))
        self.run = replace(self.run, status=status, ended_us=self.run.started_us + 2_800_000, totals=totals, **fields)
        self._put(RunClosed(self.run))
        self._log.close()
        return self.run


def _slots(state: dict[str, Any]) -> dict[str, bytes]:
    return {key: json.dumps(value).encode() for key, value in state.items()}


def reading(*calls: tuple[str, dict[str, Any]], text: str = "") -> dict[str, Any]:
    """The reading of a model call that decided on tools, or on a text."""
    return {
        "provider": "openai",
        "model": "sonnet-test",
        "params": {"temperature": 0.7},
        "text": text,
        "tool_calls": [{"id": "c1", "name": name, "arguments": json.dumps(arguments)} for name, arguments in calls],
        "usage": {"input": 10, "output": 5},
    }


def loop(store: Any, seed: int = 1, times: int = 20) -> Run:
    """A docs agent that asks the same question over and over; the conversation grows, the decision does not."""
    scene = Scene(store, seed, agent="docs", version="1.2", user="u_7710", tenant="acme", session="s1",
                  tags={"owner": "ann"}, entry=Entry("command", ("python", "agent.py")))  # fmt: skip
    scene.settle(scene.issue(Kind.INPUT, "input", b'"what is the refund policy?"', observed=True), None)
    asking = reading(("search_docs", {"query": "refund policy"}))
    for turn in range(times):
        scene.issue(Kind.CLOCK, "time.time")
        scene.http(json.dumps({"messages": ["x"] * turn}).encode(), b'{"choices": []}', reading=asking)
        scene.tool("search_docs", {"docs": [], "count": 0}, query="refund policy")
    scene.print("no answer\n")
    return scene.close(Status.TIMEOUT, totals={"models": times, "tools": times, "tokens_in": 200, "tokens_out": 100})


def broken(store: Any, seed: int = 2) -> Run:
    """An order agent: nested exchange, a provider that says 429, a tool that raises, a call never answered."""
    scene = Scene(store, seed, agent="order-lookup", user="u_1")
    outer = scene.issue(Kind.TOOL, "get_order", b'{"order": 4421}')
    scene.http(b'{"q": 1}', b'{"price": 12, "esc": "\\u001b[31mred"}', parent=outer)
    scene.settle(outer, {"id": 4421, "a.b": {"~": 1}})
    scene.http(b'{"q": 2}', b'{"error": "slow down"}', status=429)
    scene.fail("send_email", "smtplib.SMTPException", "mailbox\nfull", to="ann")
    scene.issue(Kind.TOOL, "never", b"{}")
    return scene.close(Status.FAILED, error="SMTPException: mailbox full", totals={"tools": 3, "models": 1})


def stepped(store: Any, seed: int = 3) -> Run:
    """An agent whose author named the steps and their state."""
    scene = Scene(store, seed, agent="steps", user="u_2")
    first = scene.step("plan", {"docs": []}, {"docs": ["a"]})
    scene.tool("search_docs", ["a"], parent=first, query="x")
    second = scene.step("write", {"docs": ["a"]}, {"docs": ["a"], "text": "done"})
    scene.http(b"{}", b"{}", reading=reading(text="The order is shipped."), parent=second)
    scene.note("cost", 0.004)
    return scene.close(Status.OK, totals={"models": 1, "tools": 1, "tokens_in": 10, "tokens_out": 5})
