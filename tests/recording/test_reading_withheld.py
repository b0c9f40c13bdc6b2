"""What reads a run says truthfully of a body of which size and digest are kept: it differs, or it cannot be told."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

from reenact.testing.scripted import Said, ScriptedModel

AGENT = """
import os
import reenact

@reenact.tool(effect="read")
def fetch():
    return os.environ["LETTER"] * 30_000

print(len(fetch()))
"""

MODEL = """
import json, os, urllib.request

asked = {"model": "gpt-5.4", "stream": True, "messages": [{"role": "user", "content": "Where is it? " * 100}]}
headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["KEY"]}
request = urllib.request.Request(os.environ["LETTER"], json.dumps(asked).encode(), headers)
print(len(urllib.request.urlopen(request).read()))
"""


def run(where: Path, *words: str, letter: str = "a") -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        "REENACT_LARGEST_VALUE_MB": "0.02",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LETTER": letter,
        "KEY": ScriptedModel.key,
    }
    command = [sys.executable, "-m", "reenact", *words]
    return subprocess.run(command, cwd=where, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_runs_whose_values_are_withheld_are_compared_by_digest(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    for letter in "aab":
        assert run(tmp_path, "record", "--", sys.executable, "agent.py", letter=letter).returncode == 0
    same = run(tmp_path, "diff", "@~2", "@~1")
    assert same.returncode == 0 and "was removed" not in same.stderr
    for left, right in (("@~1", "@"), ("@", "@~1")):
        other = run(tmp_path, "diff", left, right)
        assert other.returncode == 1, other.stdout + other.stderr
        assert "changed answer" in other.stdout and "answer.value.digest" in other.stdout


def test_a_body_that_is_withheld_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    assert run(tmp_path, "record", "--", sys.executable, "agent.py").returncode == 0
    shown = run(tmp_path, "cat", "@:0")
    assert (shown.returncode, shown.stdout) == (3, "") and "only its size and digest are left" in shown.stderr
    assert run(tmp_path, "fsck").returncode == 0


def test_a_run_of_which_every_body_is_withheld_is_shown_and_compared(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(MODEL)
    with ScriptedModel([Said("first"), Said("second")]) as provider:
        for _ in range(2):
            told = run(
                tmp_path, "record", "--", sys.executable, "agent.py", letter=f"{provider.url}/v1/chat/completions"
            )
            assert told.returncode == 0, told.stderr
    store = sqlite3.connect(tmp_path / ".reenact" / "store.db")
    with store:
        last = store.execute("SELECT max(log) FROM run").fetchone()[0]
        evidence = "(SELECT digest FROM note WHERE digest IS NOT NULL)"
        store.execute("UPDATE payload SET codec = 3, data = x'' WHERE digest NOT IN " + evidence)
        store.execute("UPDATE chunk SET codec = 3, data = x'' WHERE event >> 32 = ?", (last,))
    store.close()
    for words, status in (
        (("show", "@"), 0),
        (("show", "@:0"), 0),
        (("diff", "@~1", "@"), 1),
        (("diff", "@", "@~1"), 1),
    ):
        told = run(tmp_path, *words)
        assert told.returncode == status and "was removed" not in told.stderr, told.stdout + told.stderr
    shown = run(tmp_path, "show", "@:0").stdout
    assert "withheld>" in shown
    for line in ("cat @:0", "timeline @", "pack @ -o out.reenact", "replay @"):
        told = run(tmp_path, *line.split())
        assert told.returncode == 3 and "Traceback" not in told.stderr, told.stdout + told.stderr
