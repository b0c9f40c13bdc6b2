"""Reads documents as something to type: code blocks out of Markdown, run as a reader would run them.

A block ``python title=agent.py`` (any language) is saved under that name. A block ``python`` without a title is run.
In a block ``console`` each line that starts with ``$ `` is typed, and the lines under it must be printed, in that
order, where ``…`` stands for anything; a command that ends in ``# exit status 1`` must end so. A comment
``<!-- not typed: why -->`` right before a block leaves it out; ``<!-- or: text -->`` lets a command end with 3 where it
says that text, for what this machine may forbid.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(
    r"(?:<!-- (?:not typed: (?P<why>[^\n]+?)|or: (?P<refusal>[^\n]+?)) -->\n+)?"
    r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """One code block, as it stands in a document.

    Attributes:
        language, title, text: Its language, the file it is saved as, its text.
        line: Its line in the document.
        skipped: Why it is left out.
        refusal: Words of a refusal that may stand in its place.
    """

    language: str
    title: str
    text: str
    line: int
    skipped: str
    refusal: str


def blocks(document: Path) -> list[Block]:
    """All code blocks of a document, in order."""
    text = document.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        words = match["info"].split()
        titles = [word.removeprefix("title=") for word in words[1:] if word.startswith("title=")]
        line = text.count("\n", 0, match.start("info")) + 1
        title = titles[0] if titles else ""
        language = words[0] if words else ""
        found.append(Block(language, title, match["text"], line, match["why"] or "", match["refusal"] or ""))
    return found


def type_out(
    document: Path,
    folder: Path,
    env: Mapping[str, str],
    *,
    timeout: float = 600,
    printed: dict[str, str] | None = None,
) -> int:
    """Do what a document says, block by block; an AssertionError names the line that does not hold.

    Args:
        document: The Markdown file.
        folder: Where the reader stands.
        env: The reader's environment; ``cd`` and ``export`` last from one block to the next.
        timeout: Seconds for each command.
        printed: Gets what each command has printed.

    Returns:
        How many blocks were done.
    """
    done = 0
    prelude: list[str] = []
    for block in blocks(document):
        place = f"{document.name}:{block.line}"
        if block.skipped or (not block.title and block.language not in {"console", "python"}):
            continue
        done += 1
        if block.title:
            (folder / block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            ran = subprocess.run(
                ["python", "-c", block.text], cwd=folder, env=dict(env), capture_output=True, text=True, timeout=timeout
            )
            assert ran.returncode == 0, f"{place}: the example fails\n{ran.stdout}{ran.stderr}"
        else:
            _type_console(block, place, folder, env, prelude, timeout, printed if printed is not None else {})
    return done


def _type_console(
    block: Block,
    place: str,
    folder: Path,
    env: Mapping[str, str],
    prelude: list[str],
    timeout: float,
    printed: dict[str, str],
) -> None:
    for command, expected in _commands(block.text):
        wanted_status = int(_status[1]) if (_status := re.search(r"# exit status (\d+)$", command)) else 0
        script = "\n".join([*prelude, command])
        ran = subprocess.run(
            ["bash", "-c", script],
            cwd=folder,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
        )
        printed[command] = ran.stdout
        if block.refusal and ran.returncode == 3 and block.refusal in " ".join(ran.stdout.split()):
            continue
        assert ran.returncode == wanted_status, f"{place}: $ {command}\nended with {ran.returncode}:\n{ran.stdout}"
        missing = first_missing(expected, ran.stdout.splitlines())
        assert missing is None, f"{place}: $ {command}\ndid not print: {missing}\nbut:\n{ran.stdout}"
        if command.startswith(("cd ", "export ", ". ", "source ")):
            prelude.append(command)


def _commands(text: str) -> list[tuple[str, list[str]]]:
    commands: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        elif line.startswith("> ") and commands and not commands[-1][1]:
            commands[-1] = (f"{commands[-1][0]}\n{line[2:]}", [])
        elif line.strip() and commands:
            commands[-1][1].append(line)
    return commands


def first_missing(expected: list[str], printed: list[str]) -> str | None:
    """The first expected line that is not among the printed ones, in order; ``…`` stands for anything."""
    at = 0
    for line in expected:
        pattern = re.compile(".*".join(re.escape(part) for part in line.strip().split("…")))
        while at < len(printed) and not pattern.fullmatch(printed[at].strip()):
            at += 1
        if at == len(printed):
            return line
        at += 1
    return None
