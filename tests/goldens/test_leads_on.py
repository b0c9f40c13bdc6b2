"""A golden that is refused or lacks an answer says what is true, and leads on by what can be typed as it stands."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from reenact.facts.run import Run
from reenact.testing.goldens.golden_outcome import Outcome
from reenact.testing.goldens.golden_refusals import not_re_enacted
from reenact.testing.goldens.golden_trace import Golden
from tests.programs import read_program

from .project import Project

AGENT = read_program("goldens/search_and_book.py")
MENDED = AGENT.replace("book(sys.argv[1])", "book(sys.argv[1], rate(sys.argv[1]))")
PRICED = "calls(rate) == 1"


class Shop(Project):
    """A project with two runs that book without a price, and one whose tool returns an object of an undeclared type."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.write(AGENT)
        self.runs = {question: self._recorded(question) for question in ("room", "hall", "object")}

    def _recorded(self, question: str) -> str:
        self.run("record", "--", sys.executable, "agent.py", question)
        return str(json.loads(self.run("ls", "--json", "-n", "1").stdout)["run"])

    def keep(self, question: str, name: str, *options: str, status: int = 0) -> str:
        """``golden add``; gives what it says."""
        return self.run("golden", "add", self.runs[question], "--as", name, *options, status=status).stderr

    def type(self, line: str) -> str:
        """A command as it was printed; gives what it says."""
        done = self.run(*shlex.split(line)[1:])
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """The project. Each test begins without goldens."""
    return Shop(tmp_path_factory.mktemp("project"))


@pytest.fixture(autouse=True)
def _as_it_was(shop: Shop) -> None:
    shop.write(AGENT)
    shutil.rmtree(shop.folder / "tests", ignore_errors=True)


def test_the_fork_that_is_printed_may_call_what_the_run_called_and_gives_the_golden_its_answers(shop: Shop) -> None:
    shop.write(MENDED)
    said = shop.keep("room", "priced", "--expect", PRICED)
    fork, add = (
        line.strip() for line in said.partition("record its answers (book may be called)")[2].splitlines()[1:3]
    )
    assert fork.endswith(":0 --live reads --allow-write book"), "rate only reads"
    assert said.endswith(f"next: {fork}\n"), said
    assert "status: ok" in shop.type(fork)
    assert "passes on today's code: 3 calls replayed" in shop.type(add)


def test_a_golden_that_is_there_is_replaced_by_the_same_command_with_every_option_of_it(shop: Shop) -> None:
    options: tuple[str, ...] = ("--expect", PRICED, "--holds", "calls(book) == 1", "--about", "no price")
    options += ("--answer", "rate=8", "--answer", "book=0")
    shop.write(MENDED)
    shop.keep("room", "kept", *options, "--no-test")
    said = shop.keep("room", "kept", *options, "--on-miss", "scripted", "--no-test", status=2)
    again = said.rpartition("next: ")[2].strip()
    assert shlex.split(again)[1:4] == ["golden", "add", shop.runs["room"][-8:]], again
    typed = ["--about", "no price", *options[:4], "--on-miss", "scripted", *options[6:], "--no-test", "--force"]
    assert shlex.split(again)[6:] == typed, again
    assert "passes on today's code" in shop.type(again), "its answers are there as they were"


