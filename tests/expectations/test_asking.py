"""Graders are functions of this project alone; a model's opinion is asked once, recorded, and had again offline."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact.abc.store import Recording
from reenact.errors import StoreError, UnreplayableRun, UsageError
from reenact.store.memory_store import MemoryStore
from reenact.testing import ProviderProcess, weak
from reenact.testing.expectations.courts import Opinion, Question
from reenact.testing.expectations.expectation import expect
from reenact.testing.expectations.kept_opinions import TAG, KeptOpinions
from tests.programs import read_program

GRADERS = read_program("expectations/graders_of_a_house.py")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with graders, as the working directory."""
    root = tmp_path / "project"
    (root / "tests" / "deep").mkdir(parents=True)
    (root / "pyproject.toml").write_text("")
    (root / "tests" / "house_graders.py").write_text(GRADERS)
    (root / "tests" / "deep" / "more.py").write_text("def fine(run):\n    return True\n")
    (tmp_path / "outside_graders.py").write_text("import sys\nsys.outside_ran = True\ndef fine(run): return True\n")
    (root / "linked_graders.py").symlink_to(tmp_path / "outside_graders.py")
    monkeypatch.chdir(root)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield root
    for name in ("house_graders", "deep", "deep.more", "json_graders"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("text", "holds", "seen"),
    [
        ("grade('house_graders:polite')", False, "grade('house_graders:polite')"),
        ("grade('house_graders:complains')", False, "20 searches for refund policy"),
        ("grade('house_graders:scored', 0.5)", False, "its score is 0.05, 0.5 is enough"),
        ("grade('house_graders:scored', 0.01)", True, ""),
        ("grade('house_graders:asserts')", False, "it went on searching"),
        ("grade('house_graders:looks')", True, ""),
        ("grade('house_graders:lambda_one')", True, ""),
        ("grade('deep.more:fine')", True, ""),
        ("not grade('house_graders:polite') and calls(search_docs) == 20", True, ""),
        ("grade('house_graders:scored')", None, "say how much is enough"),
        ("grade('house_graders:nothing')", None, "it returned NoneType"),
        ("grade('house_graders:broken')", None, "it raised KeyError: 'oops'"),
        ("grade('house_graders:later')", None, "it is a coroutine function"),
    ],
)
def test_a_grader_judges_in_its_own_words(
    project: Path, bad: Recording, text: str, holds: bool | None, seen: str
) -> None:
    verdict = expect(text).judge(bad)
    assert verdict.holds is holds and seen in verdict.seen


@pytest.mark.parametrize(
    "target",
    [
        "os:system", "os.path:join", "json:loads", "house_graders:getcwd", "house_graders:os", "house_graders:missing",
        "outside_graders:fine", "linked_graders:fine", "../outside_graders:fine", "house_graders", "house_graders:a.b",
        "builtins:exec", "tests:fine", "nowhere:fine",
    ],
)  # fmt: skip
def test_nothing_outside_the_project_is_called_or_imported(project: Path, bad: Recording, target: str) -> None:
    with pytest.raises(UsageError, match="cannot be used"):
        expect(f"grade({target!r})").judge(bad)
    assert not hasattr(sys, "outside_ran")


def test_a_module_that_another_one_hides_is_refused(project: Path, bad: Recording) -> None:
    (project / "json.py").write_text("import sys\nsys.outside_ran = True\ndef fine(run): return True\n")
    with pytest.raises(UsageError, match="another module is already loaded as json"):
        expect("grade('json:fine')").judge(bad)
    (project / "xml").mkdir()
    (project / "xml" / "graders.py").write_text("def fine(run): return True\n")
    import xml  # noqa: F401

    with pytest.raises(UsageError, match="another module is already loaded as xml"):
        expect("grade('xml.graders:fine')").judge(bad)


def test_a_module_of_that_name_from_elsewhere_in_the_project_is_not_taken_for_it(project: Path, bad: Recording) -> None:
    other = types.ModuleType("house_graders")
    other.__file__ = str(project / "src" / "house_graders.py")
    sys.modules["house_graders"] = other
    with pytest.raises(UsageError, match="another module is already loaded as house_graders"):
        expect("grade('house_graders:polite')").judge(bad)


def test_a_grader_that_breaks_on_the_bad_run_proves_nothing(project: Path, bad: Recording) -> None:
    (reason,) = weak([expect("grade('house_graders:broken')")], bad)
    assert "cannot be judged on the bad run" in reason and "KeyError" in reason


