"""Proves that each request of an ASGI server is a run of its own, kept apart from others, and replays alone."""

from __future__ import annotations

import http.client
import json
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import reenact
from tests.programs import read_program
from tests.servers.conftest import UVICORN, Answer, Project, Running, Upstream, until

APP = read_program("servers/starlette_of_many_routes.py")
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SECRET = "sk-proj-Zx81bQ7mPlongEnough4Q9wTrUv"


class Recorded:
    """A project whose server has served many requests at once, and is gone."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.answers: dict[str, Answer] = {}
        with project.serving(*UVICORN) as server:
            with ThreadPoolExecutor(8) as pool:
                headers = {"traceparent": TRACE, "Authorization": f"Bearer {SECRET}"}
                asked = {who: pool.submit(server.ask, "/ask", {"who": who}, headers) for who in "abcdefgh"}
                self.answers = {who: future.result() for who, future in asked.items()}
            self.answers["stream"] = server.ask("/stream")
            self.answers["size"] = server.ask("/size", b"y" * 300_000)
            self.answers["threaded"] = server.ask("/threaded")
            self.answers["broken"] = server.ask("/broken")
            self.answers["none"] = server.ask("/nowhere")
            self._leave_early(server)
        self.said = "".join(server.said)
        self.status = server.process.returncode
        self.runs = project.runs()
        self.process = self.runs[0]
        self._asked = dict(self._bodies())
        self.of = {run["entry"]["target"]: run for run in self.runs[1:]}

    def _leave_early(self, server: Running) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.request("GET", "/endless")
        connection.getresponse().read(200_000)
        connection.close()
        until(lambda: any(run["status"] != "recording" for run in self._endless()))

    def _endless(self) -> list[dict[str, Any]]:
        return [run for run in self.project.requests() if run["entry"]["target"] == "GET /endless"]

    def _bodies(self) -> Iterator[tuple[str, dict[str, Any]]]:
        with reenact.open_store(self.project.environment["REENACT_STORE"]) as store:
            for run in self.runs:
                if run["entry"]["target"] == "POST /ask":
                    body = b"".join(data for _, _, data in store.open(store.run(run["run"])).parts(0))
                    yield json.loads(body)["who"], run

    def by_body(self, who: str) -> dict[str, Any]:
        """The run of one of the concurrent requests, found by what it was asked."""
        if who in self._asked:
            return self._asked[who]
        raise AssertionError(f"no run was asked by {who}")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, upstream: Upstream) -> Recorded:
    project = Project(tmp_path_factory.mktemp("served"), upstream)
    project.write(APP)
    return Recorded(project)


def test_each_request_is_a_run_and_the_process_their_parent(recorded: Recorded) -> None:
    assert recorded.process["entry"]["kind"] == "command"
    assert recorded.process["status"] == "ok"
    requests = recorded.runs[1:]
    assert len(requests) == 14
    assert {run["parent"] for run in requests} == {recorded.process["run"]}
    assert {run["relation"] for run in requests} == {"request"}
    assert "14 requests" in recorded.said
    assert recorded.status == -signal.SIGTERM


def test_concurrent_requests_are_kept_apart(recorded: Recorded) -> None:
    for who in "abcdefgh":
        run = recorded.by_body(who)
        names = [
            event["name"].partition("/")[2] for event in recorded.project.events(run["run"]) if event["kind"] == "http"
        ]
        assert sorted(names) == [f"ask/{who}/{n}" for n in range(3)]


def test_what_the_process_did_before_is_in_its_own_run(recorded: Recorded) -> None:
    events = recorded.project.events(recorded.process["run"])
    assert [event["name"].partition("/")[2] or event["name"] for event in events] == [
        "lifespan", "token", "lifespan", "goodbye",
    ]  # fmt: skip


@pytest.mark.parametrize("who", ["a", "h"])
def test_one_of_many_replays_alone(recorded: Recorded, who: str) -> None:
    report = recorded.project.exact(recorded.by_body(who)["run"])
    assert report["live_calls"] == 0
    assert report["matched"] == 5


@pytest.mark.parametrize("what", ["GET /stream", "POST /size", "GET /threaded", "GET /broken", "GET /nowhere"])
def test_every_kind_of_answer_replays(recorded: Recorded, what: str) -> None:
    recorded.project.exact(recorded.of[what]["run"])


def test_a_client_that_leaves_early_leaves_early_again(recorded: Recorded) -> None:
    recorded.project.exact(recorded.of["GET /endless"]["run"])


def test_the_whole_process_replays_without_its_requests(recorded: Recorded) -> None:
    report = recorded.project.exact(recorded.process["run"])
    assert report["matched"] == 4


def test_a_request_that_failed_is_a_failed_run(recorded: Recorded) -> None:
    run = recorded.of["GET /broken"]
    assert run["status"] == "failed"
    assert "broken at" in run["error"]
    assert recorded.answers["broken"].status == 500
    assert recorded.of["GET /nowhere"]["status"] == "ok"


def test_the_request_is_the_input_and_its_trace_is_linked(recorded: Recorded) -> None:
    run = recorded.by_body("c")
    first, last = (recorded.project.events(run["run"])[at] for at in (0, -1))
    assert (first["kind"], first["name"]) == ("input", "request")
    assert (last["kind"], last["name"]) == ("output", "response")
    body = recorded.project.command("cat", f"{run['run']}:{last['event']}.request.body").stdout
    assert json.loads(body) == recorded.answers["c"].data
    assert run["environment"]["traceparent"] == TRACE
    kit = [json.loads(line) for line in recorded.project.command("kit", run["run"], "--json").stdout.splitlines()]
    assert [item["standing"] for item in kit if item.get("item") == "input"] == ["captured"]


def test_a_credential_in_a_header_reaches_no_file(recorded: Recorded) -> None:
    for path in recorded.project.folder.rglob("runs.db*"):
        for file in [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]:
            assert SECRET.encode() not in file.read_bytes(), file


def test_another_answer_is_a_divergence(recorded: Recorded) -> None:
    run = recorded.by_body("b")["run"]
    path = recorded.project.folder / "app.py"
    path.write_text(APP.replace('"hello": request', '"hello": "so" + request'))
    try:
        done, report = recorded.project.replay(run)
    finally:
        path.write_text(APP)
    assert done.returncode == 1
    assert report["verdict"] == "different"
    assert "sogood day" in json.dumps(report["divergence"])


def test_a_call_that_was_not_made_then_is_refused(recorded: Recorded) -> None:
    path = recorded.project.folder / "app.py"
    path.write_text(APP.replace('httpx.get(UPSTREAM + "/threaded")', 'httpx.get(UPSTREAM + "/other")'))
    try:
        done, report = recorded.project.replay(recorded.of["GET /threaded"]["run"])
    finally:
        path.write_text(APP)
    assert done.returncode == 1
    assert "/other" in json.dumps(report["divergence"])


def test_another_start_up_is_a_divergence_of_the_process(recorded: Recorded) -> None:
    path = recorded.project.folder / "app.py"
    path.write_text(APP.replace('UPSTREAM + "/token"', 'UPSTREAM + "/other-token"'))
    try:
        done, report = recorded.project.replay(recorded.of["GET /threaded"]["run"])
    finally:
        path.write_text(APP)
    assert done.returncode == 1
    assert "/other-token" in json.dumps(report["divergence"])


def test_clients_get_what_they_get_from_an_unrecorded_server(recorded: Recorded) -> None:
    with recorded.project.serving(*UVICORN, recorded=False) as server:
        bare = {
            "stream": server.ask("/stream"),
            "size": server.ask("/size", b"y" * 300_000),
            "broken": server.ask("/broken"),
            "none": server.ask("/nowhere"),
        }
    assert server.process.returncode == recorded.status
    for name, answer in bare.items():
        was = recorded.answers[name]
        assert answer.status == was.status
        assert {n: v for n, v in answer.headers.items() if n != "date"} == {
            n: v for n, v in was.headers.items() if n != "date"
        }
        if name != "size":
            assert answer.body == was.body


def test_served_from_a_script_and_killed(tmp_path: Path, upstream: Upstream) -> None:
    project = Project(tmp_path / "script", upstream)
    project.write(APP)
    project.write(
        """
        import uvicorn
        from app import app

        if __name__ == "__main__":
            uvicorn.run(app, port=0)
            print("after the server")
        """,
        "serve.py",
    )
    with project.serving(sys.executable, "serve.py", stop=0) as server:
        server.ask("/threaded")
        until(lambda: [run["status"] for run in project.requests()] == ["ok"])
        run = project.requests()[0]["run"]
        project.exact(run)  # while the server is still up
        os.kill(_recorded_pid(server), signal.SIGKILL)
    last = server.said[-1]
    assert "interrupted at" in last and "  1 request  " in last, last
    project.exact(run)


def _recorded_pid(server: Running) -> int:
    """Process id of the server itself: it says so when it starts."""
    line = next(line for line in server.said if "Started server process" in line)
    return int(line.partition("[")[2].partition("]")[0])


@pytest.mark.skipif(sys.platform == "win32", reason="uvicorn shares its socket by descriptor")
def test_workers_serve_under_the_same_rules(tmp_path: Path, upstream: Upstream) -> None:
    project = Project(tmp_path / "workers", upstream)
    project.write(APP)
    patient = ("--timeout-worker-healthcheck", "60")  # a worker that a busy machine keeps waiting is not replaced
    with project.serving(*UVICORN, "--workers", "2", *patient) as server:
        until(lambda: "".join(server.said).count("Application startup complete") == 2)
        server.ask("/threaded")
        until(lambda: [run["status"] for run in project.requests()] == ["ok"])
    (request,) = project.requests()
    worker = next(run for run in project.runs() if run["run"] == request["parent"])
    assert worker["relation"] == "child"
    project.exact(request["run"])


GUARDED = """
import os

