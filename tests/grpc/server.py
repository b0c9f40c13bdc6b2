"""A real gRPC server on loopback with generic handlers: no generated code, every answer holds a number given once.

It is a process of its own (``Server``): nothing of it is left when it is closed. It ends when nobody holds its input.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc


class Server:
    """The server as a process.

    Args:
        folder: Where it leaves a line for each call that reaches it.
    """

    def __init__(self, folder: Path) -> None:
        self._marks = folder / "calls-that-arrived"
        command = [sys.executable, str(Path(__file__)), str(self._marks)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def calls(self) -> int:
        """How many calls have reached it."""
        return len(self._marks.read_text().splitlines()) if self._marks.exists() else 0

    def sent(self) -> list[list[str]]:
        """Of each call that has reached it, by its method: traceparent and baggage."""
        return [line.rpartition("/")[2].split(" ") for line in self._marks.read_text().splitlines()]

    def until_one_hangs(self) -> None:
        """Wait until the next call that hangs does so."""
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "hangs\n"

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


def _hang() -> None:
    print("hangs", flush=True)
    threading.Event().wait(60)


class Handler(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """Answers four methods, one of each shape.

    ``fail`` ends with an error, ``wait`` waits until a ``quick`` has come, ``hang`` until the server ends.

    Args:
        marks: File that gets a line for each call.
    """

    def __init__(self, marks: str) -> None:
        self._marks = marks
        self._numbers = itertools.count(100)
        self._quick = threading.Semaphore(0)

    def service(self, handler_call_details: Any) -> Any:
        """The handler of a method."""
        with open(self._marks, "a") as file:
            sent = dict(handler_call_details.invocation_metadata or ())
            file.write(f"{handler_call_details.method} {sent.get('traceparent', '')} {sent.get('baggage', '')}\n")
        method = handler_call_details.method.rpartition("/")[2]
        return {
            "Unary": grpc.unary_unary_rpc_method_handler(self._unary),
            "Down": grpc.unary_stream_rpc_method_handler(self._down),
            "Up": grpc.stream_unary_rpc_method_handler(self._up),
            "Both": grpc.stream_stream_rpc_method_handler(self._both),
        }[method]

    def _unary(self, request: bytes, context: Any) -> bytes:
        context.send_initial_metadata((("x-first", "one"),))
        context.set_trailing_metadata((("x-last", "two"), ("x-last-bin", b"\x00\xff")))
        if request == b"fail":
            context.abort(grpc.StatusCode.NOT_FOUND, "no such thing")
        elif request.startswith(b"hang"):
            _hang()
        elif request.startswith(b"wait"):
            self._quick.acquire(timeout=20)
        elif request.startswith(b"quick"):
            self._quick.release()
        elif request == b"empty":
            return b""
        elif request.startswith(b"{"):
            return request
        return b"%b %d" % (request, next(self._numbers))

    def _down(self, request: bytes, context: Any) -> Iterator[bytes]:
        context.set_trailing_metadata((("x-last", "down"),))
        for n in range(3):
            if request == b"fail" and n == 2:
                context.abort(grpc.StatusCode.DATA_LOSS, "lost")
            yield b"" if n == 1 else b"%b %d" % (request, next(self._numbers))

    def _up(self, requests: Iterator[bytes], context: Any) -> bytes:
        got = []
        for request in requests:
            got.append(request)
            if request == b"enough":
                return b"enough"
            if request == b"hang":
                _hang()
        return b"+".join(got) + b" %d" % next(self._numbers)

    def _both(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        for request in requests:
            if request == b"hang":
                _hang()
            yield b"%b %d" % (request, next(self._numbers))


def serve(marks: str) -> None:
    """Listen, say on which port, and end with standard input."""
    server = grpc.server(futures.ThreadPoolExecutor(32), handlers=(Handler(marks),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    sys.stdin.read()
    server.stop(None)


if __name__ == "__main__":
    serve(sys.argv[1])
