"""gRPC, on the client's side: calls of all four shapes, blocking, as futures and in asyncio.

The seam is one RPC below serialisers and interceptors, which stay the agent's own. Messages are kept in the frames they
have on the wire. In a replay nothing is sent: a channel is an object that connects when it is first used, and never is.
"""

from __future__ import annotations

from reenact.seams import patching
from reenact.seams.rpc import blocking, connectivity, coroutines


def install() -> None:
    """Intercept both APIs as soon as the program imports them; imports neither itself. Idempotent."""
    patching.when_imported("grpc._channel", blocking.patch)
    patching.when_imported("grpc._channel", connectivity.patch)
    patching.when_imported("grpc.aio._channel", coroutines.patch)