async def app(scope, receive, send):
    assert scope["type"] == "http"
    sent = dict(scope["headers"]).get(b"authorization")
    good = sent in (b"Bearer " + os.environ["SERVICE_API_KEY"].encode(), b"Bearer of-one-user-4Q9wTrUvZx81bQ7m")
    await send({"type": "http.response.start", "status": 200 if good else 401, "headers": []})
    await send({"type": "http.response.body", "body": b"welcome" if good else b"who are you?"})
"""


def test_a_key_of_the_environment_is_known_again_although_it_is_removed(tmp_path: Path, upstream: Upstream) -> None:
    project = Project(tmp_path / "guarded", upstream)
    project.write(GUARDED)
    key = project.environment["SERVICE_API_KEY"] = "svc-Qm7Zx81bPlong4Enough9"
    with project.serving(*UVICORN) as server:
        assert server.ask("/own", headers={"Authorization": f"Bearer {key}"}).status == 200
        assert server.ask("/user", headers={"Authorization": "Bearer of-one-user-4Q9wTrUvZx81bQ7m"}).status == 200
        assert server.ask("/nobody", headers={"Authorization": "Bearer nobody-at-all-9wTrUvZx8"}).status == 401
    own, user, nobody = (run["run"] for run in project.requests())
    assert key.encode() not in (project.folder / "runs.db").read_bytes()
    del project.environment["SERVICE_API_KEY"]
    project.exact(own)
    project.exact(nobody)
    done, report = project.replay(user)  # nobody can know that one again; the report says why
    assert done.returncode == 1
    said = " ".join(report["remarks"])
    assert "credentials of the request were removed" in said
    assert "1 request came before it" in said


SENDING = read_program("servers/task_beside_sending.py")


def test_nobody_runs_while_an_application_sends_without_waiting(tmp_path: Path, upstream: Upstream) -> None:
    project = Project(tmp_path / "sending", upstream)
    project.write(SENDING)
    logs = []
    for recorded in (False, True):
        with project.serving(*UVICORN, "--lifespan", "off", recorded=recorded) as running:
            logs.append(running.ask("/").data)
    assert logs == [["begins", "goes on"]] * 2
    project.exact(project.requests()[0]["run"])
