"""A model as judge of a golden is asked once, its opinion is kept in the bundle, and nobody is asked in mode frozen."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reenact.facts.answers.asks import Ask
from reenact.store.bundles import read_bundle
from reenact.testing import ScriptedProvider, expect
from reenact.testing.goldens.golden_trace import Golden
from reenact.testing.goldens.golden_writer import with_golden
from reenact.testing.provider.script import Rule, Script, When
from tests.goldens.project import Project
from tests.programs import read_program

ASKED = "/v1/chat/completions"
CLAIM = "it says that there are no documents"
EXPECTED = f"judge('{CLAIM}', 'gpt-judge', 0.7)"
KEY = "sk-proj-" + "Q7wq9ZtrB2nM4vXc" * 3
"""What the judge's key looks like; it must not be anywhere in a bundle."""

AGENT = read_program("goldens/answer_worded_otherwise.py")
FIX = "said = 'I have no documents.'"
SECRET = "said = 'I have no documents. Log in with sk-ant-api03-' + 'Zk3vX9wq' * 8"


PUZZLED: list[str] = []
"""Answers that the judge has had no word for the first time."""


def verdict(ask: Ask) -> str:
    """A score by what stands in the answer."""
    told = json.loads(ask.last_user)
    if "mumble" in told["answer"] and told["answer"] not in PUZZLED:
        PUZZLED.append(told["answer"])
        return "I cannot say."
    good = "no documents" in told["answer"]
    return json.dumps({"score": 0.9 if good else 0.1, "reason": f"the answer is {told['answer'][:20]!r}"})


JUDGE = Script(rules=(Rule(say=verdict, when=When(system="You judge whether a claim")),))


class Case(Project):
    """A project whose incident is judged by a model.

    Args:
        folder: It.
        judge: Who judges.
    """

    def __init__(self, folder: Path, judge: ScriptedProvider) -> None:
        super().__init__(folder)
        self.judge = judge
        self.reachable = {"OPENAI_BASE_URL": f"{judge.url}/v1", "OPENAI_API_KEY": KEY}
        self.environment.update(self.reachable)
        self.write(AGENT)
        self.run("record", "--", "python", "agent.py", "Refunds?")
        self.said = self.add("refunds", "--no-test", "--expect", EXPECTED).stderr
        self._before = (self.path.read_bytes(), dict(self.environment))

    def restore(self) -> None:
        """As it was when the golden had been added."""
        self.path.write_bytes(self._before[0])
        self.environment = dict(self._before[1])
        (self.folder / "said.txt").write_text("once\n")
        self.write(AGENT)

    @property
    def requests(self) -> int:
        """How often the judge was asked."""
        return self.judge.counts.get(ASKED, 0)

    @property
    def path(self) -> Path:
        """The bundle."""
        return self.folder / "tests" / "goldens" / "refunds.reenact"

    def mend(self, line: str) -> None:
        """The agent with a line in place of the mark."""
        self.write(AGENT.replace("# FIX", line))

    @property
    def incident(self) -> str:
        """Id of the run that went wrong."""
        return read_bundle(self.path).main.run.id

    def cut_off(self) -> None:
        """From now on the judge is out of reach, and there is no key."""
        del self.environment["OPENAI_API_KEY"]
        self.environment["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"

    def opinions(self) -> list[str]:
        """Texts of the opinions that the bundle keeps."""
        kept = [each for each in read_bundle(self.path).runs if each.role == "opinion"]
        return [each.run.tags["judged"] for each in kept]

    def recorded(self, mode: str, status: int = 0) -> dict[str, Any]:
        """What ``golden run refunds --mode MODE`` says."""
        return self.outcome("refunds", "--mode", mode, status=status)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def judge() -> Iterator[ScriptedProvider]:
    """The model that judges."""
    with ScriptedProvider(JUDGE) as judge:
        yield judge


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory, judge: ScriptedProvider) -> Case:
    """A recorded incident, and the golden that was made of it."""
    assert not judge.calls
    return Case(tmp_path_factory.mktemp("a project"), judge)


@pytest.fixture
def case(added: Case) -> Case:
    """It, as it was when the golden had been added."""
    added.restore()
    return added