@pytest.mark.parametrize(
    "text",
    [
        *("judge('true')", "judge('true', 5)", "judge('true', 'm', 'x')", "grade('a:b', 'c')", "judge(x, y)", "judge"),
        *("judge('true', 'm', 1.7)", "judge('true', 'm', 0)"),
    ],
)
def test_asking_otherwise_is_refused_when_it_is_said(text: str) -> None:
    with pytest.raises(UsageError):
        expect(text)


# --- a model as judge -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def world() -> Iterator[ProviderProcess]:
    """The scripted model, in a process of its own."""
    with ProviderProcess(Path(__file__).with_name("judge_world.py")) as world:
        yield world


CLAIM = "judge('it says it has no documents', '{}')"


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gpt-5.4-mini", "/v1/chat/completions"),
        ("openai/gpt-5.4-mini", "/v1/chat/completions"),
        ("anthropic/claude-sonnet-5", "/v1/messages"),
    ],
)
def test_an_opinion_is_asked_for_once_and_had_again_offline(
    world: ProviderProcess, monkeypatch: pytest.MonkeyPatch, fixed: Recording, model: str, path: str
) -> None:
    for name, value in world.environment().items():
        monkeypatch.setenv(name, value)
    before, kept = world.counts.get(path, 0), MemoryStore()
    expectation = expect(CLAIM.format(model))
    live = KeptOpinions(kept, ask=True)
    assert expectation.judge(fixed, court=live).holds is True
    assert live.asked == 1 and world.counts[path] == before + 1

    for name in world.environment():
        monkeypatch.setenv(name, "http://127.0.0.1:9") if name.endswith("_URL") else monkeypatch.delenv(name)
    offline = KeptOpinions(kept)
    verdict = expectation.judge(fixed, court=offline)
    assert verdict.holds is True and world.counts[path] == before + 1
    assert offline.used == live.used == [run.id for run in kept.runs()] and offline.asked == 0
    (event,) = kept.open(kept.run("@")).events(kinds=["http"])
    assert event.attributes["reading"]["text"].startswith("Here you are"), "its exchange is a model call like any other"


def test_a_low_score_fails_with_the_judges_words(
    world: ProviderProcess, monkeypatch: pytest.MonkeyPatch, fixed: Recording
) -> None:
    for name, value in world.environment().items():
        monkeypatch.setenv(name, value)
    court = KeptOpinions(MemoryStore(), ask=True)
    verdict = expect("judge('it is rude', 'gpt-5.4-mini', 0.95)").judge(fixed, court=court)
    assert verdict.holds is False and verdict.event is not None
    assert "gpt-5.4-mini gives 0.9, 0.95 is enough: the answer is" in verdict.seen
    assert court.asked == 1, "explaining it and finding its event asks nobody again"


def test_a_reply_without_a_score_is_no_judgement(
    world: ProviderProcess, monkeypatch: pytest.MonkeyPatch, fixed: Recording
) -> None:
    for name, value in world.environment().items():
        monkeypatch.setenv(name, value)
    verdict = expect(CLAIM.format("silent-1")).judge(fixed, court=KeptOpinions(MemoryStore(), ask=True))
    assert verdict.holds is None and "no score in the reply of silent-1: 'I would rather not say.'" in verdict.seen


def test_without_a_recording_it_is_stale(fixed: Recording, tmp_path: Path) -> None:
    nowhere = reenact.open_store(f"sqlite:///{tmp_path}/none.db")
    for court in (None, KeptOpinions(MemoryStore()), KeptOpinions(nowhere)):
        with pytest.raises(UnreplayableRun) as caught:
            expect(CLAIM.format("gpt-5.4-mini")).judge(fixed, court=court)
        assert caught.value.exit_code == 3 and caught.value.missing == ("judge",)


def test_a_damaged_store_is_not_taken_for_an_empty_one(fixed: Recording, tmp_path: Path) -> None:
    (tmp_path / "damaged.db").write_bytes(b"no store at all" * 100)
    with reenact.open_store(f"sqlite:///{tmp_path}/damaged.db") as damaged, pytest.raises(StoreError):
        expect(CLAIM.format("gpt-5.4-mini")).judge(fixed, court=KeptOpinions(damaged, ask=True))


