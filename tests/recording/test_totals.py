"""What a run says that it came to holds every model call, however late its answer was read."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import openai
import pytest

import reenact
from reenact.facts import dialects
from reenact.recording import idle_readings
from reenact.store.sqlite_store import SqliteStore
from reenact.testing import ScriptedProvider
from reenact.testing.provider import Rule, Script
from reenact.triage.featured_runs import features_in


@pytest.fixture
def client() -> Iterator[openai.OpenAI]:
    with (
        ScriptedProvider(Script(rules=(Rule(say="yes"),))) as world,
        openai.OpenAI(base_url=world.url + "/v1", api_key="k") as own,
    ):
        yield own


def totals(store: str) -> Any:
    with reenact.open_store(store) as opened:
        return next(run for run in opened.runs() if run.parent is None).totals


def ask(client: openai.OpenAI) -> None:
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Well?"}])


def test_an_answer_that_the_writer_reads_while_the_run_ends_is_counted(
    client: openai.OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = dialects.read

    def slowly(*arguments: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            time.sleep(0.03)
        return own(*arguments)

    monkeypatch.setattr(idle_readings, "read", slowly)
    for attempt in range(10):  # which of the two threads takes the answer is chance
        with reenact.record(agent="a", store=f"memory:slowly-read-{attempt}"):
            ask(client)
        run = totals(f"memory:slowly-read-{attempt}")
        assert (run.models, run.tokens_in > 0, run.tokens_out > 0) == (1, True, True)


def test_an_answer_that_was_left_open_is_a_model_call(client: openai.OpenAI) -> None:
    with reenact.record(agent="a", store="memory:left-open"):
        stream = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Well?"}], stream=True)
        next(iter(stream))
    assert totals("memory:left-open").models == 1
    with reenact.open_store("memory:left-open") as store:
        (call,) = store.open(next(iter(store.runs()))).events()
    assert call.is_open and call.attributes["reading"]["model_asked"] == "m"
    stream.close()


def test_calls_that_are_left_unread_for_lack_of_time_are_counted(
    client: openai.OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = dialects.read

    def slowly(*arguments: Any) -> Any:
        time.sleep(0.2)
        return own(*arguments)

    monkeypatch.setattr(idle_readings, "read", slowly)
    with reenact.record(agent="a", store="memory:unread"):
        for _ in range(5):
            ask(client)
    assert totals("memory:unread").models == 5


def test_a_child_run_has_the_sums_of_its_own_calls(client: openai.OpenAI) -> None:
    with reenact.open_store("memory:children") as store:
        with reenact.record(agent="outer", store=store) as root:
            ask(client)
            for calls in (2, 0, 1):
                with reenact.record(agent="inner", store=store):
                    for _ in range(calls):
                        ask(client)
        children = sorted((run for run in store.runs() if run.parent == root.id), key=lambda run: run.lane)
        assert [(run.totals.models, run.totals.events) for run in children] == [(2, 2), (0, 0), (1, 1)]
        assert [bool(run.totals.tokens_in) for run in children] == [True, False, True]
        whole = totals("memory:children")
        assert sum(run.totals.tokens_in for run in children) < whole.tokens_in
        assert whole.models == 4


def test_child_runs_side_by_side_have_the_tokens_of_their_own_calls(client: openai.OpenAI) -> None:
    both = threading.Barrier(2)

    def inner(calls: int) -> None:
        with reenact.record(agent=f"asks {calls}", store=store):
            both.wait(30)
            for _ in range(calls):
                ask(client)
            both.wait(30)

    with reenact.open_store("memory:beside") as store:
        with reenact.record(agent="outer", store=store) as root:
            threads = [threading.Thread(target=inner, args=(calls,)) for calls in (0, 2)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
        children = {run.agent: run.totals for run in store.runs() if run.parent == root.id}
    found = children["asks 0"], children["asks 2"]
    assert [(each.models, each.events) for each in found] == [(0, 0), (2, 2)]
    assert [bool(each.tokens_in) for each in found] == [False, True]


@pytest.mark.parametrize("ends", ["refused", "timeout"])
def test_a_model_call_without_a_response_is_a_model_call(ends: str) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        if ends == "timeout":
            deaf.listen()
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1"
        name = f"memory:no-response-{ends}"
        with pytest.raises(openai.APIConnectionError), reenact.record(agent="a", store=name):
            with openai.OpenAI(base_url=url, api_key="k", timeout=0.2, max_retries=0) as client:
                ask(client)
    assert totals(name).models == 1
    with reenact.open_store(name) as opened:
        (event,) = (event for event in opened.events("@") if event.kind == "http")
        reading = event.attributes["reading"]
        assert reading["model_asked"] == "m" and "partial" not in reading, "nothing of a response is cut off"
        run = opened.run("@")
        assert features_in(opened, run).tool == "a model call"


def test_a_model_call_that_waits_is_one_before_its_response(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"  # read by another connection, as after a kill
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1"

        def agent() -> None:
            with openai.OpenAI(base_url=url, api_key="k", timeout=30, max_retries=0) as client:
                with suppress(openai.APIConnectionError), reenact.record(agent="a", store=f"sqlite:///{path}"):
                    ask(client)

        waiting = threading.Thread(target=agent)
        waiting.start()
        try:
            connection, _ = deaf.accept()
            end = time.monotonic() + 20
            asked = None
            while asked is None and time.monotonic() < end:
                with suppress(reenact.ReenactError), SqliteStore(path) as opened:
                    events = [event for event in opened.events("@") if event.kind == "http"]  # none until it is written
                    asked = events[0].attributes.get("reading") if events else None
                    models = opened.open("@").totals().models if asked else 0
            assert asked is not None and asked["model_asked"] == "m" and models == 1
        finally:
            connection.close()
            waiting.join()
    assert totals(f"sqlite:///{path}").models == 1
