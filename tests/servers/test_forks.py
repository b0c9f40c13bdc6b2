"""Proves that the run of a request is forked: its server starts for it, the prefix is frozen, the rest goes live."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.programs import read_program
from tests.servers.conftest import UVICORN, Project, Upstream, until

APP = read_program("servers/starlette_with_steps_and_payments.py")
PLAIN = """
import json, os, urllib.request
from wsgiref.simple_server import make_server

UPSTREAM = os.environ["UPSTREAM"]

def app(environ, start_response):
    asked = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode()
    with urllib.request.urlopen(UPSTREAM + "/plain/" + asked) as answer:
        found = json.load(answer)
    body = json.dumps([asked, found["n"]]).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]

with make_server("127.0.0.1", 0, app) as server:
    print(f"listens on http://127.0.0.1:{server.server_port}", file=__import__("sys").stderr, flush=True)
    server.handle_request()
"""


ROUNDS = (
    PLAIN.replace(
        "    server.handle_request()",
        """    server.timeout = 0.2
    for n in range(4):
        server.handle_request()
        token()""",
    )
    .replace("import json, os", "import json, os, reenact")
    .replace("def app(", "@reenact.tool(effect='read')\ndef token(): return 1\n\ndef app(")
)


class Forked:
    """A fork of a request."""

    def __init__(self, project: Project, run: dict[str, Any], event: object, *options: str, status: int = 0) -> None:
        before = len(project.upstream.asked)
        done = project.command("fork", f"{run['run']}:{event}", *options, "--json")
        assert done.returncode == status, (done.stdout, done.stderr)
        self.asked = project.upstream.asked[before:]
        self.report = json.loads(done.stdout.splitlines()[-1])
        self.said = done.stderr
        self._project = project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, upstream: Upstream) -> Project:
    project = Project(tmp_path_factory.mktemp("forked"), upstream)
    project.write(APP)
    with project.serving(*UVICORN) as server:
        server.ask("/ask", {"who": "ann"})
        server.ask("/stream")
        server.ask("/buy", {"amount": 3})
    return project


@pytest.fixture(scope="module")
def runs(project: Project) -> Iterator[dict[str, dict[str, Any]]]:
    yield {run["entry"]["target"]: run for run in project.requests()}


def body_of(project: Project, run: str) -> Any:
    """What the request of a run was answered, as JSON."""
    number = next(event["event"] for event in project.events(run) if event["name"] == "response")
    return json.loads(project.command("cat", f"{run}:{number}.request.body").stdout)


def test_nothing_changed(project: Project, runs: dict[str, dict[str, Any]]) -> None:
    run = runs["POST /ask"]
    for event in project.events(run["run"]):
        forked = Forked(project, run, event["event"], "--live", "none")
        assert forked.asked == []
        assert body_of(project, forked.report["run"]) == body_of(project, run["run"])
        project.exact(forked.report["run"])


def test_what_is_new_goes_live_with_a_client_of_before(project: Project, runs: dict[str, dict[str, Any]]) -> None:
    run = runs["POST /ask"]
    first = next(event["event"] for event in project.events(run["run"]) if event["name"].endswith("/ask/ann/0"))
    forked = Forked(project, run, first, "--result", f'{first}={{"n": 1000}}')
    before, now = body_of(project, run["run"]), body_of(project, forked.report["run"])
    assert now["total"] > 1000
    assert forked.asked == [f"/more/{now['total']}"]
    assert now["token"] == before["token"]
    assert now["more"] > before["more"]
    project.exact(forked.report["run"])


def test_another_body(project: Project, runs: dict[str, dict[str, Any]]) -> None:
    forked = Forked(project, runs["POST /ask"], 0, "--input", '{"who": "somebody else"}')
    assert [path for path in forked.asked if "somebody" in path]
    assert body_of(project, forked.report["run"])["who"] == "somebody else"
    project.exact(forked.report["run"])


def test_a_state(project: Project, runs: dict[str, dict[str, Any]]) -> None:
    forked = Forked(project, runs["POST /ask"], "sum#1", "--set", "numbers=[1, 2]")
    assert forked.asked == ["/more/3"]
    assert body_of(project, forked.report["run"])["total"] == 3
    project.exact(forked.report["run"])


def test_a_stream_goes_live_in_its_middle(project: Project, runs: dict[str, dict[str, Any]]) -> None:
    run = runs["GET /stream"]
    numbers = [event["event"] for event in project.events(run["run"]) if event["kind"] == "http"]
    forked = Forked(project, run, numbers[0], "--live", "all")
    assert forked.asked == ["/stream", "/last"]
    project.exact(forked.report["run"])


def test_a_write_is_refused_and_the_run_re_enacts_that(project: Project, runs: dict[str, dict[str, Any]]) -> None:
    forked = Forked(project, runs["POST /buy"], 0, "--input", '{"amount": 5}', status=5)
    assert "pay may change the world" in forked.report["message"]
    _, report = project.replay(forked.report["run"])
    assert report["verdict"] == "exact", report
    allowed = Forked(project, runs["POST /buy"], 0, "--input", '{"amount": 5}', "--allow-write", "pay")
    assert body_of(project, allowed.report["run"]) == {"paid": 5}


def test_an_application_that_raises_fails_the_fork(project: Project, runs: dict[str, dict[str, Any]]) -> None:
    forked = Forked(project, runs["POST /buy"], 0, "--input", '{"amount": -5}')
    assert forked.report["status"] == "failed"
    assert any("nothing costs less" in run["error"] for run in project.runs() if run["run"] == forked.report["run"])


def test_it_is_not_resumed(project: Project, runs: dict[str, dict[str, Any]]) -> None:
    done = project.command("resume", runs["POST /ask"]["run"])
    assert done.returncode == 2
    assert "the client that asked has gone" in done.stderr


def test_the_process_that_served_them_forks_too(project: Project) -> None:
    process = next(run for run in project.runs() if run["entry"]["kind"] == "command")
    forked = Forked(project, process, 0, "--live", "none")
    project.exact(forked.report["run"])


def test_wsgi(tmp_path: Path, upstream: Upstream) -> None:
    project = Project(tmp_path, upstream)
    project.write(PLAIN)
    with project.serving(sys.executable, "app.py", stop=0) as server:
        server.ask("/", b"one")
    process, run = project.runs()
    assert project.replay(process["run"])[0].returncode == 0
    forked = Forked(project, run, 0, "--input", "another")
    assert forked.asked == ["/plain/another"]
    assert body_of(project, forked.report["run"])[0] == "another"
    project.exact(forked.report["run"])


def test_it_becomes_a_golden(project: Project, runs: dict[str, dict[str, Any]]) -> None:
    run = runs["POST /ask"]
    weak = project.command("golden", "add", run["run"], "--as", "asked", "--expect", "state('sum')['numbers'] != null")
    assert weak.returncode == 2
    same = project.command("golden", "add", run["run"], "--as", "asked")
    assert same.returncode == 0, same.stderr
    assert project.command("golden", "run", "asked").returncode == 0
    (project.folder / "app.py").write_text(APP.replace("sum(state[", "-sum(state["))
    changed = project.command("golden", "run", "asked")
    assert changed.returncode == 1, changed.stderr
    (project.folder / "app.py").write_text(APP)


def test_a_golden_of_a_request_is_reviewed(project: Project, runs: dict[str, dict[str, Any]]) -> None:
    added = project.command("golden", "add", runs["POST /ask"]["run"], "--as", "reviewed", "--no-test")
    assert added.returncode == 0, added.stderr
    (project.folder / "app.py").write_text(APP.replace('"more": more["n"], ', ""))
    review = ("golden", "run", "reviewed", "--mode", "review")
    shown = project.command(*review)
    assert shown.returncode == 1 and "reviewed: 1 update" in shown.stdout, shown.stdout + shown.stderr
    done = project.command(*review, "--accept-all", "nobody reads it")
    assert done.returncode == 0, done.stdout + done.stderr
    assert project.command("golden", "run", "reviewed").returncode == 0
    (project.folder / "app.py").write_text(APP)
    assert project.command("golden", "run", "reviewed").returncode == 1


LIVING = """
async def app(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})
        return
    for kind in ("startup", "shutdown"):
        assert (await receive())["type"] == f"lifespan.{kind}"
        await send({"type": f"lifespan.{kind}.complete"})
