"""A run that leaves is played back by what it was exported for: VCR.py, a HAR reader, and a bare interpreter."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.http.server import Server, answer, as_json, chunked
from tests.interop import har
from tests.interop.conftest import Tried

PROGRAM = """
import sys, urllib.error, urllib.request
import httpx, requests

base = sys.argv[1]
print(httpx.get(base + "/json?x=1&y=a%20b").json())
print(httpx.post(base + "/chunked", json={"k": [1, 2]}).json())
packed = httpx.get(base + "/gzip")
print(packed.text, packed.headers["content-encoding"])
with urllib.request.urlopen(base + "/binary") as response:
    print(response.read(), response.headers.get_all("X-Seen"), response.reason)
try:
    urllib.request.urlopen(urllib.request.Request(base + "/broken", b"a=1&b=2", method="PUT"))
except urllib.error.HTTPError as error:
    print(error.code, error.read())
print([httpx.get(base + "/poll").text for _ in range(2)])
print(httpx.get(base + "/moved", follow_redirects=True).json())
print(requests.get(base + "/gzip?again=1").text, requests.post(base + "/chunked", data={"a": "b"}).json())
"""


def serve(server: Server) -> None:
    server.routes.update(
        {
            "/json": lambda r: as_json({"number": r.number, "asked": r.target, "ü": "\u2028é"}),
            "/chunked": lambda r: chunked([b'{"number":', b" %d}" % r.number], [("Content-Type", "application/json")]),
            "/gzip": lambda r: answer(gzip.compress(b"packed %d" % r.number), headers=[("Content-Encoding", "gzip")]),
            "/binary": lambda r: answer(b"\xff\x00\r\n", "200 Fine", [("X-Seen", "one"), ("X-Seen", "two")]),
            "/broken": lambda r: as_json({"error": r.number}, "500 Broken"),
            "/poll": lambda r: answer(b"poll %d\r\n" % r.number),
            "/moved": lambda r: answer(b"", "302 Found", [("Location", "/json")]),
        }
    )


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tried, str, bytes]:
    """A desk with a recorded run, the address that nobody serves any more, and what the program printed."""
    desk = Tried(tmp_path_factory.mktemp("recorded"))
    server = Server()
    serve(server)
    desk.writes("program.py", PROGRAM)
    done = desk.run("reenact", "record", "--", "python", "program.py", server.url)
    server.close()
    assert done.code == 0, done.err.decode()
    run = desk.reenact("--json", "ls").out
    desk.environment["RUN"] = json.loads(run.splitlines()[0])["tail"]
    return desk, server.url, done.out


def exported(desk: Tried, form: str, output: str) -> str:
    """Exports the recorded run; what is said."""
    done = desk.reenact("export", form, desk.environment["RUN"], "-o", output)
    assert done.code == 0, done.err.decode()
    return done.err.decode()


def test_a_cassette_is_played_back_by_vcr_itself(recorded: tuple[Tried, str, bytes]) -> None:
    desk, url, printed = recorded
    said = exported(desk, "vcr", "cassette.yaml")
    assert "11 exchanges written to cassette.yaml" in said
    assert "not in the file: times of exchanges (11)" in said
    assert "streams in pieces, kept as one" in said
    played = desk.records_with_vcr("program.py", url, record_mode="none", match_on=("method", "uri", "body"))
    assert played.out == printed, played.err.decode()


def test_an_archive_keeps_to_the_rules_of_har_and_comes_back(recorded: tuple[Tried, str, bytes]) -> None:
    desk, url, printed = recorded
    exported(desk, "har", "run.har")
    archive = json.loads((desk.folder / "run.har").read_text(encoding="utf-8"))
    har.require(archive)
    assert [each["request"]["url"] for each in archive["log"]["entries"]][:2] == [
        f"{url}/json?x=1&y=a%20b",
        f"{url}/chunked",
    ]
    assert archive["log"]["entries"][2]["response"]["content"]["text"].startswith("packed ")
    back = desk.reenact("import", "har", "run.har")
    assert back.code == 0, back.err.decode()
    replayed = desk.replay("--cmd", f"python program.py {url}")
    assert replayed.out == printed, replayed.err.decode()
    assert replayed.code == 0


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter without reenact, that sees httpx and nothing else of ours."""
    import httpx

    place = tmp_path_factory.mktemp("bare")
    venv.create(place, with_pip=False, symlinks=True)
    packages = Path(httpx.__file__).parents[1]
    (site,) = place.glob("lib/python*/site-packages")
    for name in (
        "httpx",
        "httpcore",
        "h11",
        "certifi",
        "idna",
        "anyio",
        "sniffio",
        "typing_extensions.py",
        "requests",
        "urllib3",
    ):
        if (packages / name).exists():
            (site / name).symlink_to(packages / name)
    return place / "bin" / "python"


