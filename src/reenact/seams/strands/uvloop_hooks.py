"""uvloop: recorded on, replayed on the standard loop in the same order.

uvloop shows no view of its ready queue. Quiescence is found by a probe, a callback that is posted after everything
that is ready: if nothing was posted before it runs, the queue is empty. In a replay the module's name ``Loop`` stands
for a standard loop; ``new_event_loop`` and ``uvloop.run`` look that name up when they are called.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from types import ModuleType
from typing import Any

from reenact.seams import lanes
from reenact.seams.clock import REAL
from reenact.seams.gate import Gate, near
from reenact.seams.patching import replace
from reenact.seams.strands.loops import creating, due_at_gate
from reenact.seams.turns import timer_due

PROBE_AGAIN_S = 0.0005
_mono_ns = REAL.monotonic_ns


class Probe:
    """Looks, turn by turn, whether one uvloop has nothing left to run."""

    __slots__ = ("foreign", "gates", "loop", "posts", "probing", "stopping")
    posts: int
    """Callbacks posted so far; ``CountedLoops.posted`` counts those of one run."""

    def __init__(self, loop: Any, foreign: Any) -> None:
        self.loop = loop
        self.foreign = foreign
        self.gates: list[Gate] = []
        self.posts = 0
        self.probing = False
        self.stopping = False
        """Whether the loop returns to its caller after the callbacks that are ready, and hands nothing over before."""

    def begin(self) -> None:
        """Start probing, unless a probe is under way. In the loop's own thread."""
        if not self.probing:
            self.probing = True
            self._post()

    def _post(self) -> None:
        self.foreign.call_soon(self.loop, self._look, self.posts, {gate: gate.loops.posted for gate in self.gates})

    def _look(self, posts: int, own: dict[Gate, int]) -> None:
        """All callbacks before this one have run. If several runs share the loop, each rests by itself."""
        if self.stopping:
            self.probing = False
            return
        gates = [gate for gate in self.gates if gate.waiting]
        busy = self.posts != posts
        for gate in gates:
            with gate.lock:  # callbacks that another thread posts in between come after this probe in the queue
                handed = own.get(gate) != gate.loops.posted
                if not handed and (gate.shared or not busy) and gate.loops.rest(self.loop):
                    gate.loops.resume(self.loop)
            busy = busy or handed
        if not gates:
            self.probing = False
        elif busy:
            for gate in gates:
                if gate.waiting:
                    gate.look(_mono_ns() // 1000)
            self._post()
        elif any(gate.waiting for gate in gates):
            self.foreign.call_later(self.loop, PROBE_AGAIN_S, self._post)
        else:
            self.probing = False

    def poke(self) -> None:
        """Start probing from another thread."""
        try:
            self.foreign.call_soon_threadsafe(self.loop, self.begin)
        except RuntimeError:  # the loop has been closed meanwhile
            pass


def probe_of(loop: Any) -> Probe | None:
    """The probe of a running uvloop; None for other loops."""
    probe: Probe | None = getattr(loop, "_reenact_probe", None)
    return probe


def unwatch(loop: Any, gate: Gate) -> None:
    """The session of ``gate`` has ended."""
    probe = probe_of(loop)
    if probe is not None and gate in probe.gates:
        probe.gates.remove(gate)
        gate.loops.pokes.remove(probe.poke)


def patch(module: ModuleType) -> None:
    """Hook the Python subclass; the class in C below it has no settable attributes."""
    loop_class = module.Loop
    foreign = loop_class.__mro__[1]
    for name, make in (
        ("create_task", lambda _: creating(foreign.create_task)),
        ("run_forever", lambda _: _running(foreign)),
        ("stop", lambda _: _stopping(foreign)),
        ("call_soon", lambda _: _counting(foreign)),
        ("call_at", lambda _: _timing(foreign)),
        ("call_later", lambda _: _timing_later(foreign)),
        ("call_soon_threadsafe", lambda _: _posting(foreign)),
    ):
        replace(loop_class, name, make)
    standing_in = type("Loop", (asyncio.SelectorEventLoop,), {"__doc__": "A standard loop in uvloop's place."})
    replace(module, "Loop", lambda original: _choosing(original, standing_in))


def _choosing(original: Any, standing_in: Any) -> Any:
    """A class whose instances are uvloops, except in a replay, where they are standard loops."""

    class Meta(type):
        def __call__(cls, *args: Any, **options: Any) -> Any:
            lane = lanes.counted()
            if lane is not None and lane.gate.schedule.follows:
                lane.session.note(lane, "loop", "recorded on uvloop, replayed on the standard loop")
                return standing_in(*args, **options)
            return original(*args, **options)

        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, (original, standing_in))

        def __subclasscheck__(cls, other: type) -> bool:
            return issubclass(other, (original, standing_in))

    return Meta("Loop", (), {"__doc__": original.__doc__})


