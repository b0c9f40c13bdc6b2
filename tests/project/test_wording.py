"""No message, no help text and no document says what was found hard to read: each phrase has a plainer one."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]

PHRASES = {
    "goes on in the world": "makes live calls",
    "what came of it": "the result",
    "say nothing to": "have no effect on",
    "stands twice": "occurs twice",
    "a mode that is none": "an unknown mode",
    "what was true when": "the state at any event",
    "who made it so": "what changed it",
    "no run answers to": "no run matches",
    "no run fits": "no matching runs",
    "several runs begin so": "several ids start with this",
    "there are not so many runs": "there are fewer runs than that",
    "talk to standard error": "messages go to standard error",
    "asks anything else than": "makes a different call than",
    "happen again by itself": "be reproduced on demand",
    "neither refused nor proven": "untested",
    "for the reason of the incident": "until the bug is fixed",
    "must not come back as it was": "a recorded failure kept as a regression test",
    "so it tells nothing": "so it cannot catch a regression",
    "it fails now": "fails on today's code",
    "boundaries crossed": "calls replayed",
    "boundary crossed": "call replayed",
    "crossed no boundary": "made no call",
    "tests none": "cannot catch a regression",
    "unless it says": "it does not say",
    "order not proven of": "the order of N steps is assumed, not proven",
    "prefix did not re-enact": "the code no longer reproduces the events before the fork point",
    "otherwise than": "differently from, a different request",
    "built otherwise": "different now",
    "ended otherwise": "ended differently",
    "ends otherwise": "ends differently",
    "fails otherwise": "fails differently",
    "asked otherwise": "asked differently",
    "used otherwise": "not used like this",
    "what was never asked": "no recorded answer for this call",
    "asked anew": "sent live again, asked again",
    "recorded answers would fit": "more than one recorded call matches",
    "a whole run is needed here": "takes a whole run; remove ':8'",
    "behind the colon": "remove ':8'",
    "is not a label": "labels are written key=value",
    "a label is written": "labels are written key=value",
    "frozen: everything before": "before event N: all frozen",
    "what comes of it": "the result",
    "what is seen.": "what is recorded",
    "what is done already anew": "run everything again",
    "each so often": "N times",
    "so many at a time": "run N in parallel",
    "at most so many": "at most N",
    "gives up a whole diff": "so that git can finish its diff",
    "comes to the same end": "stops at the same place",
    "can say which of them comes first": "their order is undetermined",
    "content coding and all": "exactly as received, including compression",
    "nothing has to be imported": "decorate in-process tools",
    "also prints the same": "also requires identical output",
    "whenever that is": "immediately",
    "has no place in the order any more": "is not in the recorded order",
    "its answer may wait for what we answer": "the answer may depend on one that we hold",
    "a recording has brought nothing": "sessions restored from a recording have no live state",
}
"""What was hard to read, in lower case, and how it is said."""

SUBJECTS = re.compile(r"\b(nobody|somebody|anybody|everybody|whoever)\b")
"""Persons that are none: a message names the program, the client, the answer."""
EXCEPT_SUBJECTS = {
    "docs/how-to/replay-a-run.md",  # the system's user `nobody`
    "docs/how-to/test-with-goldens.md",  # an example: "no order of somebody else"
    "src/reenact/interfaces/cli/commands/flag.py",  # an example: "somebody else's order"
}

PRONOUNS = re.compile(r"(what|whatever|who|whose|whom|whoever|nobody|somebody)\b", re.IGNORECASE)
"""First words of no docstring: it begins with a noun that says which thing it is, or with what the code does."""

AGAIN = re.compile(r"\banew\b")
"""Said as *again*."""
EXCEPT_AGAIN = {"src/reenact/timetravel/forks/plan.py"}
"""A field of plans that earlier versions stored."""


@functools.cache
def _said(path: Path) -> str:
    """What a file says to its reader: all of a document; of a module the literals, and the help of its commands."""
    text = path.read_text(encoding="utf-8")
    return " ".join((text if path.suffix == ".md" else " ¦ ".join(_literals(ast.parse(text)))).lower().split())


def _literals(tree: ast.Module) -> Iterator[str]:
    prose = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            is_command = any("command" in ast.unparse(each) for each in getattr(node, "decorator_list", ()))
            prose |= {id(each.value) for each in node.body if isinstance(each, ast.Expr) and not is_command}
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value


def _files() -> list[Path]:
    """Files that a user reads: the read-me, the documents, the library and the examples."""
    trees = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py"), *(ROOT / "examples").rglob("*.*")]
    files = [ROOT / "README.md", *(path for path in trees if path.suffix in (".md", ".py"))]
    assert len(files) > 500, "the sources were not found"
    return files


def found() -> dict[str, set[str]]:
    """The phrases that each file has."""
    said = {path.relative_to(ROOT).as_posix(): _said(path) for path in _files()}
    return {
        name: there
        for name, text in said.items()
        if (there := {phrase for phrase in PHRASES if re.search(rf"\b{re.escape(phrase)}", text)})
    }


def test_no_text_says_what_was_hard_to_read() -> None:
    assert found() == {}, "say it as PHRASES does"


def _where(pattern: re.Pattern[str]) -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in _files() if pattern.search(_said(path))}


def test_no_text_is_about_nobody() -> None:
    assert _where(SUBJECTS) == EXCEPT_SUBJECTS


def _docstrings(path: Path) -> Iterator[str]:
    """Those of modules, classes and functions, and the texts below names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            values = [each.value for each in node.body if isinstance(each, ast.Expr)]
            yield from (each.value for each in values if isinstance(each, ast.Constant) and isinstance(each.value, str))


