"""Proves that a fault of the recorder never changes what the agent returns, wherever it comes up, and is owned up to.

A counting loop raises in the first call of any function of the recorder, then in the second, and so on, in whichever
thread it is made. The agent's result must be that of an unrecorded run, and the recording must either hold what an
undisturbed one holds, or say that it does not.
"""

from __future__ import annotations

import asyncio
import datetime
import gc
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import CodeType
from typing import Any

import httpx
import pytest
import requests

import reenact
from reenact.errors import ReenactError
from reenact.facts.call import Fidelity
from reenact.facts.run import Status
from reenact.recording.live_calls import LiveCall, total
from reenact.store import open_store
from tests.withstand.injection import HOME, Injection, injected

pytestmark = pytest.mark.interrupts

SAMPLE = 40
LIMIT_S = 20.0
ROOMS = ("recording", "store", "privacy", "facts")
DOORS = frozenset(
    {
        "recording/live_calls.py:total.<locals>.guarded",
        "recording/live_calls.py:LiveCall.enter",
        "recording/live_calls.py:LiveCall.dropped",  # a trace function that raises here breaks Python 3.11: see below
        "recording/live_calls.py:LiveCall.sends",
        "recording/live_calls.py:LiveCall.adds",
        "recording/live_calls.py:RecordTurn.then",
        "recording/live_calls.py:CallScope.__enter__",
        "recording/live_calls.py:CallScope.__exit__",
        "recording/recording_session.py:RecordingSession.put",
        "recording/recording_session.py:RecordingSession.fault",
        "recording/recording_session.py:RecordingSession.restate",
        "recording/recording_session.py:RecordingSession.unrecorded",
        "recording/writer.py:Writer._run",
        "recording/writer.py:Receipt.wait",
        "recording/arrival_schedule.py:ArrivalSchedule.grant",
        "recording/arrival_schedule.py:ArrivalSchedule.alone",
        "recording/arrival_schedule.py:ArrivalSchedule.choose",
        "recording/arrival_schedule.py:ArrivalSchedule.choose.<locals>.<genexpr>",
        "recording/arrival_schedule.py:ArrivalSchedule.impatient",
        "recording/arrival_schedule.py:ArrivalSchedule.overdue",
        "recording/arrival_schedule.py:ArrivalSchedule.send_due_signal",
        "recording/arrival_schedule.py:ArrivalSchedule.stalled",
        "recording/arrival_schedule.py:ArrivalSchedule.takes",
        "recording/arrival_schedule.py:ArrivalSchedule.awaits_signal",
        "recording/arrival_schedule.py:ArrivalSchedule.signalled",
        "recording/arrival_schedule.py:ArrivalSchedule.meets",
        "recording/record_api.py:record",
        "recording/blocks.py:open_block",
        "recording/blocks.py:Block.enter",
        "recording/blocks.py:Block.leave",
        "recording/blocks.py:_warn",
        "recording/blocks.py:Block._left",
        "recording/blocks.py:RootBlock.finish",
        "recording/blocks.py:RootBlock.finish.<locals>.close",
        "recording/blocks.py:_ChildBlock.finish",
        "facts/order.py:name_of",
        "facts/order.py:identity",
    }
)
"""Where the nets hang, or where nothing could fail: a fault *at* these would be one in the code of the agent."""


def _functions(file: Path) -> set[str]:
    """The qualified names of the functions in a file."""
    found: set[str] = set()
    pending: list[CodeType] = [compile(file.read_text(encoding="utf-8"), str(file), "exec")]
    while pending:
        inner = [each for each in pending.pop().co_consts if isinstance(each, CodeType)]
        found |= {each.co_qualname for each in inner}
        pending += inner
    return found


def test_each_place_that_no_fault_is_put_at_is_there() -> None:
    assert not [door for door in DOORS if door.partition(":")[2] not in _functions(Path(HOME) / door.partition(":")[0])]


def _place(code: CodeType) -> str:
    return f"{code.co_filename.removeprefix(HOME)}:{code.co_qualname}"


