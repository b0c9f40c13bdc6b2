"""Each way in which a file from a stranger could have code run that is not this project's, with code planted there.

Every plant is tried first: started as the recording says, it leaves its mark. A replay of the file leaves none. The
mark is a line of output, because what a replay writes to files goes to scratch.
"""

from __future__ import annotations

import importlib.util
import os
import py_compile
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reenact.facts.run import Entry
from reenact.replaying.interpreter import interpreter_options
from tests.bundles.conftest import Place
from tests.bundles.forging import small, written
from tests.store.records import new_run

MARK = "THE PLANT HAS RUN"
PLANT = f"""import os
os.write(2, {MARK[:3].encode()!r} + {MARK[3:].encode()!r})
class Category(Warning): pass
def hook(*a, **k): pass
"""
AGENT = "import os\nimport helper\nif os.environ.get('PYTHONBREAKPOINT'):\n    breakpoint()\nprint('agent')\n"


@dataclass
class Ground:
    """A project, a folder of plants outside it, and today's variables."""

    place: Place
    planted: Path
    today: dict[str, str] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        return self.place.folder

    def plant(self, *names: str, below: Path | None = None) -> Path:
        """Modules that leave the mark when they are imported."""
        folder = below or self.planted
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            (folder / name).write_text(PLANT)
        return folder

    def bytecode(self, below: Path) -> Path:
        """The compiled plant, as it would stand for ``helper`` of the project in another cache."""
        source = self.plant("plant.py") / "plant.py"
        made = importlib.util.cache_from_source(str(self.project / "helper.py"))
        made = str(below) + os.path.join(os.path.dirname(os.path.dirname(made)), os.path.basename(made))
        Path(made).parent.mkdir(parents=True, exist_ok=True)
        py_compile.compile(str(source), cfile=made, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        return Path(made)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    place = Place(tmp_path / "proj", tmp_path / "home")
    (place.folder / ".reenact").mkdir()
    place.write("agent.py", AGENT)
    place.write("helper.py", "")
    return Ground(place, tmp_path / "planted")


Way = Callable[[Ground], tuple[Entry, dict[str, str]]]


def entry(ground: Ground, *argv: str, cwd: str | Path = "", **fields: Any) -> Entry:
    project = str(ground.project)
    return Entry(fields.pop("kind", "command"), argv, cwd=str(cwd or project), project=project, **fields)


def option(*words: str) -> Way:
    """Options of the interpreter; ``{planted}`` is the folder of plants, which today's ``PYTHONPATH`` names."""

    def way(ground: Ground) -> tuple[Entry, dict[str, str]]:
        ground.plant("plant.py")
        ground.bytecode(ground.planted)
        ground.today["PYTHONPATH"] = str(ground.planted)
        return entry(ground, "python", *(word.format(planted=ground.planted) for word in words), "agent.py"), {}

    return way


def variable(name: str, value: str) -> Way:
    """A variable that the recording says was set."""

    def way(ground: Ground) -> tuple[Entry, dict[str, str]]:
        ground.plant("plant.py", *(["sitecustomize.py"] if name == "PYTHONPATH" else []))
        ground.bytecode(ground.planted)
        if name in ("PYTHONBREAKPOINT", "PYTHONWARNINGS"):
            ground.today["PYTHONPATH"] = str(ground.planted)
        what = "-i" if name == "PYTHONSTARTUP" else "agent.py"  # it is run before the first prompt
        return entry(ground, "python", what), {name: value.format(planted=ground.planted)}

    return way


def library(ground: Ground) -> tuple[Entry, dict[str, str]]:
    """A shared object that the loader takes before the program begins."""
    if shutil.which("gcc") is None:
        pytest.skip("no compiler here")
    ground.planted.mkdir()
    source = ground.planted / "plant.c"
    source.write_text(
        "#include <unistd.h>\n"
        f'__attribute__((constructor)) void go(void) {{ if (write(2, "{MARK}", {len(MARK)})) {{ }} }}\n'
    )
    made = ground.planted / "plant.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(made), str(source)], check=True)
    return entry(ground, "python", "agent.py"), {"LD_PRELOAD": str(made)}


def home(ground: Ground) -> tuple[Entry, dict[str, str]]:
    """A standard library in a place of the recording's choice."""
    lib = ground.planted / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    ground.plant("encodings.py", below=lib)
    (lib / "encodings.py").write_text(PLANT.replace("os", "posix"))
    (lib / "os.py").touch()
    return entry(ground, "python", "agent.py"), {"PYTHONHOME": str(ground.planted)}


def text(ground: Ground) -> tuple[Entry, dict[str, str]]:
    return entry(ground, "python", "-c", PLANT), {}


def directory(link: bool, **fields: str) -> Way:
    """A working directory outside the project, in which a module of the project is linked, beside a plant."""

    def way(ground: Ground) -> tuple[Entry, dict[str, str]]:
        folder = ground.plant("helper.py")
        (folder / "agent.py").symlink_to(ground.project / "agent.py")
        if link:
            folder = ground.project / "linked"
            folder.symlink_to(ground.planted)
        return entry(ground, "python", "-m", "agent", cwd=folder), {}

    return way


def working_directory_of_a_function(ground: Ground) -> tuple[Entry, dict[str, str]]:
    """A function of the project, called in a folder that has a plant for whatever is imported first."""
    ground.place.write("agent.py", "import helper\ndef main():\n    return 1\n")
    folder = ground.plant("helper.py", below=ground.project / "data")
    return entry(ground, kind="callable", target="agent:main", file=str(ground.project / "agent.py"), cwd=folder), {}


def early_module(ground: Ground) -> tuple[Entry, dict[str, str]]:
    """The same with a module that the interpreter itself imports once the folder is on its path."""
    ground.place.write("agent.py", "def main():\n    return 1\n")
    folder = ground.plant("colorsys.py", "json.py", "asyncio.py", below=ground.project / "data")
    return entry(ground, kind="callable", target="agent:main", file=str(ground.project / "agent.py"), cwd=folder), {}


def relative_path(ground: Ground) -> tuple[Entry, dict[str, str]]:
    """Today's ``PYTHONPATH`` names a folder relative to where one stands; the recording would choose where."""
    folder = ground.plant("sitecustomize.py", below=ground.project / "data" / "src")
    (folder / "usercustomize.py").write_text((folder / "sitecustomize.py").read_text())
    ground.today["PYTHONPATH"] = "src"
    return entry(ground, "python", "../agent.py", cwd=folder.parent), {}


def archive(ground: Ground) -> tuple[Entry, dict[str, str]]:
    """A table or a document that lies in the project, and that Python would run as a zipped application."""
    ground.planted.mkdir()
    with zipfile.ZipFile(ground.project / "table.xlsx", "w") as made:
        made.writestr("__main__.py", PLANT)
    return entry(ground, "python", "table.xlsx"), {}


def compiled(ground: Ground) -> tuple[Entry, dict[str, str]]:
    shutil.copy(ground.bytecode(ground.planted), ground.project / "notes.txt")
    return entry(ground, "python", "notes.txt"), {}


def installed_module(ground: Ground) -> tuple[Entry, dict[str, str]]:
    """A module of the project hides one of Python's, which ``-P`` has run instead, with the recording's arguments."""
    ground.place.write("timeit.py", "")
    return entry(ground, "python", "-P", "-m", "timeit", "-n", "1", PLANT), {}


WAYS: dict[str, Way] = {
    "-X pycache_prefix=": option("-X", "pycache_prefix={planted}"),
    "-Xpycache_prefix=": option("-Xpycache_prefix={planted}"),
    "-W dotted category": option("-W", "ignore::plant.Category"),
    "-Wdotted category": option("-Wignore::plant.Category"),
    "-c": text,
    "LD_PRELOAD": library,
    "PYTHONHOME": home,
    "PYTHONPATH and sitecustomize": variable("PYTHONPATH", "{planted}"),
    "PYTHONSTARTUP": variable("PYTHONSTARTUP", "{planted}/plant.py"),
    "PYTHONBREAKPOINT": variable("PYTHONBREAKPOINT", "plant.hook"),
    "PYTHONWARNINGS": variable("PYTHONWARNINGS", "ignore::plant.Category"),
    "PYTHONPYCACHEPREFIX": variable("PYTHONPYCACHEPREFIX", "{planted}"),
    "cwd outside": directory(link=False),
    "cwd by a link": directory(link=True),
    "cwd of a function": working_directory_of_a_function,
    "cwd and our own imports": early_module,
    "cwd and a relative PYTHONPATH": relative_path,
    "archive": archive,
    "bytecode": compiled,
    "-P -m": installed_module,
}


def as_recorded(ground: Ground, entry: Entry, variables: dict[str, str]) -> str:
    """Start what the recording says, as it says it."""
    argv = [sys.executable, *entry.argv[1:]]
    if entry.kind == "callable":
        module = entry.target.partition(":")[0]
        argv = [
            sys.executable,
            "-c",
            f"import sys, json, asyncio; sys.path.append({str(ground.project)!r}); import {module}",
        ]
    environment = {**ground.place.environment, **ground.today, **variables}
    done = subprocess.run(argv, cwd=entry.cwd, env=environment, capture_output=True, input=b"", check=False, timeout=60)
    return done.stderr.decode()


@pytest.mark.skipif(os.name == "nt", reason="the plants are written for POSIX")
@pytest.mark.parametrize("name", WAYS)
def test_a_plant_is_not_run(ground: Ground, name: str) -> None:
    entry, variables = WAYS[name](ground)
    assert MARK in as_recorded(ground, entry, variables), "the plant does nothing, so it proves nothing"
    run = new_run(entry=entry, capture={"seal": "0" * 64}, environment={"env": variables})
    written(ground.project / "x.reenact", small(run))
    done = ground.place.reenact("replay", "x.reenact", **ground.today)
    assert MARK not in done.stdout + done.stderr, done.stderr
    assert done.returncode != 0, "nothing of this run is the project's"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("-u agent.py -i", 1), ("-X utf8 -X dev -Xfaulthandler -X importtime x", 7), ("-uBb -X utf8=1 x", 3),
        ("-W error -Wignore::DeprecationWarning -W ignore:a.b:UserWarning:c.d:12 x", 5), ("-m x", 0), ("-", 0),
    ],
)  # fmt: skip
def test_options_that_only_report_are_taken(words: str, options: int) -> None:
    assert interpreter_options(words.split()) == (tuple(words.split()[:options]), "")


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        ("-i x", "-i"), ("-ui x", "-ui"), ("-S x", "-S"), ("-I x", "-I"), ("-E x", "-E"), ("-X", "-X"), ("-W", "-W"),
        ("-X frozen_modules=off x", "-X frozen_modules=off"), ("-Xpycache_prefix=/x y", "-Xpycache_prefix=/x"),
        ("-uX pycache_prefix=/x y", "-uX"), ("-W ignore::a.B x", "-W ignore::a.B"), ("--help", "--help"),
        ("-W ignore:::::x y", "-W ignore:::::x"), ("-X presite=x y", "-X presite=x"), ("-X utf8=1x y", "-X utf8=1x"),
    ],
)  # fmt: skip
def test_options_that_load_code_or_are_not_known_are_refused(words: str, refused: str) -> None:
    assert interpreter_options(words.split())[1] == refused
