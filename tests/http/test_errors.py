"""Proves that exceptions come back as their own class, whole, and never as another."""

from __future__ import annotations

import json
import socket
import ssl
import sys
import types
from typing import Any

import aiohttp
import httpx2
import pytest
import urllib3
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import UnreplayableRun
from reenact.facts.call import Call, Effect, Failure, Kind
from reenact.seams.http import http_errors

from .fakes import Exchange, Recording, Replaying, listened, told

ARGS = st.lists(st.none() | st.integers() | st.text() | st.binary(max_size=8) | st.tuples(st.integers(), st.text()))
PLAIN = st.sampled_from([ValueError, KeyError, RuntimeError, TimeoutError, EOFError, httpx2.ReadError, ssl.SSLError])


def again(error: BaseException, **roles: Any) -> BaseException:
    fact = http_errors.describe(error, roles)
    for data in (fact.args, fact.state):
        json.loads(data or b"null")
    return http_errors.rebuild(fact, roles)


@given(kind=PLAIN, args=ARGS, note=st.text(), state=st.dictionaries(st.text("abc", min_size=1), st.integers()))
def test_what_an_exception_holds_comes_back(kind: Any, args: list[Any], note: str, state: dict[str, int]) -> None:
    error = kind.__new__(kind, *args)
    error.args = tuple(args)
    vars(error).update(state)
    error.add_note(note)
    made = again(error)
    assert type(made) is kind and made.args == error.args and vars(made) == vars(error)


@given(st.integers(1, 130), st.text(), st.none() | st.text(min_size=1))
def test_errors_of_the_system(errno: int, text: str, name: str | None) -> None:
    error = OSError(errno, text) if name is None else OSError(errno, text, name)
    made = again(error)
    assert type(made) is type(error) and isinstance(made, OSError) and str(made) == str(error)
    assert (made.errno, made.strerror, made.filename) == (error.errno, error.strerror, error.filename)


def test_a_chain_of_causes_and_contexts() -> None:
    try:
        try:
            try:
                raise socket.gaierror(-2, "unknown")
            except OSError:
                raise KeyError("context") from None
        except KeyError as error:
            raise httpx2.ConnectError("top") from error
    except httpx2.ConnectError as error:
        made = again(error)
        assert told(made) == told(error)
        cause = made.__cause__
        assert cause is not None and cause.__suppress_context__ and type(cause.__context__) is socket.gaierror


def test_groups_keep_their_parts() -> None:
    group = ExceptionGroup("some", [ValueError("a"), ExceptionGroup("more", [OSError(2, "b")])])
    made = again(group)
    assert isinstance(made, ExceptionGroup) and made.message == "some" and repr(made) == repr(group)


def test_what_belongs_to_the_client_is_filled_in() -> None:
    pool, other = urllib3.HTTPConnectionPool("h"), urllib3.HTTPConnectionPool("h")
    error = urllib3.exceptions.ReadTimeoutError(pool, "/x", "slow")
    made = http_errors.rebuild(http_errors.describe(error, {"pool": pool}), {"pool": other})
    assert isinstance(made, urllib3.exceptions.ReadTimeoutError) and made.pool is other and str(made) == str(error)


def test_keys_of_another_host_stay_theirs() -> None:
    from aiohttp.client_reqrep import ConnectionKey

    mine = ConnectionKey("mine", 1, False, True, None, None, None)
    proxy = ConnectionKey("proxy", 2, False, True, None, None, None)
    made = again(aiohttp.ClientProxyConnectionError(proxy, OSError(111, "refused")), connection_key=mine)
    assert isinstance(made, aiohttp.ClientProxyConnectionError) and (made.host, made.port) == ("proxy", 2)
    assert made.errno == 111 and isinstance(made.os_error, ConnectionRefusedError)


def test_a_class_that_is_not_loaded_is_refused_and_the_refusal_sticks(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("a_library_of_then")
    kind = type("Odd", (httpx2.ConnectError,), {"__module__": module.__name__})
    module.Odd = kind  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    url = "http://127.0.0.1:1/"
    call = Call(Kind.HTTP, "", Effect.READ, "http/1", {"method": "GET", "url": url}, b"")
    for wrapped in (kind("gone"), ValueError("gone")):
        if not isinstance(wrapped, kind):
            wrapped.__cause__ = kind("below")
        recording = Recording()
        recording.exchanges.append(Exchange(call, "root", Failure(http_errors.describe(wrapped))))
        monkeypatch.setitem(sys.modules, module.__name__, module)
        with listened(Replaying(recording)), pytest.raises(type(wrapped)), httpx2.Client() as client:
            client.get(url)
        monkeypatch.delitem(sys.modules, module.__name__)
        replaying = Replaying(recording)
        with listened(replaying), pytest.raises(UnreplayableRun, match=r"a_library_of_then\.Odd"), httpx2.Client() as c:
            c.get(url)
        assert [type(fault) for fault in replaying.faults] == [UnreplayableRun]
