"""Proves that what is seen of a descriptor is seen of one file, though its number is given to another meanwhile."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from reenact.seams import accepted_connections, readiness


class Reused:
    """A number that another thread closes, and opens something else under, as soon as it has been looked at once.

    Args:
        former, latter: What it means before and after; both are closed with it.
    """

    def __init__(self, former: Any, latter: Any) -> None:
        self.number = os.dup(former.fileno())
        self._latter = latter
        self._given: set[int] = set()

    def look(self, real: Callable[[int], Any]) -> Callable[[int], Any]:
        """A look at descriptors, behind which the number is given to another."""

        def look(number: int) -> Any:
            found = real(number)
            if number == self.number and number not in self._given:
                self._given.add(number)
                os.dup2(self._latter.fileno(), number)
            return found

        return look


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    left, right = socket.socketpair()
    with left, right:
        yield left, right


def _open() -> set[str]:
    """Numbers in use, without that of the listing."""
    return {name for name in os.listdir("/dev/fd") if _is_open(int(name))}


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


@pytest.mark.parametrize("first", ["fstat", "dup"])
def test_a_number_that_is_given_to_another_is_judged_by_one_of_the_two(
    monkeypatch: pytest.MonkeyPatch, pair: tuple[socket.socket, socket.socket], first: str
) -> None:
    lane: Any = SimpleNamespace(owned=True)
    with socket.socket() as other, open(os.devnull, "rb") as file:
        for latter in (other, file):
            reused = Reused(pair[0], latter)
            before = _open()
            with monkeypatch.context() as patched:
                patched.setattr(os, first, reused.look(getattr(os, first)))
                found = readiness.concerns(lane, sys._getframe(), [reused.number], None)
            assert found is (first == "dup"), "the copy is one of a pair, what the number means now is not"
            assert _open() == before, "no copy is left open"
            os.close(reused.number)


def test_the_copy_of_what_is_no_socket_any_more_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """To close it would give up the locks of this process on that file."""
    with socket.create_server(("127.0.0.1", 0)) as server, open(os.devnull, "rb") as file:
        reused = Reused(server, file)
        before = _open()
        with monkeypatch.context() as patched:
            patched.setattr(os, "fstat", reused.look(os.fstat))
            assert accepted_connections._address_of(reused.number) is None
        (left,) = _open() - before
        os.close(int(left))
        assert accepted_connections._address_of(reused.number) is None
        assert accepted_connections._address_of(server.fileno()) == server.getsockname()
        assert _open() == before, "neither a file nor a socket that stays one leaves a copy"
        os.close(reused.number)
        assert accepted_connections._address_of(reused.number) is None
