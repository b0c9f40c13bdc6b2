"""The audit hook calls the listeners of an event, in the order in which they came, with the frame that causes it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

from reenact.seams import audit_hook

ASKED, OTHER = "reenact.test.asked", "reenact.test.other"


class Listener:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, tuple[Any, ...]]] = []
        self.places: list[str] = []

    def __call__(self, event: str, args: tuple[Any, ...], frame: FrameType | None) -> None:
        self.heard.append((event, args))
        self.places.append("" if frame is None else frame.f_code.co_name)


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    audit_hook.unsubscribe((ASKED, OTHER), made)


def test_a_listener_hears_its_events_once_with_the_frame_that_causes_them(listener: Listener) -> None:
    audit_hook.subscribe([ASKED], listener)
    audit_hook.subscribe([ASKED], listener)
    sys.audit(ASKED, 1, "two")
    sys.audit(OTHER)
    assert listener.heard == [(ASKED, (1, "two"))]
    assert listener.places == ["test_a_listener_hears_its_events_once_with_the_frame_that_causes_them"]


def test_a_listener_that_left_hears_nothing_and_the_others_go_on(listener: Listener) -> None:
    other = Listener()
    audit_hook.subscribe([ASKED, OTHER], listener)
    audit_hook.subscribe([ASKED], other)
    audit_hook.unsubscribe([ASKED], listener)
    sys.audit(ASKED)
    sys.audit(OTHER)
    audit_hook.unsubscribe([ASKED], other)
    sys.audit(ASKED)
    assert (listener.heard, other.heard) == ([(OTHER, ())], [(ASKED, ())])


def test_what_a_listener_raises_comes_out_of_the_function_and_later_listeners_are_not_asked(listener: Listener) -> None:
    def refuse(event: str, args: tuple[Any, ...], frame: FrameType | None) -> None:
        raise PermissionError(event)

    audit_hook.subscribe([ASKED], refuse)
    audit_hook.subscribe([ASKED], listener)
    with pytest.raises(PermissionError, match=ASKED):
        sys.audit(ASKED)
    audit_hook.unsubscribe([ASKED], refuse)
    assert listener.heard == []


def test_a_process_has_one_hook_however_many_listen() -> None:
    program = (
        "import sys; added = []; sys.addaudithook(lambda event, _: added.append(event) if event == 'sys.addaudithook' "
        "else None)\n"
        "from reenact.replaying import guard\nfrom reenact.replaying.network_block import BLOCK\n"
        "from reenact.replaying.change_watch import CHANGE_WATCH\nfrom reenact.seams import escapes\n"
        "escapes.install()\n"
        "for _ in range(2):\n"
        "    guard.arm(RuntimeError)\n"
        "    with BLOCK.up(), CHANGE_WATCH.on(RuntimeError): pass\n"
        "    guard.disarm()\n"
        "print(len(added))\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "1\n"
