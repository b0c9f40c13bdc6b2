"""Objects that do their worst when somebody touches them: none of their code may run, none may stop a recorder."""

from __future__ import annotations

import io
import re
import socket
import sys
import threading
import weakref
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import pydantic


class Bomb(BaseException):
    """Raised by whatever ran although nobody may run it."""


def boom(*args: object, **kwargs: object) -> NoReturn:
    raise Bomb("the agent's code was called")


class BadRepr:
    __repr__ = __str__ = __format__ = boom


class BadEverything:
    """Every hook that a curious recorder could trip over."""

    __repr__ = __str__ = __hash__ = __eq__ = __bool__ = __len__ = __iter__ = __getitem__ = boom
    __getattr__ = __reduce__ = __reduce_ex__ = __getstate__ = __deepcopy__ = __copy__ = __call__ = boom
    __contains__ = __index__ = __int__ = __float__ = __json__ = __dir__ = __sizeof__ = boom


class LyingClass:
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        boom()


class LyingDict:
    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        boom()


class Watchful:
    def __getattribute__(self, name: str) -> Any:
        boom()


class Meta(type):
    __instancecheck__ = __subclasscheck__ = __repr__ = __eq__ = boom
    __hash__ = type.__hash__

    def __getattribute__(cls, name: str) -> Any:
        boom()


class OfMeta(metaclass=Meta):
    pass


class UnhashableMeta(type):
    __hash__ = boom
    __eq__ = boom


class OfUnhashable(metaclass=UnhashableMeta):
    pass


class BadList(list):  # type: ignore[type-arg]
    __iter__ = __len__ = __getitem__ = __repr__ = __eq__ = boom


class BadDict(dict):  # type: ignore[type-arg]
    __iter__ = __len__ = __getitem__ = items = keys = values = __repr__ = __contains__ = boom


class BadStr(str):
    __repr__ = __str__ = __len__ = encode = __eq__ = isascii = boom
    __hash__ = str.__hash__


class BadInt(int):
    __repr__ = __str__ = __int__ = __index__ = __eq__ = __lt__ = boom
    __hash__ = int.__hash__


class BadKey:
    __eq__ = __repr__ = boom

    def __hash__(self) -> int:
        return 7


@dataclass
class BadData:
    value: Any
    __repr__ = __eq__ = boom

    def __getattr__(self, name: str) -> Any:
        boom()


class BadPair(NamedTuple):
    left: Any
    right: Any

    def __repr__(self) -> str:
        boom()


class BadModel(pydantic.BaseModel):
    value: int = 1
    __repr__ = __str__ = boom
    model_dump = model_dump_json = __getstate__ = boom


class BadError(Exception):
    __str__ = __repr__ = __reduce__ = boom


class QuietlyBadError(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


class SelfDescribing:
    __module__ = property(boom)


def endless() -> Any:
    loop: list[Any] = [1]
    loop.append(loop)
    return loop


def doubling() -> Any:
    """Sixty lists that unfold into 2**60."""
    inner: list[Any] = []
    for _ in range(60):
        inner = [inner, inner]
    return inner


def deep() -> Any:
    inner: Any = {}
    for _ in range(5_000):
        inner = {"a": (inner,)}
    return inner


def deep_plain() -> Any:
    inner: Any = []
    for _ in range(20_000):
        inner = [inner]
    return inner


def ring() -> Any:
    left, right = BadData(None), BadData(None)
    left.value, right.value = right, left
    return {"ring": left}


def objects() -> dict[str, Any]:
    """Each of them by name, made anew."""
    target = BadRepr()
    return {
        "bad repr": target,
        "bad everything": BadEverything(),
        "lying class": LyingClass(),
        "lying dict": LyingDict(),
        "watchful": Watchful(),
        "of meta": OfMeta(),
        "the meta class itself": OfMeta,
        "of unhashable meta": OfUnhashable(),
        "bad list": BadList([1, 2]),
        "bad dict": BadDict(a=1),
        "bad str": BadStr("x"),
        "bad int": BadInt(3),
        "bad key": {BadKey(): 1},
        "bad data": BadData(BadRepr()),
        "bad pair": BadPair(1, BadRepr()),
        "bad model": BadModel(value=2),
        "bad error": BadError(BadRepr()),
        "quietly bad error": QuietlyBadError("x"),
        "self describing": SelfDescribing(),
        "list that holds itself": endless(),
        "records that hold each other": ring(),
        "doubling": doubling(),
        "deep": deep(),
        "deep and plain": deep_plain(),
        "lock": threading.Lock(),
        "generator": (_ for _ in ()),
        "socket type": socket.socket,
        "file": io.StringIO("x"),
        "weak reference": weakref.ref(target),
        "pattern": re.compile("x"),
        "frame": sys._getframe(),
        "module": sys,
        "function": objects,
        "memory view": memoryview(b"x"),
        "class": BadRepr,
        "surrogates": ["\ud800" * 3, {"\udfff": 1}],
        "huge integer": 10**6000,
        "not a number": [float("nan")],
        "mapping proxy": BadRepr.__dict__,
        "set of bad": {BadKey()},
    }


NAMES = sorted(objects())
