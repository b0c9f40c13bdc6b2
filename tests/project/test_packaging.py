"""The built wheel holds what it must and nothing else: the package, its typing mark, its licence, its command.

The sdist makes the same wheel."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.once


WHEEL = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
SDIST = "from setuptools import build_meta; build_meta.build_sdist('out')"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what this checkout is built from; the pinned build tools build it offline."""
    found = importlib.metadata.version("setuptools") if importlib.util.find_spec("setuptools") else "none"
    if not found[:1].isdigit() or int(found.split(".")[0]) < 77:
        pytest.skip(
            f"the build tools are not installed here (setuptools {found}): python scripts/environment.py .venv test"
        )
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, source / name)
    shutil.copytree(ROOT / "examples", source / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    return source


@pytest.fixture(scope="module")
def wheel(source: Path) -> zipfile.ZipFile:
    """A wheel of this checkout."""
    subprocess.run([*WHEEL, "--wheel-dir", "out", "."], cwd=source, check=True)
    return zipfile.ZipFile(next((source / "out").glob("*.whl")))


def test_the_sdist_makes_the_same_wheel(source: Path, wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", SDIST], cwd=source, check=True, capture_output=True)
    sdist = next((source / "out").glob("*.tar.gz"))
    subprocess.run([*WHEEL, "--wheel-dir", str(tmp_path), str(sdist)], cwd=tmp_path, check=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as again:
        assert again.namelist() == wheel.namelist()


def test_it_holds_the_package_its_typing_mark_and_its_licence(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert "reenact/py.typed" in names
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"reenact", "_reenact_pytest.py"}
    modules = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "reenact").rglob("*.py")}
    assert modules <= set(names)


def test_its_metadata_say_what_the_project_says(wheel: zipfile.ZipFile) -> None:
    place = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
    text = wheel.read(place).decode()
    assert "License-Expression: Apache-2.0" in text
    assert "Requires-Python: >=3.11" in text
    needed = [line.split(": ")[1].split(">")[0] for line in text.splitlines() if line.startswith("Requires-Dist")]
    assert [name for name in needed if "extra" not in name][:2] == ["click", "time-machine"] and "wrapt" not in needed
    points = wheel.read(place.replace("METADATA", "entry_points.txt")).decode()
    assert "reenact = reenact.__main__:main" in points


def test_the_tour_is_found_where_the_wheel_is_installed(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel.filename)], check=True)
    asks = "from reenact.interfaces.cli.commands.demo import installed_script; print(installed_script())"
    path = {"PYTHONPATH": str(_only(tmp_path / "path", "click", "time_machine"))}
    found = subprocess.run(
        [python, "-c", asks], cwd=tmp_path, env=path, capture_output=True, text=True, check=True
    ).stdout
    script = Path(found.strip())
    assert script.is_relative_to(environment.resolve()) and script.name == "demo.py"
    assert {"refund_loop", "order_lookup"} <= {each.name for each in script.parent.iterdir()}
    refused = subprocess.run(
        [python, "-m", "reenact", "demo"], cwd=tmp_path, env=path, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2 and "pip install 'reenact[demo]'" in refused.stderr


def _only(folder: Path, *names: str) -> Path:
    """A folder from which these packages can be imported, and no other."""
    folder.mkdir()
    for name in names:
        found = importlib.util.find_spec(name)
        assert found is not None and found.origin is not None
        (folder / name).symlink_to(Path(found.origin).parent)
    return folder
