"""Whether a channel is connected, in the blocking API: a function of the agent's is called with its states, in turn.

``grpc.channel_ready_future`` is built on it. Making a channel is no call, because the channel connects when it is first
used.
"""

from __future__ import annotations

import functools
import threading
import time
from types import ModuleType
from typing import Any

from reenact.abc.session import Frozen, Live
from reenact.facts.call import Call, Effect, End, Kind
from reenact.seams.http import http_exchange
from reenact.seams.http.http_exchange import CLOSED
from reenact.seams.lanes import listening
from reenact.seams.patching import replace
from reenact.seams.rpc.rpc_calls import FURTHER, address, beneath

_LOOK_S = 0.2
"""How long one look at a state lasts, as in the library."""


def patch(module: ModuleType) -> None:
    """Hook channels: their construction, and the callbacks for their states."""
    replace(module.Channel, "__init__", making)
    replace(module.Channel, "subscribe", functools.partial(_subscribing, module))
    replace(module.Channel, "unsubscribe", _unsubscribing)


def making(original: Any) -> Any:
    """A constructor below the seam: the threads that it may start are the library's."""

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        lane = listening()
        if lane is None:
            original(self, *args, **kwargs)
            return
        with beneath(lane):
            original(self, *args, **kwargs)

    return __init__


def asked(target: Any, what: str, connect: bool) -> Call:
    """A look at a channel's state as a call.

    Args:
        target: The target of the channel.
        what: ``state``, ``change`` or ``states``.
        connect: Whether the channel is to connect.
    """
    url = address(target, "")
    head = {"url": url, "what": what, "connect": connect, "transport": "grpc"}
    return Call(Kind.HTTP, f"{url} {what}", Effect.READ, FURTHER, head)


def _subscribing(grpc: Any, original: Any) -> Any:
    @functools.wraps(original)
    def subscribe(self: Any, callback: Any, try_to_connect: bool | None = None) -> None:
        lane = listening()
        crossing = None
        if lane is not None:
            crossing = http_exchange.begin(lane, lambda: asked(self._target, "states", bool(try_to_connect)))
        if crossing is None:
            original(self, callback, try_to_connect)
            return
        told = _StateCallback(grpc, self._channel, callback, crossing, bool(try_to_connect))
        self.__dict__.setdefault("_reenact_told", []).append(told)
        threading.Thread(target=told._grpc_states, daemon=True).start()

    return subscribe


def _unsubscribing(original: Any) -> Any:
    @functools.wraps(original)
    def unsubscribe(self: Any, callback: Any) -> None:
        for told in self.__dict__.get("_reenact_told", ()):
            if told.callback == callback:
                self.__dict__["_reenact_told"].remove(told)
                told.stopped = True
                return
        original(self, callback)

    return unsubscribe


class _StateCallback:
    """One function that gets a channel's states, in a strand of the agent's.

    The library has one thread that polls the state and another that reports it. Here one thread does both, so that no
    thread waits in the library's core after the callback was removed.

    Args:
        grpc: The library's module ``grpc._channel``.
        core: The channel's core.
        callback: The agent's function.
        crossing: Live or frozen.
        connect: Whether the channel is to connect.
    """

    def __init__(self, grpc: Any, core: Any, callback: Any, crossing: Live | Frozen, connect: bool) -> None:
        self.callback = callback
        self.stopped = False
        self._grpc = grpc
        self._core = core
        self._crossing = crossing
        self._connect = connect
        self._last: Any = None

    def _grpc_states(self) -> None:
        crossing = self._crossing
        if crossing.mode == "live":
            crossing.head({"framing": "payload", "headers": []}).wait()
        else:
            crossing.head().wait()
        while not self.stopped:
            name = self._next()
            if name is None:
                break
            self.callback(self._grpc.grpc.ChannelConnectivity[name])
        if crossing.mode == "live":
            crossing.dropped(CLOSED)
        else:
            crossing.dropped()

    def _next(self) -> str | None:
        crossing = self._crossing
        if crossing.mode == "frozen":
            part = crossing.part().wait()
            return None if isinstance(part, End) else part.decode()
        with crossing.enter():
            name = self._changed()
        if name is not None:
            crossing.segment(name.encode()).wait()
        return name

    def _changed(self) -> str | None:
        """Wait for another state; None when no function wants it, or the channel is closed."""
        names = self._grpc._common.CYGRPC_CONNECTIVITY_STATE_TO_CHANNEL_CONNECTIVITY
        try:
            state = self._core.check_connectivity_state(self._connect and self._last is None)
            while state == self._last and not self.stopped:
                self._core.watch_connectivity_state(state, time.time() + _LOOK_S)
                state = self._core.check_connectivity_state(False)
        except ValueError:
            return None
        if self.stopped:
            return None
        self._last = state
        return str(names[state].name)
