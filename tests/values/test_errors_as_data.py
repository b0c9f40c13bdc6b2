"""Exceptions come back as what they were: class, arguments, attributes, chain, notes; or are refused by name."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import UnreplayableRun
from reenact.facts import value_writer
from reenact.facts.call import ErrorFact
from reenact.facts.values import Codec, decode, describe_error, encode, register_codec, restore_error


class Demanding(Exception):
    """Cannot be made from its ``args``, and would act if it were made."""

    made = 0

    def __init__(self, *, code: int, body: dict[str, Any]) -> None:
        super().__init__(f"code {code}")
        self.code = code
        self.body = body
        Demanding.made += 1

    def __new__(cls, **kwargs: Any) -> Demanding:
        assert kwargs, "made without its arguments"
        return super().__new__(cls)

    def __str__(self) -> str:
        return f"demanding {self.code}"


class Slotted(ValueError):
    __slots__ = ("where",)


class Both(KeyError, OSError):
    pass


@dataclass
class DataError(Exception):
    code: int


def raised(make: Any) -> BaseException:
    try:
        made = make()
        if isinstance(made, BaseException):
            raise made
    except BaseException as error:
        return error
    raise AssertionError


def chained() -> Exception:
    try:
        try:
            os.stat("no such file")
        except OSError as inner:
            raise Demanding(code=3, body={"a": (1, b"x")}) from inner
    except Demanding as error:
        error.add_note("first note")
        error.add_note("second")
        return error
    raise AssertionError


def in_context() -> BaseException:
    try:
        try:
            raise KeyError("inner")
        except KeyError:
            raise LookupError("outer")
    except LookupError as error:
        return error


def slotted() -> BaseException:
    error = Slotted("s")
    error.where = ("here", 1)  # type: ignore[attr-defined]
    return error


ERRORS: dict[str, Any] = {
    "value": lambda: ValueError("v", 1, b"x"),
    "no arguments": KeyError,
    "missing key": lambda: raised(lambda: dict[str, int]()["k"]),
    "no file": lambda: raised(lambda: os.stat("/no such file")),
    "two files": lambda: OSError(18, "cross", "a", None, "b"),
    "connection": lambda: ConnectionResetError(104, "reset"),
    "timeout": TimeoutError,
    "unicode": lambda: raised(lambda: b"\xff".decode()),
    "unicode encoding": lambda: raised(lambda: "\ud800".encode()),
    "json": lambda: raised(lambda: json.loads("{")),
    "attribute": lambda: raised(lambda: object().nope),  # type: ignore[attr-defined]
    "import": lambda: ImportError("m", name="n", path="p"),
    "syntax": lambda: raised(lambda: compile("a b", "f.py", "exec")),
    "stop": lambda: StopIteration({"a": (1,)}),
    "stop async": StopAsyncIteration,
    "exit": lambda: SystemExit(3),
    "cancelled": asyncio.CancelledError,
    "arithmetic": lambda: raised(lambda: 1 / 0),
    "process": lambda: subprocess.CalledProcessError(2, ["ls"], b"out", b"err"),
    "zone": lambda: raised(lambda: zoneinfo.ZoneInfo("No/Where")),
    "demanding": lambda: Demanding(code=5, body={"x": None}),
    "slots": slotted,
    "record": lambda: DataError(7),
    "cause": chained,
    "context": in_context,
    "hidden context": lambda: raised(lambda: in_context().with_traceback(None)),
    "group": lambda: ExceptionGroup("g", [ValueError(1), ExceptionGroup("h", [chained()])]),
    "base group": lambda: BaseExceptionGroup("g", [KeyboardInterrupt()]),
    "surrogates": lambda: ValueError("\ud800"),
}


FIELDS = [
    *("errno", "strerror", "filename", "filename2", "name", "path", "msg", "lineno", "offset", "text", "value"),
    *("code", "start", "end", "object", "encoding", "reason", "where", "pos", "doc", "cmd", "output"),
]


def alike(left: BaseException | None, right: BaseException | None) -> None:
    if left is None or right is None:
        assert left is right
        return
    assert type(left) is type(right) and str(left) == str(right) and repr(left) == repr(right)
    assert left.args == right.args or isinstance(left, BaseExceptionGroup)
    assert left.__dict__ == right.__dict__
    for name in FIELDS:
        assert getattr(left, name, None) == getattr(right, name, None)
    assert left.__suppress_context__ == right.__suppress_context__
    alike(left.__cause__, right.__cause__)
    if left.__cause__ is None:
        alike(left.__context__, right.__context__)
    if isinstance(left, BaseExceptionGroup):
        for one, other in zip(left.exceptions, right.exceptions, strict=True):  # type: ignore[attr-defined]
            alike(one, other)


@pytest.mark.parametrize("name", ERRORS)
def test_it_comes_back_as_it_was(name: str) -> None:
    error = ERRORS[name]()
    made = Demanding.made
    fact = describe_error(error)
    back = restore_error(fact)
    assert Demanding.made == made, "a constructor ran"
    alike(error, back)
    assert fact.text == str(error) or name == "surrogates"
    assert describe_error(back) == fact
    alike(error, decode(encode([error]).body)[0])


plain = (
    st.none() | st.integers() | st.text(max_size=5) | st.binary(max_size=3) | st.tuples(st.integers(), st.booleans())
)


@given(
    st.sampled_from([ValueError, KeyError, RuntimeError, OSError, Slotted]),
    st.lists(plain, max_size=3),
    st.dictionaries(st.text(min_size=1, max_size=4), plain, max_size=3),
    st.lists(st.text(max_size=4), max_size=2),
)
def test_arguments_attributes_and_notes_by_property(
    cls: type[Exception], args: list[Any], state: dict[str, Any], notes: list[str]
) -> None:
    error = cls(*args)
    error.__dict__.update(state)
    for note in notes:
        error.add_note(note)
    back = restore_error(describe_error(error))
    assert type(back) is type(error) and back.args == error.args and back.__dict__ == error.__dict__


def test_a_local_class_is_found_among_the_loaded() -> None:
    class Local(Exception):
        pass

    back = restore_error(describe_error(Local("x")))
    assert type(back) is Local


def test_classes_that_cannot_be_told_apart_are_refused() -> None:
    def define() -> type[Exception]:
        class Twin(Exception):
            pass

        return Twin

    first, second = define(), define()
    with pytest.raises(UnreplayableRun, match="several"):
        restore_error(describe_error(first("x")))
    assert second is not first


def test_a_class_that_is_not_loaded_is_refused_and_nothing_is_imported() -> None:
    assert "antigravity" not in sys.modules and "this" not in sys.modules
    for name in ("antigravity.Fly", "this.Zen", "no.such.Thing", "builtins.int", "os.path", "nodots"):
        with pytest.raises(UnreplayableRun, match="not loaded") as caught:
            restore_error(ErrorFact(name, "text", b'{"~tuple":[]}'))
        assert caught.value.missing == (name,)
    assert "antigravity" not in sys.modules and "this" not in sys.modules


def test_what_cannot_be_stored_is_refused_not_left_out() -> None:
    error = ValueError("x")
    error.lock = object()  # type: ignore[attr-defined]
    with pytest.raises(UnreplayableRun, match="live value"):
        restore_error(describe_error(error))
    with pytest.raises(UnreplayableRun, match="live value"):
        restore_error(describe_error(ValueError(object())))


class Response:
    def __init__(self, status: int) -> None:
        self.status = status


class StatusError(Exception):
    def __init__(self, response: Response) -> None:
        super().__init__(f"status {response.status}")
        self.response = response


class Gone(StatusError):
    pass


@pytest.fixture
def taught() -> Iterator[None]:
    """One class more, and afterwards what the seams of this process have taught."""
    before = dict(value_writer.codecs)
    register_codec(
        f"{__name__}.Response", Codec(lambda it: {"status": it.status}, lambda cls, data: cls(data["status"]))
    )
    yield
    value_writer.codecs.clear()
    value_writer.codecs.update(before)


def test_a_seam_may_teach_a_class(taught: None) -> None:
    back = restore_error(describe_error(Gone(Response(410))))
    assert type(back) is Gone and back.response.status == 410 and str(back) == "status 410"
    register_codec(f"{__name__}.StatusError", Codec(lambda it: it.response, lambda cls, data: cls(data)))
    fact = describe_error(Gone(Response(411)))
    back = restore_error(fact)
    assert type(back) is Gone and back.response.status == 411 and fact.args is None
