"""gRPC's asyncio API: its calls are the library's own objects, over our core in the place of the C core.

All of the library's Python code runs in a replay too: tasks, callbacks, cancellation, errors. Only the results of its C
core are recorded. The core is one call on a channel, made by ``channel.call``.
"""

from __future__ import annotations

import functools
import inspect
from types import ModuleType
from typing import Any

from reenact.seams.lanes import listening
from reenact.seams.patching import replace
from reenact.seams.rpc.connectivity import asked, making
from reenact.seams.rpc.core import CallCore
from reenact.seams.rpc.rpc_calls import ask, ask_async, beneath

_SHAPES = ("UnaryUnary", "UnaryStream", "StreamUnary", "StreamStream")


def patch(module: ModuleType) -> None:
    """Hook channels: each gets a core of ours in front of its own; and calls, for channels that were made before."""
    replace(module.Channel, "__init__", functools.partial(_fronting, module))
    for shape in _SHAPES:
        replace(getattr(module, f"{shape}MultiCallable"), "__call__", functools.partial(_calling, module))


def _calling(module: Any, original: Any) -> Any:
    @functools.wraps(original)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        if not isinstance(self._channel, ChannelCore):  # a channel from before the hook, of unknown target
            self._channel = ChannelCore(module, self._channel, self._loop, "")
        return original(self, *args, **kwargs)

    return __call__


def _fronting(module: Any, original: Any) -> Any:
    make = making(original)
    signature = inspect.signature(original)

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        make(self, *args, **kwargs)
        target = signature.bind(self, *args, **kwargs).arguments.get("target", "")
        self._channel = ChannelCore(module, self._channel, self._loop, target)

    return __init__


class ChannelCore:
    """A channel's core: calls on it are ours if a session listens.

    Args:
        module: The library's module ``grpc.aio._channel``.
        real: The library's core.
        loop: The channel's loop.
        target: The target of the channel.
    """

    def __init__(self, module: Any, real: Any, loop: Any, target: Any) -> None:
        self._grpc = module
        self._real = real
        self._loop = loop
        self._target = target
        self._open = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def call(self, method: bytes, deadline: Any, *rest: Any) -> Any:
        """Make a call; nothing is sent yet."""
        lane = listening()
        if lane is None or not self._open:
            return self._real.call(method, deadline, *rest)

        def make() -> Any:
            return self._real.call(method, deadline, *rest)

        return CallCore(self._grpc.cygrpc, make, self._loop, deadline, self._target, method)

    def closing(self) -> None:
        """Accept no new calls."""
        self._open = False
        self._beneath(self._real.closing)

    def close(self) -> None:
        """Close the channel."""
        self._open = False
        self._beneath(self._real.close)

    def check_connectivity_state(self, connect: bool) -> Any:
        """The present state of the channel."""
        return ask(
            lambda: asked(self._target, "state", connect), lambda: int(self._real.check_connectivity_state(connect))
        )

    async def watch_connectivity_state(self, last: Any, deadline: Any) -> Any:
        """Wait until the state has changed."""
        return await ask_async(
            lambda: asked(self._target, "change", False), lambda: self._real.watch_connectivity_state(last, deadline)
        )

    def _beneath(self, act: Any) -> None:
        lane = listening()
        if lane is None:
            act()
            return
        with beneath(lane):
            act()