def test_another_answer_or_another_claim_is_another_question(
    world: ProviderProcess, monkeypatch: pytest.MonkeyPatch, fixed: Recording
) -> None:
    for name, value in world.environment().items():
        monkeypatch.setenv(name, value)
    kept = MemoryStore()
    expect(CLAIM.format("gpt-5.4-mini")).judge(fixed, court=KeptOpinions(kept, ask=True))
    (run,) = kept.runs()
    for text in (CLAIM.format("gpt-5.5"), "judge('it says it has no document', 'gpt-5.4-mini')"):
        with pytest.raises(UnreplayableRun):
            expect(text).judge(fixed, court=KeptOpinions(kept))
    other = Question("it is polite", "Go away.", "", "gpt-5.4-mini")
    kept.amend(run, tags={TAG: other.digest})
    with pytest.raises(UnreplayableRun, match="holds another question"):
        KeptOpinions(kept).opinion(other)


def test_each_answer_has_an_opinion_of_its_own(
    world: ProviderProcess, monkeypatch: pytest.MonkeyPatch, fixed: Recording
) -> None:
    for name, value in world.environment().items():
        monkeypatch.setenv(name, value)
    kept, claim = MemoryStore(), "judge('it says it has no documents', 'gpt-5.4-mini')"
    said = MemoryStore()

    @reenact.record(store=said)
    def other() -> str:
        return "We refund everything."

    other()
    runs = [fixed, said.open(said.run("@"))]
    live = [expect(claim).judge(run, court=KeptOpinions(kept, ask=True)).holds for run in runs]
    kept_opinions = KeptOpinions(kept)
    assert live == [expect(claim).judge(run, court=kept_opinions).holds for run in runs] == [True, False]
    assert len(set(kept_opinions.used)) == 2


def test_a_form_of_the_question_that_has_changed_is_stale(
    world: ProviderProcess, monkeypatch: pytest.MonkeyPatch, fixed: Recording
) -> None:
    for name, value in world.environment().items():
        monkeypatch.setenv(name, value)
    kept = MemoryStore()
    expect(CLAIM.format("gpt-5.4-mini")).judge(fixed, court=KeptOpinions(kept, ask=True))
    monkeypatch.setattr("reenact.testing.expectations.judge_calls._SYSTEM", "Judge in another way.")
    with pytest.raises(UnreplayableRun, match="does not fit any more"):
        expect(CLAIM.format("gpt-5.4-mini")).judge(fixed, court=KeptOpinions(kept))


def test_a_run_without_an_answer_asks_nobody(bad: Recording) -> None:
    class Never:
        def opinion(self, question: Question) -> Opinion:
            raise AssertionError("nobody is to be asked")

    verdict = expect(CLAIM.format("gpt-5.4-mini")).judge(bad, court=Never())
    assert verdict.holds is False and "the run gave no answer to judge" in verdict.seen


def test_anybody_may_be_the_court(fixed: Recording) -> None:
    asked: list[Any] = []

    class Human:
        def opinion(self, question: Question) -> Opinion:
            asked.append(question)
            return Opinion(0.4, "not quite")

    assert expect("judge('it is kind', 'me', 0.3)").judge(fixed, court=Human()).holds is True
    verdict = expect("judge('it is kind', 'me')").judge(fixed, court=Human())
    assert verdict.holds is False and "me gives 0.4, 0.5 is enough: not quite" in verdict.seen
    assert len(asked) == 2, "once for each verdict, however often its value is looked at"
    assert asked[0] == Question("it is kind", "I don't have any documents about that.", "", "me")


def test_a_judge_that_cannot_be_reached_says_where_it_was_asked(
    monkeypatch: pytest.MonkeyPatch, fixed: Recording
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    kept = MemoryStore()
    for _ in range(2):
        with pytest.raises(UsageError, match="could not be asked") as caught:
            expect(CLAIM.format("gpt-5.4-mini")).judge(fixed, court=KeptOpinions(kept, ask=True))
        assert "127.0.0.1:9/v1/chat/completions" in caught.value.cause
    with pytest.raises(UnreplayableRun):
        expect(CLAIM.format("gpt-5.4-mini")).judge(fixed, court=KeptOpinions(kept))
    monkeypatch.setenv("OPENAI_BASE_URL", "file:///etc/passwd")
    with pytest.raises(UsageError, match="cannot be asked at file:"):
        expect(CLAIM.format("gpt-5.4-mini")).judge(fixed, court=KeptOpinions(kept, ask=True))
