"""What must not be stored is gone before the first byte reaches the disk: also of the run itself, also when killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact.facts.run import Run
from reenact.store.sqlite_store import SqliteStore

SECRETS = {
    "argv": "sk-proj-Ar9vAr9vAr9vAr9vAr9vAr9vAr9vAr9vAr9v",
    "tag": "sk-proj-Ta8gTa8gTa8gTa8gTa8gTa8gTa8gTa8gTa8g",
    "env": "sk-proj-En7vEn7vEn7vEn7vEn7vEn7vEn7vEn7vEn7v",
}


def test_the_store_is_handed_a_clean_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    begun: list[Run] = []
    begin = SqliteStore.begin

    def watched(self: SqliteStore, run: Run) -> Any:
        begun.append(run)
        return begin(self, run)

    monkeypatch.setattr(SqliteStore, "begin", watched)
    monkeypatch.setattr(sys, "orig_argv", ["python", "agent.py", "--api-key", SECRETS["argv"]])
    monkeypatch.setenv("OPENAI_API_KEY", SECRETS["env"])
    with reenact.record(
        store=f"sqlite:///{tmp_path / 'store.sqlite'}", tags={"api_key": SECRETS["tag"], "ticket": "7"}
    ):
        pass
    assert [run.tags["ticket"] for run in begun] == ["7"]
    for place, secret in SECRETS.items():
        assert secret not in str(asdict(begun[0])), place


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing kills so suddenly here")
def test_a_run_that_is_killed_at_once_leaves_no_secret(tmp_path: Path) -> None:
    program = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    words = ["record", "--tag", f"api_key={SECRETS['tag']}", "--", sys.executable, "-c", program]
    environment = {**os.environ, "REENACT_STORE": str(tmp_path / "store.sqlite"), "OPENAI_API_KEY": SECRETS["env"]}
    command = [sys.executable, "-m", "reenact", *words, "--api-key", SECRETS["argv"]]
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=60)
    with reenact.open_store(environment["REENACT_STORE"]) as store:
        run = store.run("@")
    assert run.status == "interrupted"
    for place, secret in SECRETS.items():
        assert secret not in str(asdict(run)), place
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert not [place for place, secret in SECRETS.items() if secret.encode() in kept]
