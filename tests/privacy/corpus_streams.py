"""Places in answers that arrive: whole, in events, and in the messages of an AWS event stream."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

from tests.privacy.corpus_places import (
    CUT,
    Place,
    Read,
    Written,
    every_text,
    in_base64,
    in_json,
    pieces,
    read_json,
    read_text,
    text_of,
)


def _events(wrap: Callable[[str], object], lead: str = "data: ") -> Written:
    """A text, some characters an event."""

    def write(field: str, secret: str) -> bytes:
        text = f"Use {field}={secret} for it, and nothing else.\nThen go on."
        return CUT.join(f"{lead}{json.dumps(wrap(piece))}\n\n".encode() for piece in pieces(text))

    return write


def _argument_events(wrap: Callable[[str], object]) -> Written:
    def write(field: str, secret: str) -> bytes:
        text = json.dumps({"host": "db", field: secret, "port": 5432})
        return CUT.join(f"data: {json.dumps(wrap(piece))}\n\n".encode() for piece in pieces(text, 4))

    return write


def _joined(pick: Callable[[Any], str]) -> Read:
    def read(data: bytes) -> str:
        lines = [line.removeprefix("data: ") for line in data.decode().split("\n") if line.strip()]
        return every_text("".join(pick(json.loads(line)) for line in lines))

    return read


def _openai(text: str) -> object:
    return {
        "id": "chatcmpl-8f2",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {"content": text}}],
    }


def _openai_arguments(text: str) -> object:
    call = {"index": 0, "function": {"arguments": text}}
    return {"id": "chatcmpl-8f2", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}


def _anthropic(text: str) -> object:
    return {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": text}}


def _thinking(text: str) -> object:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": text}}


def _anthropic_arguments(text: str) -> object:
    return {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": text}}


def _gemini(text: str) -> object:
    return {"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}]}


def _responses(text: str) -> object:
    return {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "delta": text}


def _interleaved(field: str, secret: str) -> bytes:
    one, two = (
        f"Use {field}={secret} now.\n",
        "Here is a long story of nothing at all that goes on and on and on.\n" * 2,
    )
    out = []
    for n in range(0, max(len(one), len(two)), 4):
        for index, text in enumerate((one, two)):
            if text[n : n + 4]:
                choice = {"index": index, "delta": {"content": text[n : n + 4]}}
                out.append(b"data: " + json.dumps({"id": "c", "choices": [choice]}).encode() + b"\n\n")
    return CUT.join(out)


def _first_choice(data: bytes) -> str:
    out = ""
    for line in data.decode().split("\n"):
        if line:
            choice = json.loads(line.removeprefix("data: "))["choices"][0]
            out += choice["delta"]["content"] if choice["index"] == 0 else ""
    return out


def frame(payload: bytes) -> bytes:
    """One message of an AWS event stream."""
    name, value = b":event-type", b"chunk"
    heads = bytes([len(name)]) + name + b"\x07" + struct.pack(">H", len(value)) + value
    lead = struct.pack(">II", 16 + len(heads) + len(payload), len(heads))
    text = lead + struct.pack(">I", zlib.crc32(lead)) + heads + payload
    return text + struct.pack(">I", zlib.crc32(text))


def frames(data: bytes) -> list[bytes]:
    """The payloads of an AWS event stream, whose sums are right."""
    out = []
    while data:
        size, heads = struct.unpack(">II", data[:8])
        assert zlib.crc32(data[:8]) == struct.unpack(">I", data[8:12])[0]
        assert zlib.crc32(data[: size - 4]) == struct.unpack(">I", data[size - 4 : size])[0]
        out.append(data[12 + heads : size - 4])
        data = data[size:]
    return out


def _aws_whole(field: str, secret: str) -> bytes:
    return frame(json.dumps({"output": {"text": f"{field}={secret} is it"}}).encode())


def _aws_bytes(field: str, secret: str) -> bytes:
    inner = json.dumps({"completion": f"{field}={secret} is it"}).encode()
    return frame(json.dumps({"bytes": base64.b64encode(inner).decode()}).encode())


def _aws_deltas(field: str, secret: str) -> bytes:
    text = f"Use {field}={secret} for it.\nThen go on.\n"
    return CUT.join(
        frame(json.dumps({"contentBlockIndex": 0, "delta": {"text": piece}}).encode()) for piece in pieces(text)
    )


def _read_aws_bytes(data: bytes) -> str:
    return read_json(base64.b64decode(json.loads(frames(data)[0])["bytes"], validate=True))


ANSWERS = (
    # responses
    Place("a response", in_json(lambda n, v: {"id": 7, n: v}), read_json, over="response"),
    Place(
        "an octet stream", text_of("\x01\x02NAME=VALUE\n"), read_text, over="response", media="application/octet-stream"
    ),
    Place(
        "a PDF",
        text_of("%PDF-1.4\n1 0 obj <<>> stream\n(NAME=VALUE) Tj\nendstream\n%%EOF\n"),
        read_text,
        over="response",
        media="application/pdf",
        without="()",
    ),
    Place(
        "base64 in a response",
        in_json(lambda n, v: {"content": in_base64(n, v), "encoding": "base64"}),
        lambda d: read_json(base64.b64decode(json.loads(d)["content"], validate=True)),
        over="response",
    ),
    Place(
        "events",
        _events(_openai),
        _joined(lambda d: d["choices"][0]["delta"]["content"]),
        over="events",
        media="text/event-stream",
    ),
    Place(
        "argument events",
        _argument_events(_openai_arguments),
        _joined(lambda d: d["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"]),
        over="events",
        media="text/event-stream",
    ),
    Place(
        "events of blocks",
        _events(_anthropic),
        _joined(lambda d: d["delta"]["text"]),
        over="events",
        media="text/event-stream",
    ),
    Place(
        "thinking events",
        _events(_thinking),
        _joined(lambda d: d["delta"]["thinking"]),
        over="events",
        media="text/event-stream",
    ),
    Place(
        "argument events of blocks",
        _argument_events(_anthropic_arguments),
        _joined(lambda d: d["delta"]["partial_json"]),
        over="events",
        media="text/event-stream",
    ),
    Place(
        "events of candidates",
        _events(_gemini),
        _joined(lambda d: d["candidates"][0]["content"]["parts"][0]["text"]),
        over="events",
        media="text/event-stream",
    ),
    Place(
        "events of items", _events(_responses), _joined(lambda d: d["delta"]), over="events", media="text/event-stream"
    ),
    Place(
        "lines of JSON",
        _events(lambda text: {"model": "m", "response": text, "done": False}, ""),
        _joined(lambda d: d["response"]),
        over="events",
        media="application/x-ndjson",
    ),
    Place("interleaved events", _interleaved, _first_choice, over="events", media="text/event-stream"),
    Place(
        "an AWS event stream",
        _aws_whole,
        lambda d: read_json(frames(d)[0]),
        over="response",
        media="application/vnd.amazon.eventstream",
    ),
    Place(
        "base64 in an AWS event stream",
        _aws_bytes,
        _read_aws_bytes,
        over="response",
        media="application/vnd.amazon.eventstream",
    ),
    Place(
        "deltas of an AWS event stream",
        _aws_deltas,
        lambda d: "".join(json.loads(each)["delta"]["text"] for each in frames(d)),
        over="events",
        media="application/vnd.amazon.eventstream",
    ),
)
