"""Ambient reads: values that the agent learns without a call, and how they are named and packed.

A read has a *source*, a name with an optional parameter after a slash. The parameter is part of the identity, so that
a value recorded for one shape of question never answers another (sixteen bytes for a draw of eight):

======================================================  ======================  =====================================
source                                                  value                   packed as
======================================================  ======================  =====================================
``wall`` ``mono`` ``perf`` ``process`` ``thread``       int, nanoseconds        the first as eight bytes, little-endian;
``clock/ID`` (another clock of ``clock_gettime``)                               then a column of the differences
``set`` (a timer is set)                                int, nanoseconds        the same
``random``                                              float in [0, 1)         eight bytes, IEEE 754, little-endian
``bits/K`` ``node/48``                                  int of at most K bits   ceil(K / 8) bytes, little-endian
``urandom/N`` ``seed/N`` ``uuid1/N`` ``effect/16``      N bytes                 the bytes
``times/N``                                             tuple of N floats       N times eight bytes
``numpy/N``                                             N bytes, or none        a byte that says which, then the bytes
``env/NAME`` ``flags/status`` ``listing/PATH``          ``facts.texts``         as there
======================================================  ======================  =====================================

Each pack is decoded by itself, and the values of all packs of one address are joined.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from reenact.facts import texts
from reenact.facts.clock_ids import counts_ticks, made, moved
from reenact.facts.integer_columns import column, read, steps, sums
from reenact.facts.interruptions import by_signal_handler

if TYPE_CHECKING:
    from reenact.seams.lanes import Lane

CLOCKS = frozenset({"wall", "mono", "perf", "process", "thread", "clock"})
"""The names of the sources that are clocks: their values are nanoseconds and always increase."""

EFFECT = "effect/16"
"""The identity of the write under way."""

TIMED = "uuid1/17"
"""Ids of version 1: their bytes, and a byte that says whether the system made them safely."""

_TOLD = frozenset({"wall", "mono", "perf"})

TICK_NS = 1_000
"""How far a clock moves at its first read past the recording."""

_FIRST = 8
"""Bytes of the first read in a pack of clock reads."""


def answer(lane: Lane, source: str, fresh: Any) -> Any:
    """The value for the agent at one ambient read. The whole crossing takes about 0.1 µs beside the session's work.

    Args:
        lane: From ``lanes.listening()``.
        source: Name, with its parameter.
        fresh: The present value of the real source.

    Raises:
        Halt: The replay has diverged.
    """
    try:
        return lane.session.ambient(lane, source, fresh)
    except Exception as error:
        if by_signal_handler(error) or lane.session.fault(error):
            raise
        return fresh


def unrecorded(lane: Lane, source: str, fresh: Any) -> Any:
    """The value for an unrecorded reader of a clock: the session's time, or else the real time."""
    if source not in _TOLD:
        return fresh
    try:
        return lane.session.unrecorded(lane, source, fresh)
    except Exception as error:
        if by_signal_handler(error) or lane.session.fault(error):
            raise
        return fresh


def pack(source: str, values: Sequence[Any]) -> bytes:
    """Pack values of one source; pure. About 0.3 µs for each clock read, less for the others."""
    form, width = _form(source)
    return form.pack(values, width) if values else b""


def unpack(source: str, data: bytes) -> list[Any]:
    """Read a pack back.

    Raises:
        ValueError: The data is not a pack of this source.
    """
    form, width = _form(source)
    return form.unpack(data, width)


