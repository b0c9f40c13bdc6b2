"""The canary concludes rightly: nothing captured is a failure of ours, what cannot be installed is an outage."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canary import __main__ as canary
from canary.table import ENTRIES, ENVIRONMENTS, Entry
from canary.verdict import FINE, OURS, OUTAGE, Finding, Observed, exit_status, found, table

CALLS = Path(canary.__file__).parent / "calls"
CAPTURED = Observed("fine", asked=2, captured=2)
OUT = Observed("out", installed=False)
pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("seen", "finding"),
    [
        (CAPTURED, Finding.CAPTURED),
        (Observed("more than asked", asked=1, captured=2), Finding.CAPTURED),
        (Observed("nothing", asked=2, captured=0), Finding.NOTHING_CAPTURED),
        (Observed("some", asked=2, captured=1), Finding.SOME_MISSED),
        (Observed("breaks when recorded", status=1, bare=0, asked=1, captured=1), Finding.DISTURBED),
        (Observed("breaks anyway", status=1, bare=1), Finding.STALE),
        (Observed("asked nobody", asked=0, captured=0), Finding.STALE),
        (OUT, Finding.OUTAGE),
    ],
)
def test_findings(seen: Observed, finding: Finding) -> None:
    assert found(seen) is finding
    expected = {Finding.CAPTURED: FINE, Finding.OUTAGE: OUTAGE}.get(finding, OURS)
    assert exit_status([seen]) == exit_status([CAPTURED, seen]) == expected
    assert finding.value in "\n".join(table([CAPTURED, seen]))


def test_a_failure_of_ours_outranks_an_outage_and_no_calls_at_all_are_no_success() -> None:
    assert exit_status([OUT, Observed("nothing", asked=1)]) == OURS
    assert exit_status([OUT, CAPTURED]) == OUTAGE
    assert exit_status([]) == OURS
    assert len({FINE, OURS, OUTAGE}) == 3


OBSERVED = st.builds(
    Observed,
    name=st.just("x"),
    installed=st.booleans(),
    status=st.integers(0, 2),
    bare=st.none() | st.integers(0, 1),
    asked=st.integers(0, 3),
    captured=st.integers(0, 3),
)


@given(st.lists(OBSERVED, max_size=5))
def test_it_is_fine_only_if_every_call_was_made_and_captured(every: list[Observed]) -> None:
    all_captured = bool(every) and all(
        one.installed and one.status == 0 and 0 < one.asked <= one.captured for one in every
    )
    assert (exit_status(every) == FINE) is all_captured


def test_every_entry_point_has_its_script_and_every_script_its_entry_point() -> None:
    scripts = {path.name for path in CALLS.glob("*.py")}
    assert {entry.script for entry in ENTRIES} == scripts
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)
    for path in CALLS.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert ast.get_docstring(tree) and "reenact" not in ast.unparse(tree), path.name


def test_no_version_is_pinned() -> None:
    assert [need for entry in ENTRIES for need in entry.needs if any(sign in need for sign in "=<>~@")] == []


def test_it_starts_on_a_bare_interpreter() -> None:
    program = "import sys; import canary.__main__; assert not {'reenact', 'click', 'pytest'} & set(sys.modules)"
    command = [sys.executable, "-S", "-c", program]
    done = subprocess.run(command, cwd=CALLS.parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("ours", [False, True])
def test_what_cannot_be_installed_is_an_outage_for_those_that_need_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ours: bool
) -> None:
    entries = [Entry("one", "plain_urllib.py", ()), Entry("two", "qdrant.py", ("gone",))]
    monkeypatch.setattr(canary, "environment", lambda folder: Path(sys.executable))
    monkeypatch.setattr(canary, "source", lambda folder: Path("source"))
    monkeypatch.setattr(
        canary, "installed", lambda python, packages: "gone" not in packages and not (ours and packages)
    )
    every = list(canary.observed(tmp_path, entries))
    assert [found(seen) for seen in every] == [Finding.OUTAGE if ours else Finding.CAPTURED, Finding.OUTAGE]
    assert exit_status(every) == OUTAGE


def test_a_client_that_no_seam_knows_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unseen = """
import os, socket
host, port = os.environ["WORLD"].removeprefix("http://").split(":")
with socket.create_connection((host, int(port))) as raw:
    raw.sendall(b"GET /page HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")
    assert raw.recv(1000)
"""
    (tmp_path / "raw.py").write_text(unseen, encoding="utf-8")
    python = Path(sys.executable)
    with canary.world(python, tmp_path) as url:
        known = canary.call(python, tmp_path, Entry("known", "plain_urllib.py", ()), url)
        monkeypatch.setattr(canary, "CALLS", tmp_path)
        unknown = canary.call(python, tmp_path, Entry("unknown", "raw.py", ()), url)
    assert (known.asked, known.captured, found(known)) == (1, 1, Finding.CAPTURED)
    assert (unknown.asked, unknown.captured, found(unknown)) == (1, 0, Finding.NOTHING_CAPTURED)


def test_the_environments_are_those_of_the_table() -> None:
    assert set(ENVIRONMENTS) == {entry.environment for entry in ENTRIES} and ENVIRONMENTS[0] == "sdks"
