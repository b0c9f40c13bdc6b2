"""Hooks that see every strand of an agent start, block, wake and end: loops, tasks, threads, pools.

Each hook first checks whether any session listens, and returns at once if none does. Below a transport nothing takes
ordinals, timer identities or turns: what a live transport starts exists only while recording.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reenact.facts.late import late
from reenact.seams.gate import Gate
from reenact.seams.patching import when_imported
from reenact.seams.strands import awaited_signals, locks, signals, threads

if TYPE_CHECKING:
    from reenact.seams.strands.anyio_hooks import patch as patch_anyio
    from reenact.seams.strands.loops import patch as patch_asyncio
    from reenact.seams.strands.loops import unwatch as unwatch_loop
    from reenact.seams.strands.pools import patch as patch_pools
    from reenact.seams.strands.trio_hooks import patch as patch_trio
    from reenact.seams.strands.uvloop_hooks import patch as patch_uvloop
    from reenact.seams.strands.uvloop_hooks import unwatch as unwatch_uvloop
else:
    patch_anyio = late("reenact.seams.strands.anyio_hooks", "patch")
    patch_asyncio = late("reenact.seams.strands.loops", "patch")
    patch_pools = late("reenact.seams.strands.pools", "patch")
    patch_trio = late("reenact.seams.strands.trio_hooks", "patch")
    patch_uvloop = late("reenact.seams.strands.uvloop_hooks", "patch")
    unwatch_loop = late("reenact.seams.strands.loops", "unwatch")
    unwatch_uvloop = late("reenact.seams.strands.uvloop_hooks", "unwatch")


def install() -> None:
    """Put all hooks in place, once a process. asyncio and libraries are hooked when the program imports them."""
    threads.install()
    locks.install()
    signals.install()
    awaited_signals.install()
    when_imported("asyncio", patch_asyncio)
    when_imported("concurrent.futures", patch_pools)
    when_imported("anyio._backends._asyncio", patch_anyio)
    when_imported("uvloop", patch_uvloop)
    when_imported("trio", patch_trio)


def release(gate: Gate) -> None:
    """The session of ``gate`` has ended: loops that run on (a server's) no longer hold or use the gate."""
    signals.leave(gate)
    for loop in gate.loops:
        if hasattr(loop, "_reenact_probe"):
            unwatch_uvloop(loop, gate)
        unwatch_loop(loop, gate)
