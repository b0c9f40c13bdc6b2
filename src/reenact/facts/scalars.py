"""Standard types that JSON does not know, as small JSON: one pair of pure functions for each type.

In encoded data, a scalar is an object with one key, the tag: ``{"~decimal": "1.10"}``. ``WRITE`` maps an exact type to
its tag and writer, ``READ`` a tag to its reader. Readers accept only the output of writers, and raise ``ValueError``
(or ``KeyError``, ``TypeError``) for the rest.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from reenact.facts.call import Json

INTEGER_LIMIT = 2**63
"""Integers of this size or more are tagged, because other readers of JSON would round them."""


class NotStorable(Exception):
    """This value of a known type cannot be written as data (a time zone of an unknown class)."""


def _bytes(value: bytes | bytearray) -> Json:
    return base64.b64encode(value).decode("ascii")


def _read_bytes(data: Json) -> bytes:
    return base64.b64decode(data, validate=True)


def _zone(zone: tzinfo | None) -> Json:
    """The data of a time zone: None, the zone's key, ``[seconds, microseconds, name]`` of a fixed offset, or a fixed
    zone of another library."""
    if zone is None:
        return None
    kind = type(zone)
    if kind is ZoneInfo and zone.key is not None:  # type: ignore[attr-defined]
        return zone.key  # type: ignore[attr-defined]
    if kind is timezone:
        offset = zone.utcoffset(None)
        if offset is None:  # pragma: no cover - a fixed zone always has one
            raise NotStorable
        name = None if zone == timezone(offset) and str(zone) == str(timezone(offset)) else str(zone)
        return [offset.days * 86400 + offset.seconds, offset.microseconds, name]
    foreign = f"{kind.__module__}.{kind.__qualname__}"
    if foreign == "dateutil.tz.tz.tzutc":
        return {"dateutil": 0}
    if foreign == "pydantic_core._pydantic_core.TzInfo":
        offset = zone.utcoffset(None)
        return {"pydantic": 0 if offset is None else offset.days * 86400 + offset.seconds}
    raise NotStorable


def _read_zone(data: Json) -> tzinfo | None:
    if data is None:
        return None
    if isinstance(data, str):
        return ZoneInfo(data)
    if isinstance(data, list):
        seconds, microseconds, name = data
        offset = timedelta(seconds=seconds, microseconds=microseconds)
        if name is None:
            return UTC if not offset else timezone(offset)
        return timezone(offset, name)
    made: tzinfo
    if "dateutil" in data:
        made = sys.modules["dateutil.tz"].tzutc()
    else:
        made = sys.modules["pydantic_core"].TzInfo(data["pydantic"])
    return made


def _datetime(value: datetime) -> Json:
    plain = value.replace(tzinfo=None, fold=0).isoformat()
    if value.tzinfo is None and not value.fold:
        return plain
    return [plain, _zone(value.tzinfo), value.fold]


def _read_datetime(data: Json) -> datetime:
    if isinstance(data, str):
        return datetime.fromisoformat(data)
    plain, zone, fold = data
    return datetime.fromisoformat(plain).replace(tzinfo=_read_zone(zone), fold=fold)


def _time(value: time) -> Json:
    plain = value.replace(tzinfo=None, fold=0).isoformat()
    if value.tzinfo is None and not value.fold:
        return plain
    return [plain, _zone(value.tzinfo), value.fold]


def _read_time(data: Json) -> time:
    if isinstance(data, str):
        return time.fromisoformat(data)
    plain, zone, fold = data
    return time.fromisoformat(plain).replace(tzinfo=_read_zone(zone), fold=fold)


def _timezone(value: tzinfo) -> Json:
    return [_zone(value)]


def _read_timezone(data: Json) -> tzinfo:
    zone = _read_zone(data[0])
    if zone is None:
        raise ValueError("no zone")
    return zone


def _complex(value: complex) -> Json:
    return [repr(value.real), repr(value.imag)]


def _read_complex(data: Json) -> complex:
    return complex(float(data[0]), float(data[1]))


def _text(value: str) -> Json:
    """The data of a text with lone surrogates, which UTF-8 cannot encode."""
    return base64.b64encode(value.encode("utf-8", "surrogatepass")).decode("ascii")


def _read_text(data: Json) -> str:
    # Two surrogates in a row must stay two code units. UTF-8 with "surrogatepass" keeps them separate.
    return base64.b64decode(data, validate=True).decode("utf-8", "surrogatepass")


def _path(value: Path | PurePosixPath | PureWindowsPath) -> Json:
    kind = "Path" if isinstance(value, Path) else type(value).__name__
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        return [kind, _text(text), "raw"]
    return [kind, text]


_PATHS: dict[str, Any] = {"Path": Path, "PurePosixPath": PurePosixPath, "PureWindowsPath": PureWindowsPath}


def _read_path(data: Json) -> Any:
    return _PATHS[data[0]](_read_text(data[1]) if len(data) > 2 else data[1])


_CONSTANTS: dict[str, Any] = {"Ellipsis": Ellipsis, "NotImplemented": NotImplemented}

WRITE: dict[type, tuple[str, Callable[[Any], Json]]] = {
    bytes: ("~bytes", _bytes),
    bytearray: ("~bytearray", _bytes),
    datetime: ("~datetime", _datetime),
    date: ("~date", date.isoformat),
    time: ("~time", _time),
    timedelta: ("~timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
    timezone: ("~timezone", _timezone),
    ZoneInfo: ("~timezone", _timezone),
    Decimal: ("~decimal", str),
    Fraction: ("~fraction", lambda value: [hex(value.numerator), hex(value.denominator)]),
    UUID: ("~uuid", str),
    complex: ("~complex", _complex),
    range: ("~range", lambda value: [hex(value.start), hex(value.stop), hex(value.step)]),
    PosixPath: ("~path", _path),
    WindowsPath: ("~path", _path),
    PurePosixPath: ("~path", _path),
    PureWindowsPath: ("~path", _path),
    type(Ellipsis): ("~constant", lambda value: "Ellipsis"),
    type(NotImplemented): ("~constant", lambda value: "NotImplemented"),
}

READ: dict[str, Callable[[Json], Any]] = {
    "~bytes": _read_bytes,
    "~bytearray": lambda data: bytearray(_read_bytes(data)),
    "~datetime": _read_datetime,
    "~date": date.fromisoformat,
    "~time": _read_time,
    "~timedelta": lambda data: timedelta(data[0], data[1], data[2]),
    "~timezone": _read_timezone,
    "~decimal": Decimal,
    "~fraction": lambda data: Fraction(int(data[0], 16), int(data[1], 16)),
    "~uuid": UUID,
    "~complex": _read_complex,
    "~range": lambda data: range(int(data[0], 16), int(data[1], 16), int(data[2], 16)),
    "~path": _read_path,
    "~constant": lambda data: _CONSTANTS[data],
    "~float": float,
    "~int": lambda data: int(data, 16),
    "~str": _read_text,
}


def write_integer(value: int) -> Json:
    """An integer of any size: plain below the limit, hexadecimal beyond it (which no digit limit forbids)."""
    return value if -INTEGER_LIMIT < value < INTEGER_LIMIT else {"~int": hex(value)}


def write_float(value: float) -> Json:
    """A float; NaN and the infinities by name."""
    return value if value - value == 0.0 else {"~float": repr(value)}


def write_text(value: str) -> Json:
    """Text; with lone surrogates as base64 of their bytes."""
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return {"~str": _text(value)}
    return value
