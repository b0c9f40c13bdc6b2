"""Proves that each request of a WSGI server is a run of its own, in its server's thread, and replays alone."""

from __future__ import annotations

import json
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.programs import read_program
from tests.servers.conftest import Project, Upstream

APP = read_program("servers/wsgi_of_many_routes.py")
SERVERS = {
    "wsgiref": """
        import sys
        from socketserver import ThreadingMixIn
        from wsgiref.simple_server import WSGIServer, make_server
        from app import application

        class Threading(ThreadingMixIn, WSGIServer):
            daemon_threads = True

        server = make_server("127.0.0.1", 0, application, server_class=Threading)
        print(f"listens on http://127.0.0.1:{server.server_port}", file=sys.stderr, flush=True)
        server.serve_forever()
        """,
    "werkzeug": """
        from werkzeug.serving import run_simple
        from app import application

        run_simple("127.0.0.1", 0, application, threaded=True)
        """,
}


@pytest.mark.parametrize("server", SERVERS)
def test_requests_are_runs_and_replay_alone(server: str, tmp_path: Path, upstream: Upstream) -> None:
    project = Project(tmp_path / server, upstream)
    project.write(APP)
    project.write(SERVERS[server], "serve.py")
    with project.serving(sys.executable, "serve.py", stop=signal.SIGINT) as running:
        with ThreadPoolExecutor(4) as pool:
            sent = [pool.submit(running.ask, "/ask?x=1", {"who": who}, {"X-User": who}) for who in "abcd"]
            answers = {answer.data["who"]: answer for answer in (future.result() for future in sent)}
        assert running.ask("/stream").body == b"".join(b"data: piece%d\n" % n for n in range(4))
        assert running.ask("/lines", b"first\n" + b"y" * 200_000).body == b"(b'first\\n', 200000)"
        assert running.ask("/broken").status == 500
        assert running.ask("/nowhere").status == 404
    runs = project.requests()
    assert sorted(run["entry"]["target"] for run in runs) == [
        "GET /broken", "GET /nowhere", "GET /stream", "POST /ask", "POST /ask", "POST /ask", "POST /ask", "POST /lines",
    ]  # fmt: skip
    assert {run["entry"]["target"] for run in runs if run["status"] != "ok"} == {"GET /broken"}
    said = "".join(running.said)
    seen = set()
    for run in runs:
        names = [event["name"] for event in project.events(run["run"])]
        if run["entry"]["target"] == "POST /ask":
            (who,) = {name.split("/")[2] for name in names if "/ask/" in name}
            seen.add(who)
            if who != "a":
                continue
        project.exact(run["run"])
    assert seen == set("abcd") and {answer.data["user"] for answer in answers.values()} == seen, said


def test_an_answer_of_one_piece_keeps_its_length(tmp_path: Path, upstream: Upstream) -> None:
    project = Project(tmp_path / "length", upstream)
    project.write(APP)
    project.write(SERVERS["wsgiref"], "serve.py")
    lengths = []
    for recorded in (False, True):
        with project.serving(sys.executable, "serve.py", recorded=recorded, stop=signal.SIGINT) as running:
            lengths.append(running.ask("/nowhere").headers["Content-Length"])
    assert lengths == ["12", "12"]
    run = project.requests()[0]["run"]
    path = project.folder / "app.py"
    path.write_text(path.read_text().replace("nothing here", "nothing there"))
    done, report = project.replay(run)
    assert done.returncode == 1
    assert "nothing there" in json.dumps(report["divergence"])
