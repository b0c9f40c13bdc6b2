"""Proves that ``fork --at-time`` moves the wall clock at the branching event, and nothing else, in its replay too."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import reenact
from tests.forks.conftest import Forks
from tests.programs import read_program

AGENT = read_program("forks/clocks_between_tools.py")


def shown(printed: str) -> list[tuple[str, str, float]]:
    lines = [line.split("|") for line in printed.splitlines()]
    return [(name, wall, float(passed)) for name, wall, passed in lines]


def test_the_wall_clock_jumps_and_the_monotonic_one_goes_on(forks: Forks) -> None:
    before = shown(forks.record(AGENT))
    report = forks.fork("look#2", "--at-time", "2031-05-06T07:08:09Z", "--live", "none")
    after = shown(report["printed"])
    assert after[:2] == before[:2]
    assert [wall[:19] for _, wall, _ in after[2:]] == ["2031-05-06T07:08:09"] * 3
    assert after[2][1] < after[3][1] < after[4][1]
    assert [passed for *_, passed in after] == [passed for *_, passed in before]
    assert "the clock moved to 2031-05-06T07:08:09Z" in report["first_line"]
    forks.replays_exactly(report["run"])


def test_a_fork_of_it_goes_on_there_or_is_moved_again(forks: Forks) -> None:
    forks.record(AGENT)
    forks.parent = forks.fork("look#2", "--at-time", "2031-05-06T07:08:09Z", "--live", "none")["run"]
    kept = forks.fork("look#3", "--live", "none")
    assert shown(kept["printed"])[4][1].startswith("2031-05-06T07:08:09")
    forks.replays_exactly(kept["run"])
    moved = forks.fork("look#3", "--at-time", "2001-02-03", "--live", "none")
    walls = [wall[:10] for _, wall, _ in shown(moved["printed"])]
    assert walls[2:] == ["2031-05-06", "2031-05-06", "2001-02-03"]
    forks.replays_exactly(moved["run"])


def test_without_an_offset_it_is_the_agents_own_time_zone(forks: Forks) -> None:
    forks.desk.environ = {"TZ": "Asia/Tokyo"}
    forks.record(AGENT)
    forks.desk.environ = {"TZ": "Europe/Berlin"}
    report = forks.fork("look#1", "--at-time", "2031-05-06T07:08:09", "--live", "none")
    assert shown(report["printed"])[1][1].startswith("2031-05-05T22:08:09")


def test_what_is_no_moment(forks: Forks) -> None:
    forks.record(AGENT)
    for moment, says in (("tomorrow", "'tomorrow' is no moment"), ("2500-01-01", "before 1970 or after 2262")):
        assert says in forks.fork("look#1", "--at-time", moment, status=2)["said"]


def test_in_code(forks: Forks, capfd: pytest.CaptureFixture[str]) -> None:
    forks.record(AGENT)
    with reenact.open_store(str(forks.desk.folder / ".reenact")) as store:
        change = reenact.Change(at_time="2031-05-06T07:08:09Z")
        reenact.fork(forks.parent, "look#2", change=change, live="none", store=store)
    assert shown(capfd.readouterr().out)[2][1].startswith("2031-05-06T07:08:09")
    forks.replays_exactly()


IDS = """
    import datetime, os, uuid, reenact

    @reenact.tool(effect="read")
    def look(query):
        return query.upper()

    def show(what, told):
        moment = datetime.datetime.fromtimestamp((told.time - 0x01B21DD213814000) / 1e7, datetime.UTC)
        print(what, told.version, told.variant, moment.isoformat()[:13], told, sep="|")

    show("first", uuid.uuid1())
    look("a")
    show("second", uuid.uuid1())
    print(uuid.uuid4())
    if os.path.exists("more"):
        show("third", uuid.uuid1())
        show("fourth", uuid.uuid1())
"""


def test_ids_that_are_made_from_the_clock_move_with_it(forks: Forks) -> None:
    before = forks.record(IDS).splitlines()
    (forks.desk.folder / "more").touch()
    report = forks.fork("look#1", "--at-time", "2031-05-06T07:08:09Z", "--live", "none")
    after = report["printed"].splitlines()
    assert (after[0], after[2]) == (before[0], before[2])
    told = [line.split("|") for line in (after[1], *after[3:])]
    assert [each[1:4] for each in told] == [["1", "specified in RFC 4122", "2031-05-06T07"]] * 3
    assert len({each[4] for each in told}) == 3
    assert told[0][4][19:] == before[1].split("|")[4][19:], "the machine and its count stay"
    forks.replays_exactly(report["run"])


RUST = """
    import reenact, uuid_utils

    @reenact.tool(effect="read")
    def look(query):
        return query.upper()

    look("a")
    print(uuid_utils.uuid7().timestamp // 3_600_000, uuid_utils.uuid4())
"""


def test_ids_of_uuid_utils_too(forks: Forks) -> None:
    pytest.importorskip("uuid_utils")
    before = forks.record(RUST).split()
    report = forks.fork("look#1", "--at-time", "2031-05-06T07:08:09Z", "--live", "none")
    moment = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC).timestamp()
    assert report["printed"].split() == [str(int(moment) // 3600), before[1]]
