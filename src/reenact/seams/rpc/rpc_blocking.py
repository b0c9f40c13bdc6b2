"""gRPC's blocking API: the calls of multi-callables, below serialisers and interceptors.

Each call of a multi-callable is one RPC. A live RPC is performed by a copy of the multi-callable without its
serialisers, so that the recorded bytes are the delivered bytes. The agent's serialisers run in the agent's strand.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from reenact.abc.session import Frozen, Live
from reenact.facts.lazy_dataclass import dataclass
from reenact.seams.http import http_exchange
from reenact.seams.http.http_exchange import CANCELLED
from reenact.seams.lanes import Lane, listening
from reenact.seams.patching import replace
from reenact.seams.rpc.rendezvous import Rpc, rendezvous_class
from reenact.seams.rpc.request_streams import Feeder, RequestStream
from reenact.seams.rpc.rpc_calls import address, start, traced

_WAYS: Final = {
    "_UnaryUnaryMultiCallable": ("unary_unary", ("__call__", "with_call", "future")),
    "_StreamUnaryMultiCallable": ("stream_unary", ("__call__", "with_call", "future")),
    "_UnaryStreamMultiCallable": ("unary_stream", ("__call__",)),
    "_SingleThreadedUnaryStreamMultiCallable": ("unary_stream", ("__call__",)),
    "_StreamStreamMultiCallable": ("stream_stream", ("__call__",)),
}
_NAMES: Final = ("request", "timeout", "metadata", "credentials", "wait_for_ready", "compression")


def patch(module: ModuleType) -> None:
    """Hook every way to make an RPC. Class-wide, so channels and stubs made before are covered."""
    for name, (shape, ways) in _WAYS.items():
        owner = getattr(module, name, None)
        if owner is None:
            continue
        for way in ways:
            replace(owner, way, functools.partial(_calling, module, shape, way))


@dataclass(frozen=True, slots=True)
class RpcArguments:
    """The arguments of an RPC.

    Attributes:
        grpc: The library's module ``grpc._channel``.
        callable: The multi-callable.
        shape: Its shape.
        way: The method that was called.
        given: Its arguments by name, metadata as a tuple.
        message: The serialised request; empty where requests are a stream.
    """

    grpc: Any
    callable: Any
    shape: str
    way: str
    given: dict[str, Any]
    message: bytes

    @property
    def streams(self) -> bool:
        """Whether requests are a stream."""
        return self.shape.startswith("stream")

    @property
    def waits(self) -> bool:
        """Whether the caller waits for the answer."""
        return self.way != "future" and self.shape.endswith("unary")

    def url(self) -> str:
        """The URL of the RPC."""
        return address(self.callable._target, self.callable._method)


def _calling(grpc: Any, shape: str, way: str, original: Any) -> Any:
    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        lane = listening()
        given = _bound(args, kwargs) if lane is not None else None
        if lane is None or given is None:
            return original(self, *args, **kwargs)
        message = b"" if shape.startswith("stream") else _serialized(grpc, self, given["request"])
        if not isinstance(message, bytes):  # here the library raises at once
            return original(self, *args, **kwargs)
        asked = RpcArguments(grpc, self, shape, way, given, message)
        crossing = http_exchange.begin(lane, lambda: start(asked.url(), shape, given.get("metadata"), message))
        if crossing is None:
            return original(self, **_unbound(given, shape))
        return _made(lane, crossing, asked)

    return call


def _bound(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """Arguments by name; None for a call that the library refuses."""
    given = dict(zip(_NAMES, args, strict=False))
    for name, value in kwargs.items():
        given["request" if name == "request_iterator" else name] = value
    if len(args) > len(_NAMES) or "request" not in given or not given.keys() <= set(_NAMES):
        return None
    if given.get("metadata") is not None:
        given["metadata"] = tuple(given["metadata"])
    return given


def _unbound(given: dict[str, Any], shape: str) -> dict[str, Any]:
    rest = {name: value for name, value in given.items() if name != "request"}
    return {"request_iterator" if shape.startswith("stream") else "request": given["request"], **rest}


def _serialized(grpc: Any, of: Any, request: Any) -> bytes:
    message: bytes | None = grpc._common.serialize(request, of._request_serializer)
    if message is None:
        state = grpc._RPCState((), (), (), grpc.grpc.StatusCode.INTERNAL, "Exception serializing request!")
        raise grpc._InactiveRpcError(state)
    return message


def _made(lane: Lane, crossing: Live | Frozen, asked: RpcArguments) -> Any:
    """Begin the RPC, and give the object that its caller gets."""
    grpc, of = asked.grpc, asked.callable
    rpc = Rpc(grpc, lane, crossing, asked.url(), of._response_deserializer, single=asked.shape.endswith("unary"))
    feeder: Feeder | None = None
    if crossing.mode == "live":
        feeder = _performed(lane, crossing, asked, rpc)
    elif crossing.form == "failure":
        raise http_exchange.revive(lane, crossing.outcome().wait())
    if asked.streams:
        requests = RequestStream(grpc, asked.given["request"], of._request_serializer, rpc.url, crossing.event)
        requests.start(feeder, rpc.abort_real)
    if not asked.waits:
        single_threaded = type(of).__name__.startswith("_Single")
        base = grpc._SingleThreadedRendezvous if single_threaded else grpc._MultiThreadedRendezvous
        return rendezvous_class(base)(rpc, asked.given.get("timeout"))
    rpc.complete()
    state = rpc.state
    if state.code is not grpc.grpc.StatusCode.OK:
        raise grpc._InactiveRpcError(state)
    if asked.way == "with_call":
        return state.response, rendezvous_class(grpc._MultiThreadedRendezvous)(rpc, None)
    return state.response


def _performed(lane: Lane, crossing: Live, asked: RpcArguments, rpc: Rpc) -> Feeder | None:
    """Begin the RPC for real; gives where its requests go, if they are a stream."""
    feeder = None
    crossing.ready().wait()
    try:
        with crossing.enter():
            rest = {name: value for name, value in asked.given.items() if name != "request"}
            metadata = traced(crossing, rest.get("metadata"))
            rest |= {"metadata": metadata} if metadata is not None else {}
            if asked.streams:
                feeder = Feeder()
                rpc.real = _begun(asked)(feeder, **rest)
                if not rpc.real.add_callback(feeder.over):
                    feeder.over()
            else:
                rpc.real = _begun(asked)(asked.message, **rest)
    except http_exchange.RAISED as error:
        outcome = http_exchange.failure(lane, error)
        if outcome is not None:
            crossing.settle(outcome).wait()
        raise
    except BaseException:
        crossing.dropped(CANCELLED)
        raise
    return feeder


def _begun(asked: RpcArguments) -> Callable[..., Any]:
    """The function that makes the RPC with bytes: the multi-callable without serialisers."""
    bare = copy.copy(asked.callable)
    bare._request_serializer = bare._response_deserializer = None
    kind: Any = type(bare)
    if not asked.shape.endswith("unary"):
        return functools.partial(kind.__call__.__wrapped__, bare)
    if asked.waits and not asked.streams:
        return functools.partial(_waited, asked.grpc.grpc.RpcError, kind.with_call.__wrapped__, bare)
    return functools.partial(kind.future.__wrapped__, bare)


def _waited(failed: type[Exception], perform: Any, bare: Any, message: bytes, **rest: Any) -> Any:
    """The ended RPC of a call that waits: both an error and an answer have its status."""
    try:
        return perform(bare, message, **rest)[1]
    except failed as error:
        return error
