"""Alterations of a recorded run: for each leaf of each answer that its agent was given, the run in which it differs."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from reenact.facts.call import Kind, Value
from reenact.facts.record import CallIssued, CallSettled, HeadArrived, Record, SegmentArrived
from reenact.store.bundles import PackedRun

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null|[{}\[\],:]')
_LETTER = re.compile(rb"(?<!\\)[A-Za-z0-9]")


@dataclass(frozen=True)
class Alteration:
    """One leaf of one answer that is not what it was.

    Attributes:
        call: Name of the call.
        path: Of the leaf in its answer.
        event: Number of the call.
        start, end: Where the leaf lies in the bytes of the answer.
        instead: What stands there instead.
    """

    call: str
    path: str
    event: int
    start: int
    end: int
    instead: bytes

    @property
    def where(self) -> str:
        """Call and path."""
        return f"{self.call} {self.path}".rstrip()

    def of(self, packed: PackedRun) -> PackedRun:
        """The run, altered."""
        return replace(packed, records=tuple(self._records(packed)))

    def _records(self, packed: PackedRun) -> Iterator[Record]:
        at = 0
        longer = len(self.instead) - (self.end - self.start)
        for record in packed.records:
            if getattr(record, "event", None) != self.event:
                yield record
            elif isinstance(record, CallSettled) and isinstance(record.outcome, Value):
                body = record.outcome.body
                body = body[: self.start] + self.instead + body[self.end :]
                yield replace(record, outcome=replace(record.outcome, body=body))
            elif isinstance(record, HeadArrived):
                yield replace(record, head=_resized(record.head, longer))
            elif isinstance(record, SegmentArrived):
                first, last = max(self.start - at, 0), max(self.end - at, 0)
                size = len(record.data)
                here = self.instead if 0 <= self.start - at < size else b""
                at += size
                yield replace(record, data=record.data[:first] + here + record.data[last:])
            else:
                yield record


def plain(packed: PackedRun) -> PackedRun:
    """The run as it would be had nobody compressed an answer: an alteration is then one of bytes."""
    packing = {
        record.event
        for record in packed.records
        if isinstance(record, HeadArrived) and ["content-encoding", "gzip"] in list(map(list, record.head["headers"]))
    }
    opened = {event: zlib.decompressobj(wbits=zlib.MAX_WBITS | 32) for event in packing}
    records: list[Record] = []
    sizes: dict[int, int] = {}
    for record in packed.records:
        if isinstance(record, SegmentArrived) and record.event in packing:
            record = replace(record, data=opened[record.event].decompress(record.data))
            sizes[record.event] = sizes.get(record.event, 0) + len(record.data)
        records.append(record)
    return replace(packed, records=tuple(_unpacked(record, sizes) for record in records))


def _unpacked(record: Record, sizes: dict[int, int]) -> Record:
    if not isinstance(record, HeadArrived) or record.event not in sizes:
        return record
    headers = [
        [name, str(sizes[record.event]) if name == "content-length" else value]
        for name, value in record.head["headers"]
        if name != "content-encoding"
    ]
    return replace(record, head={**record.head, "headers": headers})


def alterations(packed: PackedRun) -> list[Alteration]:
    """One for every leaf of every answer of a model or a tool. What lies inside a frozen tool is read by nobody."""
    calls = {record.event: record for record in packed.records if isinstance(record, CallIssued)}
    answers: dict[int, bytes] = {}
    for record in packed.records:
        if isinstance(record, SegmentArrived):
            answers[record.event] = answers.get(record.event, b"") + record.data
        elif isinstance(record, CallSettled) and isinstance(record.outcome, Value):
            answers[record.event] = record.outcome.body
    found = []
    for event, body in sorted(answers.items()):
        call = calls[event]
        if call.call.kind not in (Kind.TOOL, Kind.HTTP) or _inside_tool(call, calls):
            continue
        for path, start, end in leaves(body):
            found.append(Alteration(call.call.name, path, event, start, end, other(body[start:end])))
    return found


def leaves(body: bytes) -> Iterator[tuple[str, int, int]]:
    """The leaves of a JSON document, or of those in a stream of server-sent events: path, and where each lies.

    What holds nothing is a leaf too."""
    at = 0
    number = 0
    for line in body.split(b"\n"):
        text = line.removeprefix(b"data: ")
        try:
            json.loads(text)
        except ValueError:
            pass
        else:
            start = at + len(line) - len(text)
            prefix = f"{number}." if len(text) != len(line) else ""
            number += 1
            for path, begin, end in _leaves(text):
                yield prefix + path, start + begin, start + end
        at += len(line) + 1


def _leaves(text: bytes) -> Iterator[tuple[str, int, int]]:
    tokens = [(match.start(), match.end(), match[0]) for match in _TOKEN.finditer(text)]
    path: list[str | int] = []
    for at, (start, end, token) in enumerate(tokens):
        follows = tokens[at + 1][2] if at + 1 < len(tokens) else b""
        if token in (b"[", b"{") and follows in (b"]", b"}"):
            yield ".".join(map(str, path)), start, tokens[at + 1][1]
            path.append("")  # taken away by what follows
        elif token == b"[":
            path.append(0)
        elif token == b"{":
            path.append("")
        elif token in b"]}":
            path.pop()
        elif token == b",":
            if isinstance(path[-1], int):
                path[-1] += 1
        elif follows == b":":
            path[-1] = json.loads(token)
        elif token != b":":
            yield ".".join(map(str, path)), start, end


def other(leaf: bytes) -> bytes:
    """Another value of the same kind; something in the place of nothing."""
    if leaf in (b"true", b"false"):
        return b"false" if leaf == b"true" else b"true"
    if leaf == b"null":
        return b'"x"'
    if leaf[:1] in b"[{":
        return b'["x"]' if leaf[:1] == b"[" else b'{"x":1}'
    found = [match for match in _LETTER.finditer(leaf) if b"\\u" not in leaf[max(match.start() - 5, 0) : match.start()]]
    if not found:
        return b'"x"'
    at = found[-1].start()
    letter = leaf[at : at + 1]
    instead = {b"z": b"a", b"Z": b"A", b"9": b"1"}.get(letter) or bytes([letter[0] + 1])
    return leaf[:at] + instead + leaf[at + 1 :]


def _inside_tool(call: CallIssued, calls: dict[int, CallIssued]) -> bool:
    while call.parent is not None:
        call = calls[call.parent]
        if call.call.kind is Kind.TOOL:
            return True
    return False


def _resized(head: Any, longer: int) -> dict[str, Any]:
    headers = [
        [name, str(int(value) + longer) if name.lower() == "content-length" else value]
        for name, value in head["headers"]
    ]
    return {**head, "headers": headers}
