"""Of the requests of a server those that failed are kept, whatever the sample, with the run of their process."""

from __future__ import annotations

from pathlib import Path

import pytest

from reenact.facts.run import Run, Status
from reenact.facts.sampling import leaves_out
from tests.servers.conftest import UVICORN, Project, Upstream, until

APP = """
import os
import httpx
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

client = httpx.AsyncClient()

async def ask(request):
    number = int(request.query_params["n"])
    answer = (await client.get(os.environ["UPSTREAM"] + "/ask")).json()
    if number == 3:
        raise LookupError(number)
    return JSONResponse(answer, status_code=503 if number == 5 else 200)

app = Starlette(routes=[Route("/ask", ask)])
"""


@pytest.fixture
def project(tmp_path: Path, upstream: Upstream) -> Project:
    """A server whose fourth request raises, and whose sixth is answered with a failure of its own."""
    made = Project(tmp_path / "project", upstream)
    made.write(APP)
    return made


def test_requests_that_fail_stay_and_replay(project: Project) -> None:
    project.environment["REENACT_SAMPLE"] = "0"
    with project.serving(*UVICORN) as server:
        statuses = [server.ask(f"/ask?n={n}").status for n in range(8)]
        until(lambda: len(project.requests()) == 2)
    assert statuses == [200, 200, 200, 500, 200, 503, 200, 200]
    assert [run["status"] for run in project.requests()] == ["failed", "failed"]
    assert len(project.runs()) == 3, "the run of the process stays with them"
    assert "not kept" not in "".join(server.said)
    for run in project.requests():
        project.exact(run["run"])


def test_where_none_failed_nothing_stays(project: Project) -> None:
    project.environment["REENACT_SAMPLE"] = "0"
    with project.serving(*UVICORN) as server:
        assert server.ask("/ask?n=1").status == 200
    assert project.runs() == []
    assert "not kept: sample 0" in "".join(server.said)


def test_each_request_is_drawn_by_its_own_id(project: Project) -> None:
    project.environment["REENACT_SAMPLE"] = "0.5"
    with project.serving(*UVICORN) as server:
        assert {server.ask("/ask?n=1").status for _ in range(20)} == {200}
    found = project.requests()
    assert 0 < len(found) < 20
    assert not any(leaves_out(Run(run["run"], status=Status(run["status"])), 0.5, {}) for run in found)


def test_a_route_has_a_share_of_its_own(project: Project) -> None:
    project.environment["REENACT_SAMPLING"] = "GET /ask=0"
    with project.serving(*UVICORN) as server:
        statuses = [server.ask(f"/ask?n={n}").status for n in (1, 3, 2)]
        until(lambda: len(project.requests()) == 1)
    assert statuses == [200, 500, 200]
    assert [run["status"] for run in project.requests()] == ["failed"] and len(project.runs()) == 2
