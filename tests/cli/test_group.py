"""The group: every command of the contract is in the help, teaches by example, and is loaded when it is asked for."""

from __future__ import annotations

import importlib
import shlex
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import click
import pytest

from reenact import errors
from reenact.errors import ReenactError
from reenact.interfaces.cli import run_opening
from reenact.interfaces.cli.command_table import BY_NAME, COMMANDS
from reenact.interfaces.cli.main import cli
from reenact.interfaces.cli.shell import Command

CONTRACT = (
    "record ls show cat replay resume fork timeline diff flag tag golden experiment kit triage pack unpack import "
    "export resend mark serve vault redact erase gc fsck salvage migrate stats push pull view textconv "
    "doctor config init demo"
)


def test_the_table_holds_every_command_of_the_contract_once() -> None:
    assert sorted(BY_NAME) == sorted(CONTRACT.split())
    assert len(COMMANDS) == len(BY_NAME)


@pytest.mark.parametrize("name", [entry.name for entry in COMMANDS if entry.available])
def test_the_table_says_what_the_module_says(name: str) -> None:
    command = importlib.import_module(BY_NAME[name].module).command
    assert isinstance(command, Command)
    assert (command.name, command.short_help) == (name, BY_NAME[name].summary)


@pytest.mark.parametrize("name", [entry.name for entry in COMMANDS])
def test_every_command_teaches(name: str, reenact: Callable[..., Any]) -> None:
    answer = reenact(name, "--help")
    assert answer.code == 0
    assert "Example:\n  reenact " in answer.out
    for option in ("--json", "--store", "--no-pager"):
        assert option in answer.out
    if not BY_NAME[name].available:
        assert "Not available yet" in answer.out


@pytest.mark.parametrize("name", ["add", "ls", "run", "rm"])
def test_every_command_of_goldens_teaches(name: str, reenact: Callable[..., Any]) -> None:
    assert f"\n  {name} " in reenact("golden", "--help").out
    answer = reenact("golden", name, "--help")
    assert answer.code == 0 and f"Example:\n  reenact golden {name}" in answer.out and "--json" in answer.out


@pytest.mark.parametrize("name", [entry.name for entry in COMMANDS if not entry.available])
def test_what_is_not_there_says_so(name: str, reenact: Callable[..., Any]) -> None:
    answer = reenact(name, "anything", "--at-all", "-x")
    assert (answer.code, answer.out) == (2, "")
    assert f"`reenact {name}` is not available yet" in answer.err
    assert "next: reenact --help" in answer.err


def test_help_names_sections_references_and_exit_codes(reenact: Callable[..., Any]) -> None:
    answer = reenact("--help")
    assert answer.code == 0
    for word in ("Record and look:", "First steps:", "RUN:search_docs#2", "Exit codes:"):
        assert word in answer.out
    absent = [entry.name for entry in COMMANDS if not entry.available]
    assert absent and not {line.split()[0] for line in answer.out.splitlines() if line.strip()}.intersection(absent)


def test_help_loads_no_command_and_no_back_end() -> None:
    program = (
        "import sys; from reenact.interfaces.cli.main import cli\n"
        "try: cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted(m for m in sys.modules if m.startswith('reenact')), file=sys.stderr)\n"
        "heavy = ('sqlite3', 'wrapt', 'time_machine', 'tomllib', 'asyncio')\n"
        "print([m for m in heavy if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    ours, others = done.stderr.splitlines()
    assert "commands" not in ours and "reenact.store" not in ours and "reenact.seams" not in ours
    assert others == "[]"


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "reenact", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("reenact ")


ERRORS = [
    (errors.UsageError, 2),
    (errors.StoreError, 4),
    (errors.RunNotFound, 2),
    (errors.BlobCorrupt, 4),
    (errors.Divergence, 1),
    (errors.UnreplayableRun, 3),
    (errors.EffectRefused, 5),
    (errors.EffectInDoubt, 3),
    (errors.GoldenMismatch, 1),
]


@pytest.mark.parametrize(("kind", "code"), ERRORS)
def test_errors_become_words_and_exit_codes(
    kind: type[ReenactError], code: int, reenact: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(url: str | None = None) -> None:
        raise kind("it broke", cause="rust", next_command="reenact ls")

    monkeypatch.setattr(run_opening, "open_store", fail)
    answer = reenact("ls")
    assert (answer.code, answer.out) == (code, "")
    assert answer.err == "reenact: it broke\n  likely cause: rust\n  next: reenact ls\n"


def test_a_fault_of_ours_is_short_unless_debugged(reenact: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(url: str | None = None) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(run_opening, "open_store", fail)
    answer = reenact("ls")
    assert answer.code == 70
    assert "unexpected RuntimeError: boom" in answer.err and "Traceback" not in answer.err
    monkeypatch.setenv("REENACT_DEBUG", "1")
    assert "Traceback" in reenact("ls").err


@pytest.mark.parametrize("words", [("frok",), ("ls", "--nope"), ("ls", "-n", "0"), ("ls", "--since", "soon"), ("cat",)])
def test_a_wrong_command_line_is_usage(words: tuple[str, ...], reenact: Callable[..., Any]) -> None:
    answer = reenact(*words)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("reenact: ") and "\n  next: reenact" in answer.err and "--help" in answer.err


@pytest.mark.parametrize(
    ("words", "meant"), [(("frok",), "fork"), (("replay", "@", "--evnts"), "--events"), (("golden", "rnu"), "run")]
)
def test_a_misspelled_word_is_answered_with_the_one_that_is_near(
    words: tuple[str, ...], meant: str, reenact: Callable[..., Any]
) -> None:
    assert f"did you mean {meant}" in reenact(*words).err


def test_dashes_alone_make_no_two_options_alike(reenact: Callable[..., Any]) -> None:
    assert reenact("ls", "--bogus").err.splitlines()[0] == "reenact: no such option '--bogus'"


@pytest.mark.parametrize("error", [BrokenPipeError(32, "pipe"), KeyboardInterrupt()])
def test_a_reader_that_leaves_is_no_error(
    error: BaseException, reenact: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(url: str | None = None) -> None:
        raise error

    monkeypatch.setattr(run_opening, "open_store", fail)
    answer = reenact("ls")
    assert answer.code == (141 if isinstance(error, BrokenPipeError) else 130)
    assert "Traceback" not in answer.err


def test_a_closed_pipe_is_quiet() -> None:
    line = f"{shlex.quote(sys.executable)} -m reenact --help | true"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_common_options_reach_every_command_from_both_sides(
    filled: Any, reenact: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    urls: list[str | None] = []

    def opened(url: str | None = None) -> object:
        urls.append(url)
        return filled

    monkeypatch.setattr(run_opening, "open_store", opened)
    assert reenact("--json", "ls").data == reenact("ls", "--json").data
    reenact("--store", "sqlite:///a", "ls")
    reenact("ls", "--store", "sqlite:///b")
    monkeypatch.setenv("REENACT_STORE", "sqlite:///c")
    reenact("ls")
    assert urls == [None, None, "sqlite:///a", "sqlite:///b", "sqlite:///c"]


def test_every_option_has_help() -> None:
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        for param in command.params:
            if isinstance(param, click.Option):
                assert param.help, f"{name} {param.name}"
