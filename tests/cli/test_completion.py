"""Completion: what may stand where the cursor is, asked through real shells, of real stores, which are only read."""

from __future__ import annotations

import hashlib
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact.interfaces.completion.answer import answer
from reenact.interfaces.completion.line import commands, place_of
from reenact.interfaces.completion.shells import SHELLS

Cli = Callable[..., Any]


@reenact.tool(effect="read")
def search_docs(what: str) -> str:
    """A tool."""
    return what


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a store of three runs, a label, two goldens, and a `reenact` to find."""
    folder = tmp_path_factory.mktemp("completed") / "project"
    (folder / "tests" / "goldens" / "checkout").mkdir(parents=True)
    (folder / "tests" / "goldens" / "refund.reenact").write_bytes(b"")
    (folder / "tests" / "goldens" / "checkout" / "late.reenact").write_bytes(b"")
    (folder / "notes.txt").write_text("")
    with reenact.open_store(folder / ".reenact") as store:
        for agent in ("desk@1", "desk@2", "night-desk"):
            with reenact.record(agent=agent, user="u_7", tags={"ticket": "r_8821"}, store=store):
                search_docs("x")
    program = folder.parent / "bin" / "reenact"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m reenact "$@"\n')
    program.chmod(0o755)
    return folder


@pytest.fixture
def inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project, as the working directory."""
    monkeypatch.chdir(project)
    for name in [name for name in os.environ if name.startswith("REENACT_")]:
        monkeypatch.delenv(name)
    return project


def _values(*words: str) -> list[str]:
    return [line.partition("\t")[0] for line in answer("fish", words)[1:]]


def _tails(project: Path) -> list[str]:
    with reenact.open_store(project / ".reenact") as store:
        return [run.id[10:] for run in store.runs()]


def test_commands_and_options_are_those_there_are(inside: Path) -> None:
    assert {"record", "ls", "golden"} <= set(_values("")) and "view" not in _values("")
    assert _values("gol") == ["golden"]
    assert _values("golden", "") == ["add", "ls", "run", "drift", "rm"]
    assert _values("replay", "--on-") == ["--on-divergence"]
    assert _values("replay", "--on-divergence", "") == ["stop", "observe"]
    assert _values("replay", "@", "--on-divergence=o") == ["--on-divergence=observe"]
    assert _values("--store", "x", "sho") == ["show"]
    assert _values("nosuch", "") == []


def test_values_are_those_of_the_store(inside: Path) -> None:
    first = _tails(inside)[0]
    assert _values("show", "") == ["@", "@failed", *_tails(inside)]
    assert _values("show", first[:5]) == [first]
    assert _values("show", "@f") == ["@failed"]
    assert _values("replay", "@golden/") == ["@golden/checkout/late", "@golden/refund"]
    assert _values("golden", "run", "refund", "") == ["checkout/late", "refund"]
    assert _values("fork", f"{first}:") == [f"{first}:search_docs"]
    assert _values("cat", "@:sea") == ["@:search_docs"]
    assert _values("replay", "--through", "") == ["search_docs"]
    assert _values("ls", "--agent", "") == ["night-desk", "desk"]
    assert _values("ls", "--user=") == ["--user=u_7"]
    assert _values("tag", first, "") == ["ticket="]
    assert _values("ls", "--tag", "ticket=") == ["ticket=r_8821"]
    assert _values("diff", "@", first[:5]) == [first]
    assert "night-desk ok" in answer("zsh", ["show", first])[1]


def test_what_belongs_to_the_program_is_left_to_the_shell(inside: Path) -> None:
    assert answer("zsh", ["record", "--agent", "x", "--", "py"]) == ["commands"]
    assert answer("zsh", ["record", "python", "--", "--json"]) == ["files"]
    assert answer("zsh", ["unpack", ""]) == ["files"]
    assert answer("zsh", ["pack", "@", "-o", ""]) == ["files"]
    assert answer("zsh", ["show", "bug.ree"]) == ["files"]


