"""Proves that the run of a request ends when its application returns: what a task or a thread of it does afterwards is
after the end, whenever it does it, and every replay is the same."""

from __future__ import annotations

from pathlib import Path

from tests.programs import read_program
from tests.servers.conftest import UVICORN, Project, Upstream, until

ASGI = read_program("servers/tasks_beyond_the_answer.py")
NAMES = ("after", "before", "thread")


def test_a_task_that_outlives_its_request_is_after_the_end(tmp_path: Path, upstream: Upstream) -> None:
    project = Project(tmp_path / "asgi", upstream)
    project.write(ASGI)
    with project.serving(*UVICORN, "--lifespan", "off") as running:
        for name in NAMES:
            assert running.ask(f"/{name}").status == 200
            until(lambda name=name: f"/later/{name}/3" in upstream.asked)
    runs = {run["entry"]["target"]: run["run"] for run in project.requests()}
    assert set(runs) == {f"GET /{name}" for name in NAMES}
    for run in runs.values():
        assert project.events(run)[-1]["name"] == "response"
        project.exact(run)
