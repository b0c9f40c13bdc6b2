"""The object of an RPC under way in the blocking API, live and recorded: a call, a future and an iterator of answers.

Its class is derived from the library's own, and fills the library's state when the agent reads it. Some facts are known
earlier to the library's threads: each question for such a fact is a call of its own.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from reenact.abc.session import Frozen, Live
from reenact.facts.call import End, EndKind, Stream
from reenact.seams.http import http_exchange
from reenact.seams.http.http_exchange import CANCELLED, CLOSED, EOF, RAISED
from reenact.seams.rpc.rpc_calls import Pairs, ask, beneath, framed, further, pairs, raw, unframed
from reenact.seams.rpc.status import RpcStatus, answer, answered, initial_of, opening, status_from, status_in, status_of

__all__ = ["Rpc", "rendezvous_class"]

_BROKEN = "broken"
"""The mark in the head of a stream of answers whose wait has ended in an exception: that is the end of the stream."""


class Rpc:
    """One RPC: its recorded facts, and the ways to ask for them.

    Args:
        grpc: The library's module ``grpc._channel``.
        lane: The lane of the RPC.
        crossing: Live or frozen.
        url: The URL of the RPC.
        deserializer: The agent's deserializer.
        single: Whether its answer is one message.
    """

    def __init__(
        self, grpc: Any, lane: Any, crossing: Live | Frozen, url: str, deserializer: Any, single: bool
    ) -> None:
        self.grpc = grpc
        self.crossing = crossing
        self.url = url
        self.single = single
        self.real: Any = None
        self.lock = threading.Lock()
        self._lane = lane
        self._deserializer = deserializer
        self._headed = False
        self._over = False
        with beneath(lane):
            self.state = grpc._RPCState((), None, None, None, None)

    # --- the parts of the answer -------------------------------------------------------------------------------

    def complete(self) -> None:
        """Wait for the single answer and its status."""
        with self.lock:
            if self._over:
                return
            if self.crossing.mode == "live":
                message, initial, status = self._arrived(self.crossing)
                self.crossing.head(answer(initial, status)).wait()
                if message is not None:
                    self.crossing.segment(framed(message)).wait()
                self.crossing.end(EOF).wait()
            else:
                head: Stream = self.crossing.head().wait()
                if not answered(head.head):
                    self._over = True
                    raise http_exchange.revive(self._lane, self.crossing.part().wait())
                initial, status = initial_of(head.head), status_in(head.head)
                part = self.crossing.part().wait()
                message = None if isinstance(part, End) else unframed(part)
                if message is not None:
                    self.crossing.part().wait()
            self._over = True
            self.know(status, initial)
            if message is not None and self.state.code is self.grpc.grpc.StatusCode.OK:
                self._decode(message)

    def _arrived(self, crossing: Live) -> tuple[bytes | None, Pairs, RpcStatus]:
        real = self.real
        try:
            with crossing.enter():
                real.code()
                return real._state.response, pairs(real.initial_metadata()), _status(real)
        except RAISED as error:  # Ctrl-C during the wait ends the RPC, in a replay too
            crossing.head(opening([])).wait()
            crossing.end(http_exchange.broken(self._lane, error)).wait()
            self._over = True
            raise

    def opened(self) -> None:
        """Wait for the initial metadata of a stream of answers."""
        if self._headed:
            return
        initial = self._begin(self.crossing) if self.crossing.mode == "live" else self._begun(self.crossing)
        self._headed = True
        if self.state.initial_metadata is None:
            self.state.initial_metadata = self.metadata(initial)

    def _begin(self, crossing: Live) -> Pairs:
        try:
            with crossing.enter():
                initial = pairs(self.real.initial_metadata())
        except RAISED as error:  # an interrupt before the first data of the server
            crossing.head({**opening([]), _BROKEN: True}).wait()
            crossing.end(http_exchange.broken(self._lane, error)).wait()
            self._over = True
            raise
        crossing.head(opening(initial)).wait()
        return initial

    def _begun(self, crossing: Frozen) -> Pairs:
        head = crossing.head().wait().head
        if head.get(_BROKEN):
            part = crossing.part().wait()
            if isinstance(part, End):
                self._over = True
                raise http_exchange.revive(self._lane, part)
        return initial_of(head)

    def next_message(self) -> bytes | None:
        """Wait for the next message of a stream of answers; None at its end."""
        with self.lock:
            if self._over:
                return None
            self.opened()
            if self.crossing.mode == "live":
                message = self._next(self.crossing)
                if message is not None:
                    self.crossing.segment(framed(message)).wait()
                    return message
                self.crossing.end(EOF).wait()
            else:
                part = self.crossing.part().wait()
                if not isinstance(part, End):
                    return unframed(part)
                if part.kind is EndKind.ERROR:
                    self._over = True
                    raise http_exchange.revive(self._lane, part)
            self._over = True
            return None

    def _next(self, crossing: Live) -> bytes | None:
        try:
            with crossing.enter():
                return next(self.real)  # type: ignore[no-any-return]
        except (StopIteration, self.grpc.grpc.RpcError):
            return None
        except RAISED as error:
            crossing.end(http_exchange.broken(self._lane, error)).wait()
            self._over = True
            raise

    def decoded(self, message: bytes) -> Any:
        """A message as the agent's object; None where its deserialiser failed, which ends the RPC."""
        self._decode(message)
        found, self.state.response = self.state.response, None
        return found

    def _decode(self, message: bytes) -> None:
        response = self.grpc._common.deserialize(message, self._deserializer)
        if response is None:
            self.state.code = None
            self.grpc._abort(self.state, self.grpc.grpc.StatusCode.INTERNAL, "Exception deserializing response!")
        else:
            self.state.response = response

    # --- what else is asked ------------------------------------------------------------------------------------

    def ask(self, what: str, perform: Callable[[Any], Any]) -> Any:
        """One further call; ``perform`` is given the library's own object."""
        event = self.crossing.event
        return ask(lambda: further(self.url, what, event), lambda: perform(self.real))

    def learn(self) -> None:
        """Wait until the RPC has ended, and keep its status."""
        if self.state.code is not None:
            return
        if self.single:
            self.complete()
            return
        facts = self.ask("status", lambda real: _ended(real).facts())
        self.know(status_from(facts), None)

    def metadata(self, given: Pairs | None) -> Any:
        """Metadata as the library gives it out."""
        return None if given is None else tuple(self.grpc.cygrpc._Metadatum(*pair) for pair in raw(given))

    def know(self, status: RpcStatus, initial: Pairs | None) -> None:
        """Fill the library's state, unless the agent has cancelled the RPC meanwhile."""
        state = self.state
        if state.initial_metadata is None:
            state.initial_metadata = self.metadata(initial)
        if state.code is None:
            state.trailing_metadata = self.metadata(status.trailing)
            state.details = status.details
            state.debug_error_string = status.debug
            state.code = self.grpc.grpc.StatusCode[status.code]

    def cancel(self) -> bool:
        """Cancel the RPC, on the agent's side. Returns whether the RPC was still open."""
        if self.state.code is not None or not self.ask("cancel", lambda real: real.cancel()):
            return False
        self.state.cancelled = True
        self.abort(self.grpc.grpc.StatusCode.CANCELLED, "Locally cancelled by application!")
        return True

    def abort(self, code: Any, details: str) -> None:
        """The agent's side ends the RPC."""
        self.grpc._abort(self.state, code, details)

    def abort_real(self, code: Any, details: str) -> None:
        """The agent's requests have failed: the library must end the RPC too."""
        real = self.real
        if real is not None and self.crossing.mode == "live":
            with self.crossing.enter():
                real._call.cancel(self.grpc._common.STATUS_CODE_TO_CYGRPC_STATUS_CODE[code], details)
                with real._state.condition:
                    self.grpc._abort(real._state, code, details)
                    real._state.condition.notify_all()

    def dropped(self) -> None:
        """The RPC has no owner any more."""
        if self._over:
            return
        if self.crossing.mode == "live":
            self.crossing.dropped(CANCELLED if self.state.cancelled else CLOSED)
        else:
            self.crossing.dropped()


