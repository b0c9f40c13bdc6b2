"""A world for agents to meet: several model providers and a few tools on loopback, moody on purpose.

Nothing here is repeatable: answers, delays, the number of tool calls and the size of chunks are drawn anew for each
request, so a replay that is right cannot be right by luck. It prints its address and ends with its standard input.
"""

from __future__ import annotations

import binascii
import gzip
import json
import random
import struct
import sys
import threading
import time
import urllib.parse
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WORDS = ("amber", "basil", "cedar", "delta", "ember", "fjord", "glade", "heron", "inlet", "jetty", "kiosk", "lemon")
CITIES = ("Oslo", "Lima", "Kyoto", "Accra", "Quito")
chance = random.Random()


def pause(limit_ms: float = 15.0) -> None:
    """Take as long as a real service might, scaled down."""
    time.sleep(chance.random() * limit_ms / 1000)


def sentence(words: int | None = None) -> str:
    """Return some words that nobody can predict."""
    count = words or chance.randint(6, 14)
    return " ".join(chance.choice(WORDS) for _ in range(count)) + f" {chance.randint(0, 10**6)}."


def wanted_calls(tools: list[str], answered: int) -> list[tuple[str, dict[str, Any]]]:
    """Decide which tools the model asks for: fewer the more it has seen, and in the end none."""
    if not tools or answered >= chance.randint(2, 5):
        return []
    picked = [chance.choice(tools) for _ in range(chance.randint(1, 3))]
    return [(name, {"city": chance.choice(CITIES), "nonce": chance.randint(0, 999)}) for name in picked]


