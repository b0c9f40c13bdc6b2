"""Hooks that see every strand of an agent start, block, wake and end: loops, tasks, threads, pools.

Each hook begins with the question whether anybody listens, and leaves at once when not. Below a transport nothing
takes ordinals, timer identities or turns: what a live transport starts exists only while recording.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reenact.facts.late import late
from reenact.seams.gate import Gate
from reenact.seams.patching import when_imported
from reenact.seams.strands import (
    awaited_signals,
    deadlines,
    dropped,
    identity,
    locks,
    loops,
    pools,
    signals,
    threads,
)

if TYPE_CHECKING:
    from reenact.seams.strands.anyio_hooks import patch as patch_anyio
    from reenact.seams.strands.trio_hooks import patch as patch_trio
    from reenact.seams.strands.uvloop_hooks import patch as patch_uvloop
    from reenact.seams.strands.uvloop_hooks import unwatch as unwatch_uvloop
else:
    patch_anyio = late("reenact.seams.strands.anyio_hooks", "patch")
    patch_trio = late("reenact.seams.strands.trio_hooks", "patch")
    patch_uvloop = late("reenact.seams.strands.uvloop_hooks", "patch")
    unwatch_uvloop = late("reenact.seams.strands.uvloop_hooks", "unwatch")


def install() -> None:
    """Put all hooks in place, once a process. anyio and uvloop are hooked when the program imports them."""
    identity.install()
    loops.install()
    deadlines.install()
    dropped.install()
    threads.install()
    locks.install()
    pools.install()
    signals.install()
    awaited_signals.install()
    when_imported("anyio._backends._asyncio", patch_anyio)
    when_imported("uvloop", patch_uvloop)
    when_imported("trio", patch_trio)


def release(gate: Gate) -> None:
    """The session of ``gate`` has ended: loops that run on (a server's) neither keep nor ask it any more."""
    signals.leave(gate)
    for loop in gate.loops:
        if hasattr(loop, "_reenact_probe"):
            unwatch_uvloop(loop, gate)
        loops.unwatch(loop, gate)