def test_a_stale_golden_names_the_fork_that_records_all_its_answers_and_one_that_was_stopped_says_so(
    shop: Shop,
) -> None:
    shop.write(MENDED)
    shop.keep("hall", "priced", "--expect", PRICED)
    drifted, ran = (shop.run("golden", each, "priced", status=3).stdout for each in ("drift", "run"))
    fork, add = drifted.partition("all answers at once: ")[2].split("`")[1:4:2]
    assert fork == "reenact fork @golden/priced:0 --live reads --allow-write book"
    assert f"`{fork}`, then `{add}` records all answers at once" in ran
    refused = shop.run(*shlex.split(fork)[1:-2], status=5).stderr
    stopped = shop.run(*shlex.split(add)[1:], status=2).stderr
    assert "was stopped at a refused write: it has no end" in stopped, stopped
    allowed = stopped.rpartition("next: ")[2].strip()
    assert allowed in refused and allowed.endswith("--allow-write book")
    assert "status: ok" in shop.type(fork)
    assert "passes on today's code: 3 calls replayed" in shop.type(add)
    shop.write(MENDED.replace("rate(sys.argv[1])", "rate('a ' + sys.argv[1])"))
    for command in ("run", "drift"):
        told = shop.run("golden", command, "priced", status=3).stdout
        again = next(each for each in told.split("`") if each.startswith("reenact golden add ") and each.endswith("@"))
        assert again.count("--fixed") == 1 and f"add {shop.runs['hall'][-8:]} " in again, again


def test_an_answer_that_no_code_can_be_given_again_is_no_change_of_the_code(shop: Shop) -> None:
    for options in (("--expect", PRICED), ()):
        said = shop.keep("object", "object", *options, status=3)
        assert "a recorded value was a __main__.Doc, and the code does not declare that type there" in said
        assert "has changed" not in said and f"next: reenact kit {shop.runs['object'][-8:]}" in said, said
    assert "annotate what it returns" in shop.type(f"reenact kit {shop.runs['object']}")


def test_a_call_without_an_answer_is_a_change_of_the_code() -> None:
    told = "golden new is stale: look at a.py:1\n  likely cause: it asks\n  next: reenact golden run new"
    outcome = Outcome("new", "new.reenact", "stale", message=told, stale_at="look")
    error = not_re_enacted(Golden("new"), Run("01m8fckpbvypdjf739"), outcome)
    assert error.cause == "the code, or its requests, have changed since the run was recorded"
    assert (error.next_command, "it asks" in error.message) == ("reenact replay ypdjf739", False)


def test_a_refused_golden_leaves_no_folder_and_the_next_one_clears_what_a_killed_one_left(shop: Shop) -> None:
    shop.keep("object", "deep/object", "--expect", PRICED, status=3)
    assert not (shop.folder / "tests").exists()
    goldens = shop.folder / "tests" / "goldens"
    goldens.mkdir(parents=True)
    for name in ("room.draft-0123abcd", "roomy.draft-0123abcd"):
        (goldens / f"{name}.reenact").write_bytes(b"half of it")
    shop.keep("room", "room", "--holds", "calls(rate) == 0")
    assert {each.name for each in goldens.iterdir()} == {"room.reenact", "roomy.draft-0123abcd.reenact"}
    assert (
        shop.run("golden", "ls").stdout.startswith("room  ")
        and "next: reenact golden run\n" in shop.run("golden", "ls").stderr
    )


def test_a_copy_of_a_file_is_a_golden_of_its_own_name(shop: Shop) -> None:
    shop.keep("room", "room", "--expect", PRICED)
    goldens = shop.folder / "tests" / "goldens"
    (goldens / "old").mkdir()
    shutil.copy(goldens / "room.reenact", goldens / "old" / "copy.reenact")
    listed = [json.loads(line) for line in shop.run("golden", "ls", "--json").stdout.splitlines()]
    assert [(each["name"], each["file"]) for each in listed] == [
        ("old/copy", "tests/goldens/old/copy.reenact"),
        ("room", "tests/goldens/room.reenact"),
    ]
    shop.write(MENDED)
    assert "golden old/copy is stale" in shop.run("golden", "run", "old/copy", status=3).stdout


def test_the_history_shows_the_answers_that_a_person_wrote(shop: Shop) -> None:
    shop.write(MENDED)
    shop.keep("room", "priced", "--expect", PRICED, "--answer", "rate=8", "--answer", 'book={"booked": "room"}')
    lines = shop.run("golden", "ls", "--history").stdout.splitlines()
    assert lines[-2:] == ["    scripted  rate = 8", '    scripted  book = {"booked": "room"}'], lines
