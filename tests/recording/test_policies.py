"""Proves that what a project sets holds for a recording in code, and that wrong settings cost the recording alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import reenact
from reenact.facts.call import Fidelity

IBAN = "zq81 7736 0021"


@reenact.tool(effect="read")
def pay(iban: str) -> dict[str, str]:
    return {"iban": iban, "bytes": "x" * 3_000_000}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REENACT_STORE", f"sqlite:///{tmp_path / 'runs.db'}")
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


def _recorded(policy: reenact.Policy | None = None) -> tuple[bytes, Fidelity]:
    """What was stored of the arguments, and how the answer was kept."""
    with reenact.record(policy=policy) as run:
        assert pay(IBAN)["iban"] == IBAN
    with reenact.open_store() as store:
        recording = store.open(run.id)
        event = next(iter(recording.events()))
        return recording.body(event.request), event.fidelity


def test_what_the_project_redacts_is_redacted_of_a_block(project: Path) -> None:
    assert IBAN.encode() in _recorded()[0]
    (project / "inner").mkdir()
    (project / "reenact.toml").write_text('[redact]\niban = "credential"\n', encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project / "inner")
        assert IBAN.encode() not in _recorded()[0]


def test_the_environment_goes_before_the_files_and_a_policy_before_both(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "reenact.toml").write_text("largest_value_mb = 1\n", encoding="utf-8")
    assert _recorded()[1] is Fidelity.WITHHELD
    monkeypatch.setenv("REENACT_LARGEST_VALUE_MB", "20")
    assert _recorded()[1] is Fidelity.EXACT
    monkeypatch.setenv("REENACT_LARGEST_VALUE_MB", "2")
    assert _recorded(reenact.Policy())[1] is Fidelity.EXACT


def test_wrong_settings_cost_the_recording_and_not_the_run(project: Path) -> None:
    (project / "reenact.toml").write_text("largest = 1\n", encoding="utf-8")
    with pytest.warns(RuntimeWarning, match="not recorded: reenact.toml: unknown setting largest"), reenact.record():
        assert pay(IBAN)["iban"] == IBAN
    assert not (project / "runs.db").exists()
