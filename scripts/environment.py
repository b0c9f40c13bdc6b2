"""Make a virtual environment from pinned and hashed requirement files, or find that it is up to date.

    python3 scripts/environment.py .venv test lint

Each named set is ``requirements/NAME.txt``. What has been installed is remembered in the environment by the digest
of its requirement file, so a second call costs nothing. The package itself is installed in place, built by the pinned
build tools and without fetching anything. Standard library only: it runs before anything is installed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAMP = "reenact-installed.json"


def main() -> int:
    """Bring the environment up to date; exit status 0 when it is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", help="the environment, relative to the checkout")
    parser.add_argument("sets", nargs="+", help="names of requirement files")
    parser.add_argument("--python", default=sys.executable, help="the interpreter to make it from")
    options = parser.parse_args()
    folder = ROOT / options.folder
    if not works(folder):
        shutil.rmtree(folder, ignore_errors=True)
        print(f"making {options.folder} with {options.python}", flush=True)
        subprocess.run([options.python, "-m", "venv", str(folder)], check=True, cwd=ROOT)
    install(folder, options.sets)
    return 0


def works(folder: Path) -> bool:
    """Whether the environment exists, starts, is new enough and was made at this place."""
    python = executable(folder)
    if not python.exists():
        return False
    test = "import sys, pip; print(sys.prefix); sys.exit(sys.version_info < (3, 11))"
    answer = subprocess.run([str(python), "-c", test], capture_output=True, text=True, check=False)
    return answer.returncode == 0 and os.path.realpath(answer.stdout.strip()) == os.path.realpath(folder)


def executable(folder: Path) -> Path:
    """The environment's interpreter."""
    return folder / "Scripts" / "python.exe" if os.name == "nt" else folder / "bin" / "python"


def install(folder: Path, sets: list[str]) -> None:
    """Install what is not there yet, then remember it."""
    stamp = folder / STAMP
    done = remembered(stamp)
    for name in ["build", *sets]:
        file = Path("requirements") / f"{name}.txt"
        digest = hashlib.sha256((ROOT / file).read_bytes()).hexdigest()
        if done.get(name) != digest:
            print(f"installing into {folder.name} what {file} pins: {', '.join(packages(file))}", flush=True)
            # A file names all that its packages need. Without --no-deps an older pip looks a dependency with an extra
            # up by itself, finds a release newer than the pinned one, and refuses it for want of a hash.
            pip(folder, "--require-hashes", "--no-deps", "-r", str(file))
            done[name] = digest
            stamp.write_text(json.dumps(done))
    digest = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + str(ROOT).encode()).hexdigest()
    if done.get("reenact") != digest:
        with alone():
            pip(folder, "--no-deps", "--no-build-isolation", "-e", ".")
        done["reenact"] = digest
        stamp.write_text(json.dumps(done))


@contextmanager
def alone() -> Iterator[None]:
    """While no other process is in here: to install in place writes into the checkout, for each environment."""
    try:
        import fcntl
    except ImportError:  # Windows, where scripts/across.py makes them one after the other
        yield
        return
    with open(ROOT / "pyproject.toml", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def packages(file: Path) -> list[str]:
    """The packages that a requirement file pins, each with its version."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return [line.split()[0].replace("==", " ").rstrip(";") for line in lines if line[:1].isalnum() and "==" in line]


def remembered(stamp: Path) -> dict[str, str]:
    """What the stamp says is installed: name of the set to digest of its file."""
    try:
        return dict(json.loads(stamp.read_text()))
    except (OSError, ValueError):
        return {}


def pip(folder: Path, *arguments: str) -> None:
    """Run the environment's pip, quietly and without questions."""
    command = [str(executable(folder)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    subprocess.run([*command, *arguments], check=True, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as failed:
        sys.exit(f"failed with exit status {failed.returncode}: {' '.join(map(str, failed.cmd))}")
