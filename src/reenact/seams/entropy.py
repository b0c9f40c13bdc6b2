"""Entropy: each draw that the agent's code makes is an ambient read of its lane.

Randomness from the operating system (``os.urandom`` and with it ``secrets``, ``SystemRandom``, ``uuid4``; the seed of
an unseeded ``Random()``; ``uuid1``) is recorded as bytes. The draws of the shared generator behind the functions of
``random`` are recorded at its two primitives, because the scheduler decides which lane gets which draw. The generator
itself moves on as without a recording, so ``random.seed(42)`` is followed by its usual values.

Draws below a transport are never recorded. They move the generator while recording, as they would unrecorded, and do
not happen in a replay; the agent's own draws come from the recording either way.
"""

from __future__ import annotations

import _random
import os
import random
import struct
import sys
from collections.abc import Callable
from types import MethodType, ModuleType
from typing import Any, Final

from reenact.seams.ambient import answer
from reenact.seams.lanes import Lane, inside, listening
from reenact.seams.patching import replace, when_imported
from reenact.seams.rebinding import Rebinding

__all__ = ["rebinding", "restore", "snapshot"]

SEED_BYTES: Final = 32
"""Entropy that an unseeded generator starts from while it is recorded."""

_urandom = os.urandom
_seed = random.Random.seed
_draw = _random.Random.random
_drawbits = _random.Random.getrandbits
_shared: random.Random = random._inst


class _SharedRandom(random.Random):
    """The class of the shared generator while a session listens."""

    __slots__ = ()

    def random(self) -> float:
        """A float in [0, 1)."""
        fresh = _draw(self)
        lane = listening()
        return fresh if lane is None else answer(lane, "random", fresh)

    def getrandbits(self, k: int, /) -> int:
        """An int of ``k`` bits."""
        fresh = _drawbits(self, k)
        lane = listening()
        return fresh if lane is None or not k else answer(lane, f"bits/{int(k)}", fresh)

    def __reduce__(self) -> Any:
        return random.Random, (), self.getstate()


class _System:
    """Replacements as bound methods: like builtins, they stay plain callables when a class holds one."""

    __slots__ = ()

    def urandom(self, size: int, /) -> bytes:
        """``os.urandom``."""
        fresh = _urandom(size)
        lane = listening()
        return fresh if lane is None or not fresh else answer(lane, f"urandom/{len(fresh)}", fresh)

    def getrandom(self, size: int, flags: int = 0) -> bytes:
        """``os.getrandom``."""
        fresh: bytes = _getrandom(size, flags)
        lane = listening()
        return fresh if lane is None or not fresh else answer(lane, f"urandom/{len(fresh)}", fresh)

    def __deepcopy__(self, _memo: object) -> _System:
        return self


_getrandom: Callable[..., Any] = getattr(os, "getrandom", _urandom)


def _recorded_seed(self: random.Random, a: Any = None, version: int = 2) -> None:
    """``Random.seed``: without a seed, the operating system's entropy is drawn where it can be recorded."""
    lane = listening() if a is None else None
    if lane is not None:
        a = int.from_bytes(answer(lane, f"seed/{SEED_BYTES}", _urandom(SEED_BYTES)), "little")
    _seed(self, a, version)


_SAFE: Final = (0, -1, None)


def _time_safe(original: Callable[[], tuple[bytes, int | None]]) -> Callable[[], tuple[bytes, int | None]]:
    """``uuid._generate_time_safe``, from which ``uuid1`` takes time, node and sequence number at once."""

    def generate() -> tuple[bytes, int | None]:
        made, safe = original()
        lane = listening()
        if lane is None:
            return made, safe
        seen: bytes = answer(lane, "uuid1/17", made + bytes((_SAFE.index(safe) if safe in _SAFE else 2,)))
        return seen[:16], _SAFE[seen[16]]

    return generate


def _node(original: Callable[[], int]) -> Callable[[], int]:
    def getnode() -> int:
        lane = listening()
        if lane is None:
            return original()
        with inside(Lane(lane.path, lane.session, lane.gate, below=True)):  # ``uuid`` draws only on its first call
            fresh = original()
        seen: int = answer(lane, "node/48", fresh)
        return seen

    return getnode


def _hook_uuid(module: ModuleType) -> None:
    if getattr(module, "_generate_time_safe", None) is not None:
        replace(module, "_generate_time_safe", _time_safe)
    replace(module, "getnode", _node)


def _integer(original: Callable[..., int]) -> Callable[..., int]:
    def number(*args: Any, **kwargs: Any) -> int:
        fresh = original(*args, **kwargs)
        lane = listening()
        return fresh if lane is None else answer(lane, "bits/128", fresh)

    return number


def _identifier(original: Callable[..., Any]) -> Callable[..., Any]:
    def identifier(*args: Any, **kwargs: Any) -> Any:
        fresh = original(*args, **kwargs)
        lane = listening()
        return fresh if lane is None else type(fresh)(int=answer(lane, "bits/128", fresh.int))

    return identifier


def _hook_uuid_utils(module: ModuleType) -> None:
    """uuid-utils makes its ids in Rust, from its own entropy."""
    for name in ("_uuid4_int", "_uuid7_int"):
        if hasattr(module, name):
            replace(module, name, _integer)
    for name in ("uuid1", "uuid4", "uuid6", "uuid7"):
        if hasattr(module, name) and not hasattr(module, "_from_int"):
            replace(module, name, _identifier)


def _forget_timestamps() -> None:
    """Let ``uuid`` forget its last timestamp: its clock never goes back, but a replay's time does."""
    module = sys.modules.get("uuid")
    if module is not None:
        for name in ("_last_timestamp", "_last_timestamp_v6", "_last_timestamp_v7"):
            if name in vars(module):
                setattr(module, name, None)


def _begin() -> None:
    _forget_timestamps()
    when_imported("uuid", _hook_uuid)  # hooked once, for the life of the process
    when_imported("uuid_utils", _hook_uuid_utils)
    when_imported("uuid_utils.compat", _hook_uuid_utils)


rebinding = Rebinding(_begin, _forget_timestamps)


def _prepare() -> None:
    system = _System()
    rebinding.add(os, "urandom", _urandom, system.urandom)
    rebinding.add(random, "_urandom", _urandom, system.urandom)
    if hasattr(os, "getrandom"):
        rebinding.add(os, "getrandom", _getrandom, system.getrandom)
    rebinding.add(random, "random", random.random, MethodType(_SharedRandom.random, _shared))
    rebinding.add(random, "getrandbits", random.getrandbits, MethodType(_SharedRandom.getrandbits, _shared))
    rebinding.add(random, "seed", random.seed, MethodType(_recorded_seed, _shared))
    rebinding.add(random.Random, "seed", _seed, _recorded_seed, early=False)
    rebinding.add(_shared, "__class__", random.Random, _SharedRandom, early=False)


_prepare()


_STATE = struct.Struct("<B625IBd")


def snapshot() -> bytes:
    """The state of the shared generator (2.5 kB)."""
    version, internal, gauss = _shared.getstate()
    return _STATE.pack(version, *internal, gauss is not None, gauss or 0.0)


def restore(data: bytes) -> None:
    """Put the shared generator into a recorded state.

    Raises:
        ValueError: The data is not a snapshot.
    """
    try:
        version, *internal, held, gauss = _STATE.unpack(data)
    except struct.error as error:
        raise ValueError(f"not a snapshot of the random generator: {error}") from None
    _shared.setstate((version, tuple(internal), gauss if held else None))