@pytest.mark.skipif(sys.platform == "win32", reason="the bare environment is made of links")
def test_plain_json_runs_in_an_interpreter_without_this_project(recorded: tuple[Tried, str, bytes], bare: Path) -> None:
    desk, url, printed = recorded
    exported(desk, "json", "run.json")
    script = (desk.folder / "run_offline.py").read_text()
    assert len(script.splitlines()) <= 30
    compile(script, "run_offline.py", "exec")
    assert "cannot freeze clock, chance" in script.splitlines()[1]

    def offline(*words: str) -> subprocess.CompletedProcess[bytes]:
        argv = [str(bare), *words]
        return subprocess.run(argv, cwd=desk.folder, env={"PATH": ""}, capture_output=True, timeout=60, check=False)

    assert offline("-c", "import reenact").returncode != 0
    done = offline("run_offline.py", "program.py", url)
    assert (done.returncode, done.stdout) == (0, printed), done.stderr.decode()
    assert b"cannot freeze clock, chance" in done.stderr
    desk.writes("changed.py", PROGRAM.replace("[1, 2]", "[1, 3]").replace(".json())\npacked", ".status_code)\npacked"))
    other = offline("run_offline.py", "changed.py", url)
    assert other.returncode == 1
    assert b"1 not recorded: [('POST'" in other.stderr
    assert b"1 not asked for" in other.stderr
    desk.writes("secure.py", PROGRAM.replace("base = sys.argv[1]", f"base = {url.replace('http:', 'https:')!r}"))
    document = (desk.folder / "run.json").read_text(encoding="utf-8")
    (desk.folder / "run.json").write_text(document.replace("http://", "https://"), encoding="utf-8")
    secure = offline("run_offline.py", "secure.py")
    assert (secure.returncode, secure.stdout) == (0, printed), secure.stderr.decode()


def test_a_script_of_somebody_else_is_never_overwritten(recorded: tuple[Tried, str, bytes]) -> None:
    desk, _, _ = recorded
    desk.writes("agent_offline.py", "print('mine')")
    refused = desk.reenact("export", "json", desk.environment["RUN"], "-o", "agent.json")
    assert refused.code == 2
    assert b"is there already" in refused.err
    assert not (desk.folder / "agent.json").exists()


def test_what_no_exchange_can_hold_is_counted(desk: Tried, server: Server) -> None:
    serve(server)
    desk.writes(
        "agent.py",
        "import sys, subprocess, httpx, reenact\n"
        "@reenact.tool\n"
        "def look():\n    return httpx.get(sys.argv[1] + '/json').json()['number']\n"
        "look()\nsubprocess.run(['true'])\n"
        "try:\n    httpx.get('http://127.0.0.1:9/')\nexcept httpx.ConnectError:\n    pass\n",
    )
    assert desk.run("reenact", "record", "--", "python", "agent.py", server.url).code == 0
    said = desk.reenact("--json", "export", "vcr", "@", "-o", "out.yaml")
    lost = json.loads(said.out)["lost"]
    assert lost["events of kind tool"] == 1
    assert lost["events of kind process"] >= 1
    assert lost["exchanges that failed without an answer"] == 1
    assert f"not in the file: events of kind process ({lost['events of kind process']})" in said.err.decode()
    assert b"not in the file: events of kind tool (1)" in said.err
    desk.writes("none.py", "print(1)")
    assert desk.run("reenact", "record", "--", "python", "none.py").code == 0
    nothing = desk.reenact("export", "har", "@")
    assert (nothing.code, nothing.out) == (2, b"")
    assert b"holds no HTTP exchange" in nothing.err and b": 1 " not in nothing.err
