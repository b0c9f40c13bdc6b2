"""Write the reference pages from the code itself, or check that they are current and that no link is dead.

python scripts/reference.py            write docs/reference/
python scripts/reference.py --check    exit status 1 when a page is stale or a link leads nowhere
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click

import reenact
import reenact.testing
from reenact.facts import expressions
from reenact.interfaces.cli.command_table import COMMANDS
from reenact.interfaces.cli.main import cli
from reenact.interop.readers import BUILT_IN
from reenact.testing import expecting
from reenact.testing.expectations.scope import ASKING_WORDS
from reenact.timetravel.vocabulary import EVENT_WORDS, KIT_WORDS, RUN_WORDS

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference"
MADE = "<!-- made by scripts/reference.py; change the docstrings, not this page -->"
EXIT_CODES = (
    (0, "same; fine"),
    (1, "different: a divergence at a seam, other output, unused recordings"),
    (2, "usage: a bad option, an unknown reference, a command that is not available yet"),
    (3, "not replayable: the message names what is missing and the command that mends it"),
    (4, "the store is damaged, or of a newer version"),
    (5, "contact with the world outside the seams, or a refused write"),
)


def main() -> int:
    """Write or check; the exit status says whether all is well."""
    check = "--check" in sys.argv[1:]
    bad = 0
    for name, text in pages().items():
        path = PAGES / name
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{path.relative_to(ROOT)} is stale; run: make docs", file=sys.stderr)
            bad = 1
    for place in dead_links():
        print(place, file=sys.stderr)
        bad = 1
    return bad


def pages() -> dict[str, str]:
    """Every reference page by its name, and the table that the shell's completion reads."""
    return {
        "../../src/reenact/interfaces/completion/command_words.py": completion(),
        "cli.md": command_line(),
        "python.md": python(),
        "testing.md": testing(),
        "expressions.md": vocabulary(),
    }


def command_line() -> str:
    """The page of the command line."""
    lines = ["# The command line", MADE, "", "`reenact [--store URL] [--json] [--no-pager] COMMAND`", ""]
    lines += [
        "Data goes to standard output, messages go to standard error. `python -m reenact` is the same command.",
        "",
    ]
    lines += ["## Exit codes", "", "Several apply: the highest.", "", "| code | meaning |", "|--:|---|"]
    lines += [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES]
    lines += ["", "## Commands", ""]
    context = click.Context(cli, info_name="reenact")
    for entry in COMMANDS:
        if entry.available:
            command = cli.get_command(context, entry.name)
            assert command is not None
            lines += one_command(entry.name, command, context)
    lines += ["## Not available yet", "", "These are part of the plan; each says so and ends with exit status 2.", ""]
    lines += [f"- `{entry.name}`: {entry.summary}" for entry in COMMANDS if not entry.available]
    return "\n".join(lines) + "\n"


KINDS = {
    "form": "|".join((*(each.name for each in BUILT_IN), "")),
    **dict.fromkeys(("ref", "refs", "fixed"), "run"),
    **dict.fromkeys(("names", "dataset"), "golden"),
    **dict.fromkeys(("tag", "labels"), "tag"),
    **dict.fromkeys(("through", "allow_write"), "tool"),
    **dict.fromkeys(("file", "output", "report"), "file"),
    **{name: name for name in ("agent", "user", "tenant", "session")},
    "argv": "command",
}
"""Parameters whose values the shell can complete, and what these are."""


def completion() -> str:
    """The table of commands, options and what each takes, for ``reenact.interfaces.completion.line``."""
    context = click.Context(cli, info_name="reenact")
    lines = list(spoken("", cli, context))
    for entry in COMMANDS:
        command = cli.get_command(context, entry.name)
        if entry.available and command is not None:
            lines += spoken(entry.name, command, context)
    about = "Each command with its arguments and options, and what kind of value each takes."
    made = "# made by scripts/reference.py"
    return f'"""{about}"""\n{made}\n# ruff: noqa: E501\n\nWORDS = """\n' + "\n".join(lines) + '\n"""\n'


def spoken(name: str, command: click.Command, context: click.Context) -> Iterator[str]:
    """A command in the table, and those below it."""
    parts = []
    for each in command.params:
        if isinstance(each, click.Option) and each.hidden:
            continue
        kind = (
            "|".join((*each.type.choices, ""))
            if isinstance(each.type, click.Choice)
            else KINDS.get(each.name or "", "")
        )
        if name == "golden rm" and each.name == "name":
            kind = "golden"
        if name == "replay" and each.name == "live":
            kind = "tool"
        if isinstance(each, click.Option):
            takes = "" if each.is_flag or each.count else f"={kind}"
            parts += [f"{option}{takes}" for option in each.opts]
        elif kind:
            parts.append(kind + ("*" if each.nargs == -1 and kind != "command" else ""))
        else:
            parts.append("text")
    parts += ["--help", "-h"]
    yield f"{name}: {' '.join(parts)}"
    if isinstance(command, click.Group) and name:
        for word in command.list_commands(context):
            own = command.get_command(context, word)
            assert own is not None
            yield from spoken(f"{name} {word}", own, context)


def one_command(name: str, command: click.Command, parent: click.Context) -> Iterator[str]:
    """One command: how it is typed, what it does, its options."""
    context = click.Context(command, info_name=name, parent=parent)
    yield f"### reenact {name}"
    yield ""
    yield f"`{' '.join(['reenact', name, *command.collect_usage_pieces(context)])}`"
    yield ""
    yield from prose(command.help or command.short_help or "")
    yield ""
    options = [record for item in command.get_params(context) if (record := item.get_help_record(context))]
    if options:
        yield "| option | meaning |"
        yield "|---|---|"
        for option, meaning in options:
            yield f"| `{cell(option)}` | {cell(meaning)} |"
        yield ""
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            own = command.get_command(context, each)
            assert own is not None
            yield from one_command(f"{name} {each}", own, parent)


