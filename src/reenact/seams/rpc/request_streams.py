"""Streams of requests: the agent's iterator runs in a strand of the agent's own, and each of its messages is a call.

gRPC itself runs the iterator in a thread of the library, below the seam, where its calls would not be seen.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

from reenact.seams.rpc.rpc_calls import ask, further

_TAKEN = object()
_OVER = object()


class Feeder:
    """The iterator that the library gets in place of the agent's. Made below the seam: its queues are real."""

    def __init__(self) -> None:
        self._messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._given = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        """The library reads the next message: the previous one has been sent."""
        if self._given:
            self._answers.put(_TAKEN)
        self._given = True
        message = self._messages.get()
        if message is _OVER:
            raise StopIteration
        return message  # type: ignore[no-any-return]

    def give(self, message: bytes) -> bool:
        """Hand a message over and wait until it is sent; False when the RPC has ended."""
        self._messages.put(message)
        if self._answers.get() is _TAKEN:
            return True
        self._answers.put(_OVER)
        return False

    def finish(self) -> None:
        """No message follows."""
        self._messages.put(_OVER)

    def over(self) -> None:
        """The RPC has ended, and needs no more messages."""
        self._answers.put(_OVER)
        self._messages.put(_OVER)


class RequestStream:
    """The strand that runs the agent's iterator.

    Args:
        grpc: The library's module ``grpc._channel``.
        iterator: The agent's iterator.
        serializer: The agent's serializer.
        url: The URL of the RPC.
        event: The event of the RPC.
    """

    def __init__(self, grpc: Any, iterator: Any, serializer: Any, url: str, event: int) -> None:
        self._grpc = grpc
        self._iterator = iterator
        self._serializer = serializer
        self._url = url
        self._event = event
        self._feeder: Feeder | None = None
        self._abort: Any = None

    def start(self, feeder: Feeder | None, abort: Any) -> None:
        """Begin.

        Args:
            feeder: The target of messages; None in a replay.
            abort: Called with a status code and details when the agent's iterator fails.
        """
        self._feeder = feeder
        self._abort = abort
        threading.Thread(target=self._grpc_requests, daemon=True).start()

    def _grpc_requests(self) -> None:
        code = self._grpc.grpc.StatusCode
        while True:
            try:
                request = next(self._iterator)
            except StopIteration:
                break
            except Exception:
                details = "Exception iterating requests!"
                self._grpc._LOGGER.exception(details)
                self._abort(code.UNKNOWN, details)
                return
            message = self._grpc._common.serialize(request, self._serializer)
            if message is None:
                self._abort(code.INTERNAL, "Exception serializing request!")
                return
            if not self._sent(message):
                return
        if self._feeder is not None:
            self._feeder.finish()

    def _sent(self, message: bytes) -> bool:
        """Whether the RPC goes on after this message."""
        if not isinstance(message, bytes):  # the error that the library raises in its thread
            raise TypeError(f"Argument 'message' has incorrect type (expected bytes, got {type(message).__name__})")
        feeder = self._feeder
        return ask(
            lambda: further(self._url, "send", self._event, message),
            lambda: feeder is not None and feeder.give(message),
        )