def _inside(code: CodeType) -> bool:
    place = _place(code)
    return place.startswith(ROOMS) and place not in DOORS and "Recorder." not in place


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = f"answer to {self.path}".encode()
        self.send_response_only(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Nothing."""


@reenact.tool(effect="read")
def lookup(number: int) -> dict[str, Any]:
    return {"number": number, "twice": [number, number]}


@reenact.tool
def add(item: str, basket: list[str]) -> int:
    basket.append(item)
    return len(basket)


@reenact.tool(effect="read")
def fails(name: str) -> None:
    raise KeyError(name)


@reenact.tool(effect="read")
def counts(end: int) -> Iterator[int]:
    yield from range(end)


@reenact.tool(effect="read")
async def slow(number: int) -> int:
    await asyncio.sleep(0)
    return number * 2


class Agent:
    """An agent that crosses every kind of seam once or twice."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client = httpx.Client(trust_env=False)
        self.session = requests.Session()
        self.session.trust_env = False

    def __call__(self) -> list[Any]:
        basket: list[str] = []
        said: list[Any] = [self.client.get(f"{self.url}/a").text, self.session.get(f"{self.url}/b").text]
        said += [lookup(1), add("lamp", basket), basket, list(counts(3))]
        try:
            fails("key")
        except KeyError as error:
            said.append(repr(error))
        said.append(asyncio.run(self.tasks()))
        with ThreadPoolExecutor(2) as pool:
            said.append(list(pool.map(lookup, [5, 6])))
        with reenact.step("last", state={"a": 1}), reenact.record(agent="inner"):
            said.append(lookup(7))
        reenact.note("number", 1)
        now, chance, since = datetime.datetime.now(), random.random(), time.monotonic()
        assert isinstance(now, datetime.datetime) and chance < 1 and since > 0
        return said

    async def tasks(self) -> Any:
        async with httpx.AsyncClient(trust_env=False) as client:

            async def get(number: int) -> str:
                return (await client.get(f"{self.url}/{number}")).text

            return await asyncio.gather(get(1), get(2), slow(3), asyncio.to_thread(lookup, 4))


@pytest.fixture(scope="module")
def agent() -> Iterator[Agent]:
    """The agent, its server, and everything imported and connected once."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield Agent(f"http://127.0.0.1:{server.server_address[1]}")
    server.shutdown()
    server.server_close()


def _recorded(agent: Agent, folder: Path, injection: Injection) -> Any:
    """What the agent gave, recorded under an injection, in a thread that may be given up."""
    result: list[Any] = ["still running"]

    def work() -> None:
        try:
            with warnings.catch_warnings(action="ignore"), injected(injection), reenact.record(store=str(folder)):
                result[0] = agent()
        except BaseException as error:
            result[0] = error

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(LIMIT_S)
    return result[0]


def _content(folder: Path) -> tuple[list[Any], bool]:
    """What a store holds of the calls, in any order; and whether it owns up to holding less than all."""
    try:
        with open_store(str(folder)) as store:
            recording = store.open("@")
            run, events, confessed, kept = recording.run, list(recording.events()), False, []
            for event in events:
                answer = recording.body(event.answer) if event.answer is not None else b""
                outcome = type(event.outcome).__name__
                kept.append((event.kind, event.name, recording.body(event.request), answer, outcome))
                confessed |= event.fidelity is Fidelity.WITHHELD or "opaque" in str(event.outcome)
                confessed |= "unchecked" in str(event.outcome) or event.outcome is None
    except ReenactError:
        return [], True
    return sorted(kept), confessed or bool(run.degraded) or run.status is not Status.OK


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("error", [RuntimeError, MemoryError])
def test_a_fault_at_the_nth_call_of_the_recorder_costs_the_recording_alone(
    agent: Agent,
    tmp_path: Path,
    sweep: bool,
    chance: random.Random,
    error: Callable[[str], Exception],
    capsys: pytest.CaptureFixture[str],
) -> None:
    bare = agent()
    _recorded(agent, tmp_path / "first", Injection(0, RuntimeError, _inside))
    # What a process does once is not counted: no later recording makes those calls.
    calm = Injection(0, RuntimeError, _inside)
    assert _recorded(agent, tmp_path / "calm", calm) == bare
    whole, confessed = _content(tmp_path / "calm")
    assert len(whole) == 15 and not confessed and calm.count > 1000
    wrong, silent, fired = [], [], 0
    for at in range(1, calm.count + 200) if sweep else sorted(chance.sample(range(1, calm.count), SAMPLE)):
        injection = Injection(at, lambda: error("injected"), _inside)
        given = _recorded(agent, tmp_path / str(at), injection)
        if not injection.place:
            continue
        fired += 1
        if given != bare:
            wrong.append((at, injection.place, given))
            with capsys.disabled():  # a sweep lasts long: say it when it happens
                print(f"\n  wrong: {wrong[-1]}")
            continue
        kept, confessed = _content(tmp_path / str(at))
        if kept != whole and not confessed:
            silent.append((at, injection.place))
    with capsys.disabled():
        print(f"\n  {error.__name__}: {fired} faults in {calm.count} calls, {len(wrong)} wrong, {len(silent)} silent")
    assert not wrong
    assert not silent
    assert fired >= SAMPLE / 2  # the writer makes fewer calls where it is given much at once


@pytest.mark.parametrize("method", ["ready", "settle", "at_hand", "head", "segment", "end", "dropped"])
def test_a_method_of_a_call_that_always_fails_costs_the_recording_alone(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    @total
    def failing(self: LiveCall, *args: Any) -> Any:
        raise MemoryError("injected")

    monkeypatch.setattr(LiveCall, method, failing)
    assert _recorded(agent, tmp_path, Injection(0, RuntimeError, lambda code: False)) == agent()
    with open_store(str(tmp_path)) as store:
        assert store.run("@").degraded == ("MemoryError: injected",)


@pytest.mark.parametrize(
    "place",
    [
        "recording/active_run.py:active",
        "recording/writer.py:Writer._finish",
        "recording/writer.py:Writer._let_go",
        "privacy/redactor.py:_text",
        "privacy/redactor.py:CredentialRedactor.naming",
    ],
)
def test_a_fault_where_a_block_or_thread_begins_or_ends_or_a_lane_gets_its_name_costs_the_recording_alone(
    agent: Agent, tmp_path: Path, place: str
) -> None:
    injection = Injection(1, lambda: MemoryError("injected"), lambda code: _place(code) == place)
    assert _recorded(agent, tmp_path, injection) == agent()
    assert injection.place.startswith(place)


class OutOfTime(Exception):
    """What the program's own handler raises."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
@pytest.mark.timeout(600)
def test_what_a_signal_handler_raises_inside_the_recorder_reaches_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sweep: bool
) -> None:
    """A handler that raises while our code runs: the agent's time-out must work as without us."""
    in_finalisers: list[str] = []  # what is raised inside one goes nowhere, in any program
    monkeypatch.setattr(sys, "unraisablehook", lambda raised: in_finalisers.append(repr(raised.object)))

    def handler(number: int, frame: Any) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, handler)
    gc.collect()
    gc.disable()  # so that finalisers run seldom
    try:
        arrived = 0
        rounds = 500 if sweep else 60
        with reenact.record(store=str(tmp_path / "store")):
            for n in range(rounds):
                end = time.monotonic() + 5
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.0005 + n % 13 * 0.0002)
                    while time.monotonic() < end:  # crossings: the handler runs inside the recorder nearly always
                        lookup(n)
                except OutOfTime:
                    arrived += 1
            assert lookup(-1) == {"number": -1, "twice": [-1, -1]}, "and the recorder goes on"
        assert arrived + len(in_finalisers) == rounds and len(in_finalisers) <= rounds // 20, in_finalisers
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    with open_store(str(tmp_path / "store")) as store:
        recording = store.open("@")
        assert recording.run.status is Status.OK
        numbers = [event.number for event in recording.events()]
        assert numbers == sorted(set(numbers)) and len(numbers) > rounds, "a call that was cut off may leave no event"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
def test_a_signal_handler_is_heard_in_what_is_done_only_at_a_first_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sweep: bool
) -> None:
    """Hints are read, classes are looked up, a scanner is built: code that sets right whatever fails in it."""
    in_finalisers: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda raised: in_finalisers.append(repr(raised.object)))

    def handler(number: int, frame: Any) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, handler)
    chance = random.Random(7)
    rounds = 800 if sweep else 150
    arrived = 0
    gc.collect()
    gc.disable()
    try:
        with reenact.record(store=str(tmp_path / "store")):
            for _ in range(rounds):

                @dataclass
                class Parcel:
                    number: int
                    inside: list[Parcel]

                def weigh(parcel: Parcel, doubt: Exception) -> dict[str, list[Parcel]]:
                    return {"parcels": [parcel]}

                tool, end = reenact.tool(weigh, effect="read"), time.monotonic() + 5
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.00001 + chance.random() * 0.002)
                    while time.monotonic() < end:
                        tool(Parcel(1, []), ValueError("heavy"))
                except OutOfTime:
                    arrived += 1
        assert arrived + len(in_finalisers) == rounds and len(in_finalisers) <= rounds // 20, in_finalisers
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