def extrapolate(source: str, last: Any, n: int, salt: bytes = b"") -> Any:
    """The answer to the ``n``-th read (from 1) past the last recorded one.

    Pure, and never the same twice in a row. A clock moves on by a microsecond, and faster with each read, so that a
    loop that waits for a deadline ends. Entropy is a digest of the last value.

    Args:
        source: Name, with its parameter.
        last: Last recorded value of this source for the lane; None when there is none.
        n: The number of reads since then.
        salt: The path of the lane: without it, two lanes without a recorded value would draw alike.
    """
    form, width = _form(source)
    if form is _NANOSECONDS:
        return (last or 0) + n * TICK_NS + n * n
    if form in (_MAYBE_BYTES, _TEXTS):  # other kinds are unknown: the value stays unchanged
        return b""
    if form is _FLOATS:
        step = (n * TICK_NS + n * n) / 1e9
        return tuple(value + step for value in (last or (0.0,) * width))
    if source == TIMED:
        known = from_timed(last) if last is not None else 0
        return timed(moved(known, n) if counts_ticks(known) else made(n, salt), last or bytes(17))
    seen = form.pack((last,), width) if last is not None else b""
    stream = hashlib.shake_256(b"\0".join((source.encode(), salt, str(n).encode(), seen)))
    if form is _FLOAT:
        return (int.from_bytes(stream.digest(8), "little") >> 11) * 2**-53
    drawn = stream.digest(width if form is _BYTES else (width + 7) // 8)
    return drawn if form is _BYTES else int.from_bytes(drawn, "little") & ((1 << width) - 1)


def timed(uuid: int, like: bytes = bytes(17)) -> bytes:
    """An id in the form that a read of ``TIMED`` gives; the byte on its safety is taken from ``like``, another read."""
    return uuid.to_bytes(16, "big") + like[16:]


def from_timed(value: bytes) -> int:
    """The id in a read of ``TIMED``."""
    return int.from_bytes(value[:16], "big")


class _Form(NamedTuple):
    pack: Callable[[Sequence[Any], int], bytes]
    unpack: Callable[[bytes, int], list[Any]]


def _pack_nanoseconds(values: Sequence[int], _width: int) -> bytes:
    first = values[0].to_bytes(_FIRST, "little", signed=True)
    return first + column(steps(values)[1:]) if len(values) > 1 else first


def _unpack_nanoseconds(data: bytes, _width: int) -> list[int]:
    if not data:
        return []
    if len(data) < _FIRST:
        raise ValueError("a pack of clock reads ends inside a number")
    first = int.from_bytes(data[:_FIRST], "little", signed=True)
    if len(data) == _FIRST:
        return [first]
    count, rest = divmod(len(data) - _FIRST - 1, max(data[_FIRST], 1))
    if rest:
        raise ValueError("a pack of clock reads ends inside a number")
    return list(sums(read(data, _FIRST, count)[0], initial=first))


def _slices(data: bytes, width: int) -> list[bytes]:
    if width <= 0 or len(data) % width:
        raise ValueError(f"a pack of {len(data)} bytes does not hold values of {width} bytes")
    return [data[at : at + width] for at in range(0, len(data), width)]


def _pack_bits(values: Sequence[int], width: int) -> bytes:
    size = (width + 7) // 8
    return b"".join([value.to_bytes(size, "little") for value in values])


def _unpack_bits(data: bytes, width: int) -> list[int]:
    return [int.from_bytes(part, "little") for part in _slices(data, (width + 7) // 8)]


def _unpack_float(data: bytes, _width: int) -> list[float]:
    _slices(data, 8)
    return list(struct.unpack(f"<{len(data) // 8}d", data))


def _unpack_maybe_bytes(data: bytes, width: int) -> list[bytes]:
    values = []
    at = 0
    while at < len(data):
        size = width if data[at] else 0
        values.append(data[at + 1 : at + 1 + size])
        at += 1 + size
    if at != len(data):
        raise ValueError(f"a pack of {len(data)} bytes ends inside a value of {width} bytes")
    return values


_NANOSECONDS = _Form(_pack_nanoseconds, _unpack_nanoseconds)
_FLOAT = _Form(lambda values, _: struct.pack(f"<{len(values)}d", *values), _unpack_float)
_FLOATS = _Form(
    lambda values, width: b"".join([struct.pack(f"<{width}d", *value) for value in values]),
    lambda data, width: [struct.unpack(f"<{width}d", part) for part in _slices(data, 8 * width)],
)
_BITS = _Form(_pack_bits, _unpack_bits)
_BYTES = _Form(lambda values, _: b"".join(values), _slices)
_MAYBE_BYTES = _Form(
    lambda values, _: b"".join([bytes((bool(value),)) + value for value in values]), _unpack_maybe_bytes
)
_TEXTS = _Form(lambda values, _: texts.pack(values), lambda data, _: texts.unpack(data))

_FORMS = {
    **dict.fromkeys(CLOCKS, _NANOSECONDS),
    "set": _NANOSECONDS,
    "random": _FLOAT,
    "bits": _BITS,
    "node": _BITS,
    "urandom": _BYTES,
    "seed": _BYTES,
    "uuid1": _BYTES,
    "effect": _BYTES,
    "times": _FLOATS,
    "numpy": _MAYBE_BYTES,
    "env": _TEXTS,
    "flags": _TEXTS,
    "listing": _TEXTS,
}

_known: dict[str, tuple[_Form, int]] = {}


def _form(source: str) -> tuple[_Form, int]:
    found = _known.get(source)
    if found is None:
        name, _, parameter = source.partition("/")
        form = _FORMS.get(name)
        if form is None or not (parameter.isdecimal() or form in (_NANOSECONDS, _FLOAT, _TEXTS)):
            raise ValueError(f"unknown ambient source {source!r}")
        found = form, int(parameter) if parameter.isdecimal() else 0
        if len(_known) < 1024:  # sources named in a damaged log must not grow this without bound
            _known[source] = found
    return found
