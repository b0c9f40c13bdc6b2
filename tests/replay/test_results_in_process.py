"""A replay in this process compares what its lanes print and declared files, and says what it cannot."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import reenact


@reenact.tool(effect="read")
def look(what: str) -> str:
    """A tool that prints: its body does not run in a replay, and what it prints is not compared."""
    print("the tool looks at", what)
    return what


@pytest.fixture
def store(request: pytest.FixtureRequest) -> Iterator[reenact.Store]:
    with reenact.open_store(f"memory:{request.node.nodeid}") as opened:
        yield opened


def _agent(words: str, *, again: str = "", error: str = "", ended: Any = None) -> Any:
    def agent(question: str) -> Any:
        print(words, question)
        look(question)
        print(f"trouble{error}", file=sys.stderr)
        if again:
            print(again)
        return ended

    return agent


def test_the_same_output_is_the_same(store: reenact.Store, capsys: pytest.CaptureFixture[str]) -> None:
    reenact.record(_agent("asked"), store=store)("why?")
    print("somebody else prints between")
    replayed = reenact.replay("@", entry=_agent("asked"), store=store)
    assert (replayed.verdict, replayed.report.differences, replayed.report.remarks) == ("exact", (), ())
    assert b"".join(store.open("@").printed(1)) == b"asked why?\n"
    assert capsys.readouterr().out.count("the tool looks") == 1


@pytest.mark.parametrize(
    ("changed", "stream"),
    [
        (_agent("asks"), "stdout"),
        (_agent("asked", again="more"), "stdout"),
        (_agent("asked", error="!"), "stderr"),
    ],
)
def test_another_print_is_different(store: reenact.Store, changed: Any, stream: str) -> None:
    reenact.record(_agent("asked"), store=store)("why?")
    replayed = reenact.replay("@", entry=changed, store=store)
    assert replayed.verdict == "different" and replayed.report.exit_code == 1
    assert [difference.what for difference in replayed.report.differences] == [stream]


def test_tasks_and_blocks_are_compared_too(store: reenact.Store) -> None:
    async def say(what: str) -> None:
        print("a task says", what)

    async def main(words: str) -> None:
        await asyncio.gather(*(say(f"{words} {n}") for n in range(3)))

    reenact.record(main, store=store)  # not called: nothing is recorded
    asyncio.run(reenact.record(main, store=store)("hello"))
    assert reenact.replay("@", entry=main, store=store).verdict == "exact"
    with reenact.record(store=store):
        print("in a block")
    assert reenact.replay("@", entry=lambda: print("in a block"), store=store).verdict == "exact"
    assert reenact.replay("@", entry=lambda: None, store=store).verdict == "different"


def test_declared_files_of_a_function_are_compared(
    store: reenact.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def agent(text: str = "one") -> None:
        (tmp_path / "answer.txt").write_text(text)

    reenact.record(agent, store=store, policy=reenact.Policy(files=("*.txt",)))()
    assert reenact.replay("@", entry=agent, store=store).verdict == "exact"
    (difference,) = reenact.replay("@", entry=lambda: agent("two"), store=store).report.differences
    assert (difference.what, difference.data["file"]) == ("file", "answer.txt")


def test_what_cannot_be_compared_is_said(store: reenact.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    reenact.record(_agent("asked"), store=store)("why?")
    run = store.run("@")
    for kept, words in (("process", "a whole process was recorded"), (None, "it was not recorded")):
        capture = {name: value for name, value in run.capture.items() if name != "output"}
        store.conclude(replace(run, capture={**capture, **({"output": kept} if kept else {})}))
        replayed = reenact.replay("@", entry=_agent("other words"), store=store)
        assert replayed.verdict == "exact"
        assert any(words in remark for remark in replayed.report.remarks)


MODULE = """
import sys, reenact

print("the module is imported")


@reenact.record(store={url!r})
def agent(question):
    print("asked", question)
    print("trouble", file=sys.stderr)
    return question


if __name__ == "__main__":
    print("it begins")
    agent("why?")
    print("it ends")
"""


def test_a_fresh_interpreter_compares_what_the_function_printed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    script = tmp_path / "program.py"
    script.write_text(MODULE.format(url=url))
    subprocess.run([sys.executable, "program.py"], cwd=tmp_path, check=True, capture_output=True)
    assert reenact.replay("@", store=url).verdict == "exact"
    script.write_text(MODULE.format(url=url).replace('"asked"', '"asks"').replace("imported", "loaded"))
    replayed = reenact.replay("@", store=url)
    assert [difference.what for difference in replayed.report.differences] == ["stdout"]
