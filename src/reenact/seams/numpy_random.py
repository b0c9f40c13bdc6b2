"""numpy's randomness: draws from its global generator are ambient reads of their lane.

``default_rng()``, ``SeedSequence()`` and every bit generator without a seed take their entropy from ``secrets``, which
the seam of ``seams.entropy`` records. This module records the generator behind ``numpy.random.rand`` and its siblings.
The scheduler decides which strand gets which draw, and the state before the recording would be unknown.

So each draw of a listening strand records the generator's state (2.5 kB), or an empty value if the state is the one
that this strand left. A replay puts that state back first. A strand that is alone with the generator records the state
once.
"""

from __future__ import annotations

import _thread
import struct
import sys
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from reenact.seams.ambient import answer
from reenact.seams.lanes import Lane, inside, listening
from reenact.seams.patching import replace, when_imported

__all__ = ["install"]

_STATE: Final = struct.Struct("<2496sIBd")
SOURCE: Final = f"numpy/{_STATE.size}"
"""Name of the ambient source: the state of numpy's global generator."""

_lock = _thread.RLock()
_draws = 0
_drawing = False
_left: weakref.WeakKeyDictionary[Any, dict[str, tuple[int, bytes]]] = weakref.WeakKeyDictionary()
"""For each session, by strand: the number of draws after its last one, and in a replay the state at that moment."""


def install() -> None:
    """Hook numpy's global generator once the program has imported it."""
    when_imported("numpy.random.bit_generator", _hook_entropy)
    when_imported("numpy.random", _hook)


def _hook_entropy(module: ModuleType) -> None:
    """Exempt the draws that numpy makes while it imports its module late: their moment is random too."""
    replace(module, "randbits", _drawing_bits)


def _drawing_bits(original: Callable[[int], int]) -> Callable[[int], int]:
    def randbits(bits: int) -> int:
        lane = listening()
        if lane is None or not _importing():
            return original(bits)
        with inside(Lane(lane.path, lane.session, lane.gate, below=True)):
            return original(bits)

    return randbits


def _importing() -> bool:
    spec = getattr(sys.modules.get("numpy.random"), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


def _hook(module: ModuleType) -> None:
    """Replace the global generator by one of our class with the same state."""
    mtrand: Any = getattr(module, "mtrand", None)
    before = getattr(mtrand, "_rand", None)
    if before is None or type(before) is not mtrand.RandomState:
        return
    shared = _shared_class(mtrand.RandomState)(before._bit_generator)
    mtrand.RandomState.set_state(shared, before.get_state(legacy=False))  # not as a read
    for namespace in (mtrand, module):
        for name, value in list(vars(namespace).items()):
            if getattr(value, "__self__", None) is before:
                setattr(namespace, name, getattr(shared, name))
    mtrand._rand = shared


def _shared_class(base: Any) -> Any:
    """A subclass of ``RandomState`` whose every public method is a read of the calling strand."""
    methods = {
        name: _reading(getattr(base, name))
        for name in dir(base)
        if not name.startswith("_") and callable(getattr(base, name))
    }
    return type("RandomState", (base,), {"__module__": base.__module__, "__doc__": base.__doc__, **methods})


def _reading(original: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        global _draws, _drawing
        lane = listening()
        if lane is None:
            with _lock:
                _draws += 1
            return original(self, *args, **options)
        with _lock:
            if _drawing:  # ``rand`` asks ``random_sample`` of the same generator
                return original(self, *args, **options)
            strand = _strand(lane)
            states = _before(lane, strand, self)
            _draws += 1
            _drawing = True
            try:
                return original(self, *args, **options)
            finally:
                _drawing = False
                if states is not None:
                    states[strand] = _draws, _state(self) if lane.gate.schedule.follows else b""

    for attribute in ("__name__", "__qualname__", "__doc__"):
        setattr(method, attribute, getattr(original, attribute, None))
    return method


def _before(lane: Lane, strand: str, generator: Any) -> dict[str, tuple[int, bytes]] | None:
    """Note the state that a draw begins from, or put the recorded one back. None where that is not possible."""
    try:
        if generator._bit_generator.state["bit_generator"] != "MT19937":
            lane.session.gap("numpy's global generator is another than MT19937", "numpy.random")
            return None
        states = _left.setdefault(lane.session, {})
        at, kept = states.get(strand, (-1, b""))
        now = b"" if at == _draws else _state(generator)
        seen: bytes = answer(lane, SOURCE, now)
        if seen != now and (seen or kept):
            _restore(generator, seen or kept)
        return states
    except Exception as fault:
        if lane.session.fault(fault):
            raise
        return None


def _strand(lane: Lane) -> str:
    """The strand whose draws follow each other in a replay as well; draws inside a frozen call are separate."""
    path = lane.path
    if lane.quiet:
        return path
    scope = path.find(">", path.rfind("/") + 1)
    return path if scope < 0 else path[:scope]


def _state(generator: Any) -> bytes:
    """The state of a generator as bytes; about 5 µs."""
    base: Any = type(generator).__base__
    _, key, position, held, gauss = base.get_state(generator)
    return _STATE.pack(key.astype("<u4").tobytes(), position, held, gauss)


def _restore(generator: Any, data: bytes) -> None:
    key, position, held, gauss = _STATE.unpack(data)
    words = struct.unpack("<624I", key)
    base: Any = type(generator).__base__
    base.set_state(generator, ("MT19937", words, position, held, gauss))
