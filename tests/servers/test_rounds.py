"""Proves that the requests of a program that handles one after the other replay in their rounds, and that its own run
goes through as many, whatever ended them."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.servers.conftest import Project, Upstream

ROUNDS = """
import json, os, signal, sys, threading, time, urllib.request
from wsgiref.simple_server import make_server

rounds = 0

def ask(what):
    with urllib.request.urlopen(f"{os.environ['UPSTREAM']}/{what}") as answer:
        return json.load(answer)["n"]

def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"round {rounds}, {between} before it, {ask('inside')} in it".encode()]

with make_server("127.0.0.1", 0, app) as server:
    server.timeout = 0.05
    between = ask("between")
    server.handle_request()  # nobody asks yet
    print(f"listens on http://127.0.0.1:{server.server_port}", file=sys.stderr, flush=True)
    server.timeout = None
    try:
        while True:
            rounds += 1
            between = ask("between")
            if rounds == 3:
                threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
            server.handle_request()
            print("round", rounds, "is over", flush=True)
    except KeyboardInterrupt:
        print("interrupted", ask("last"), flush=True)
"""


def test_each_request_is_answered_in_its_round(tmp_path: Path, upstream: Upstream) -> None:
    project = Project(tmp_path / "rounds", upstream)
    project.write(ROUNDS)
    with project.serving(sys.executable, "app.py", stop=0) as server:
        said = [server.ask("/").body.decode().partition(",")[0] for _ in range(2)]
    assert said == ["round 1", "round 2"], server.said
    assert server.process.returncode == 0, server.said
    runs = [run["run"] for run in project.runs()]
    assert len(runs) == 3
    for run in runs:  # its own too: it is interrupted in its last round
        project.exact(run)