def _pronouns(files: Iterable[Path]) -> list[str]:
    return [f"{path.stem}: {text[:60]}" for path in files for text in _docstrings(path) if PRONOUNS.match(text.strip())]


def test_no_docstring_begins_with_a_pronoun() -> None:
    assert _pronouns((ROOT / "src").rglob("*.py")) == [], "begin with the noun that says which thing it is"


def test_a_docstring_that_begins_with_a_pronoun_is_found(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    text = '"""A module."""\nLEFT = 1\n"""What is left."""\nclass Who:\n    """\n    Whose it is."""\n'
    module.write_text(text)
    assert len(_pronouns([module])) == 2


def test_no_text_says_anew() -> None:
    assert _where(AGAIN) == EXCEPT_AGAIN


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ('raise UsageError("no run fits")', {"no run fits"}),
        ('raise UsageError(f"{name}: it tells, so it " f"tells nothing {why}")', {"so it tells nothing"}),
        ('@click.command()\ndef ls():\n    """Show at most so many."""', {"at most so many"}),
        ('def ls():\n    """Show at most so many."""', set()),
        ("no_run_fits = 1  # no run fits", set()),
    ],
)
def test_only_what_a_user_reads_is_looked_at(text: str, heard: set[str], tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(text)
    assert {phrase for phrase in PHRASES if phrase in _said(module)} == heard


_OWN = """
    alarm ambient asker async backend boot candidate cell claim colour conduct counterparts course court cover
    crossing dialect divergence elapsed escapes exchange face features flight folding fork frame frozen gate gist
    golden growing guard halt handles heir hidden incident joiner kit ladder lane layers ledger mutation needles
    node opinion passages permits piece plumbing portions preamble rebinding redactor relocation rerun resource rest
    scene session sightings slot speech splice story strands strength surroundings suspect suspension switchboard
    tag tails tap tape taped thinned tombstone turn waiter watch weaving wraps
"""
OWN_WORDS = frozenset(_OWN.split())
"""What names of modules and classes are made of, and neither plain English nor a term of the field says."""


def _stem(word: str) -> str:
    return word.lower().removesuffix("s")


def _words_of_names() -> set[str]:
    modules = list((ROOT / "src" / "reenact").rglob("*.py"))
    names = [path.stem for path in modules]
    for path in modules:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names += [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return {_stem(word) for name in names for word in re.findall(r"[A-Z]?[a-z]+", name)}


def test_the_glossary_holds_the_words_that_names_are_made_of() -> None:
    headings = re.findall(r"^\| \*\*(.+?)\*\*", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"), re.M)
    explained = {_stem(word) for heading in headings for word in re.findall(r"[A-Za-z]+", heading)}
    used = _words_of_names()
    assert {word for word in OWN_WORDS if _stem(word) not in used} == set(), "no name has these any more"
    assert {word for word in OWN_WORDS if _stem(word) not in explained} == set(), "explain these in docs/glossary.md"
