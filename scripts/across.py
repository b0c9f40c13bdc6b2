"""Run what depends on the interpreter on every other Python that is found, and say which were tested and which not.

    python scripts/across.py            a virtual environment and a run for each
    python scripts/across.py --list     only say what is found
    python scripts/across.py --make     only make the virtual environments, and .venv, side by side

An interpreter counts as found when it starts: on ``PATH`` as ``python3.N``, or among the versions of pyenv or uv. The
interpreter that runs this script has goals of its own: ``make test`` and ``make test-long``. Tests marked ``slow`` or
``once`` are left out here.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MINORS = (11, 12, 13, 14)
NOTHING_COLLECTED = 5
PORTABLE = (
    "tests/ambient",
    "tests/http",
    "tests/order/test_peers.py",
    "tests/order/test_postponed_signals.py",
    "tests/order/test_tasks.py",
    "tests/recording",
    "tests/store",
)
"""What depends on the interpreter: its clocks, its loops and threads, its HTTP modules, its SQLite."""


def main() -> int:
    """Test each interpreter; exit status 1 when one of them failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="only say which interpreters are found")
    parser.add_argument("--make", action="store_true", help="only make their virtual environments, and .venv")
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("REENACT_ACROSS_SECONDS", "600")))
    parser.add_argument("pytest", nargs="*", help="further arguments for pytest")
    options = parser.parse_args()
    if options.make:
        return make_all()
    lines = [f"3.{sys.version_info.minor}  the whole suite: make test, make test-long ({sys.version.split()[0]})"]
    failed = False
    for minor in MINORS:
        if minor == sys.version_info.minor:
            continue
        python = find(minor)
        if python is None:
            lines.append(f"3.{minor}  NOT tested: no such interpreter was found")
        elif options.list:
            lines.append(f"3.{minor}  found: {python}")
        else:
            verdict, good = test(minor, python, options.seconds, options.pytest)
            lines.append(f"3.{minor}  {verdict}")
            failed = failed or not good
    tell(lines)
    return 1 if failed else 0


def tell(lines: list[str]) -> None:
    """Print a line for each version."""
    print("\nPython versions\n  " + "\n  ".join(lines), flush=True)


def make_all() -> int:
    """Make every environment, side by side: an installation keeps one core busy. Exit status 1 without ``.venv``."""
    found = {minor: find(minor) for minor in MINORS if minor != sys.version_info.minor}
    wanted = {".venv": Path(sys.executable)}
    wanted |= {folder_of(minor): python for minor, python in found.items() if python is not None}
    with ThreadPoolExecutor(len(wanted) if os.name == "posix" else 1) as side_by_side:
        made = dict(zip(wanted, side_by_side.map(make, wanted, wanted.values()), strict=True))
    lines = [f"{folder}  {'made' if made[folder] else 'NOT made (see above)'}: {wanted[folder]}" for folder in wanted]
    missing = [minor for minor, python in found.items() if python is None]
    tell([*lines, *(f"{folder_of(minor)}  NOT made: no such interpreter was found" for minor in missing)])
    return 0 if made[".venv"] else 1


def find(minor: int) -> Path | None:
    """The first interpreter of this minor version that really starts."""
    for candidate in candidates(minor):
        if minor_of(candidate) == minor:
            return candidate
    return None


def candidates(minor: int) -> Iterator[Path]:
    """Places where an interpreter of this minor version may be, likeliest first."""
    name = f"python3.{minor}"
    on_path = shutil.which(name)
    if on_path:
        yield Path(on_path)
    folders = [Path(part) for part in os.environ.get("PATH", "").split(os.pathsep) if part]
    roots = [folder.parent / "versions" for folder in folders if folder.name == "shims"]
    roots += [Path.home() / ".pyenv" / "versions", Path.home() / ".local" / "share" / "uv" / "python"]
    if "PYENV_ROOT" in os.environ:
        roots.insert(0, Path(os.environ["PYENV_ROOT"]) / "versions")
    for root in dict.fromkeys(roots):
        yield from sorted(root.glob(f"*/bin/{name}"), reverse=True)


def minor_of(python: Path) -> int | None:
    """Minor version of an interpreter, None when it does not start or cannot make an environment."""
    code = "import ensurepip, sys, venv; print(sys.version_info[1])"
    try:
        answer = subprocess.run([str(python), "-c", code], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return int(answer.stdout) if answer.returncode == 0 else None


def folder_of(minor: int) -> str:
    """The environment of a minor version, below the checkout."""
    return f".venv-3.{minor}"


def make(folder: str, python: Path) -> bool:
    """Make an environment, or find that it is up to date; gives whether it is there."""
    command = [sys.executable, "scripts/environment.py", folder, "test", "--python", str(python)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def test(minor: int, python: Path, seconds: float, further: list[str]) -> tuple[str, bool]:
    """Make the environment and run the suite in it: what to print, and whether that is good.

    An environment that cannot be made (no wheels, no network) is *not tested*, which is said and is no failure.
    """
    started = time.monotonic()
    print(f"\n3.{minor}: {python}", flush=True)
    if not make(folder_of(minor), python):
        return "NOT tested: its environment could not be made (see above)", True
    command = [
        str(ROOT / folder_of(minor) / "bin" / "python"),
        "-m",
        "pytest",
        "-q",
        "-m",
        "not slow and not once",
        *PORTABLE,
    ]
    try:
        ran = subprocess.run(
            [*command, *further], cwd=ROOT, stdin=subprocess.DEVNULL, timeout=seconds, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return f"FAILED: not done after {seconds:.0f} s", False
    took = f"{time.monotonic() - started:.0f} s"
    if ran == NOTHING_COLLECTED:
        return "NOT tested: no test was selected", True
    return (f"passed in {took}", True) if ran == 0 else (f"FAILED with exit status {ran} after {took}", False)


if __name__ == "__main__":
    sys.exit(main())
