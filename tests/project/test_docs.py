"""The documents are true: every command, option, name and word is in the reference, and every example runs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

import reenact
from reenact.interfaces.cli.command_table import COMMANDS
from reenact.interfaces.cli.main import cli
from reenact.testing.expectations.scope import EXPECTATION_WORDS
from reenact.timetravel.vocabulary import EVENT_WORDS
from tests.project.transcript import blocks, type_out

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
EXAMPLES = [DOCS / "tutorial.md", *sorted((DOCS / "how-to").glob("*.md"))]
pytestmark = pytest.mark.once


def page(name: str) -> str:
    return (DOCS / "reference" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [entry.name for entry in COMMANDS])
def test_every_command_and_every_option_is_documented(name: str) -> None:
    entry = next(entry for entry in COMMANDS if entry.name == name)
    text = page("cli.md")
    if not entry.available:
        assert f"- `{name}`: " in text
        return
    command = cli.get_command(click.Context(cli), name)
    assert command is not None and command.help
    every = {name: command}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            assert below is not None
            every[f"{name} {each}"] = below
    for typed, one in every.items():
        part = text.split(f"### reenact {typed}\n")[1].split("\n### ")[0]
        for parameter in one.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert parameter.opts[0] in part
                assert parameter.help, f"{parameter.opts[0]} of {typed} says nothing"


@pytest.mark.parametrize("name", reenact.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    assert f"\n### {name}\n" in page("python.md")
    assert getattr(reenact, name).__doc__


def test_every_word_of_the_expressions_is_documented() -> None:
    text = page("expressions.md")
    assert [word.name for word in (*EXPECTATION_WORDS, *EVENT_WORDS) if f"| `{word.name}` |" not in text] == []


def test_the_reference_is_current_and_no_link_is_dead() -> None:
    command = [sys.executable, "scripts/reference.py", "--check"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.timeout(300)
@pytest.mark.parametrize("document", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_can_be_typed(document: Path, tmp_path: Path, reader: Callable[[bool], dict[str, str]]) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    assert type_out(document, folder, reader(True)) >= 1


@pytest.mark.parametrize("document", EXAMPLES, ids=lambda path: path.stem)
def test_every_python_block_that_is_not_typed_is_python(document: Path) -> None:
    for block in blocks(document):
        if block.skipped and block.language == "python":
            compile(block.text, f"{document.name}:{block.line}", "exec")


@pytest.mark.parametrize("document", EXAMPLES, ids=lambda path: path.stem)
def test_every_line_that_a_workflow_runs_is_typed(document: Path) -> None:
    every = blocks(document)
    typed = "\n".join(block.text for block in every if block.language == "console" and not block.skipped)
    for block in every:
        if block.language == "yaml" and block.title.startswith(".github/workflows/"):
            lines = re.findall(r"^ *(?:- )?run: (.+)$", block.text, re.MULTILINE)
            assert lines and [line for line in lines if f"$ {line}" not in typed] == []


PAGES_FOR_ENGINEERS = [
    *sorted((DOCS / "explanation").rglob("*.md")),
    ROOT / "CONTRIBUTING.md",
    ROOT / "tests" / "README.md",
]
HOMES = (ROOT, ROOT / "src" / "reenact", ROOT / "src" / "reenact" / "timetravel")
MADE_BY_COMMANDS = {"dist/", "out/site"}


@pytest.mark.parametrize("document", PAGES_FOR_ENGINEERS, ids=lambda path: path.stem)
def test_every_place_in_the_tree_that_a_page_names_is_there(document: Path) -> None:
    named = set(re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+(?:\.py)?)?)`", document.read_text(encoding="utf-8")))
    there = {place for place in named for home in HOMES if (home / place).exists() or (home / f"{place}.py").exists()}
    assert named - there - MADE_BY_COMMANDS == set()


def test_the_page_on_tests_has_a_row_for_each_folder_and_no_other() -> None:
    rows = [line.split("|")[2] for line in (ROOT / "tests" / "README.md").read_text().splitlines() if line[:2] == "| "]
    described = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert described - {"agents"} == {path.parent.name for path in (ROOT / "tests").glob("*/*.py")}


def test_every_document_is_reached_from_the_readme() -> None:
    seen, waiting = set(), [ROOT / "README.md"]
    while waiting:
        document = waiting.pop().resolve()
        if document in seen or document.suffix != ".md":
            continue
        seen.add(document)
        text = document.read_text(encoding="utf-8")
        targets = [part.split(")")[0].split("#")[0] for part in text.split("](")[1:]]
        waiting += [document.parent / target for target in targets if target and "://" not in target]
    assert [path.name for path in DOCS.rglob("*.md") if path.resolve() not in seen] == []
