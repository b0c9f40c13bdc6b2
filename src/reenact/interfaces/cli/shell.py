"""The *shell* of a command: its common options, and its two outputs.

Data goes to standard output, messages go to standard error. Recorded text passes ``safe`` before it is printed for a
person, because it must not control the terminal.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import IO, Any

import click
from click.core import ParameterSource

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.shell_text import typed

_WIDE = 160
_NARROW = 40
_EXAMPLE = "python agent.py"


@dataclass(slots=True)
class Shell:
    """The options that every command takes, and the ways in which a command prints.

    Attributes:
        store_url: The value of ``--store``; None if the settings decide.
        json: Whether to print JSON Lines.
        pager: Whether long answers may go through a pager, on a terminal.
        named: For a run that is in no store, the path of its bundle, by the tail of the run's id.
    """

    store_url: str | None = None
    json: bool = False
    pager: bool = True
    named: dict[str, str] = field(default_factory=dict)

    def data(self, text: str) -> None:
        """Print one line of data."""
        click.echo(text, color=_colour())

    def line(self, value: Json) -> None:
        """Print one JSON line. Text with half of a surrogate pair is escaped as a whole."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
        try:
            text.encode()
        except UnicodeEncodeError:
            text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=str)
        sys.stdout.write(text + "\n")

    def raw(self, data: bytes) -> None:
        """Print exact bytes."""
        binary_stdout().write(data)

    def lines(self, texts: Iterable[str]) -> None:
        """Print lines of data, through a pager when they are longer than the terminal is high."""
        if not (self.pager and sys.stdout.isatty() and sys.stdin.isatty()):
            for text in texts:
                self.data(text)
            return
        rest: Iterator[str] = iter(texts)
        head = list(islice(rest, max(shutil.get_terminal_size().lines - 3, 5)))
        more = list(islice(rest, 1))
        if not more:
            for text in head:
                self.data(text)
            return
        os.environ.setdefault("LESS", "FRX")
        click.echo_via_pager((text + "\n" for text in chain(head, more, rest)), color=_colour())

    def talk(self, text: str = "") -> None:
        """Print a message for the user, never data. A long line is folded and indented on a terminal."""
        click.echo(folded(text) if sys.stderr.isatty() else text, err=True, color=_colour())

    def next(self, command: str) -> None:
        """Print the next useful command, if there is one. With ``--json``, nothing is printed."""
        if command and not self.json:
            self.talk(f"next: {self.called(with_a_script(command))}")

    def called(self, command: str) -> str:
        """A command with each run named as the user named it, and with ``--store`` if the user gave it."""
        for name, path in self.named.items():
            command = path.join(re.split(rf"(?<![0-9a-z]){name}(?![0-9a-z])", command))
        return in_store(command, self.store_url)


def in_store(command: str, url: str | None) -> str:
    """A command with ``--store`` added. A command that already has ``--store``, or asks for help, is unchanged.

    Args:
        command: The command, ``reenact …``, which may follow ``next:``.
        url: The value of ``--store``; None without one.
    """
    head, name, rest = command.partition("reenact ")
    if not url or not name or head.strip() not in ("", "next:") or {"--store", "--help"} & set(rest.split()):
        return command
    return f"{head}reenact --store {shlex.quote(url)} {rest}"


def columns() -> int:
    """The width of a line: that of the terminal, or the value of ``COLUMNS``; 160 if neither is known."""
    return max(shutil.get_terminal_size((_WIDE, 24)).columns, _NARROW)


def shortened(text: str) -> str:
    """A line, cut at the edge of the terminal; it is not cut if a file or a program reads it."""
    width = columns()
    return text if len(text) <= width or not sys.stdout.isatty() else text[: width - 1] + "…"


def with_a_script(command: str) -> str:
    """A command whose example program is replaced by the program of this folder. If the folder has none, or several,
    the replacement is a name that the user must fill in."""
    if _EXAMPLE not in command or os.path.exists("agent.py"):
        return command
    there = [
        name for name in sorted(os.listdir()) if name.endswith(".py") and not name.startswith(("test_", "conftest"))
    ]
    likely = [name for name in ("main.py", "app.py") if name in there] or there
    name = likely[0] if likely and (len(there) == 1 or likely is not there) else "YOUR_PROGRAM.py"
    return command.replace(_EXAMPLE, f"python {shlex.quote(name)}")


