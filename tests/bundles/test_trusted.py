"""What a bundle says is to be run is shown, not executed, unless it is code of this project; so is what comes of it."""

from __future__ import annotations

import inspect
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reenact.abc.sources import ENTROPY
from reenact.errors import UnreplayableRun
from reenact.facts.record import RunClosed, RunOpened
from reenact.facts.run import Entry, Run
from reenact.replaying.agent_process import environment_of
from reenact.replaying.caller import find
from reenact.replaying.options import Options
from reenact.replaying.program_start import start_of
from reenact.replaying.relocation import ProjectRenaming, relocated
from reenact.replaying.worktree import Tree
from reenact.seams import trust
from reenact.store import open_store
from reenact.store.bundles import PackedRun, write_bundle
from reenact.store.run_records import records_of
from tests.bundles.conftest import Place
from tests.store.records import issued, new_run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a script, a package, a virtual environment and a tool of its own."""
    folder = tmp_path / "proj"
    (folder / "pkg").mkdir(parents=True)
    (folder / "venv" / "bin").mkdir(parents=True)
    (folder / "venv" / "pyvenv.cfg").touch()
    for name in ("agent.py", "pkg/__init__.py", "pkg/tool.py", "venv/bin/pip", "run.sh"):
        (folder / name).write_text("from os import system\ndef main():\n    return 1\n")
    return folder


def command(project: Path, *argv: str, **fields: Any) -> Run:
    """A run that was recorded elsewhere, in a folder of the same shape."""
    entry = Entry("command", argv, cwd="/elsewhere/proj", project="/elsewhere/proj")
    return new_run(entry=replace(entry, **fields), capture={"seal": "0" * 64})


def started(run: Run, project: Path) -> tuple[str, ...]:
    """The command that a replay here would start."""
    run, _ = relocated(run, str(project))
    return start_of(run, Options(), str(project)).argv


@pytest.mark.parametrize(
    "argv",
    [
        ("rm", "-rf", "/"), ("sh", "-c", "touch pwned"), ("/bin/sh", "run.sh"), ("pip", "install", "x"), ("pytest",),
        ("python", "-c", "import os"), ("python", "-cimport os", "agent.py"), ("python", "-Bcimport os", "agent.py"),
        ("python", "-m", "http.server"), ("python", "-mhttp.server", "agent.py"), ("python", "-"), ("python",),
        ("python", "-i"), ("python", "../other.py"), ("python", "/etc/x.py"), ("python", "venv/bin/pip", "install"),
        ("venv/bin/pip", "install", "x"), ("python", "--check-hash-based-pycs", "x.py"), ("python-evil", "agent.py"),
        ("python", "absent.py"), ("python", "-m", "../agent"), ("./absent.sh",), ("python", "-X", "-c", "import os"),
        ("python", "-W", "agent.py", "-c", "import os"), ("uvicorn", "os:system"), ("uvicorn", "absent:app"),
        ("uvicorn", "agent:main", "--app-dir", "/tmp"), ("uvicorn", "agent:main", "--env-file", "x"), ("uvicorn",),
        ("uvicorn", "agent:main", "--log-config=evil.ini"), ("uvicorn", "agent:main", "--loop", "evil:loop"),
        ("python", "-m", "uvicorn", "agent:main", "pkg:main"), ("uvicorn", "agent:main", "--port"),
        ("uvicorn", "agent:main", "--uds", "precious.txt"), ("uvicorn", "agent:main", "--fd", "0"),
        ("uvicorn", "--factory", "agent:os.abort"), ("uvicorn", "agent:main", "--port", "1; x"),
        ("uvicorn", "--reload", "agent:main"),
        ("gunicorn", "agent:main"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_command_that_is_no_code_of_this_project_is_shown(project: Path, argv: tuple[str, ...]) -> None:
    with pytest.raises(UnreplayableRun) as caught:
        started(command(project, *argv), project)
    assert caught.value.next_command.startswith("reenact replay")


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("python", "agent.py", "x"), ("agent.py", "x")),
        (("/opt/other/bin/python3.9", "-u", "-X", "utf8", "agent.py"), ("-u", "-X", "utf8", "agent.py")),
        (("python", "-W", "error", "/elsewhere/proj/agent.py"), ("-W", "error", "{project}/agent.py")),
        (("python", "-m", "pkg.tool"), ("-m", "pkg.tool")),
        (("/opt/venv/bin/uvicorn", "agent:main", "--port=80"), ("-m", "uvicorn", "agent:main", "--port=80")),
        (
            ("python", "-m", "uvicorn", "--no-access-log", "--workers", "4", "pkg.tool:main", "--factory"),
            ("-m", "uvicorn", "--no-access-log", "--workers", "4", "pkg.tool:main", "--factory"),
        ),
    ],
    ids=lambda words: " ".join(words),
)
def test_code_of_this_project_runs_with_this_interpreter(
    project: Path, argv: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    here = os.path.realpath(project)
    wanted = tuple(word.replace("{project}", here) for word in expected)
    assert started(command(project, *argv), project) == (sys.executable, *wanted)


def test_a_console_script_of_this_project_runs_and_no_other(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = project.parent / "venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "site" / "other").mkdir(parents=True)
    (environment / "site" / "other" / "__init__.py").touch()
    for name, module in (("shop", "pkg.tool:main"), ("foreign", "other:main"), ("lost", "absent:main")):
        (environment / "bin" / name).touch()
        folder = environment / "site" / f"{name}-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (folder / "entry_points.txt").write_text(f"[console_scripts]\n{name} = {module}\n")
    monkeypatch.setattr(sys, "path", [str(project), str(environment / "site"), *sys.path])
    monkeypatch.setattr(sys, "executable", str(environment / "bin" / "python"))
    for program in ("shop", "/a/venv/bin/shop"):
        assert started(command(project, program, "x"), project) == (str(environment / "bin" / "shop"), "x")
    for program in ("foreign", "lost", "python", "absent"):
        with pytest.raises(UnreplayableRun):
            started(command(project, program), project)


@pytest.mark.parametrize(
    ("target", "file"),
    [("os:system", "agent.py"), ("agent:main", "/etc/passwd"), ("shutil:rmtree", "pkg/tool.py"), ("a:b", "absent.py"),
     ("pip:main", "venv/bin/pip"), ("http.server:main", "agent.py")],
)  # fmt: skip
def test_a_function_that_this_project_does_not_define_is_not_called(project: Path, target: str, file: str) -> None:
    run = command(project, kind="callable", target=target, file=os.path.join("/elsewhere/proj", file))
    with pytest.raises(UnreplayableRun):
        started(run, project)


def test_a_name_in_a_module_of_the_project_is_called_only_if_it_is_defined_there(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setattr(sys, "path", list(sys.path))
    file = str(project / "pkg" / "tool.py")
    run = command(project, kind="callable", target="pkg.tool:main", file="/elsewhere/proj/pkg/tool.py")
    start = start_of(relocated(run, str(project))[0], Options(), str(project))
    assert (start.entry, start.file, start.within) == ("pkg.tool:main", os.path.realpath(file), str(project))
    try:
        assert find("pkg.tool:main", file, str(project))() == 1
        for target, where in (("pkg.tool:system", file), ("os:system", str(project / "os.py"))):
            with pytest.raises(UnreplayableRun, match="shown, not called"):
                find(target, where, str(project))
        anything = inspect.unwrap(os.system)  # a seam stands before it where somebody has recorded
        assert find("pkg.tool:system", file) is anything, "a person may name what they like"
    finally:
        for name in ("pkg", "pkg.tool"):
            sys.modules.pop(name, None)


def test_a_function_of_another_revision_is_defined_in_its_worktree(project: Path, tmp_path: Path) -> None:
    """What must lie inside the project lies inside the worktree then, and what does not exist there is not taken from
    the files as they are."""
    run = command(project, kind="callable", target="pkg.tool:main", file="/elsewhere/proj/pkg/tool.py")
    start = start_of(relocated(run, str(project))[0], Options(), str(project))
    tree = tmp_path / "tree"
    shutil.copytree(project, tree)
    moved = Tree(os.path.realpath(project), str(tree), "0" * 40).start(
        replace(start, cwd=str(project / "pkg")), run, "v1"
    )
    assert (moved.file, moved.within) == (str(tree / "pkg" / "tool.py"), str(tree))
    try:
        assert find("pkg.tool:main", moved.file, moved.within)() == 1
        (tree / "pkg" / "tool.py").unlink()
        sys.modules.pop("pkg.tool"), sys.modules.pop("pkg")
        with pytest.raises(UnreplayableRun):
            find("pkg.tool:main", str(project / "pkg" / "tool.py"), moved.within)
    finally:
        for name in ("pkg", "pkg.tool"):
            sys.modules.pop(name, None)


def test_variables_that_load_code_or_say_where_calls_go_do_not_travel() -> None:
    values = {
        "LD_PRELOAD": "/x.so", "PYTHONSTARTUP": "x.py", "PYTHONWARNINGS": "error::x.Y", "BASH_ENV": "x", "PATH": "/x",
        "PYTHONPATH": "/x", "HOME": "/x", "PYTHONUNBUFFERED": "1", "SHOP_MODE": "test", "OPENAI_BASE_URL": "http://x",
    }  # fmt: skip
    run = new_run(environment={"env": values})
    assert environment_of(run, {}).keys() & values.keys() == {"PYTHONUNBUFFERED", "SHOP_MODE", "OPENAI_BASE_URL"}
    assert environment_of(run, {}, live=True).keys() & values.keys() == {"PYTHONUNBUFFERED", "SHOP_MODE"}


def test_a_call_that_names_a_file_of_the_project_asks_the_same_in_a_clone() -> None:
    class Plain:
        def call(self, call: Any) -> Any:
            return call

    renaming = ProjectRenaming(Plain(), Tree("/a/proj", "/b/proj", ""))  # type: ignore[arg-type]
    call = issued(0, b'{"p":"/b/proj/x","q":"/b/proj-2","r":"/b/proj"}', head={"cwd": ["/b/proj"], "n": 1}).call
    found = renaming.call(call)
    assert found.body == b'{"p":"/a/proj/x","q":"/b/proj-2","r":"/a/proj"}'
    assert found.head == {"cwd": ["/a/proj"], "n": 1}


def test_a_hostile_bundle_is_shown_and_what_comes_of_it_too(shop: Place, tmp_path: Path) -> None:
    """Through the public commands: neither the file, nor the run it becomes, nor a fork of that starts its command."""
    place = Place(tmp_path / "proj", tmp_path / "home")
    shutil.copy(shop.folder / "agent.py", place.folder)
    shutil.copy(shop.folder / "data.txt", place.folder)
    with open_store(shop.folder / ".reenact") as store:
        run = store.run("@")
        hostile = replace(run, entry=replace(run.entry, argv=("sh", "-c", "touch pwned")), capture=run.capture)
        inner = [store.open(each) for each in store.runs(parent=run.id)]
        records = [
            replace(each, run=hostile) if isinstance(each, RunOpened | RunClosed) and each.run == run else each
            for each in records_of(store.open(run), inner)
        ]
    write_bundle(place.folder / "x.reenact", [PackedRun("run", hostile, tuple(records))])
    done = place.reenact("replay", "x.reenact")
    assert (done.returncode, "shown, not executed: sh -c touch pwned" in done.stderr) == (3, True)
    done = place.reenact("fork", "x.reenact:2", "--result", "2=1", "--live", "none", "--cmd", "python agent.py")
    assert done.returncode == 0, done.stderr
    done = place.reenact("replay", "@")
    assert (done.returncode, "verdict: same" in done.stderr) == (0, True), "it keeps the command that a user gave it"
    assert not (place.folder / "pwned").exists()


def test_a_key_that_was_exchanged_no_longer_vouches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is not read again for every run of a process, and yet it is the one that lies there now."""
    monkeypatch.setenv("XDG_STATE_HOME" if os.name != "nt" else "LOCALAPPDATA", str(tmp_path))
    run = new_run(entry=Entry("command", ("python", "agent.py")))
    ours = replace(run, capture={"seal": trust.seal(run.id, run.entry, ENTROPY)})
    assert trust.is_ours(ours) and trust.is_ours(ours)
    other = trust.key_path().with_name("other")
    other.write_bytes(bytes(32))
    kept = trust.key_path().rename(trust.key_path().with_name("kept"))
    assert not trust.is_ours(ours)
    other.rename(trust.key_path())
    assert not trust.is_ours(ours)
    trust.key_path().unlink()
    kept.rename(trust.key_path())
    assert trust.is_ours(ours)