def test_the_store_is_the_one_that_the_line_means(
    inside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.db"
    with reenact.open_store(f"sqlite:///{other}") as store, reenact.record(agent="elsewhere", store=store):
        pass
    assert _values("--store", f"sqlite:///{other}", "ls", "--agent", "") == ["elsewhere"]
    monkeypatch.setenv("REENACT_STORE", f"sqlite:///{other}")
    assert _values("ls", "--agent", "") == ["elsewhere"]
    monkeypatch.delenv("REENACT_STORE")
    monkeypatch.chdir(tmp_path)
    assert _values("ls", "--agent", "") == []
    (tmp_path / "reenact.toml").write_text(f'store = "sqlite:///{other}"\n')
    assert _values("ls", "--agent", "") == ["elsewhere"]


def test_names_that_a_shell_would_read_otherwise_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with reenact.open_store(tmp_path / ".reenact") as store:
        for agent in ("$(touch x)", "two words", "a\x1b[31m", "naïve-7", "semi;colon"):
            with reenact.record(agent=agent, store=store):
                pass
    assert _values("ls", "--agent", "") == ["naïve-7"]
    assert not any("\x1b" in line for line in answer("zsh", ["show", ""]))


def _asked(project: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """What a shell would be told, by a process of its own."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "_REENACT_COMPLETING": "zsh"}
    return subprocess.run(
        [sys.executable, "-m", "reenact", "show", ""],
        cwd=project, env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("damage", ["missing", "no database", "cut", "another schema", "a folder", "settings"])
def test_a_store_that_cannot_be_read_completes_to_nothing(project: Path, tmp_path: Path, damage: str) -> None:
    shutil.copytree(project, folder := tmp_path / "project")
    file = folder / ".reenact" / "store.db"
    if damage == "missing":
        shutil.rmtree(folder / ".reenact")
    elif damage == "no database":
        file.write_bytes(b"no database at all" * 500)
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:5000])
    elif damage == "another schema":
        for each in file.parent.glob("store.db*"):
            each.unlink()
        import sqlite3  # here alone

        sqlite3.connect(file).executescript("CREATE TABLE other(x)").close()
    elif damage == "a folder":
        shutil.rmtree(folder / ".reenact")
        file.mkdir(parents=True)
    else:
        (folder / "reenact.toml").write_text("store = [broken\n")
    asked = _asked(folder, tmp_path)
    assert (asked.returncode, asked.stderr) == (0, "")
    assert asked.stdout.strip() in ("files", "")


def test_a_store_is_only_read(project: Path, tmp_path: Path) -> None:
    def files() -> dict[str, str]:
        held = [path for path in sorted((project / ".reenact").rglob("*")) if path.is_file()]
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in held if "-shm" not in path.name}

    before = files()
    for words in (["show", ""], ["show", "@:"], ["ls", "--tag", "t"], ["replay", "--through", ""]):
        answer("zsh", words)
    assert "@failed" in _asked(project, tmp_path).stdout
    assert files() == before


def test_nothing_of_the_commands_is_loaded(project: Path) -> None:
    asks = "from reenact.interfaces.completion.answer import answer; import sys; print(answer('zsh', ['show', '']))"
    done = subprocess.run(
        [sys.executable, "-c", f"{asks}; print(*sys.modules)"],
        cwd=project, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    told, modules = done.stdout.splitlines()
    assert "@failed" in told
    heavy = {
        "click",
        "asyncio",
        "json",
        "inspect",
        "reenact.store.sqlite_store",
        "reenact.facts.run",
        "reenact.abc.project_settings",
    }
    assert not heavy & set(modules.split())


# --- real shells -----------------------------------------------------------------------------------------------


def _typed(shell: str, argv: list[str], start: str, line: str, project: Path, home: Path) -> str:
    """What an interactive shell makes of a line in which a person presses Tab. ``say`` prints the words it is given."""
    environment = {
        "PATH": f"{project.parent / 'bin'}:{os.environ['PATH']}",
        "HOME": str(home),
        "TERM": "dumb",
        "LANG": "C.UTF-8",
        **{name: os.environ[name] for name in ("ZSH_MODULES", "LD_LIBRARY_PATH") if name in os.environ},
    }
    ours, theirs = pty.openpty()
    process = subprocess.Popen(argv, cwd=project, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    told = b""
    try:
        _read(ours, b"ready>", told)
        os.write(ours, start.encode() + b"\necho be''gun\n")
        told = _read(ours, b"begun\r\n", b"")
        os.write(ours, line.encode() + b"\n")
        told = _read(ours, b"END", b"")
        os.write(ours, b"exit\n")
    finally:
        os.close(ours)
        process.kill()
        process.wait(30)
    return told.decode(errors="replace").rpartition("SAID ")[2].partition(" END")[0]


def _read(terminal: int, mark: bytes, told: bytes) -> bytes:
    while mark not in told:
        told += os.read(terminal, 4096)
    return told


LINES = [
    ("say sho\t@", "show @"),
    ("say show @fa\t", "show @failed"),
    ("say golden run re\t", "golden run refund"),
    ("say replay @golden/ch\t", "replay @golden/checkout/late"),
    ("say cat @:sea\t", "cat @:search_docs"),
    ("say ls --agent=night\t", "ls --agent=night-desk"),
    ("say ls --tag tick\tr\t", "ls --tag ticket=r_8821"),
    ("say unpack no\t", "unpack notes.txt"),
]


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("line", "becomes"), LINES)
def test_bash_completes(project: Path, tmp_path: Path, line: str, becomes: str) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    (tmp_path / ".bashrc").write_text("PS1='ready>'\n")
    _install("bash", tmp_path)
    ask = 'if [ -n "$_REENACT_COMPLETING" ]; then command reenact "$@"; else echo "SA""ID $* EN""D"; fi'
    start = f"say() {{ {ask}; }}; complete -F _reenact_complete say"
    assert _typed("bash", [bash, "--noprofile", "-i"], start, line, project, tmp_path) == becomes


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("line", "becomes"), LINES)
def test_zsh_completes(project: Path, tmp_path: Path, line: str, becomes: str) -> None:
    zsh = shutil.which("zsh")
    if zsh is None:
        pytest.skip("zsh is not installed")
    (tmp_path / ".zshrc").write_text("PS1='ready>'; unset zle_bracketed_paste; unsetopt prompt_sp\n")
    _install("zsh", tmp_path)
    ask = 'if [[ -n $_REENACT_COMPLETING ]]; then command reenact "$@"; else echo "SA""ID $* EN""D"; fi'
    start = f"say() {{ {ask} }}; compdef _reenact say"
    assert _typed("zsh", [zsh, "-i"], start, line, project, tmp_path) == becomes


@pytest.mark.parametrize(("line", "becomes"), LINES)
def test_fish_completes(project: Path, tmp_path: Path, line: str, becomes: str) -> None:
    fish = shutil.which("fish")
    if fish is None:
        pytest.skip("fish is not installed")
    _install("fish", tmp_path)
    if "\t" in line[:-1]:
        pytest.skip("asked without a terminal: one completion a line")
    typed = line.partition("\t")[0].replace("say", "reenact")
    done = subprocess.run(
        [fish, "-c", f"complete -C '{typed}'"],
        cwd=project, env={"PATH": f"{project.parent / 'bin'}:{os.environ['PATH']}", "HOME": str(tmp_path)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert [each.partition("\t")[0] for each in done.stdout.splitlines()] == [becomes.split()[-1]], done.stderr


# --- how it comes into a shell ---------------------------------------------------------------------------------


def _install(shell: str, home: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "reenact", "init", "--completion"],
        cwd=home, env={"PATH": os.environ["PATH"], "HOME": str(home), "SHELL": f"/bin/{shell}"},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_it_is_installed_once(tmp_path: Path, shell: str) -> None:
    start = {"bash": ".bashrc", "zsh": ".zshrc"}.get(shell)
    if start is not None:
        (tmp_path / start).write_text("alias x=y")
    told = [_install(shell, tmp_path) for _ in range(2)]
    assert "written" in told[0]
    assert not (tmp_path / "reenact.toml").exists(), "the project is another matter"
    if start is not None:
        assert f"{start}: a line added" in told[0] and f"{start}: left as it is" in told[1]
        before, line = (tmp_path / start).read_text().splitlines()
        assert before == "alias x=y" and "reenact/completion." in line
    else:
        assert (tmp_path / ".config" / "fish" / "completions" / "reenact.fish").read_text().startswith("# Completion")


def test_a_shell_that_is_none_of_them_is_named(reenact: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    answer = reenact("init", "--completion")
    assert answer.code == 2 and "/bin/tcsh" in answer.err and "bash, zsh, fish" in answer.err


def test_every_kind_of_the_table_is_known() -> None:
    known = {"run", "golden", "tag", "tool", "agent", "user", "tenant", "session", "file", "command", "text", "", None}
    for spoken in commands().values():
        kinds = {kind and kind.rstrip("*") for kind in [*spoken.options.values(), *spoken.arguments]}
        assert {kind for kind in kinds if kind is None or "|" not in kind} <= known
    assert place_of([]).kind == "" and place_of([""]).words