def folded(text: str, width: int = 80) -> str:
    """A message, wrapped to a width. The command in it stays on one line, so that it can be copied."""
    head = "reenact: "
    if len(text) <= width or not text.startswith(head) or "next: " in text or "-> reenact" in text[:width]:
        return text
    told, arrow, command = text.partition("  -> reenact ")
    more = " " * len(head)
    lines = textwrap.wrap(told, width, subsequent_indent=more, break_long_words=False, break_on_hyphens=False)
    return "\n".join([*lines, f"{more}-> reenact {command}"] if arrow else lines)


def folded_error(text: str, width: int = 80) -> str:
    """An error, wrapped to a width: the message, and the likely cause below it. A command stays on one line."""
    out = []
    for line in text.splitlines():
        more = " " * (len(line) - len(line.lstrip()) + 2)
        keeps = len(line) <= width or line.lstrip().startswith(("next: ", "recorded ", "now ", "source "))
        out += (
            [line]
            if keeps
            else textwrap.wrap(line, width, subsequent_indent=more, break_long_words=False, break_on_hyphens=False)
        )
    return "\n".join(out)


def wrapped(head: str, text: str, width: int) -> Iterator[str]:
    """A text after a head, wrapped; further lines are indented to the beginning of the text."""
    lines = textwrap.wrap(text, max(width - len(head), _NARROW // 2), break_on_hyphens=False) or [""]
    for n, line in enumerate(lines):
        yield f"{head if n == 0 else ' ' * len(head)}{line}"


def binary_stdout() -> IO[bytes]:
    """Standard output as a stream for exact bytes."""
    sys.stdout.flush()
    return sys.stdout.buffer


def _colour() -> bool | None:
    return False if os.environ.get("NO_COLOR") else None


def paint(text: str, **style: Any) -> str:
    """Text with a style; click removes the style where the stream is no terminal."""
    return click.style(text, **style)


def current(ctx: click.Context) -> Shell:
    """The shell of a running command."""
    return ctx.ensure_object(Shell)


def _set(field: str, wanted: Callable[[Any], Any]) -> Callable[[click.Context, click.Parameter, Any], None]:
    def note(ctx: click.Context, _param: click.Parameter, value: Any) -> None:
        if value:
            setattr(current(ctx), field, wanted(value))

    return note


def common_options() -> list[click.Parameter]:
    """New copies of the options that may come before or after the name of any command."""
    return [
        click.Option(
            ["--store"],
            metavar="URL",
            expose_value=False,
            callback=_set("store_url", str),
            help="Where the runs are: a directory, sqlite:///PATH, memory:. Default: .reenact/, found upwards.",
        ),
        click.Option(
            ["--json"],
            is_flag=True,
            expose_value=False,
            callback=_set("json", bool),
            help="Print JSON Lines.",
        ),
        click.Option(
            ["--no-pager"],
            is_flag=True,
            expose_value=False,
            callback=_set("pager", lambda _: False),
            help="Never use a pager.",
        ),
    ]


def again(ctx: click.Context, *more: str, **instead: str | bool | None) -> str:
    """The running command line with all its options, for the user to type again.

    Args:
        ctx: The context of the command.
        *more: Further words, at the end.
        **instead: Other values of parameters, by their names; the value None leaves the parameter out.
    """
    words = ["reenact", *ctx.command_path.split()[1:]]
    typed_in = (param for param in ctx.command.params if param.expose_value and param.name)
    for param in typed_in:
        name = str(param.name)
        given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        value = instead.get(name, ctx.params.get(name) if given else None)
        for each in value if isinstance(value, tuple) else (value,):
            if each not in (None, False):
                words += param.opts[-1:] if isinstance(param, click.Option) else ()
                words += () if each is True else (str(each),)
    return typed([*words, *more])


class Command(click.Command):
    """A command that also takes the common options, and shows an example at the end of its help.

    Args:
        example: Command lines shown at the end of the help, without the prompt.
        *args, **kwargs: The arguments of ``click.Command``.
    """

    def __init__(self, *args: Any, example: str = "", **kwargs: Any) -> None:
        kwargs["params"] = [*(kwargs.get("params") or ()), *common_options()]
        super().__init__(*args, **kwargs)
        self.example = example

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example."""
        if self.example:
            with formatter.section("Example"):
                for text in self.example.strip().splitlines():
                    formatter.write(f"{'':{formatter.current_indent}}{text.strip()}\n")
        super().format_epilog(ctx, formatter)
