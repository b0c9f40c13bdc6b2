"""The scripted provider: a small HTTP/1.1 server on loopback that answers from a script. It is not a model."""

from __future__ import annotations

import json
import socket
import threading
import traceback
from collections import Counter, OrderedDict
from collections.abc import Mapping
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from reenact.abc.sources import CLOCK, ENTROPY, Clock, Entropy
from reenact.facts.answers.asks import Turn
from reenact.facts.answers.wire_formats import encoded
from reenact.facts.call import Json
from reenact.testing.provider.provider_decisions import HttpRequest, decide, failed
from reenact.testing.provider.provider_wire import SERVER, ConnectionCut, reset_connection, sent
from reenact.testing.provider.script import Fault, Reply, Script, server_error

CONTROL = "/-/"
"""Path of the world's own endpoint: GET shows the counts and the day, POST ``{"day": 2}`` sets the day."""

KEY = "sk-scripted-provider-takes-any-key"
"""The key that ``environment`` gives. Any will do; none is refused, as with the real ones."""

_REMEMBERED = 1000


class ScriptedProvider:
    """A provider of models and tools that answers from a script, on a random port of 127.0.0.1.

    It speaks OpenAI's chat completions and responses and Anthropic's messages, whole and streamed, and JSON over
    HTTP for tools. At temperature 0, or with a seed, the same request gets the same answer; ids and times are new in
    each. It is no model and says so: ``Server: reenact-scripted-provider`` and ``x-reenact-scripted: 1``.

    Use it as a context manager; its threads are daemons and end with it. A program under test that is recorded should
    talk to a provider in a process of its own (``ProviderProcess``), as it would to a real one.

    Args:
        script: The world; without one, models improvise.
        day: The world's first day.
        clock: The source of its times.
        entropy: The source of its ids, and of its answers above temperature 0 without a seed.
    """

    def __init__(
        self, script: Script | None = None, *, day: int = 1, clock: Clock = CLOCK, entropy: Entropy = ENTROPY
    ) -> None:
        self.script = script or Script()
        self.day = day
        self._clock = clock
        self._entropy = entropy
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._planned: list[tuple[str, Fault]] = []
        self._memory: OrderedDict[str, tuple[Turn, ...]] = OrderedDict()
        self._connections: set[socket.socket] = set()
        self._stopping = threading.Event()
        self._last_us = clock.mono_us()
        self._server: _Server | None = None
        self._port = 0

    def __enter__(self) -> ScriptedProvider:
        self.listen()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Base URL, without a path and without a slash at its end."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of requests, by path."""
        with self._lock:
            return dict(self._counts)

    @property
    def calls(self) -> int:
        """The number of requests to any path."""
        with self._lock:
            return sum(self._counts.values())

    def environment(self) -> dict[str, str]:
        """Environment variables that point the real SDKs here."""
        return environment(self.url)

    def listen(self) -> None:
        """Open the door: on a random port at first, on the same one after ``refuse``."""
        if self._server is not None:
            return
        self._stopping.clear()
        self._server = _Server(self, self._port)
        self._port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, args=(0.05,), name=SERVER, daemon=True).start()

    def refuse(self) -> None:
        """Close the door and every connection: new ones are refused until ``listen`` is called."""
        server, self._server = self._server, None
        if server is None:
            return
        self._stopping.set()
        server.shutdown()
        server.server_close()
        with self._lock:
            connections, self._connections = self._connections, set()
        for connection in connections:
            _shut(connection)

    def stop(self) -> None:
        """End the server; its counts can still be read."""
        self.refuse()

    def fail(self, fault: Fault, *, path: str = "/", times: int = 1) -> None:
        """Make the next requests fail.

        Args:
            fault: The fault.
            path: The beginning of their path.
            times: The number of requests.
        """
        with self._lock:
            self._planned += [(path, fault)] * times

    def idle_s(self) -> float:
        """Seconds since the last request came."""
        return (self._clock.mono_us() - self._last_us) / 1_000_000

    def _arrived(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[HttpRequest, Fault | None]:
        path = target.partition("?")[0]
        with self._lock:
            self._last_us = self._clock.mono_us()
            self._counts[path] += 1
            request = HttpRequest(method, target, headers, body, self._counts[path], self.day)
            at = next((at for at, (start, _) in enumerate(self._planned) if path.startswith(start)), None)
            return request, None if at is None else self._planned.pop(at)[1]

    def _answer(self, request: HttpRequest, planned: Fault | None) -> tuple[Reply, Fault | None]:
        if planned is not None and planned.kind == "status":
            return failed(request, planned), None
        fresh = self._entropy.bytes(64)
        decision = decide(self.script, request, self._memory.get, fresh, self._clock.wall_us() // 1_000_000)
        fault = planned or decision.fault
        if fault is not None and fault.kind == "status":
            return failed(request, fault), None
        if decision.remember is not None:
            with self._lock:
                self._memory[decision.remember[0]] = decision.remember[1]
                while len(self._memory) > _REMEMBERED:
                    self._memory.popitem(last=False)
        return decision.reply, fault

    def _control(self, method: str, body: bytes) -> Json:
        if method == "POST":
            asked = json.loads(body)
            with self._lock:
                self.day = int(asked["day"])
        return {
            "server": SERVER,
            "about": "scripted answers, not a model",
            "day": self.day,
            "counts": dict(self.counts),
        }


def environment(url: str) -> dict[str, str]:
    """Environment variables that point the real SDKs at the provider under ``url``."""
    return {
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
    }


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # the client has closed it already


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256
    block_on_close = False

    def __init__(self, world: ScriptedProvider, port: int) -> None:
        self.world = world
        super().__init__(("127.0.0.1", port), _Handler)

    def server_bind(self) -> None:
        """Bind without asking the resolver for a host name, as the standard server does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection, so that it can be ended with the server."""
        with self.world._lock:
            self.world._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget the connection and close it."""
        with self.world._lock:
            self.world._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that hang up: tests make them do that."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_version = SERVER
    sys_version = ""
    server: _Server

    def do_GET(self) -> None:
        """Answer a GET."""
        self._serve()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815  # the standard library's names

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the standard library's name
        """Log nothing."""

    def _serve(self) -> None:
        world = self.server.world
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self._body(headers)
        fault: Fault | None = None
        if self.path.startswith(CONTROL):
            reply = Reply(
                headers=(("content-type", "application/json"),), body=encoded(world._control(self.command, body))
            )
        else:
            request, planned = world._arrived(self.command, self.path, headers, body)
            reply, fault = self._answer(request, planned)
        if fault is not None and fault.kind in {"silent", "refused"}:
            self._hang_up(fault)
            return
        try:
            sent(
                reply,
                fault,
                send=self.connection.sendall,
                keep=not self.close_connection,
                gzip="gzip" in headers.get("accept-encoding", ""),
                date=formatdate(world._clock.wall_us() / 1_000_000, usegmt=True),
                pause=world._stopping.wait,
            )
        except (ConnectionCut, OSError):
            self._hang_up(fault)

    def _answer(self, request: HttpRequest, planned: Fault | None) -> tuple[Reply, Fault | None]:
        try:
            return self.server.world._answer(request, planned)
        except Exception:
            traceback.print_exc()  # a mistake in the script: show it to its author, and give the client an answer
            return failed(request, server_error()), None

    def _hang_up(self, fault: Fault | None) -> None:
        self.close_connection = True
        if fault is not None and fault.kind == "refused":
            self.server.world.refuse()
        elif fault is not None and fault.kind == "reset":
            reset_connection(self.connection)
            # A shutdown would send an orderly end first: close at once, and the socket's own settings send the reset.
            self.rfile.close()
            self.connection.close()

    def _body(self, headers: Mapping[str, str]) -> bytes:
        if "chunked" not in headers.get("transfer-encoding", ""):
            return self.rfile.read(int(headers.get("content-length") or 0))
        parts: list[bytes] = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass  # trailers
        return b"".join(parts)