class _Moody(BaseHTTPRequestHandler):
    """One request of one agent."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer a tool."""
        pause()
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        name = url.path.rsplit("/", 1)[-1]
        getattr(self, f"tool_{name}", self.tool_lookup)(query)

    def do_POST(self) -> None:
        """Answer a model provider's endpoint."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("transfer-encoding") == "chunked":
            raw = self._read_chunked()
        self.asked: dict[str, Any] = json.loads(raw) if raw[:1] == b"{" else {}
        pause()
        path = urllib.parse.urlsplit(self.path).path
        if "/flaky/" in path and chance.random() < 0.4:
            return self._moody()
        if path.endswith("/chat/completions"):
            return self.openai_chat()
        if path.endswith("/responses"):
            return self.openai_responses()
        if path.endswith("/embeddings"):
            return self.openai_embeddings()
        if path.endswith("/messages"):
            return self.anthropic_messages()
        if path.endswith("/converse"):
            return self.bedrock_converse()
        if path.endswith("/converse-stream"):
            return self.bedrock_stream()
        return self.json({"echo": raw.decode("utf-8", "replace"), "id": uuid.uuid4().hex})

    # -- tools ---------------------------------------------------------------------------------------------------------

    def tool_lookup(self, query: dict[str, str]) -> None:
        """Answer any other tool with something new."""
        self.json({"query": query, "value": chance.randint(0, 10**6), "text": sentence(), "at": time.time()})

    def tool_weather(self, query: dict[str, str]) -> None:
        """Say how the weather is."""
        self.json(
            {"city": query.get("city"), "celsius": round(chance.uniform(-20, 40), 2), "sky": chance.choice(WORDS)}
        )

    def tool_slow(self, query: dict[str, str]) -> None:
        """Take long, by default longer than anybody waits."""
        time.sleep(float(query.get("ms", "2000")) / 1000)
        self.json({"slow": True, "value": chance.random()})

    def tool_maybe(self, query: dict[str, str]) -> None:
        """Be quick or slow, as chance will have it."""
        time.sleep(chance.choice((0.0, 0.01, 0.03, 0.09)))
        self.json({"value": chance.random()})

    def tool_moody(self, query: dict[str, str]) -> None:
        """Fail in many ways, and sometimes not."""
        if chance.random() < 0.6:
            return self._moody()
        return self.json({"value": chance.random()})

    def tool_reset(self, query: dict[str, str]) -> None:
        """Hang up without a word."""
        self.close_connection = True

    def tool_cut(self, query: dict[str, str]) -> None:
        """Promise more than is sent."""
        self.send_response(200)
        self.send_header("content-length", "1000")
        self.end_headers()
        self.wfile.write(sentence(5).encode())
        self.close_connection = True

    def tool_broken(self, query: dict[str, str]) -> None:
        """Send half of a JSON text."""
        self.body(b'{"value": ' + str(chance.random()).encode(), "application/json")

    def tool_zipped(self, query: dict[str, str]) -> None:
        """Send compressed JSON."""
        data = gzip.compress(json.dumps({"value": chance.random(), "text": sentence(200)}).encode())
        self.body(data, "application/json", {"content-encoding": "gzip"})

    def tool_moved(self, query: dict[str, str]) -> None:
        """Send the caller elsewhere, with a cookie."""
        self.send_response(302)
        self.send_header("location", f"/tools/lookup?hop={chance.randint(0, 999)}")
        self.send_header("set-cookie", f"visit={chance.randint(0, 10**9)}; Path=/")
        self.send_header("content-length", "0")
        self.end_headers()

    def tool_lines(self, query: dict[str, str]) -> None:
        """Stream JSON lines, each when it likes."""
        self._begin("application/x-ndjson")
        for number in range(int(query.get("n", "8"))):
            self._chunk(json.dumps({"n": number, "value": chance.random(), "text": sentence()}).encode() + b"\n")
            pause(6)
        self._chunk(b"")

    def tool_blob(self, query: dict[str, str]) -> None:
        """Send random bytes."""
        self.body(chance.randbytes(int(query.get("size", "100000"))), "application/octet-stream")

    # -- OpenAI --------------------------------------------------------------------------------------------------------

    def openai_chat(self) -> None:
        """Answer a chat completion, streamed or whole."""
        asked = self.asked
        tools = [tool["function"]["name"] for tool in asked.get("tools", ())]
        calls = wanted_calls(tools, sum(message["role"] == "tool" for message in asked["messages"]))
        answer = f"call_{uuid.uuid4().hex[:12]}"
        base = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": asked["model"] + "-2026"}
        usage = {"prompt_tokens": chance.randint(5, 90), "completion_tokens": chance.randint(5, 90), "total_tokens": 99}
        made: list[dict[str, Any]] = [
            {"id": f"{answer}{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
            for n, (name, args) in enumerate(calls)
        ]
        text = None if made else sentence()
        if asked.get("response_format"):
            text = json.dumps(
                {"title": sentence(3), "score": chance.choice((chance.randint(0, 9), "many")), "tags": list(WORDS[:3])}
            )
        finish = "tool_calls" if made else "stop"
        if not asked.get("stream"):
            message = {"role": "assistant", "content": text} | ({"tool_calls": made} if made else {})
            choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
            return self.json(base | {"object": "chat.completion", "choices": [choice], "usage": usage})
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": part} for part in pieces(text or "")]
        for index, call in enumerate(made):
            deltas.append(
                {
                    "tool_calls": [
                        {"index": index, **call, "function": {"name": call["function"]["name"], "arguments": ""}}
                    ]
                }
            )
            for part in pieces(call["function"]["arguments"]):
                deltas.append({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
        events = [self._choice(base, delta, None) for delta in deltas] + [self._choice(base, {}, finish)]
        return self.events([(None, event) for event in events], end=b"data: [DONE]\n\n")

    def _choice(self, base: dict[str, Any], delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
        return base | {
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}],
        }

    def openai_responses(self) -> None:
        """Answer the responses endpoint, whole."""
        item = {"type": "output_text", "text": sentence(), "annotations": []}
        message = {"type": "message", "id": f"msg_{uuid.uuid4().hex}", "role": "assistant", "status": "completed"}
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        answer: dict[str, Any] = {"id": f"resp_{uuid.uuid4().hex}", "object": "response", "status": "completed"}
        answer |= {
            "created_at": int(time.time()),
            "model": self.asked["model"],
            "output": [message | {"content": [item]}],
        }
        answer |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None, "metadata": {}}
        answer["usage"] = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12, **details}
        self.json(answer)

    def openai_embeddings(self) -> None:
        """Answer embeddings, whole."""
        texts = self.asked["input"] if isinstance(self.asked["input"], list) else [self.asked["input"]]
        vectors = [[chance.uniform(-1, 1) for _ in range(8)] for _ in texts]
        data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        self.json(
            {
                "object": "list",
                "data": data,
                "model": self.asked["model"],
                "usage": {"prompt_tokens": 3, "total_tokens": 3},
            }
        )

    # -- Anthropic -----------------------------------------------------------------------------------------------------

    def anthropic_messages(self) -> None:
        """Answer messages, streamed or whole."""
        asked = self.asked
        tools = [tool["name"] for tool in asked.get("tools", ())]
        results = sum(
            block["type"] == "tool_result"
            for message in asked["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
        )
        calls = wanted_calls(tools, results)
        blocks: list[dict[str, Any]] = [{"type": "text", "text": sentence()}]
        blocks += [
            {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:16]}", "name": n, "input": a} for n, a in calls
        ]
        usage = {"input_tokens": chance.randint(5, 90), "output_tokens": chance.randint(5, 90)}
        stop = "tool_use" if calls else "end_turn"
        head = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": asked["model"]}
        if not asked.get("stream"):
            return self.json(head | {"content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": usage})
        start = head | {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        events: list[tuple[str, dict[str, Any]]] = [("message_start", {"message": start}), ("ping", {})]
        for index, block in enumerate(blocks):
            text = block["type"] == "text"
            opened = {**block, "text": ""} if text else {**block, "input": {}}
            events.append(("content_block_start", {"index": index, "content_block": opened}))
            for part in pieces(block["text"] if text else json.dumps(block["input"])):
                delta = (
                    {"type": "text_delta", "text": part} if text else {"type": "input_json_delta", "partial_json": part}
                )
                events.append(("content_block_delta", {"index": index, "delta": delta}))
            events.append(("content_block_stop", {"index": index}))
        events.append(
            ("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 7}})
        )
        events.append(("message_stop", {}))
        return self.events([(name, {"type": name, **data}) for name, data in events])

    # -- Bedrock -------------------------------------------------------------------------------------------------------

    def bedrock_converse(self) -> None:
        """Answer converse, whole."""
        asked = self.asked
        tools = [tool["toolSpec"]["name"] for tool in asked.get("toolConfig", {}).get("tools", ())]
        results = sum("toolResult" in block for message in asked["messages"] for block in message["content"])
        calls = wanted_calls(tools, results)
        content: list[dict[str, Any]] = [{"text": sentence()}]
        content += [
            {"toolUse": {"toolUseId": f"tooluse_{uuid.uuid4().hex[:12]}", "name": n, "input": a}} for n, a in calls
        ]
        self.json(
            {
                "output": {"message": {"role": "assistant", "content": content}},
                "stopReason": "tool_use" if calls else "end_turn",
                "usage": {"inputTokens": 5, "outputTokens": chance.randint(1, 99), "totalTokens": 104},
                "metrics": {"latencyMs": chance.randint(1, 999)},
            }
        )

    def bedrock_stream(self) -> None:
        """Answer converse-stream in AWS's binary framing."""
        self._begin("application/vnd.amazon.eventstream")
        self._chunk(frame("messageStart", {"role": "assistant"}))
        for part in pieces(sentence()):
            self._chunk(frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": part}}))
            pause(3)
        self._chunk(frame("contentBlockStop", {"contentBlockIndex": 0}))
        self._chunk(frame("messageStop", {"stopReason": "end_turn"}))
        usage = {"inputTokens": 5, "outputTokens": 9, "totalTokens": 14}
        self._chunk(frame("metadata", {"usage": usage, "metrics": {"latencyMs": chance.randint(1, 999)}}))
        self._chunk(b"")

    # -- the wire ------------------------------------------------------------------------------------------------------

    def json(self, data: object, status: int = 200, headers: dict[str, str] | None = None) -> None:
        """Send JSON."""
        self.body(json.dumps(data).encode(), "application/json", headers, status)

    def body(self, data: bytes, kind: str, headers: dict[str, str] | None = None, status: int = 200) -> None:
        """Send bytes of a known length."""
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.send_header("x-request-id", uuid.uuid4().hex)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def events(self, events: list[tuple[str | None, dict[str, Any]]], end: bytes = b"") -> None:
        """Send server-sent events, cut anywhere."""
        text = b"".join(
            (b"event: " + name.encode() + b"\n" if name else b"") + b"data: " + json.dumps(data).encode() + b"\n\n"
            for name, data in events
        )
        self._begin("text/event-stream")
        data = text + end
        while data:
            size = chance.randint(30, 400)
            self._chunk(data[:size])
            data = data[size:]
            pause(4)
        self._chunk(b"")

    def _moody(self) -> None:
        mood = chance.choice(("limit", "limit", "error", "html"))
        if mood == "limit":
            wait = {"retry-after-ms": str(chance.randint(5, 30)), "retry-after": "0"}
            return self.json({"error": {"message": f"slow down {sentence(2)}", "type": "rate_limit"}}, 429, wait)
        if mood == "error":
            return self.json({"error": {"message": sentence(3), "type": "server_error"}}, 500)
        return self.body(b"<html>bad gateway " + sentence(2).encode(), "text/html", status=502)

    def _begin(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _read_chunked(self) -> bytes:
        data = b""
        while size := int(self.rfile.readline(), 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data


def pieces(text: str) -> list[str]:
    """Cut a text anywhere."""
    parts = []
    while text:
        size = chance.randint(1, 12)
        parts.append(text[:size])
        text = text[size:]
    return parts


def frame(kind: str, data: dict[str, Any]) -> bytes:
    """Return one message of AWS's event stream."""
    headers = b""
    for name, value in ((":message-type", "event"), (":event-type", kind), (":content-type", "application/json")):
        headers += bytes((len(name),)) + name.encode() + b"\x07" + struct.pack("!H", len(value)) + value.encode()
    payload = json.dumps(data).encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack("!I", binascii.crc32(prelude)) + headers + payload
    return message + struct.pack("!I", binascii.crc32(message))


class Server(ThreadingHTTPServer):
    """A server that shrugs when a caller hangs up."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Shrug."""


def main() -> None:
    """Serve until standard input ends."""
    server = Server(("127.0.0.1", 0), _Moody)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
