"""Proves that a server's request shows its agent and its route, and that requests which a project ignores leave no run,
change no other one's, and are answered as by a server that nobody records."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from reenact.errors import UsageError
from reenact.facts.ignored_requests import unrecorded
from reenact.facts.policy import Policy
from tests.programs import read_program
from tests.servers.conftest import UVICORN, Answer, Project, Running, Upstream
from tests.servers.test_wsgi import APP as WSGI_APP
from tests.servers.test_wsgi import SERVERS

APP = read_program("servers/starlette_with_a_health_check.py")
RULES = '[tool.reenact.server]\nignore = ["/health", "/static/*", "/broken", "/kept", "POST /ask"]\n'


def _asked(server: Running) -> dict[str, Answer]:
    """Every ignored request, two of each, with one that is recorded in between."""
    answers = {path: server.ask(path) for path in ("/health", "/static/deep/er.css", "/broken", "/kept?x=1")}
    answers["ask"] = server.ask("/ask")
    answers["POST /ask"] = server.ask("/ask", {"x": 1})
    return answers | {f"{path} again": server.ask(path) for path in ("/health", "/static/a", "/broken")}


def _plain(answers: dict[str, Answer]) -> dict[str, Any]:
    """Answers without what differs from one to the next."""
    volatile = ("date", "content-length")
    return {
        name: (
            answer.status,
            {key: value for key, value in answer.headers.items() if key not in volatile},
            answer.data | {"n": 0} if b'"n"' in answer.body else answer.body,
        )
        for name, answer in answers.items()
    }


def test_ignored_requests_leave_no_run_and_are_answered_alike(tmp_path: Path, upstream: Upstream) -> None:
    project = Project(tmp_path / "ignoring", upstream)
    project.write(APP)
    project.write(RULES, "pyproject.toml")
    project.environment["REENACT_DISABLE"] = "1"
    with project.serving(*UVICORN, recorded=False) as server:
        bare = _asked(server)
    del project.environment["REENACT_DISABLE"]
    with project.serving(*UVICORN) as server:
        recorded = _asked(server)
    assert _plain(recorded) == _plain(bare)
    assert bare["/broken"].status == 500 and bare["/static/a again"].body == b"012"
    assert recorded["ask"].data["run"] is None and recorded["/health"].data["run"] is None

    process, *others = project.runs()
    assert [(run["relation"], run["entry"]["target"], run["agent"]) for run in others] == [
        ("", "", "inner"), ("request", "GET /ask", ""),
    ]  # fmt: skip
    inner, ask = others
    assert inner["parent"] is None, "no run is above a block in a request that has none"
    assert project.events(process["run"]) == [
        event for event in project.events(process["run"]) if event["name"] == "lifespan"
    ]
    names = [event["name"].partition("/")[2] or event["name"] for event in project.events(ask["run"])]
    assert names == ["request", "health", "ask", "look", "response"]
    assert "1 request, 10 more ignored" in "".join(server.said)
    project.exact(ask["run"])
    project.exact(process["run"])


def test_a_wsgi_server_ignores_too(tmp_path: Path, upstream: Upstream) -> None:
    project = Project(tmp_path / "wsgi", upstream)
    project.write(WSGI_APP)
    project.write(SERVERS["wsgiref"], "serve.py")
    project.environment["REENACT_SERVER_IGNORE"] = "GET /stream, /lines, /broken"
    with project.serving(sys.executable, "serve.py", stop=signal.SIGINT) as running:
        assert running.ask("/stream?x=1").body == b"".join(b"data: piece%d\n" % n for n in range(4))
        assert running.ask("/lines", b"first\n" + b"y" * 2000).body == b"(b'first\\n', 2000)"
        assert running.ask("/broken").status == 500
        assert running.ask("/ask?x=1", {"who": "a"}).data["query"] == "x=1"
    (run,) = project.requests()
    assert run["entry"]["target"] == "POST /ask"
    (process,) = (each for each in project.runs() if each["run"] != run["run"])
    assert [event["name"].partition("/")[2] for event in project.events(process["run"])] == ["token"]
    project.exact(run["run"])


def test_a_request_shows_its_agent_and_its_route_at_every_width(tmp_path: Path, upstream: Upstream) -> None:
    project = Project(tmp_path / "shown", upstream)
    project.write(APP)
    options = ("--agent", "support-desk-of-the-shop@1.4")
    record = [sys.executable, "-m", "reenact", "record", *options, "--", *UVICORN]
    with project.serving(*record, recorded=False) as server:
        server.ask("/ask", {"question": "where is order 4471?"})
    for width in (80, 140):
        told = project.command("ls", COLUMNS=str(width)).stdout
        (line,) = (line for line in told.splitlines() if "POST /ask" in line)
        assert " support-des" in line, told
        assert len(line) <= width
    run = next(run for run in project.requests() if run["entry"]["target"] == "POST /ask")
    assert (run["agent"], run["version"]) == ("support-desk-of-the-shop", "1.4")
    shown = project.command("show", run["run"]).stdout
    assert "support-desk-of-the-shop@1.4" in shown.splitlines()[0] and "request   POST /ask" in shown
    data = [
        json.loads(line) for line in project.command("ls", "--json", "--agent", options[1][:-4]).stdout.splitlines()
    ]
    assert len(data) == len(project.runs())


@pytest.mark.parametrize(
    ("patterns", "path", "ignored"),
    [
        ([], "/health", False),
        (["/health"], "/health", True),
        (["/health"], "/healthy", False),
        (["/health"], "/v1/health", False),
        (["*/health"], "/v1/health", True),
        (["/a.c"], "/abc", False),
        (["/static/*"], "/static/a/b.css", True),
        (["/static/*"], "/static", False),
        (["HEAD /x", "POST /health"], "/health", False),
        (["HEAD /x", "GET /health"], "/health", True),
        (["/caf\u00e9/*"], "/caf\u00e9/a\nb", True),
    ],
)
def test_a_pattern_is_a_path_or_a_method_and_a_path(patterns: list[str], path: str, ignored: bool) -> None:
    assert unrecorded(patterns)("GET", path) is ignored


@pytest.mark.parametrize("pattern", ["health", "", "get /health", "GET", "GET health", "/two words"])
def test_what_is_no_path_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError, match="is no path of a request"):
        Policy(server_ignore=(pattern,))
