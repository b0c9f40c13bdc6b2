"""Events, model calls and runs can be named as they are shown, and a miss lists what there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from reenact import fork
from reenact.errors import UsageError
from reenact.facts.difference import words
from reenact.facts.expressions import compile_expression
from reenact.facts.ids import made_us, make_run_id, tail
from reenact.facts.run import Run, Status
from reenact.interfaces.cli.shell import folded, folded_error
from reenact.store import open_store
from reenact.store.memory_store import MemoryStore
from reenact.timetravel.vocabulary import RUN_WORDS, RunScope
from tests.cli import scenes

Cli = Callable[..., Any]

ASKED = {"model_asked": "gpt-5.4", "model_answered": "gpt-5.4-2025-08-07", "text": "ok"}


@pytest.fixture
def asked(record_store: Any) -> Any:
    """A run that asked a model twice, and a tool between."""
    scene = scenes.Scene(record_store, 1)
    scene.http(b"{}", b"{}", reading=ASKED)
    scene.tool("refund", None, order="4471")
    scene.http(b"{}", b"{}", reading=ASKED)
    scene.print("it came to ")
    scene.print("nothing: a bicycle\n")
    return scene.close(Status.FAILED, error="RuntimeError: declined")


@pytest.mark.parametrize("name", ["gpt-5.4", "gpt-5.4-2025-08-07", "POST api.openai.test"])
def test_a_model_call_is_named_by_its_model_as_show_names_it(asked: Any, reenact: Cli, name: str) -> None:
    assert reenact("show", f"@:{name}#2", "--json").data[0]["event"] == 2
    assert reenact("show", f"@:{name}", "--json").data[0]["event"] == 0
    assert [line.split()[2] for line in reenact("show", "@").lines if " model " in line] == ["gpt-5.4", "gpt-5.4"]


@pytest.mark.parametrize(
    ("command", "leads"),
    [
        (("fork", "--dry-run"), "reenact fork {} --dry-run"),
        (("resume",), "reenact show {}"),
        (("resend", "--dry-run"), "reenact resend {} --dry-run"),
    ],
)
def test_a_command_that_takes_one_event_takes_no_part_and_no_stretch(
    asked: Any, record_store: Any, reenact: Cli, command: tuple[str, ...], leads: str
) -> None:
    name, *options = command
    for text, says, event in (
        ("@:1..2", "1..2 names several", "@:1"),
        ("@:gpt-5.4#1.response.body", "response.body is a field of event gpt-5.4#1", "'@:gpt-5.4#1'"),
    ):
        answer = reenact(name, text, *options)
        assert answer.code == 2 and f"{name} takes one event, and {says}" in answer.err
        assert f"next: {leads.format(event)}\n" in answer.err
    assert [run.id for run in record_store.runs()] == [asked.id], "nothing is made"


def test_code_names_one_event_to_fork_at(asked: Any, record_store: Any) -> None:
    for at in ("1..2", "1.response.body"):
        with pytest.raises(UsageError, match=f"fork {tail(asked.id)}:1 --dry-run"):
            fork(asked, at, store=record_store, dry_run=True)


def test_a_miss_lists_the_names_there_are(asked: Any, reenact: Cli) -> None:
    answer = reenact("show", "@:refnd")
    assert answer.code == 2 and "no event called 'refnd'; did you mean refund?" in answer.err
    assert "its events are gpt-5.4 (2), refund (1)" in answer.err
    assert "only 2 events called 'gpt-5.4'" in reenact("show", "@:gpt-5.4#3").err


@pytest.mark.parametrize(
    "where",
    [
        "stdout == 'it came to nothing: a bicycle\\n'",
        "'bicycle' in stdout and stderr == ''",
        "error == 'RuntimeError: declined'",
        "calls('gpt-5.4') == 2",
    ],
)
def test_printed_output_and_models_are_in_the_expressions(asked: Any, record_store: Any, where: str) -> None:
    assert compile_expression(where, RUN_WORDS).holds(RunScope(asked, lambda: record_store.open(asked)))


@pytest.mark.parametrize("url", ["memory:", "sqlite:///{path}/store"])
def test_printed_output_is_searched(url: str, tmp_path: Any) -> None:
    with a_store(url, tmp_path) as store:
        scene = scenes.Scene(store, 1)
        scene.print("it came to a bic")
        scene.print("ycle\n")
        run = scene.close(Status.OK)
        other = scenes.Scene(store, 2)
        other.close(Status.OK)
        assert [each.id for each in store.runs(text="bicycle")] == [run.id]


def test_unrelated_texts_stand_one_after_the_other() -> None:
    left, right = "The order was refunded in full.", "I am sorry, the bicycle cannot be sent to Lima before May."
    assert words(left, right) == [("-", left), ("+", right)]
    alike = words("The order was refunded in full.", "The order was refunded in part.")
    assert [verb for verb, _ in alike] == ["=", "-", "+", "="]


def a_store(url: str, folder: Any) -> Any:
    """An empty store; what ``memory:`` opens is one for the whole process."""
    return MemoryStore() if url == "memory:" else open_store(url.format(path=folder))


def run_of(moment_us: int, entropy: int, **fields: Any) -> Run:
    return Run(make_run_id(moment_us, bytes([entropy] * 5)), started_us=moment_us, **fields)


@pytest.mark.parametrize("url", ["memory:", "sqlite:///{path}/store"])
def test_a_run_is_newer_that_was_made_later_whatever_it_says_of_its_start(url: str, tmp_path: Any) -> None:
    with a_store(url, tmp_path) as store:
        old = run_of(scenes.START_US, 9)
        twins = [run_of(scenes.START_US + 5_000_000, each) for each in (200, 100)]  # of one millisecond
        replay = replace(run_of(scenes.START_US + 9_000_000, 1), started_us=old.started_us)
        for run in (old, *twins, replay):
            store.begin(run).close()
        assert [run.id for run in store.runs()] == [replay.id, twins[1].id, twins[0].id, old.id]
        assert [store.run("@" + f"~{n}" * bool(n)).id for n in range(4)] == [run.id for run in store.runs()]
        assert made_us(replay.id) == scenes.START_US + 9_000_000


@pytest.mark.parametrize("url", ["memory:", "sqlite:///{path}/store"])
def test_what_is_displayed_goes_before_the_part_of_an_id_that_is_not(url: str, tmp_path: Any) -> None:
    with a_store(url, tmp_path) as store:
        runs = [run_of(scenes.START_US + each, each) for each in (0, 100, 200)]
        for run in runs:
            store.begin(run).close()
        assert all(run.id.startswith("0") for run in runs)
        assert store.run(tail(runs[0].id)[0]).id == runs[0].id
        assert {store.run(tail(run.id)).id for run in runs} == {run.id for run in runs}
        assert store.run(runs[1].id).id == runs[1].id


def test_a_list_is_as_wide_as_the_terminal_and_says_what_was_asked(filled: Any, reenact: Cli) -> None:
    for width in (80, 140):
        lines = reenact("ls", env={"COLUMNS": str(width)}).lines
        assert max(map(len, lines)) <= width and lines[0].split()[-1] == "QUESTION"
    fork = scenes.Scene(filled, 7, parent=next(filled.runs()).id, relation="fork", fork_event=4)
    fork.close(Status.OK)
    assert f"fork of {tail(fork.run.parent or '')} at #4" in reenact("ls").lines[1]


def test_a_long_line_is_folded_for_a_terminal_and_a_command_is_not() -> None:
    line = "reenact: verdict: same (exact)  live calls made: 0  matched 2 of 2  fidelity: redacted  enforcement: none"
    lines = folded(line).splitlines()
    assert len(lines) == 2 and max(map(len, lines)) <= 80 and lines[1].startswith("         ")
    assert " ".join("".join(lines).split()) == " ".join(line.split())
    recorded = folded(f"reenact: z5n80fhm  failed: RuntimeError: {'declined ' * 9}  -> reenact show z5n80fhm")
    assert recorded.splitlines()[-1] == "         -> reenact show z5n80fhm"
    command = f"reenact: next: reenact fork @:4 --result {'x' * 80}"
    assert folded(command) == command and folded("short") == "short"


def test_an_error_is_folded_for_a_terminal_and_its_command_is_not() -> None:
    command = f"  next: reenact record -- python {'x' * 90}.py"
    cause = "no run of this store has failed; " * 4
    text = f"reenact: no run matches '@failed'\n  likely cause: {cause.strip()}\n{command}"
    lines = folded_error(text).splitlines()
    assert lines[0] == text.splitlines()[0] and lines[-1] == command
    assert len(lines) > 3 and max(map(len, lines[:-1])) <= 80 and lines[2].startswith("    ")
    assert " ".join(" ".join(lines).split()) == " ".join(text.split())