def _gate_here(loop: Any) -> Gate | None:
    lane = lanes.counted()
    if lane is None:
        return None
    gate: Gate = lane.gate
    watch(loop, gate)
    return gate


def watch(loop: Any, gate: Gate) -> None:
    """Make ``gate`` count a running uvloop; does nothing for other loops."""
    probe = probe_of(loop)
    if probe is not None and gate not in probe.gates and not gate.closed:
        probe.gates.append(gate)
        gate.loops.join(loop)
        gate.loops.pokes.append(probe.poke)


def _running(foreign: Any) -> Callable[..., Any]:
    def run_forever(self: Any) -> Any:
        self._reenact_probe = probe = Probe(self, foreign)
        gate = _gate_here(self)
        try:
            return foreign.run_forever(self)
        finally:
            self._reenact_probe = None
            for each in probe.gates:
                each.loops.pokes.remove(probe.poke)
                if each is gate:
                    each.loops.leave(self)
                else:
                    each.loops.forget(self)

    return run_forever


def _stopping(foreign: Any) -> Callable[..., Any]:
    def stop(self: Any) -> Any:
        probe = probe_of(self)
        if probe is not None:
            probe.stopping = True
        return foreign.stop(self)

    return stop


def _counting(foreign: Any) -> Callable[..., Any]:
    def call_soon(self: Any, callback: Any, *args: Any, context: Any = None) -> Any:
        probe = probe_of(self)
        if probe is not None:
            probe.posts += 1
            gate = near.get() if context is None else context.get(near)
            if gate is not None:
                gate.loops.posted += 1
        return foreign.call_soon(self, callback, *args, context=context)

    return call_soon


def _arm(foreign: Any, loop: Any, delay: float, callback: Any, args: tuple[Any, ...], context: Any) -> Any:
    gate = _gate_here(loop)
    if gate is None:
        return foreign.call_later(loop, delay, callback, *args, context=context)
    lane = lanes.counted()
    assert lane is not None
    context = context if context is not None else contextvars.copy_context()
    due = asyncio.Handle(callback, args, loop, context)
    tag = lane.tag("t")
    timer_due(lane, tag, max(0, int(delay * 1e6)))
    return due_at_gate(gate, tag, due, lambda fire: foreign.call_later(loop, max(0.0, delay), fire, context=context))


def _timing(foreign: Any) -> Callable[..., Any]:
    def call_at(self: Any, when: float, callback: Any, *args: Any, context: Any = None) -> Any:
        return _arm(foreign, self, when - self.time(), callback, args, context)

    return call_at


def _timing_later(foreign: Any) -> Callable[..., Any]:
    def call_later(self: Any, delay: float, callback: Any, *args: Any, context: Any = None) -> Any:
        return _arm(foreign, self, delay, callback, args, context)

    return call_later


def _posting(foreign: Any) -> Callable[..., Any]:
    def call_soon_threadsafe(self: Any, callback: Any, *args: Any, context: Any = None) -> Any:
        lane = lanes.counted()
        probe = probe_of(self)
        if lane is None or asyncio._get_running_loop() is self or probe is None:
            return foreign.call_soon_threadsafe(self, callback, *args, context=context)
        gate: Gate = lane.gate
        if gate not in probe.gates:
            return foreign.call_soon_threadsafe(self, callback, *args, context=context)
        handle = asyncio.Handle(callback, args, self, context)
        gate.offer(
            lane.tag("p"),
            gate.loops.into(self, lambda: None if handle.cancelled() else handle._run()),
            alive=lambda: not handle.cancelled(),
        )
        return handle

    return call_soon_threadsafe
