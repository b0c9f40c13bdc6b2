"""The doctor says before a recording what it would capture and what not, without running a line of the project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reenact.facts.clients import CLIENTS, client_of, too_old, way_in
from reenact.triage.doctor_findings import DoctorFinding, FindingState, Premises, examine
from reenact.triage.source_imports import imports_of
from tests.kit.recorded import Workbench

CAPTURED = """
import requests
from urllib import request
import anthropic
from google import genai
"""
LOUD = "open('it-ran', 'w').close()\nraise SystemExit(9)\n"


def findings(desk: Workbench, status: int, **environ: str) -> dict[str, Any]:
    """What the doctor found, by its first word."""
    lines = desk.run("--json", "doctor", status=status, environ=environ).stdout.splitlines()
    *found, last = [json.loads(line) for line in lines]
    gaps = [each for each in found if each["state"] == "not captured"]
    assert last == {"type": "doctor", "gaps": len(gaps), "captured": last["captured"]}
    return {each["name"].split()[0]: each for each in found}


def test_a_project_of_captured_clients_is_fine(desk: Workbench) -> None:
    desk.script(CAPTURED + LOUD)
    found = findings(desk, 0)
    assert found["requests"]["about"] == "through urllib3" and found["requests"]["places"] == ["agent.py:2"]
    assert found["urllib.request"]["about"] == "through http.client"
    assert {found[name]["state"] for name in ("requests", "urllib.request", "anthropic", "google.genai")} == {
        "captured"
    }
    assert found["store"]["state"] == "fine" and found["hash_seed"]["state"] == "fine"
    assert sorted(path.name for path in desk.folder.iterdir()) == ["agent.py"]  # nothing ran, no store was made


def test_what_has_no_seam_is_named_with_its_place_and_the_fix(desk: Workbench) -> None:
    desk.script("import os\nimport pycurl, ldap3\n\n\ndef go():\n    os.system('ls')\n")
    found = findings(desk, 3)
    assert found["pycurl"]["about"] == "a C library or program of its own talks to the world"
    assert found["ldap3"]["about"] == "has no seam in this version" and found["ldap3"]["places"] == ["agent.py:2"]
    assert found["subprocess"]["places"] == ["agent.py:6"]
    assert all(found[name]["fix"] for name in ("pycurl", "ldap3"))
    shown = desk.run("doctor", status=3)
    assert (
        "not captured" in shown.stdout.splitlines()
        and shown.stderr.splitlines()[-1] == "next: reenact record -- python agent.py"
    )


def test_a_client_behind_marked_functions_is_worth_knowing_only(desk: Workbench) -> None:
    desk.script("import ldap3\nfrom reenact import tool\n\n\n@tool\ndef find():\n    return ldap3\n")
    found = findings(desk, 0)
    assert found["ldap3"]["state"] == "note" and found["tools"]["places"] == ["agent.py:5"]


def test_what_is_said_is_whole_where_no_terminal_shows_it(desk: Workbench) -> None:
    for number in range(3):
        desk.script("import aiokafka\n", f"{'a_long_name_of_a_module_' * 3}{number}.py")
    said = desk.run("doctor", status=3).stdout
    assert all(f"module_{number}.py:1" in said for number in range(3)), said


def test_a_store_that_cannot_be_written_is_a_gap(desk: Workbench) -> None:
    (desk.folder / "file").write_text("")
    found = findings(desk, 3, REENACT_STORE=str(desk.folder / "file" / "below"))
    assert found["store"]["state"] == "not captured" and "--store" in found["store"]["fix"][0]


def test_a_python_without_its_global_lock_is_a_gap(desk: Workbench, tmp_path: Path) -> None:
    """No replay of a program with threads answers there."""
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "sitecustomize.py").write_text("import sys\nsys._is_gil_enabled = lambda: False\n")
    found = findings(desk, 3, PYTHONPATH=str(tmp_path / "start"))
    assert found["python"]["state"] == "not captured" and "PYTHON_GIL=1" in found["python"]["fix"][0]
    assert findings(desk, 0)["python"]["state"] != "not captured"


def test_a_disabled_recorder_is_a_gap(desk: Workbench) -> None:
    assert "switch" in findings(desk, 3, REENACT_DISABLE="1")


def test_an_environment_without_reenact_is_a_gap(desk: Workbench) -> None:
    place = desk.folder / ".venv" / "lib" / "python3.12" / "site-packages"
    (place / "requests-2.1.dist-info").mkdir(parents=True)
    (desk.folder / ".venv" / "pyvenv.cfg").write_text("")
    desk.script("import requests\n")
    (place / "inner.py").write_text("import ldap3\n")
    found = findings(desk, 3)
    assert found["environment"]["fix"] == [".venv/bin/python -m pip install reenact"]
    assert found["requests"]["state"] == "note" and "2.26" in found["requests"]["about"]
    assert "ldap3" not in found
    (place / "reenact-0.1.0.dist-info").mkdir()
    assert "environment" not in findings(desk, 0)


def test_recording_in_code_without_a_hash_seed_is_worth_knowing(desk: Workbench) -> None:
    desk.script("import reenact\n\nwith reenact.record():\n    pass\n")
    found = findings(desk, 0, PYTHONHASHSEED="")
    assert found["hash_seed"]["state"] == "note" and found["hash_seed"]["places"] == ["agent.py:3"]
    assert findings(desk, 0, PYTHONHASHSEED="7")["hash_seed"]["state"] == "fine"


def test_only_what_the_program_itself_imports_counts(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(
        "from typing import TYPE_CHECKING\nimport typing\nimport importlib\n"
        "if TYPE_CHECKING:\n    import redis\nelse:\n    import pymongo\n"
        "if typing.TYPE_CHECKING:\n    import zmq\n"
        "importlib.import_module('ldap3')\nfrom . import sibling\nfrom .. import above\n"
    )
    for name in ("tests/a.py", "test_b.py", "conftest.py", ".hidden/c.py", "env/pyvenv.cfg", "env/d.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("import pika\n")
    (tmp_path / "broken.py").write_text("def (:\n")
    (tmp_path / "binary.py").write_bytes(b"\0\xff")
    found = imports_of(str(tmp_path))
    assert {"pymongo", "ldap3"} <= set(found.modules)
    assert not {"redis", "zmq", "pika", "sibling", "above"} & set(found.modules)
    assert (found.files, sorted(found.unread)) == (1, ["binary.py", "broken.py"])


@pytest.mark.parametrize(
    ("version", "state"),
    [((3, 10, 9), FindingState.GAP), ((3, 11, 0), FindingState.FINE), ((3, 15, 0), FindingState.NOTE)],
)
def test_the_interpreter_must_be_one_that_is_supported(version: tuple[int, int, int], state: FindingState) -> None:
    assert _named(examine(Premises(version, "s")), "python").state is state


def test_a_run_without_git_will_name_no_commit() -> None:
    assert _named(examine(Premises((3, 12, 0), "s")), "git").state is FindingState.NOTE
    assert _named(examine(Premises((3, 12, 0), "s", commit="c" * 40)), "git").state is FindingState.FINE
    assert _named(examine(Premises((3, 12, 0), "s", commit="c" * 40, git=False)), "git").state is FindingState.NOTE


def _named(found: tuple[DoctorFinding, ...], name: str) -> DoctorFinding:
    return next(each for each in found if each.name == name)


def test_the_longest_name_decides_which_client_it_is() -> None:
    assert (client_of("google.genai.types") or ("",))[0] == "google.genai"
    assert (client_of("google.cloud.storage") or ("",))[0] == "google.cloud"
    assert client_of("google") is None and client_of("requestsx") is None


def test_a_client_is_captured_through_any_module_that_has_a_seam() -> None:
    hooked = frozenset(("httpx", "urllib3.connectionpool", "mcp.client.session"))
    assert way_in(CLIENTS["openai"], hooked) == "httpx" and way_in(CLIENTS["boto3"], hooked) == "urllib3"
    assert way_in(CLIENTS["mcp"], hooked) == "mcp" and way_in(CLIENTS["grpc"], hooked) == ""


@pytest.mark.parametrize(
    ("version", "least"), [("0.22.9", "0.23"), ("0.23", ""), ("1.0b1", ""), ("", ""), ("junk", "")]
)
def test_a_version_is_old_only_below_the_lowest_known(version: str, least: str) -> None:
    assert too_old("httpx", version) == least
