"""Proves where the handler of a signal runs that came in the middle of our own code: where that code is left."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from reenact.seams.strands.postponed_signals import PostponedSignals
from tests.desk import Desk
from tests.programs import read_program
from tests.ringing import ALARMS

log: list[str] = []


class _Rung(Exception):
    """What a handler raises."""


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_name.startswith("ours") or frame.f_globals["__name__"] == PostponedSignals.__module__


def _told(frame: FrameType) -> None:
    log.append(f"handler in {frame.f_code.co_name}")


def _raises(frame: FrameType) -> None:
    _told(frame)
    raise _Rung


@pytest.fixture
def postponed() -> Iterator[PostponedSignals]:
    """The signals that are postponed; nothing is traced before and after."""
    log.clear()
    before = sys.gettrace()
    yield PostponedSignals(_is_ours)
    assert sys.gettrace() is before


def _interrupted(postponed: PostponedSignals, *handlers: Callable[[FrameType], None]) -> Callable[[], None]:
    """Code of ours in which signals come."""

    def ours() -> None:
        for number, handler in enumerate(handlers):
            postponed.postpone(number, handler, sys._getframe())
        ours_below()

    def ours_below() -> None:
        log.append("ours ends")

    return ours


def test_it_runs_before_the_next_instruction_of_the_agent(postponed: PostponedSignals) -> None:
    ours = _interrupted(postponed, _told)

    def agent() -> None:
        ours(), log.append("the same line")  # type: ignore[func-returns-value]

    agent()
    assert log == ["ours ends", "handler in agent", "the same line"]


def test_its_exception_is_raised_there(postponed: PostponedSignals) -> None:
    ours = _interrupted(postponed, _raises)

    def agent() -> None:
        try:
            ours()
        except _Rung:
            log.append("caught")

    agent()
    assert log == ["ours ends", "handler in agent", "caught"]


def test_it_does_not_wait_for_code_of_the_agent_that_our_code_calls(postponed: PostponedSignals) -> None:
    def ours() -> None:
        postponed.postpone(14, _raises, sys._getframe())
        tool()

    def tool() -> None:
        log.append("the tool runs")

    with pytest.raises(_Rung):
        ours()
    assert log == ["handler in tool"]


def test_it_does_not_run_in_what_our_code_calls_of_the_standard_library(postponed: PostponedSignals) -> None:
    def ours() -> None:
        postponed.postpone(14, _told, sys._getframe())
        textwrap.dedent("a helper in Python")
        log.append("ours ends")

    def agent() -> None:
        ours()

    agent()
    assert log == ["ours ends", "handler in agent"]


def test_each_of_two_runs_although_one_raises(postponed: PostponedSignals) -> None:
    ours = _interrupted(postponed, _raises, _raises)

    def agent() -> None:
        try:
            ours()
        except _Rung as error:
            log.append(f"caught, after {type(error.__context__).__name__}")

    agent()
    assert log == ["ours ends", "handler in agent", "handler in agent", "caught, after _Rung"]


def test_one_that_comes_during_the_handler_runs_before_the_next_instruction_too(postponed: PostponedSignals) -> None:
    """The next instruction may be a call that waits, and no signal would end that wait."""

    def ours_again(frame: FrameType) -> None:
        _told(frame)
        if len(log) < 60:
            postponed.postpone(14, ours_again, sys._getframe())

    ours = _interrupted(postponed, ours_again)

    def agent() -> None:
        ours(), log.append("the same line")  # type: ignore[func-returns-value]

    agent()
    assert log == ["ours ends", *["handler in agent"] * 59, "the same line"]


def test_a_tracer_of_the_program_goes_on(postponed: PostponedSignals) -> None:
    ours = _interrupted(postponed, _told)
    seen: list[str] = []

    def tracer(frame: FrameType, event: str, arg: object) -> None:
        seen.append(frame.f_code.co_name)

    def agent() -> None:
        ours()
        called()

    def called() -> None:
        pass

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        agent()
        traced = sys.gettrace()
    finally:
        sys.settrace(before)
    assert traced is tracer and seen[-1] == "called"
    assert log == ["ours ends", "handler in agent"]


@ALARMS
def test_no_alarm_rings_after_it_was_taken_back(tmp_path: Path) -> None:
    """Many of thousands of alarms come in our own code. Each rings once, and none after the program cancelled it."""
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(read_program("order/alarms_taken_back.py"))
    recorded = desk.record(["python", "agent.py"])
    assert (recorded.code, recorded.out) == (0, b"late 0, twice 0, some rang\n"), recorded
    assert b"verdict: same" in desk.replay().err
