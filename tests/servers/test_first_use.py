"""Proves that a request replays alone although another one of its process did what is done once, at its first use."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.programs import read_program
from tests.servers.conftest import UVICORN, Project, Upstream

APP = read_program("servers/done_once_and_kept.py")
ONCE = ("by_thread", "by_starlette", "by_executor", "by_task", "by_thread_of_its_own", "by_cache", "by_lock", "stream")


class Served:
    """A server that has served each route four times, one request after the other and then at once, and is gone."""

    def __init__(self, project: Project) -> None:
        self.project = project
        project.write(APP)
        routes = (*ONCE, "same_name", "shared_answer", "shared_chance")
        with project.serving(*UVICORN) as server, ThreadPoolExecutor(4) as pool:
            for name in routes:
                assert server.ask("/" + name, {}).status == 200
                assert server.ask("/" + name, {}).status == 200
            asked = [pool.submit(server.ask, "/" + name, {}) for name in routes for _ in range(2)]
            assert {each.result().status for each in asked} == {200}
        self._runs = project.requests()

    def of(self, name: str) -> list[dict[str, Any]]:
        """The runs of one route, oldest first."""
        return [run for run in self._runs if run["entry"]["target"] == f"POST /{name}"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, upstream: Upstream) -> Served:
    return Served(Project(tmp_path_factory.mktemp("first_use"), upstream))


@pytest.mark.parametrize("name", ONCE)
def test_a_request_is_the_same_where_another_one_did_what_is_done_once(served: Served, name: str) -> None:
    runs = served.of(name)
    assert len(runs) == 4
    for run in (runs[0], runs[1], runs[3]):
        done, report = served.project.replay(run["run"])
        assert done.returncode == 0, (report.get("differences"), done.stderr)
        assert report["verdict"] in ("exact", "same")
