"""Reports in Markdown: what they tell, and that no text of a run becomes markup."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from reenact.abc.store import Store
from reenact.timetravel.markdown_report import MOST, comparison_report, run_report
from reenact.timetravel.markup import LONGEST, block, cell, code
from reenact.timetravel.run_comparison import compare_all

from .conftest import Bring, Tried

HOSTILE = '![](http://evil.example/x.png) | <img src="http://evil.example"> ``` # Title\n\n[a](http://evil.example)'


def _line(asked: str, said: str) -> str:
    told = {"model": "gpt-5", "choices": [{"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}]}
    request = {"model": "gpt-5", "messages": [{"role": "user", "content": asked}]}
    return json.dumps({"request": request, "response": told})


def _kinds(markdown: str) -> set[str]:
    """The kinds of everything that a renderer makes of a text."""
    found = set()
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        found |= {token.type, *(child.type for child in token.children or ())}
    return found


def test_it_tells_what_was_asked_and_said(bring: Bring, store: Store) -> None:
    (run,) = bring("messages", "\n".join(_line(f"question {n}", f"answer {n}") for n in range(3)))
    told = run_report(store.open(run))
    assert told.startswith(f"# Run {run.id[-8:]}\n")
    for wanted in (
        "## Question\n\n```text\nquestion 0\n```",
        "## What happened",
        "```text\nanswer 2\n```",
        "### 1: `gpt-5`",
    ):
        assert wanted in told


def test_a_text_of_a_run_is_never_markup(bring: Bring, store: Store) -> None:
    (run,) = bring("messages", _line(HOSTILE, HOSTILE))
    told = run_report(store.open(run))
    assert "evil.example" in told
    assert not _kinds(told) & {"image", "link_open", "html_inline", "html_block"}
    assert {"table_open", "fence", "code_inline"} <= _kinds(told)
    rows = [line for line in told.splitlines() if line.startswith("| 0 |")]
    assert len(rows) == 1 and rows[0].replace("\\|", "").count("|") == 6, "a pipe in a text opens no column"


@given(said=st.text(alphabet=st.sampled_from("`~#|<>!()[] \n\\a"), max_size=60))
def test_no_text_ends_its_block(said: str) -> None:
    fences = [token for token in MarkdownIt("commonmark").parse(block(said)) if token.level == 0]
    assert [token.type for token in fences] == ["fence"]
    found = [token.type for each in MarkdownIt("commonmark").parse(code(said)) for token in each.children or ()]
    assert found in ([], ["code_inline"])


@given(said=st.text(alphabet=st.sampled_from("`~|@<&;\\a "), max_size=60))
def test_no_text_ends_its_cell(said: str) -> None:
    assert cell("\\|") == "`\\ \\|`", "where the backslash escapes itself, the bar would end the cell"
    table = f"| a | b |\n|---|---|\n| {cell(said)} | c |\n"
    tokens = MarkdownIt("commonmark").enable("table").parse(table)
    inner = [[child.type for child in token.children or ()] for token in tokens if token.type == "inline"]
    assert inner in (
        [["text"], ["text"], [], ["text"]],
        [["text"], ["text"], ["code_inline"], ["text"]],
    )


def test_what_is_long_is_cut_and_says_so(bring: Bring, store: Store) -> None:
    many = MOST + 7
    (run,) = bring("messages", "\n".join(_line(f"q {n}", "x" * (LONGEST + 5)) for n in range(many)))
    told = run_report(store.open(run))
    assert told.count("… 5 more characters") == MOST
    assert "7 answers between the first and the last are left out: `reenact show --all` has them." in told


def test_two_runs_stand_beside_each_other(bring: Bring, store: Store) -> None:
    (one,) = bring("messages", _line("q", "Refund it."))
    (other,) = bring("messages", _line("q", "Refuse it."))
    told = comparison_report(compare_all([store.open(one), store.open(other)])[0])
    assert f"# Run {one.id[-8:]} beside {other.id[-8:]}" in told
    assert "### 0 and 0: " in told and "Refuse it." in told
    same = comparison_report(compare_all([store.open(one), store.open(one)])[0])
    assert "None: all events are the same." in same


@pytest.fixture
def recorded(desk: Tried) -> Tried:
    """A desk with a run of a program."""
    desk.writes("agent.py", "print('hello')")
    assert desk.record(["python", "agent.py"]).code == 0
    return desk


def test_the_command_writes_it(recorded: Tried) -> None:
    to_file = recorded.reenact("export", "markdown", "@", "-o", "report.md")
    assert to_file.code == 0 and b"written to report.md" in to_file.err
    out = recorded.reenact("export", "markdown")
    assert out.out == (recorded.folder / "report.md").read_bytes()
    assert b"## Answer\n\n```text\nhello\n```" in out.out
    assert recorded.reenact("pack", "@", "-o", "bug.reenact").code == 0
    assert recorded.reenact("export", "markdown", "bug.reenact").out.startswith(b"# Run ")


def test_only_a_report_takes_two_runs(recorded: Tried) -> None:
    refused = recorded.reenact("export", "har", "@", "@")
    assert (refused.code, b"only markdown compares" in refused.err) == (2, True)
