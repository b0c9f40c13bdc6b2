"""Proves that ``replay --rev`` runs the code of another revision, and leaves neither a folder nor a worktree behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

AGENT = """
    import pathlib, sys
    import reenact
    from lib.parser import parse

    @reenact.tool(effect="read")
    def fetch(what):
        return "17 " + what

    print(parse(fetch("euro")), pathlib.Path(__file__).resolve().parent)
    """
WAITING = """
    import threading
    print("begun", flush=True)
    threading.Event().wait()
    """


class Repository:
    """A git repository with an agent, a package of its own, and a store beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.scratch = folder / "scratch"
        (self.folder / "lib").mkdir(parents=True)
        self.scratch.mkdir()
        self.environment = {
            **os.environ,
            "REENACT_STORE": f"sqlite:///{folder / 'runs.db'}",
            "TMPDIR": str(self.scratch),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@example.invalid",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@example.invalid",
        }
        self.git("init", "-q", "-b", "main")
        self.write("agent.py", AGENT)
        self.write("lib/__init__.py", "")
        self.commit("def parse(text): return int(text.split()[0])", "good")
        self.commit("def parse(text): return text.split()[0] + '?'", "bad")

    def write(self, name: str, text: str) -> None:
        """A file of the project."""
        (self.folder / name).write_text(textwrap.dedent(text))

    def commit(self, parser: str, tag: str) -> None:
        """A revision with another parser."""
        self.write("lib/parser.py", parser + "\n")
        self.git("add", "agent.py", "lib")
        self.git("commit", "-q", "-m", tag)
        self.git("tag", tag)

    def git(self, *words: str) -> str:
        """What git says."""
        done = subprocess.run(
            ["git", *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def reenact(self, *words: str) -> subprocess.CompletedProcess[str]:
        """One of our commands."""
        return subprocess.run(
            [sys.executable, "-m", "reenact", *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def replay(self, rev: str) -> tuple[int, dict[str, Any], str]:
        """Replay the last run at a revision: exit status, report, and what was said."""
        done = self.reenact("replay", "@", "--rev", rev, "--json")
        return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr

    def clean(self) -> bool:
        """Whether nothing is left of any worktree."""
        trees = self.git("worktree", "list", "--porcelain").count("worktree ")
        return trees == 1 and not list(self.scratch.iterdir())


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_the_code_of_a_revision_runs_with_its_own_imports(repository: Repository) -> None:
    recorded = repository.reenact("record", "--", sys.executable, "agent.py")
    assert recorded.stdout.startswith("17? "), recorded.stderr
    code, report, _ = repository.replay("bad")
    assert (code, report["verdict"]) == (0, "exact")
    code, report, _ = repository.replay("good")
    assert (code, report["verdict"]) == (1, "different")
    (difference,) = report["differences"]
    assert difference["what"] == "stdout"
    assert difference["data"]["now"].startswith("'17 ")
    assert repository.clean()
    assert (repository.folder / "lib/parser.py").read_text().endswith("'?'\n")


def test_what_was_not_committed_is_said(repository: Repository) -> None:
    repository.write("lib/parser.py", "def parse(text): return 'mended'\n")
    repository.write("notes.txt", "")
    repository.reenact("record", "--", sys.executable, "agent.py")
    code, report, _ = repository.replay("HEAD")
    assert code == 1
    said = "\n".join(report["remarks"])
    assert "uncommitted changes to lib/parser.py" in said
    assert "notes.txt" in said
    assert repository.git("rev-parse", "HEAD")[:12] in said


def test_a_difference_names_first_the_code_that_has_changed(repository: Repository) -> None:
    repository.reenact("record", "--", sys.executable, "agent.py")
    assert "has changed" not in repository.reenact("replay", "@").stderr
    repository.write("lib/parser.py", "def parse(text): return 'mended'\n")
    done = repository.reenact("replay", "@")
    commit = repository.git("rev-parse", "HEAD")[:7]
    first = done.stderr.splitlines()[1]
    assert done.returncode == 1
    assert first.startswith(f"reenact: the code has changed since {commit} (lib/parser.py); `reenact replay "), first
    asked = first.split("`")[1].split()
    assert repository.reenact(*asked[1:]).returncode == 0, "what it proposes runs the recorded code"


@pytest.mark.parametrize(("changed", "named"), [(".gitignore", True), ("price.txt", False), ("lib/parser.py", False)])
def test_the_recorded_code_is_the_commits_unless_a_file_that_the_run_used_was_not_committed(
    repository: Repository, changed: str, named: bool
) -> None:
    for name in (".gitignore", "price.txt"):
        repository.write(name, "")
    repository.write("agent.py", "import lib.parser\nprint(open('price.txt').read(), lib.parser.parse('17 x'))\n")
    repository.git("add", ".gitignore", "price.txt")
    repository.commit("def parse(text): return text", "price")
    repository.write(changed, "def parse(text): return 'other'\n")
    repository.reenact("record", "--", sys.executable, "agent.py")
    repository.write("lib/parser.py", "def parse(text): return 'mended'\n")
    done = repository.reenact("replay", "@")
    assert done.returncode == 1 and "the code has changed since" in done.stderr, done.stderr
    assert (" --rev " in done.stderr.splitlines()[1]) is named, done.stderr


def test_a_difference_with_the_recorded_code_says_nothing_of_it(repository: Repository) -> None:
    repository.write("agent.py", "print(open('price.txt').read())")
    repository.write("price.txt", "17")
    repository.reenact("record", "--", sys.executable, "agent.py")
    repository.write("price.txt", "18")
    done = repository.reenact("replay", "@")
    assert done.returncode == 1 and "the code has changed" not in done.stderr, done.stderr


@pytest.mark.parametrize("rev", ["no-such-revision", "--upload-pack=x", "HEAD:agent.py"])
def test_a_bad_revision_is_an_error_with_the_next_command(repository: Repository, rev: str) -> None:
    repository.reenact("record", "--", sys.executable, "agent.py")
    done = repository.reenact("replay", "@", f"--rev={rev}")
    assert done.returncode == 2
    assert f"there is no revision {rev}" in done.stderr
    assert "next: git -C " in done.stderr
    assert repository.clean()


def test_outside_a_repository_there_is_no_revision(repository: Repository, tmp_path: Path) -> None:
    repository.folder = tmp_path / "elsewhere"
    repository.folder.mkdir()
    repository.write("agent.py", "print(1)\n")
    repository.environment["GIT_CEILING_DIRECTORIES"] = str(tmp_path)
    repository.reenact("record", "--", sys.executable, "agent.py")
    done = repository.reenact("replay", "@", "--rev", "main")
    assert done.returncode == 2
    assert "lies in no git repository" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT for one process")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_replay_that_is_interrupted_leaves_no_worktree(repository: Repository, number: int) -> None:
    repository.reenact("record", "--", sys.executable, "agent.py")
    repository.write("agent.py", WAITING)
    repository.git("commit", "-qam", "waits")
    process = subprocess.Popen(
        [sys.executable, "-m", "reenact", "replay", "@", "--rev", "HEAD"],
        cwd=repository.folder,
        env=repository.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"  # nothing that it writes to a file is seen out here
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode != 0
    assert repository.clean()


def differing(repository: Repository, *words: str) -> str:
    """What is said of the code of a replay that differs."""
    done = repository.reenact("replay", "@", *words)
    assert done.returncode == 1, done.stderr
    return done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_run_that_went_on_with_uncommitted_code_is_not_that_of_the_commit(repository: Repository) -> None:
    agent = "import os, signal\nif os.path.exists('die'): os.kill(os.getpid(), signal.SIGKILL)\nprint('committed')\n"
    repository.write("agent.py", agent)
    repository.commit("", "agent")
    repository.write("die", "")
    repository.reenact("record", "--", sys.executable, "agent.py")
    (repository.folder / "die").unlink()
    repository.write("agent.py", agent.replace("committed", "edited"))
    assert repository.reenact("resume", "@").stdout == "edited\n"
    repository.git("checkout", "-q", "agent.py")
    said = differing(repository)
    assert "the code has changed since the recording (" in said and "--rev" not in said, said
    assert "the recorded run had uncommitted changes to agent.py" in differing(repository, "--rev", "HEAD")


@pytest.mark.parametrize("how", ["in a function", "unknown to git"])
def test_code_that_no_commit_has_is_not_said_to_be_in_one(repository: Repository, how: str) -> None:
    name = "agent.py" if how == "in a function" else "new.py"
    text = "import reenact\n@reenact.record\ndef main(): print('edited')\nif __name__ == '__main__': main()\n"
    repository.write(name, text)
    recording = [] if how == "in a function" else ["-m", "reenact", "record", "--", sys.executable]
    ran = [sys.executable, *recording, name]
    subprocess.run(ran, cwd=repository.folder, env=repository.environment, check=True, timeout=60)
    repository.write(name, text.replace("edited", "again"))
    said = differing(repository)
    assert "the code has changed since the recording (" in said and "--rev" not in said, said