"""
SOCKETED = (sys.executable, "-m", "uvicorn", "app:app", "--uds", "app.sock", "--limit-max-requests", "1")


def test_a_replay_removes_no_socket_of_a_server_that_runs(tmp_path: Path, upstream: Upstream) -> None:
    project = Project(tmp_path, upstream)
    project.write(LIVING)
    recording = subprocess.Popen(
        [sys.executable, "-m", "reenact", "record", "--", *SOCKETED], cwd=tmp_path, env=project.environment,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until((tmp_path / "app.sock").exists)
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(tmp_path / "app.sock"), retries=20)) as client:
        assert client.get("http://app/").status_code == 204
    assert recording.wait(30) == 0  # its limit of one request: not by a signal, which ends it before it tidies up
    (tmp_path / "app.sock").touch()
    project.replay(project.runs()[0]["run"])
    forked = Forked(project, project.runs()[0], 0, "--live", "none")  # no scratch lies before its files
    assert forked.report["frozen"] == 2
    assert (tmp_path / "app.sock").exists()


def test_a_program_that_waits_for_requests_in_vain_ends_as_it_did(tmp_path: Path, upstream: Upstream) -> None:
    project = Project(tmp_path, upstream)
    project.write(ROUNDS)
    with project.serving(sys.executable, "app.py", stop=0) as server:
        server.ask("/", b"one")
    assert project.replay(project.runs()[0]["run"])[0].returncode == 0


def test_a_request_has_no_error_in_its_place(project: Project, runs: dict[str, dict[str, Any]]) -> None:
    done = project.command("fork", f"{runs['POST /ask']['run']}:0", "--error", "0=ValueError:x")
    assert done.returncode == 2
    assert "no error can replace it" in done.stderr


def test_a_mended_program_differs_in_its_answer_and_a_fork_says_what_it_is(tmp_path: Path, upstream: Upstream) -> None:
    project = Project(tmp_path, upstream)
    project.write(PLAIN)
    with project.serving(sys.executable, "app.py", stop=0) as server:
        server.ask("/", b"one")
    run = project.runs()[-1]["run"]
    project.write(PLAIN.replace("200 OK", "201 Created").replace('found["n"]', '"more"'))
    done, report = project.replay(run)
    assert (done.returncode, report["divergence"]["event"]) == (1, 2), report
    assert report["divergence"]["message"].startswith("diverged at event 2: the response differs at status")
    assert (report["divergence"]["recorded"]["status"], report["divergence"]["now"]["status"]) == (200, 201)
    done = project.command("fork", f"{run}:1")
    assert (done.returncode, 'the response: 201 ["one", "more"]' in done.stderr) == (0, True), done.stderr
    assert "parts at event 2 (response)" in done.stderr
    project.write("raise KeyboardInterrupt")
    done = project.command("replay", run)
    assert (done.returncode, "cannot be replayed" in done.stderr) == (1, False), done.stderr
    assert "raised KeyboardInterrupt" in done.stderr