def test_it_is_asked_when_the_golden_is_added(added: Case) -> None:
    assert "opinions of models that judge, kept beside it: 1" in added.said
    assert "as it should until you fix it: judge(" in added.said and "gpt-judge gives 0.1, 0.7 is enough" in added.said
    assert added.requests == 1, "the incident's answer was judged once: as it was recorded, and as it is today"
    assert len(added.opinions()) == 1


def test_it_is_asked_once_for_each_answer_and_never_in_mode_frozen(case: Case) -> None:
    before = case.requests
    case.cut_off()
    failed = case.outcome("refunds", status=1)
    assert "gives 0.1, 0.7 is enough: the answer is 'You shall have a ref'" in failed["message"]
    assert failed["opinions"] == {"judged": 1, "kept": 1, "asked": 0}

    case.mend(FIX)
    stale = case.outcome("refunds", status=3)
    assert (stale["status"], stale["opinions"]) == ("stale", {"judged": 0, "kept": 0, "asked": 0, "missing": 1})
    assert "golden run refunds --mode missing" in stale["message"] and CLAIM in stale["message"]
    assert "'I have no documents.'" in stale["message"], "which answer nobody has judged"
    unreached = case.recorded("missing", status=3)
    assert "could not be asked" in unreached["message"] and unreached["opinions_now"] == 0
    assert case.requests == before and len(case.opinions()) == 1

    case.environment.update(case.reachable)
    found = case.recorded("missing")
    assert (found["status"], found["opinions_now"], found["opinions"]["asked"]) == ("passed", 1, 1)
    again = case.run("golden", "run", "refunds", "--mode", "missing").stdout
    assert "nothing was missing" in again and "1 opinions (1 kept)" in again
    assert case.requests == before + 1

    case.cut_off()
    passed = case.outcome("refunds", "--report", "out")
    assert passed["opinions"] == {"judged": 1, "kept": 1, "asked": 0}
    assert "1 opinions (1 kept))" in (case.folder / "out" / "summary.md").read_text()
    assert 'name="reenact.opinions.kept" value="1"' in (case.folder / "out" / "junit.xml").read_text()
    case.write(AGENT)
    assert case.outcome("refunds", status=1)["opinions"]["kept"] == 1, "what the incident said is judged as it was"
    assert case.requests == before + 1


def test_rerecord_asks_anew_and_keeps_one_opinion_a_question(case: Case) -> None:
    case.mend(FIX)
    case.recorded("missing")
    before, kept = case.requests, case.opinions()
    assert case.recorded("rerecord")["opinions"] == {"judged": 1, "kept": 0, "asked": 1}
    assert case.requests == before + 1
    assert sorted(case.opinions()) == sorted(kept) and len(kept) == 2
    with zipfile.ZipFile(case.path) as bundle:
        history = json.loads(bundle.read("golden.json"))["history"]
    assert [each["reason"] for each in history] == ["", "1 opinion", "1 opinion"]


def test_the_key_of_the_judge_is_in_no_bundle(case: Case) -> None:
    case.mend(FIX)
    case.recorded("missing")
    assert len(case.opinions()) == 2
    with zipfile.ZipFile(case.path) as bundle:
        members = {name: bundle.read(name) for name in bundle.namelist()}
    assert any(b"gpt-judge" in data for name, data in members.items() if name.endswith("-opinion.jsonl"))
    for name, data in members.items():
        assert KEY.encode() not in data and KEY[8:24].encode() not in data, name
    shown = case.run("textconv", str(case.path)).stdout
    assert shown.count("\nopinion: run ") == 2 and CLAIM in shown, "a review shows what was asked, and what was said"


def test_sampling_asks_about_each_sample_and_keeps_nothing(case: Case) -> None:
    before, bundle = case.requests, case.path.read_bytes()
    found = case.outcome("refunds", "--live", "model", "--repeat", "3", "--at-least", "2")
    assert (found["status"], found["samples"]) == ("passed", [2, 3]), found
    assert found["opinions"] == {"judged": 3, "kept": 0, "asked": 3}
    assert case.requests == before + 3
    assert case.path.read_bytes() == bundle


def test_what_a_judge_finds_true_of_the_incident_is_no_test(case: Case) -> None:
    said = case.add("other", "--expect", "judge('it promises a refund', 'gpt-judge', 0.05)", status=2)
    assert "too weak to be a test" in said.stderr and "gpt-judge gives 0.1, 0.05 is enough" in said.stderr
    assert not case.path.with_stem("other").exists()