def cell(text: str) -> str:
    """Text that can stand in a table."""
    return " ".join(text.split()).replace("|", r"\|")


def prose(text: str) -> Iterator[str]:
    """Help text as Markdown: what must keep its lines becomes a block of code."""
    for part in inspect.cleandoc(text).split("\n\n"):
        if part.startswith("\b"):
            yield from ["```text", *part.splitlines()[1:], "```", ""]
        else:
            yield from [part, ""]


def python() -> str:
    """The page of the Python names."""
    lines = ["# Python", MADE, "", "`import reenact` gives these names and no more.", ""]
    lines += surface(reenact)
    return "\n".join(lines).rstrip() + "\n"


def testing() -> str:
    """The page of the names for authors of tests."""
    lines = [
        "# Python, for tests",
        MADE,
        "",
        "`reenact.testing` gives these names; each is loaded when it is first used.",
    ]
    lines += ["The scripted provider, below `reenact.testing.provider`, has its own.", ""]
    lines += surface(reenact.testing)
    lines += ["## Builders: `reenact.testing.expecting`", "", *doc(expecting), ""]
    for name in expecting.__all__:
        lines += function_entry(name, getattr(expecting, name))
    return "\n".join(lines).rstrip() + "\n"


def surface(module: ModuleType) -> Iterator[str]:
    """The functions and the types that a module gives."""
    found = {name: getattr(module, name) for name in module.__all__ if not inspect.ismodule(getattr(module, name))}
    yield from ["## Functions", ""]
    for name, thing in found.items():
        if not inspect.isclass(thing):
            yield from function_entry(name, thing)
    yield from ["## Types", ""]
    for name in sorted(name for name, thing in found.items() if inspect.isclass(thing)):
        yield from [f"### {name}", "", *doc(found[name]), ""]
        yield from methods(found[name])


def function_entry(name: str, function: Any) -> Iterator[str]:
    """One function: how it is called, and what it does."""
    yield from [f"### {name}", "", "```text", f"{name}{signature(function)}", "```", "", *doc(function), ""]


def methods(owner: type) -> Iterator[str]:
    """Public methods of a type: the first sentence of each."""
    found = [
        (name, value)
        for name, value in vars(owner).items()
        if inspect.isfunction(value) and not name.startswith("_") and value.__doc__
    ]
    for name, value in found:
        yield f"- `.{name}{signature(value)}`: {' '.join((inspect.getdoc(value) or '').split(chr(10) * 2)[0].split())}"
    if found:
        yield ""


def signature(function: Any) -> str:
    """Parameters as they are written in the source, the same on every Python."""
    parts, keyword_only = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            parts.append("*")
            keyword_only = True
        prefix = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        if parameter.kind is parameter.VAR_KEYWORD:
            prefix = "**"
        shown = "" if parameter.annotation is parameter.empty else f": {parameter.annotation}"
        default = parameter.default
        if default is not parameter.empty:
            value = getattr(default, "value", default)
            shown += f" = {value!r}" if shown else f"={value!r}"
        parts.append(f"{prefix}{parameter.name}{shown}")
    answer = inspect.signature(function).return_annotation
    return f"({', '.join(parts)})" + ("" if answer is inspect.Signature.empty else f" -> {answer}")


def doc(thing: Any) -> Iterator[str]:
    """A docstring as Markdown: its sections become lists."""
    for line in re.sub(r"``(.+?)``", r"`\1`", inspect.getdoc(thing) or "").splitlines():
        if re.fullmatch(r"(Args|Returns|Raises|Attributes|Yields):", line):
            yield from [f"**{line[:-1]}**", ""]
        elif match := re.fullmatch(r" {4}([\w*, ]+): (.*)", line):
            yield f"- `{match[1]}`: {match[2]}"
        else:
            yield line.removeprefix("    ") if not line.startswith("     ") else "  " + line.strip()


def vocabulary() -> str:
    """The page of the expressions."""
    lines = ["# Expressions", MADE, ""]
    lines += ["`reenact ls --where EXPR` takes one expression, and so does `reenact.testing.expect`: comparison,"]
    lines += ["`and or not in`, arithmetic, indexing, a loop inside " + _listed(expressions.FUNCTIONS) + ", and"]
    lines += [_listed(expressions.ASSERTIONS) + " of a value. Nothing else is accepted, and nothing is ever given to"]
    lines += ["`eval`. What the data do not say is *unknown*, which is neither true nor false and spreads.", ""]
    lines += ["## Functions over one value", "", "| name | meaning |", "|---|---|"]
    lines += [f"| `{name}` | {cell(about)} |" for name, about in sorted(expressions.ASSERTIONS.items())]
    lines += [""]
    tables = (
        ("Names over a run", RUN_WORDS),
        ("Names by which runs of a store are chosen too", KIT_WORDS),
        ("Names that only an expectation has", ASKING_WORDS),
        ("Names over an event", EVENT_WORDS),
    )
    for title, words in tables:
        lines += [f"## {title}", "", "| name | meaning |", "|---|---|"]
        lines += [f"| `{word.name}` | {cell(word.about)} |" for word in sorted(words, key=lambda word: word.name)]
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def dead_links() -> Iterator[str]:
    """Links between documents that lead nowhere."""
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "tests" / "README.md"]
    for document in documents:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
            if "://" not in target and not (document.parent / target).exists():
                yield f"{document.relative_to(ROOT)}: dead link {target}"


if __name__ == "__main__":
    sys.exit(main())
