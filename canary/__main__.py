"""``make canary``: install the newest SDKs into fresh environments, and see that a call through each is captured.

    python -m canary                     every entry point
    python -m canary --only qdrant,groq  those whose name holds one of these

Exit status 0 when every call was captured; 1 when one was not, or is disturbed or out of date; 3 when packages could
not be installed and nothing of ours failed. Everything lies in a temporary folder that is removed. Standard library
only: what is tested is installed beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from canary.table import ENTRIES, ENVIRONMENTS, Entry
from canary.verdict import OURS, Observed, exit_status, table

ROOT = Path(__file__).resolve().parent.parent
CALLS = Path(__file__).resolve().parent / "calls"
LIMIT_S = 120


def main(arguments: Sequence[str] | None = None) -> int:
    """Install, call, and report.

    Args:
        arguments: The arguments; those of the process when None.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(prog="make canary", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="entry points whose name holds one of these, comma separated")
    options = parser.parse_args(arguments)
    words = [word.strip() for word in options.only.split(",") if word.strip()]
    wanted = [entry for entry in ENTRIES if not words or any(word in entry.name for word in words)]
    every: list[Observed] = []
    with tempfile.TemporaryDirectory(prefix="reenact-canary-") as folder:
        for name in ENVIRONMENTS:
            entries = [entry for entry in wanted if entry.environment == name]
            if entries:
                every += observed(Path(folder) / name, entries)
    print("\n".join(table(every)))
    return exit_status(every)


def observed(folder: Path, entries: Sequence[Entry]) -> Iterator[Observed]:
    """Make an environment, and call through each entry point of it."""
    python = environment(folder)
    if not installed(python, [str(source(folder))]):
        yield from (Observed(entry.name, installed=False, words="not even our own dependencies") for entry in entries)
        return
    needs = sorted({need for entry in entries for need in entry.needs})
    together = installed(python, needs)
    with world(python, folder) as url:
        for entry in entries:
            if together or installed(python, entry.needs):
                yield call(python, folder, entry, url)
            else:
                yield Observed(entry.name, installed=False)


def environment(folder: Path) -> Path:
    """A fresh environment; the path of its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def source(folder: Path) -> Path:
    """Our source, copied, so that building it leaves nothing in the checkout."""
    copy = folder / "reenact-source"
    copy.mkdir(exist_ok=True)
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    return copy


def installed(python: Path, packages: Sequence[str]) -> bool:
    """Install the newest of some packages; whether that worked. What pip says goes to standard error."""
    if not packages:
        return True
    print(f"installing {' '.join(packages)}", file=sys.stderr, flush=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--upgrade", "--no-input", "--disable-pip-version-check"]
    return subprocess.run([*command, *packages], check=False, stdin=subprocess.DEVNULL).returncode == 0


@contextmanager
def world(python: Path, folder: Path) -> Iterator[str]:
    """The scripted world in a process of its own; its URL."""
    script = str(Path(__file__).with_name("world.py"))
    command = [str(python), "-m", "reenact.testing.provider", "--script", script]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()  # it ends by itself when its standard input does
            process.wait(LIMIT_S)


def call(python: Path, folder: Path, entry: Entry, url: str) -> Observed:
    """One smoke call, recorded, and what came of it."""
    print(f"calling through {entry.name}", file=sys.stderr, flush=True)
    store = folder / "runs" / entry.script.removesuffix(".py")
    store.parent.mkdir(exist_ok=True)
    surroundings = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "REENACT"))},
        "HOME": str(folder),
        "REENACT_STORE": f"sqlite:///{store}.db",
        "WORLD": url,
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": "scripted",
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "scripted",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1",
    }
    smoke = [str(python), str(CALLS / entry.script)]
    before = asked(url)
    done = ran([str(python), "-m", "reenact", "record", "--", *smoke], folder, surroundings)
    reached = asked(url) - before
    bare = ran(smoke, folder, surroundings).returncode if done.returncode else None
    events = recorded(python, folder, surroundings)
    return Observed(
        entry.name,
        status=done.returncode,
        bare=bare,
        asked=reached,
        captured=sum(1 for event in events if reaches(event, url)),
        models=sum(1 for event in events if "reading" in event.get("attributes", {})),
        versions=versions(python, entry.needs),
        words="" if done.returncode == 0 else done.stderr.strip()[-400:],
    )


def ran(command: Sequence[str], folder: Path, surroundings: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, within a limit of time; 124 where it had to be stopped."""
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=surroundings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"took longer than {LIMIT_S} s")


def asked(url: str) -> int:
    """How many requests have reached the world."""
    with urllib.request.urlopen(f"{url}/-/") as response:
        return sum(json.load(response)["counts"].values())


def recorded(python: Path, folder: Path, surroundings: dict[str, str]) -> list[dict[str, Any]]:
    """The events of the last recording; none where nothing was recorded."""
    done = ran([str(python), "-m", "reenact", "--json", "show", "@"], folder, surroundings)
    lines = [json.loads(line) for line in done.stdout.splitlines()] if done.returncode == 0 else []
    return [line for line in lines if line.get("type") == "event"]


def reaches(event: dict[str, Any], url: str) -> bool:
    """Whether an event is an exchange with the world: what an SDK asks of others is no answer to what we asked."""
    head = event["request"]["head"]
    return event["kind"] == "mcp" or (event["kind"] == "http" and str(head.get("url", "")).startswith(url))


def versions(python: Path, needs: Sequence[str]) -> str:
    """What was installed of some packages."""
    names = [need.partition("[")[0] for need in needs]
    program = "import sys; from importlib.metadata import version; print(*(f'{n} {version(n)}' for n in sys.argv[1:]))"
    done = subprocess.run([str(python), "-c", program, *names], capture_output=True, text=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.SubprocessError as failed:
        print(f"the canary itself failed: {failed}", file=sys.stderr)
        sys.exit(OURS)