def _ended(real: Any) -> RpcStatus:
    real.code()
    return _status(real)


def _status(real: Any) -> RpcStatus:
    """The status of an RPC of the library's that has ended; only some have a text about the error."""
    state = real._state
    return status_of(state.code.name, state.details, state.trailing_metadata, state.debug_error_string)


def _within(real: Any, seconds: float) -> bool:
    """Whether an RPC of the library ends within ``seconds``."""
    condition = real._state.condition
    with condition:
        return bool(condition.wait_for(lambda: real._state.code is not None, max(0.0, seconds)))


@functools.cache
def rendezvous_class(base: Any) -> Any:
    """The subclass of one of the library's classes; it has the same name, which shows in printed output."""
    return type(base.__name__, (_Rendezvous, base), {"__module__": base.__module__})


class _Rendezvous:
    """The common part of the subclasses; library methods that only look at the state stay the library's own."""

    _state: Any
    _deadline: float | None
    _reenact: Rpc

    def __init__(self, rpc: Rpc, deadline: float | None) -> None:
        super().__init__(rpc.state, None, None, deadline)  # type: ignore[call-arg]
        self._reenact = rpc

    def __del__(self) -> None:
        rpc = getattr(self, "_reenact", None)
        if rpc is not None:
            rpc.dropped()

    def is_active(self) -> bool:
        """See grpc.RpcContext.is_active."""
        return self._state.code is None and bool(self._reenact.ask("active", lambda real: real.is_active()))

    running = is_active

    def done(self) -> bool:
        """See grpc.Future.done."""
        return not self.is_active()

    def time_remaining(self) -> float | None:
        """See grpc.RpcContext.time_remaining."""
        if self._deadline is None:
            return None
        found: float | None = self._reenact.ask("time", lambda real: real.time_remaining())
        return found

    def cancel(self) -> bool:
        """See grpc.RpcContext.cancel."""
        return self._reenact.cancel()

    def cancelled(self) -> bool:
        """See grpc.Future.cancelled."""
        return bool(self._state.cancelled)

    def initial_metadata(self) -> Any:
        """See grpc.Call.initial_metadata."""
        rpc = self._reenact
        if self._state.initial_metadata is None:
            if rpc.single:
                self._state.initial_metadata = rpc.metadata(
                    rpc.ask("metadata", lambda real: pairs(real.initial_metadata()))
                )
            else:
                with rpc.lock:
                    rpc.opened()
        return self._state.initial_metadata

    def trailing_metadata(self) -> Any:
        """See grpc.Call.trailing_metadata."""
        self._reenact.learn()
        return self._state.trailing_metadata

    def code(self) -> Any:
        """See grpc.Call.code."""
        self._reenact.learn()
        return self._state.code

    def details(self) -> str | None:
        """See grpc.Call.details."""
        self._reenact.learn()
        words: str | None = self._state.details
        return words

    def debug_error_string(self) -> str | None:
        """See grpc.RpcError."""
        self._reenact.learn()
        words: str | None = self._state.debug_error_string
        return words

    def _ended_within(self, timeout: float | None) -> None:
        rpc = self._reenact
        if rpc.state.code is not None:
            return
        if timeout is not None and not rpc.ask("wait", lambda real: _within(real, timeout)):
            raise rpc.grpc.grpc.FutureTimeoutError
        rpc.learn()

    def result(self, timeout: float | None = None) -> Any:
        """See grpc.Future.result."""
        self._ended_within(timeout)
        return super().result()  # type: ignore[misc]

    def exception(self, timeout: float | None = None) -> Any:
        """See grpc.Future.exception."""
        self._ended_within(timeout)
        return super().exception()  # type: ignore[misc]

    def traceback(self, timeout: float | None = None) -> Any:
        """See grpc.Future.traceback."""
        self._ended_within(timeout)
        return super().traceback()  # type: ignore[misc]

    def add_done_callback(self, fn: Callable[[Any], None]) -> None:
        """See grpc.Future.add_done_callback."""
        if self._state.code is not None:
            fn(self)
        else:
            _Callback(self._reenact, functools.partial(fn, self)).start()

    def add_callback(self, callback: Callable[[], None]) -> bool:
        """See grpc.RpcContext.add_callback."""
        if not self.is_active():
            return False
        _Callback(self._reenact, callback).start()
        return True

    def _next(self) -> Any:
        rpc, state = self._reenact, self._state
        ok = rpc.grpc.grpc.StatusCode.OK
        if state.code is None:
            message = rpc.next_message()
            if message is not None:
                response = rpc.decoded(message)
                if response is not None:
                    return response
            else:
                rpc.learn()
        if state.code is ok:
            raise StopIteration
        raise self  # type: ignore[misc]


class _Callback:
    """Calls a function of the agent's when an RPC has ended, in a strand of its own."""

    def __init__(self, rpc: Rpc, function: Any) -> None:
        self._rpc = rpc
        self._function = function

    def start(self) -> None:
        """Begin to wait."""
        threading.Thread(target=self._grpc_callback, daemon=True).start()

    def _grpc_callback(self) -> None:
        self._rpc.learn()
        try:
            self._function()
        except Exception as error:
            words = repr(getattr(self._function, "func", self._function))
            self._rpc.grpc._LOGGER.error("Exception in callback %s: %s", words, repr(error))
