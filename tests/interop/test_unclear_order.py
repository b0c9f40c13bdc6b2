"""An imported recording is never guessed at: what is not certain in it ends in a named divergence."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import reenact
from reenact.abc.store import Store
from reenact.errors import Divergence
from tests.interop.conftest import Bring, Tried

BASE = "http://api.example.test"

Try = Callable[[Callable[[], Any]], Any]
Tape = Callable[..., Try]


def ask(path: str, method: str = "GET", **options: Any) -> str:
    return httpx.request(method, BASE + path, **options).text


def cassette(*exchanges: tuple[str, str, str]) -> str:
    """A cassette of ``(method, path, answer)``."""
    interactions = [
        {
            "request": {"method": method, "uri": BASE + path, "body": None, "headers": {}},
            "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": answer}},
        }
        for method, path, answer in exchanges
    ]
    return json.dumps({"version": 1, "interactions": interactions})


@pytest.fixture
def tape(bring: Bring, store: Store) -> Tape:
    """Imports a cassette of ``(method, path, answer)``; gives what replays a function against it."""

    def imported(*exchanges: tuple[str, str, str]) -> Try:
        (run,) = bring("vcr", cassette(*exchanges))
        return lambda entry: reenact.replay(run, entry=entry, store=store)

    return imported


def test_one_strand_gets_different_answers_in_the_order_of_the_file(tape: Tape) -> None:
    replay = tape(("GET", "/job", "queued"), ("GET", "/job", "running"), ("GET", "/job", "done"))
    done = replay(lambda: [ask("/job") for _ in range(3)])
    assert done.output == ["queued", "running", "done"]
    assert (done.verdict, done.report.unproven) == ("same", ("order not known: the run was imported",))


def several() -> list[str]:
    async def main() -> list[str]:
        async with httpx.AsyncClient() as client:
            got = await asyncio.gather(*(client.get(BASE + "/job") for _ in range(2)))
        return [each.text for each in got]

    return asyncio.run(main())


def test_several_strands_that_ask_the_same_get_answers_only_if_all_are_alike(tape: Tape) -> None:
    assert tape(("GET", "/job", "same"), ("GET", "/job", "same"))(several).output == ["same", "same"]
    with pytest.raises(Divergence, match="fits several recorded calls that hold different outcomes") as divergence:
        tape(("GET", "/job", "one"), ("GET", "/job", "other"))(several)
    assert divergence.value.reason == "ambiguous"


def test_answers_that_differ_in_their_date_alone_are_alike_and_that_is_said(bring: Bring, store: Store) -> None:
    made = json.loads(cassette(("GET", "/job", "same"), ("GET", "/job", "same"), ("GET", "/job", "same")))
    for at, each in enumerate(made["interactions"]):
        each["response"]["headers"] = {"Date": [f"Mon, 21 Apr 2025 23:13:4{at} GMT"], "X-RateLimit-Left": [str(at)]}
    (run,) = bring("vcr", json.dumps(made))
    replayed = reenact.replay(run, entry=lambda: [ask("/job"), *several()], store=store)
    assert replayed.output == ["same"] * 3
    remark = "answers given in the order of the file, which differ only in date, x-ratelimit-left (2)"
    assert remark in replayed.report.remarks
    made["interactions"][0]["response"]["headers"]["ETag"] = ["1"]
    (run,) = bring("vcr", json.dumps(made))
    with pytest.raises(Divergence, match="fits several recorded calls"):
        reenact.replay(run, entry=several, store=store)


def in_a_thread() -> None:
    ask("/job")
    other = threading.Thread(target=lambda: ask("/job"))
    other.start()
    other.join()


def in_a_task() -> None:
    async def once() -> None:
        async with httpx.AsyncClient() as client:
            await client.get(BASE + "/job")

    async def main() -> None:
        await once()
        await asyncio.create_task(once())

    asyncio.run(main())


@pytest.mark.parametrize("entry", [in_a_thread, in_a_task])
def test_the_last_of_different_answers_is_no_certainty_for_another_strand(
    tape: Tape, entry: Callable[[], None]
) -> None:
    with pytest.raises(Divergence, match="fits several recorded calls"):
        tape(("GET", "/job", "one"), ("GET", "/job", "other"))(entry)
    assert tape(("GET", "/job", "one"), ("GET", "/job", "one"))(entry).matched == 2


def test_the_inside_of_a_tool_belongs_to_the_strand_that_calls_it(tape: Tape) -> None:
    @reenact.tool(effect="read")
    def look() -> object:
        return ask("/job")

    assert tape(("GET", "/job", "one"), ("GET", "/job", "other"))(lambda: [look(), look()]).output == ["one", "other"]


def test_an_answer_from_before_a_write_is_not_given_after_it(tape: Tape) -> None:
    exchanges = ("GET", "/total", "0"), ("POST", "/add", "ok"), ("GET", "/total", "1")
    with pytest.raises(Divergence, match="fits several recorded calls"):
        tape(*exchanges)(lambda: [ask("/add", "POST"), ask("/total")])
    assert tape(*exchanges)(lambda: [ask("/total"), ask("/add", "POST"), ask("/total")]).output == ["0", "ok", "1"]


def entry_of_archive(started: str, text: str) -> dict[str, Any]:
    return {
        "startedDateTime": started,
        "time": 500,
        "request": {"method": "GET", "url": BASE + "/job", "headers": []},
        "response": {
            "status": 200,
            "headers": [],
            "content": {"size": len(text), "mimeType": "text/plain", "text": text},
        },
    }


@pytest.mark.parametrize(("second", "certain"), [("2026-01-01T00:00:01Z", True), ("2026-01-01T00:00:00.1Z", False)])
def test_answers_that_overlapped_are_of_no_order(bring: Bring, store: Store, second: str, certain: bool) -> None:
    entries = [entry_of_archive("2026-01-01T00:00:00Z", "one"), entry_of_archive(second, "other")]
    (run,) = bring("har", json.dumps({"log": {"entries": entries}}))
    if certain:
        replayed = reenact.replay(run, entry=lambda: [ask("/job"), ask("/job")], store=store)
        assert replayed.output == ["one", "other"]
        return
    with pytest.raises(Divergence, match="fits several recorded calls"):
        reenact.replay(run, entry=lambda: [ask("/job"), ask("/job")], store=store)


def test_each_recording_is_used_once_and_what_is_left_is_said(tape: Tape) -> None:
    exchanges = ("GET", "/a", "A"), ("GET", "/b", "B")
    with pytest.raises(Divergence, match=r"GET api\.example\.test/a was not made in the recording") as divergence:
        tape(*exchanges)(lambda: [ask("/a"), ask("/a")])
    assert "holds no such exchange, or fewer of them" in divergence.value.cause
    left = tape(*exchanges)(lambda: ask("/b"))
    assert (left.output, left.verdict, left.unused, left.reordered) == ("B", "different", 1, 1)
    assert left.report.exit_code == 1


def test_an_observing_replay_answers_what_it_can_and_names_the_rest(desk: Tried) -> None:
    (desk.folder / "cassette.json").write_text(cassette(("GET", "/a", "A"), ("GET", "/b", "B")))
    desk.writes(
        "agent.py",
        f"import httpx\nhttpx.get({BASE!r} + '/b')\nhttpx.get({BASE!r} + '/a?changed=1')\n",
    )
    assert desk.reenact("import", "vcr", "cassette.json").code == 0
    ended = desk.replay("--cmd", "python agent.py", "--on-divergence", "observe")
    said = ended.err.decode()
    assert ended.code == 1
    assert "diverged at event 0: http GET api.example.test/a differs at url" in said
    assert "1 recorded call was not made: 0 GET api.example.test/a" in said
    assert "matched 1 of 2, reordered 1, unused 1" in said
    crashed = desk.replay("--cmd", "python -c 'raise SystemExit(3)'").err.decode()
    assert "the program ended with exit status 3; how it ended when it was recorded is not known" in crashed


def test_a_changed_question_is_shown_beside_the_nearest_one(tape: Tape) -> None:
    with pytest.raises(Divergence, match=r"diverged at event 0: http POST api\.example\.test/ask differs at body"):
        tape(("POST", "/ask", "A"))(lambda: ask("/ask", "POST", json={"q": "x"}))


def test_the_agents_own_code_runs_and_only_the_wire_is_frozen(tape: Tape) -> None:
    @reenact.tool
    def look() -> str:
        return ask("/a")

    @reenact.step("first")
    def first(state: dict[str, str]) -> None:
        state["found"] = look()

    def entry() -> tuple[dict[str, str], bool]:
        state: dict[str, str] = {}
        first(state)
        began = time.monotonic()
        time.sleep(3600)
        return state, time.monotonic() - began >= 3600

    done = tape(("GET", "/a", "A"))(entry)
    assert (done.output, done.verdict) == (({"found": "A"}, True), "same")


def test_what_an_import_cannot_hold_is_a_divergence_and_not_done(tape: Tape, tmp_path: Path) -> None:
    with pytest.raises(Divergence, match="process") as divergence:
        tape(("GET", "/a", "A"))(lambda: subprocess.run(["touch", str(tmp_path / "made")], check=True))
    assert "an imported file holds HTTP exchanges only" in divergence.value.cause
    assert not (tmp_path / "made").exists()
    with pytest.raises(Divergence, match="was not made in the recording"):
        tape(("GET", "/a", "A"))(lambda: [ask("/a"), httpx.get("http://127.0.0.1:9/elsewhere")])
