"""Late names are what type checkers take them for, and follow the direction of imports."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from reenact.facts.late import late
from reenact.seams.wiring import LATE

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src"
MODULES = sorted((SOURCES / "reenact").rglob("*.py"))
pytestmark = pytest.mark.once


def floors() -> dict[str, int]:
    """How high each package lies, the lowest 0."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = [each for each in settings["tool"]["importlinter"]["contracts"] if each["id"] == "floors"]
    return {
        room.strip(" ()"): floor
        for floor, layer in enumerate(reversed(contract["layers"]))
        for room in layer.split("|")
    }


def late_names(path: Path) -> Iterator[tuple[str, str, str]]:
    """Each late name of a module: what it is called there, the module and the name it stands for."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        called = node.value.func
        if isinstance(called, ast.Name) and called.id == "late":
            (target,) = node.targets
            words = [ast.literal_eval(each) for each in node.value.args]
            yield ast.unparse(target), words[0], words[1] if len(words) > 1 else ""


def for_type_checkers(path: Path) -> set[tuple[str, str, str]]:
    """The same of what a type checker reads in place of late names."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for each in node.body:
                assert isinstance(each, ast.ImportFrom)
                for alias in each.names:
                    called = alias.asname or alias.name
                    is_module = (SOURCES / f"{each.module}.{alias.name}".replace(".", "/")).with_suffix(".py").exists()
                    found.add((called, f"{each.module}.{alias.name}", "") if is_module else (
                        called, str(each.module), alias.name))  # fmt: skip
    return found


def test_a_late_name_is_what_a_type_checker_takes_it_for() -> None:
    wrong = [
        f"{path.relative_to(SOURCES)}: {each}"
        for path in MODULES
        for each in late_names(path)
        if each not in for_type_checkers(path)
    ]
    assert wrong == []


def test_what_is_late_is_there_when_it_is_wanted() -> None:
    for path in MODULES:
        for _, module, name in late_names(path):
            assert not name or hasattr(import_module(module), name), f"{path}: {module}.{name}"


def test_late_names_go_downwards_only() -> None:
    floor_of = floors()
    upwards = []
    for path in MODULES:
        room = path.relative_to(SOURCES / "reenact").parts[0].removesuffix(".py")
        for _, module, name in late_names(path):
            target = module.split(".")[1]
            if target != room and floor_of[target] >= floor_of[room]:
                upwards.append(f"{path.relative_to(SOURCES)}: {module} {name}")
    assert upwards == []


def test_a_warm_interpreter_has_every_seam() -> None:
    late_seams = {module for path in MODULES if "seams" in path.parts for _, module, _ in late_names(path)}
    assert late_seams == set(LATE)


def test_it_is_loaded_when_it_is_first_used() -> None:
    program = (
        "import sys\n"
        "from reenact.facts.late import late\n"
        "dump, module, kind = late('wave', 'Error'), late('wave'), late('wave', 'Wave_read')\n"
        "print('wave' in sys.modules, isinstance(3, kind), 'wave' in sys.modules)\n"
        "print(dump('x').args, module.Error is type(dump('x')), isinstance(dump('x'), dump), isinstance(3, kind))\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told == "False False False\n('x',) True True False\n"


def test_what_is_not_there_is_said_when_it_is_used() -> None:
    with pytest.raises(AttributeError):
        late("wave", "nothing")()
    assert repr(late("wave", "Error")) == "<late wave:Error>"
