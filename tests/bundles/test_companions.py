"""A packed run brings along what it replays with: the server of a request, the requests of a server, and evidence."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from reenact.store import open_store
from reenact.store.bundles import read_bundle
from reenact.timetravel.bundling.unpacking import unpack
from tests.bundles.conftest import Place
from tests.servers.conftest import Project, Upstream
from tests.servers.conftest import upstream as upstream  # a fixture
from tests.servers.test_wsgi import APP, SERVERS

FUNCTIONS = """
    import reenact

    @reenact.tool(effect="read")
    def fetch(n):
        return {"n": n}

    @reenact.record(agent="shop")
    def main(first, *, more):
        return [fetch(n)["n"] for n in (first, *more)]

    if __name__ == "__main__":
        print(main(1, more=(2, 3)))
        print(main(4, more=(5,)))
    """


def test_a_request_replays_with_its_server_alone_in_a_clone(tmp_path: Path, upstream: Upstream) -> None:
    project, clone = (Project(tmp_path / name, upstream) for name in ("server", "clone"))
    for each in (project, clone):
        each.write(APP)
        each.write(SERVERS["wsgiref"], "serve.py")
        del each.environment["REENACT_STORE"]
        (each.folder / ".reenact").mkdir()
    project.environment["REENACT_STORE"] = str(project.folder / ".reenact")
    clone.environment["REENACT_STORE"] = str(clone.folder / ".reenact")
    with project.serving(sys.executable, "serve.py", stop=signal.SIGINT) as running:
        assert running.ask("/ask", {"who": "anna"}).status == 200
        assert running.ask("/stream").body
    asked, streamed = (run["run"] for run in project.requests())
    (server,) = (run["run"] for run in project.runs() if run["entry"]["kind"] == "command")
    for run in (asked, server):
        path = clone.folder / f"{run}.reenact"
        done = project.command("pack", run, "-o", str(path), "--no-check")
        assert done.returncode == 0, done.stderr
        roles = {each.run.id: each.role for each in read_bundle(path).runs}
        expected = {asked: "inner", streamed: "inner"} if run == server else {server: "needed"}
        assert roles == {run: "run"} | expected
    with open_store(clone.environment["REENACT_STORE"]) as store:
        assert set(unpack(clone.folder / f"{asked}.reenact", store).fresh) == {asked, server}
        assert unpack(clone.folder / f"{server}.reenact", store).fresh == (streamed,)  # what is there already fits
    for run in (f"{asked}.reenact", streamed):
        done, report = clone.replay(run)
        # Whether the order of a server's strands was proven while it was recorded is up to the machine's load.
        assert (done.returncode, report.get("live_calls")) == (0, 0), (done.stderr, report)
        assert report["verdict"] in ("exact", "same"), report


def test_a_function_is_called_again_in_a_clone_and_keeps_its_evidence(tmp_path: Path) -> None:
    place, clone = (Place(tmp_path / name / "proj", tmp_path / f"home of {name}") for name in ("a", "b"))
    for each in (place, clone):
        each.write("agent.py", FUNCTIONS)
        (each.folder / ".reenact").mkdir()
    environment = place.environment

    subprocess.run([sys.executable, "agent.py"], cwd=place.folder, env=environment, check=True, capture_output=True)
    path = clone.folder / "x.reenact"
    done = place.reenact("pack", "@", "-o", str(path))
    assert "verdict: same (exact)" in done.stderr, done.stderr
    report = clone.told("replay", "x.reenact")
    assert (report["verdict"], report["output"]) == ("exact", "[4,5]"), report
    with open_store(place.folder / ".reenact") as store:
        kept = store.open("@").notes(None)["kit.process"]
        assert set(kept) == {"digest", "held_by"}  # the run before it, of the same process, has the sources
    with open_store(path) as packed:
        assert {"sources", "packages"} <= set(packed.open("@").notes(None)["kit.process"])
    clone.reenact("unpack", "x.reenact")
    assert clone.reenact("unpack", "x.reenact").stdout.endswith("was here already\n")
