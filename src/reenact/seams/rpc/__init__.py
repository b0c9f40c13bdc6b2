"""gRPC, on the client's side: calls of all four shapes, blocking, as futures and in asyncio.

The seam is one RPC below serialisers and interceptors, which stay the agent's own. Messages are kept in the frames they
have on the wire. In a replay nothing is sent: a channel connects when it is first used, and a replay never uses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reenact.facts.late import late
from reenact.seams import patching

if TYPE_CHECKING:
    from reenact.seams.rpc.connectivity import patch as patch_connectivity
    from reenact.seams.rpc.rpc_asyncio import patch as patch_coroutines
    from reenact.seams.rpc.rpc_blocking import patch as patch_calls
else:
    patch_calls = late("reenact.seams.rpc.rpc_blocking", "patch")
    patch_connectivity = late("reenact.seams.rpc.connectivity", "patch")
    patch_coroutines = late("reenact.seams.rpc.rpc_asyncio", "patch")


def install() -> None:
    """Intercept both APIs as soon as the program imports them; imports neither itself. Idempotent."""
    patching.when_imported("grpc._channel", patch_calls)
    patching.when_imported("grpc._channel", patch_connectivity)
    patching.when_imported("grpc.aio._channel", patch_coroutines)
