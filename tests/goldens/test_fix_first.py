"""Fix first, golden after: the bad run is re-enacted on the code that made it, and each next command leads on.

An agent asks a scripted provider on loopback, in a git repository. The code is mended and
committed before anything is kept, and the mended code asks the model what nobody has recorded.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator

import pytest

from reenact.testing import ScriptedProvider
from reenact.testing.provider import Rule, Script, ToolUse, When
from tests.goldens.project import Kept
from tests.programs import read_program

DOUBLE = read_program("goldens/pay_what_the_model_asks.py")
MENDED = DOUBLE.replace("2 * done", "done")
"""The model is told something else, and asked what was never recorded."""
LESS = DOUBLE.replace('["amount"])', '["amount"] // 2)')
"""The tool is called otherwise."""
EXPECT = ("--expect", "'80' not in answer")
SCRIPT = Script(
    rules=(
        Rule(uses=(ToolUse("pay", {"amount": 40}),), when=When(results=False)),
        Rule(say=lambda ask: f"You have {ask.results[-1].text}."),
    )
)


class Paid(Kept):
    """The project, with the provider that its agent asks."""

    provider: ScriptedProvider

    @property
    def requests(self) -> int:
        """How often the provider was asked."""
        return sum(self.provider.counts.values())

    def type(self, line: str, status: int = 0) -> str:
        """Type a line that a command has printed; gives what comes of it."""
        words = shlex.split(line)
        assert words[0] == "reenact", line
        return self.run(*words[1:], status=status).stderr

    def on(self, code: str) -> None:
        """Other code from now on, committed."""
        self.write(code)
        self.git("commit", "-qam", "a change", "--allow-empty")


def next_of(said: str) -> str:
    """The next command of what was printed."""
    return said.rpartition("next: ")[2].splitlines()[0]


@pytest.fixture(scope="module")
def paid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Paid]:
    """The incident, recorded and mended since."""
    if shutil.which("git") is None:
        pytest.skip("there is no git here")
    folder = tmp_path_factory.mktemp("first") / "project"
    folder.mkdir()
    with ScriptedProvider(SCRIPT) as provider:
        project = Paid(folder)
        project.provider = provider
        project.environment |= {"OPENAI_BASE_URL": f"{provider.url}/v1", "OPENAI_API_KEY": "sk-" + "t3" * 12}
        (folder / ".gitignore").write_text(".reenact\n__pycache__\nhome\n", encoding="utf-8")
        project.write(DOUBLE)
        project.git("init", "-q", "-b", "main")
        project.git("add", "-A")
        project.git("commit", "-qm", "the agent")
        project.run("record", "--", "python", "agent.py", "Pay me")
        project.incident = str(project.runs()[0]["run"])
        yield project


@pytest.mark.timeout(300)
def test_the_golden_is_proven_on_the_recorded_code_and_its_next_command_records_what_is_missing(paid: Paid) -> None:
    commit = paid.git("rev-parse", "HEAD")[:12]
    paid.on(MENDED)
    asked = paid.requests
    said = paid.keep("double", *EXPECT).stderr
    assert f"replaying it on the recorded code, {commit}\n" in said and "replaying it on today's code\n" in said
    assert f"proven on the recorded code, {commit}: it fails there, as it must" in said, said
    assert "it is stale now: POST" in said and "-> pay (event" not in said.partition("names: ")[0]
    assert paid.proven("double") is True and paid.requests == asked, "nobody was asked"
    assert next_of(said) == "reenact golden run double --mode missing"
    said = paid.type(next_of(said))
    assert paid.requests == asked + 1 and next_of(said) == "reenact golden run"
    assert "1 of 1 goldens passed" in paid.type(next_of(said)) and paid.requests == asked + 1
    paid.on(DOUBLE)
    assert paid.outcome("double", status=1)["status"] == "failed"


@pytest.mark.timeout(300)
def test_a_fork_of_the_mended_code_is_shown_beside_it_and_gives_the_golden_its_answers(paid: Paid) -> None:
    paid.on(MENDED)
    said = paid.keep("forked", *EXPECT, "--holds", "calls(pay) == 1").stderr
    fork, add = (line.strip() for line in said.partition("record its answers")[2].splitlines()[1:3])
    assert add.endswith("--fixed @ --force") and fork.startswith("reenact fork ")
    paid.type(fork)
    said = paid.type(add)
    assert "passes on today's code" in said and "it fails there" in said, said
    asked = paid.requests
    assert "1 of 1 goldens passed" in paid.type(next_of(said)) and paid.requests == asked


@pytest.mark.timeout(300)
def test_a_tools_call_that_is_not_recorded_is_answered_by_a_person(paid: Paid) -> None:
    paid.on(LESS)
    untested = paid.keep("untested", *EXPECT, "--no-test").stderr
    written = untested.partition("write the answer of pay yourself, in place of JSON:\n")[2].splitlines()[0].strip()
    assert written.endswith("--answer pay=JSON --no-test"), untested
    said = paid.keep("less", *EXPECT).stderr
    assert "it is stale now: tool pay" in said or "it is stale now: pay" in said, said
    assert next_of(said).endswith(":0 --live reads --allow-write pay"), "what can be typed as it stands"
    written = said.partition("write the answer of pay yourself, in place of JSON:\n")[2].splitlines()[0].strip()
    assert written.endswith("--answer pay=JSON")
    refused = paid.run(*shlex.split(written)[1:], status=2).stderr
    assert "likely cause: replace JSON by the answer of the call" in refused
    told = paid.outcome("less", status=3)["message"]
    shown = shlex.split(told.partition("`")[2].partition("`")[0])
    assert json.loads(paid.run(*shown[1:]).stdout) == {"paid": 40}, "what an answer looks like"
    said = paid.type(written.replace("=JSON", "='{\"paid\": 20}'"))
    assert "proven on the recorded code" in said, said
    for _ in range(2):
        assert "golden add" not in next_of(said), "that was answered"
        said = paid.run("golden", "run", "less", "--mode", "missing").stderr
    assert paid.outcome("less")["status"] == "passed"


@pytest.mark.timeout(300)
def test_a_fork_that_may_call_the_tool_gives_its_answers_and_stays_with_the_golden(paid: Paid) -> None:
    paid.on(LESS)
    said = paid.keep("allowed", *EXPECT).stderr
    fork, add = (line.strip() for line in said.partition("record its answers")[2].splitlines()[1:3])
    assert fork.endswith(":0 --live reads --allow-write pay"), fork
    paid.type(fork)
    fixed = str(paid.runs()[0]["run"])[-8:]
    assert "passes on today's code" in paid.type(add)
    paid.on(LESS.replace("// 2", "// 4"))
    told = paid.outcome("allowed", status=3)["message"]
    again = next_of(told)
    assert f"--fixed {fixed}" in again and again.endswith("--answer pay=JSON"), told
    assert "proven on the recorded code" in paid.type(again.replace("=JSON", "='{\"paid\": 10}'"))


@pytest.mark.timeout(300)
def test_where_git_does_not_hold_the_recorded_code_it_is_said_and_the_next_command_leads_on(paid: Paid) -> None:
    """It was never added to git, and the mended code cannot run on the recording alone."""
    (paid.folder / "late.py").write_text(DOUBLE, encoding="utf-8")
    paid.run("record", "--", "python", "late.py", "Pay me")
    paid.incident = str(paid.runs()[0]["run"])
    (paid.folder / "late.py").write_text(MENDED, encoding="utf-8")
    said = paid.keep("late", *EXPECT).stderr
    assert "not proven on the recorded code: late.py has changed since it was recorded, and git does not hold" in said
    assert "it is stale now: POST" in said and paid.proven("late") is False
    assert "1 of 1 goldens passed" in paid.type(next_of(paid.type(next_of(said))) + " late")


@pytest.mark.timeout(300)
def test_what_is_refused_leads_on_too(paid: Paid) -> None:
    paid.on(DOUBLE)
    run = paid.runs()[-1]["run"][-8:]
    took = json.loads(paid.run("show", run, "--json").stdout.splitlines()[0])
    assert took["ended_us"]
    took_s = (took["ended_us"] - took["started_us"]) / 1e6
    for option, text in (("expect", "calls(pay) == 1"), ("holds", f"duration == {took_s}"), ("holds", "'x' in answer")):
        said = paid.run("golden", "add", run, "--as", "refused", f"--{option}", text, status=2).stderr
        assert "Traceback" not in said and paid.type(next_of(said)) is not None
    paid.run("golden", "add", run, "--as", "twice", *EXPECT)
    said = paid.run("golden", "add", run, "--as", "twice", *EXPECT, status=2).stderr
    paid.type(next_of(said))


@pytest.mark.timeout(300)
def test_a_good_run_is_kept_by_what_holds(paid: Paid) -> None:
    paid.on(MENDED)
    paid.run("record", "--", "python", "agent.py", "Pay me")
    good = str(paid.runs()[0]["run"])
    said = paid.run("golden", "add", good, "--as", "good", "--holds", "calls(pay) == 1").stderr
    assert "passes on today's code" in said and "not proven" not in said
    (line,) = [each for each in said.splitlines() if "no --expect and no --holds names" in each]
    assert "gpt-5.4" in line and "pay (" not in line and "-> pay" not in line
    assert "calls(pay) == 1" in paid.run("golden", "ls", "good").stdout
    assert paid.outcome("good")["status"] == "passed"
    said = paid.run("golden", "add", good, "--as", "bad", "--holds", "calls(pay) == 2", status=2).stderr
    assert "it does not hold on the recorded run" in said and "--holds" in said
    said = paid.run("golden", "add", good, "--as", "clock", "--holds", "duration > 0", status=0).stderr
    paid.on(DOUBLE.replace("\nmessages = ", "\npay(1)\nmessages = ", 1))
    found = paid.outcome("good", status=3)
    assert found["stale_at"] == "pay"
    paid.on("print('nothing is left of it')\n")
    assert paid.outcome("good", status=1)["status"] == "failed"
    said = paid.run("golden", "add", good, "--as", "later", "--holds", "calls(pay) == 1").stderr
    assert "proven on the recorded code" in said and "it holds there" in said and "fails on today's code" in said, said
    said = paid.run("golden", "add", "@golden/good", "--as", "good", "--force", "--holds", "calls(pay) <= 1").stderr
    assert "it holds there" in said