def test_a_judge_that_is_out_of_reach_adds_no_golden(case: Case) -> None:
    case.cut_off()
    said = case.add("other", "--expect", EXPECTED, status=2)
    assert "the judge gpt-judge could not be asked" in said.stderr
    assert not case.path.with_stem("other").exists()


def test_another_expectation_that_fails_is_told_beside_what_is_stale(case: Case) -> None:
    golden = Golden("refunds", expect=tuple(expect(text).to_json() for text in (EXPECTED, "'no documents' in answer")))
    with_golden(case.path, golden)
    case.mend("said = 'Ask somebody else.'")
    stale = case.outcome("refunds", status=3)
    assert [each["holds"] for each in stale["judged"]] == [False, False]
    assert "no opinion on" in stale["message"] and "expected to contain 'no documents'" in stale["message"]


def test_an_answer_with_a_credential_in_it_stays_the_same_question(case: Case) -> None:
    """The stand-in of a credential is another one in every run."""
    case.mend(SECRET)
    before = case.requests
    assert case.recorded("missing")["status"] == "passed"
    assert case.outcome("refunds")["opinions"] == {"judged": 1, "kept": 1, "asked": 0}
    assert case.requests == before + 1


def test_a_golden_with_its_fix_is_judged_on_both_and_stale_where_nobody_has_judged(case: Case) -> None:
    before = case.requests
    case.mend(FIX)
    case.run("fork", f"{case.incident}:0", "--live", "none")
    case.write(AGENT)
    case.run(
        "golden", "add", case.incident, "--as", "refunds", "--force", "--expect", EXPECTED, "--fixed", "@", "--no-test"
    )
    assert case.requests == before + 2 and len(case.opinions()) == 2
    assert case.outcome("refunds", status=1)["opinions"]["kept"] == 1
    case.mend(FIX)
    assert case.outcome("refunds")["opinions"]["kept"] == 1
    case.mend("said = 'Nobody has said that.'")
    assert case.outcome("refunds", status=3)["opinions"]["missing"] == 1
    assert case.requests == before + 2


def test_a_fix_that_was_taken_back_fails_on_the_incident_as_that_was_judged(case: Case) -> None:
    """What was stopped on the fixed log has said nothing that anybody could judge."""
    case.write(AGENT.replace("search(sys.argv[1])", "search('everything')").replace("# FIX", FIX))
    case.run("record", "--", "python", "agent.py", "Refunds?")
    case.write(AGENT)
    case.run(
        "golden", "add", case.incident, "--as", "refunds", "--force", "--expect", EXPECTED, "--fixed", "@", "--no-test"
    )
    before = case.requests
    failed = case.outcome("refunds", status=1)
    assert failed["message"].startswith("today's code re-enacts the incident\n")
    assert failed["opinions"] == {"judged": 1, "kept": 1, "asked": 0} and case.requests == before


def test_a_review_accepts_what_has_been_judged_and_keeps_both_opinions(case: Case) -> None:
    case.mend(FIX)
    stale = case.run("golden", "run", "refunds", "--mode", "review", "--accept-all", "it is meant", status=3)
    assert "--mode missing" in stale.stdout + stale.stderr
    case.recorded("missing")
    asked = case.requests
    case.cut_off()
    done = case.run("golden", "run", "refunds", "--mode", "review", "--accept-all", "it is meant")
    assert "it answers from today's run" in done.stdout
    assert [each.role for each in read_bundle(case.path).runs] == ["recorded", "fixed", "opinion", "opinion"]
    assert case.outcome("refunds")["opinions"] == {"judged": 1, "kept": 1, "asked": 0}
    assert case.requests == asked


def test_a_reply_without_a_score_is_not_kept_and_the_model_is_asked_again(case: Case) -> None:
    case.mend("said = 'I have no documents. (mumble)'")
    kept = case.opinions()
    puzzled = case.run("golden", "run", "refunds", "--mode", "missing", status=1)
    assert "no score in the reply of gpt-judge: 'I cannot say.'" in puzzled.stdout + puzzled.stderr
    assert case.opinions() == kept
    assert case.outcome("refunds", status=3)["status"] == "stale"
    assert case.recorded("missing")["opinions_now"] == 1
    assert case.outcome("refunds")["status"] == "passed"
