"""Proves that the run of a request ends when its application returns: what a task or a thread of it does afterwards is
after the end, whenever it does it, and every replay is the same."""

from __future__ import annotations

from pathlib import Path

from tests.servers.conftest import UVICORN, Project, Upstream, until

ASGI = """
import asyncio, os
import httpx

UPSTREAM = os.environ["UPSTREAM"]
client = httpx.AsyncClient()
kept = set()

async def goes_on(name):
    for turn in range(4):
        print(name, turn, (await client.get(f"{UPSTREAM}/later/{name}/{turn}")).json(), flush=True)

async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    name = scope["path"][1:]
    if name == "before":  # its first question is asked, and perhaps answered, before the end
        kept.add(asyncio.create_task(goes_on(name)))
    answer = (await client.get(f"{UPSTREAM}/{name}")).text
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": answer.encode(), "more_body": True})
    await send({"type": "http.response.body", "body": b"."})
    if name == "after":
        kept.add(asyncio.create_task(goes_on(name)))
    elif name == "thread":
        kept.add(asyncio.get_running_loop().run_in_executor(None, httpx.get, f"{UPSTREAM}/later/thread/3"))
"""
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
