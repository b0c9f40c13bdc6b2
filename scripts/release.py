"""``make release``: build the wheel and the sdist, and use each from clean environments, with every extra.

    python scripts/release.py              into dist/
    python scripts/release.py --only otel  the extras whose name holds this

What is built lies in dist/. pip and uv install each into an environment of its own, outside of this checkout,
and there a program is recorded and replayed. It asks the package source for the dependencies. Exit status 0: all of it
held; 1: something of ours failed; 3: the package source did not give what is needed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
BUILD = "from setuptools import build_meta as b; b.build_wheel({0!r}); b.build_sdist({0!r})"
PROGRAM = "import random, time; print(random.random(), time.time())"
LIMIT_S = 1200
FAILED, NOT_INSTALLED = 1, 3


def build() -> tuple[Path, Path]:
    """The wheel and the sdist of this checkout, made again.

    Raises:
        SystemExit: They hold different modules, or the build failed.
    """
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    with tempfile.TemporaryDirectory(prefix="reenact-release-") as folder:
        source = Path(folder)
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy2(ROOT / name, source)
        for name in ("src", "examples"):
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        done = subprocess.run(
            [sys.executable, "-c", BUILD.format(str(DIST))], cwd=source, capture_output=True, text=True, check=False
        )
    if done.returncode:
        sys.exit(f"the build failed\n{done.stderr[-2000:]}")
    wheel, sdist = next(DIST.glob("*.whl")), next(DIST.glob("*.tar.gz"))
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = {name for name in archive.namelist() if name.endswith(".py") and ".data/" not in name}
    with tarfile.open(sdist) as archive:
        in_sdist = {
            name.split("/src/", 1)[1] for name in archive.getnames() if "/src/" in name and name.endswith(".py")
        }
    if in_wheel != in_sdist:
        sys.exit(f"the wheel and the sdist differ: {sorted(in_wheel ^ in_sdist)[:5]}")
    return wheel, sdist


def installers(folder: Path) -> dict[str, list[str]]:
    """For pip and for uv the beginning of a command that installs into the interpreter in the place of ``PYTHON``."""
    uv = shutil.which("uv")
    if uv is None:
        own = environment(folder / "uv")
        if not run([sys.executable, "-m", "pip", "--python", str(own), "install", "--quiet", "uv"], folder):
            uv = str(own.parent / "uv")
    found = {"pip": [sys.executable, "-m", "pip", "--python", "PYTHON", "install", "--quiet"]}
    if uv is not None:
        found["uv"] = [uv, "pip", "install", "--quiet", "--python", "PYTHON"]
    return found


def environment(folder: Path) -> Path:
    """The interpreter of a new, empty environment."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def run(command: list[str], folder: Path) -> str:
    """Empty when a command ended well; else the end of what it said."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "REENACT"))}
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    return "" if done.returncode == 0 else (done.stderr or done.stdout or "it said nothing").strip()[-600:]


def use(python: Path, folder: Path) -> str:
    """Record and replay a program with what is installed there; empty, or what failed."""
    reenact = [str(python), "-m", "reenact"]
    return (
        run([*reenact, "--version"], folder)
        or run([*reenact, "record", "--", str(python), "-c", PROGRAM], folder)
        or run([*reenact, "replay", "@"], folder)
    )


def main() -> int:
    """Build, install, use; a line for each."""
    parser = argparse.ArgumentParser(prog="make release", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="extras whose name holds this; `none` is the library alone")
    options = parser.parse_args()
    wheel, sdist = build()
    print(f"built {wheel.name} and {sdist.name}", flush=True)
    extras = ["none", *tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]]
    status = 0
    with tempfile.TemporaryDirectory(prefix="reenact-release-") as name:
        folder = Path(name)
        tools = installers(folder)
        if "uv" not in tools:
            print("uv         NOT tested: there is none, and the package source did not give it")
        for tool, command in tools.items():
            for extra in (each for each in extras if options.only in each):
                for file in (wheel, sdist) if extra == "none" else (wheel,):
                    place = folder / f"{tool}-{extra}-{file.suffix[1:]}"
                    python = environment(place)
                    what = f"{file}[{extra}]" if extra != "none" else str(file)
                    told = run([str(python) if word == "PYTHON" else word for word in command] + [what], folder)
                    failure = "" if told else use(python, place)
                    verdict = f"NOT INSTALLED: {told}" if told else f"FAILED: {failure}" if failure else "works"
                    print(f"{tool:4} {extra:6} {file.suffix[1:]:4} {verdict}", flush=True)
                    status = FAILED if failure or status == FAILED else NOT_INSTALLED if told else status
                    shutil.rmtree(place, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
