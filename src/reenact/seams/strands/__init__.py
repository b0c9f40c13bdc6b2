"""Hooks that see every strand of an agent start, block, wake and end: loops, tasks, threads, pools.

Each hook begins with the question whether anybody listens, and leaves at once when not. Below a transport nothing
takes ordinals, timer identities or turns: what a live transport starts exists only while recording.
"""

from __future__ import annotations

from reenact.seams.gate import Gate
from reenact.seams.patching import when_imported
from reenact.seams.strands import (
    anyio_hooks,
    awaited_signals,
    deadlines,
    dropped,
    identity,
    locks,
    loops,
    pools,
    signals,
    threads,
    trio_hooks,
    uvloop_hooks,
)


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
    when_imported("anyio._backends._asyncio", anyio_hooks.patch)
    when_imported("uvloop", uvloop_hooks.patch)
    when_imported("trio", trio_hooks.patch)


def release(gate: Gate) -> None:
    """The session of ``gate`` has ended: loops that run on (a server's) neither keep nor ask it any more."""
    signals.leave(gate)
    for loop in gate.loops:
        uvloop_hooks.unwatch(loop, gate)
        loops.unwatch(loop, gate)
