"""A desk for experiments: an agent recorded against a scripted provider, and ``reenact experiment`` on what it kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact.facts.answers.asks import ToolUse
from reenact.testing import ScriptedProvider, expect
from reenact.testing.goldens.golden_trace import Golden
from reenact.testing.provider.script import Rule, Script, When
from reenact.timetravel.bundling.packing import pack
from tests.kit.recorded import Workbench
from tests.programs import read_program

AGENT = read_program("experiments/model_that_looks_things_up.py")

ASKED = "/v1/chat/completions"
HASTY = "Be brief. Never look anything up."


def _looks(*queries: str) -> tuple[ToolUse, ...]:
    return tuple(ToolUse("look", {"query": query}) for query in queries)


SCRIPT = Script(
    rules=(
        Rule(say="I have not looked.", when=When(system="never look")),
        Rule(say=("three days", "perhaps three days"), when=When(model="gpt-tiny", results=True)),
        Rule(uses=_looks("the small book"), when=When(model="gpt-tiny")),
        Rule(say="It takes three days.", when=When(results=True)),
        Rule(uses=_looks("the book", "the wall"), when=When(model="gpt-large")),
    )
)


class Bench:
    """A project with an agent, and the public commands in it.

    Args:
        folder: An empty folder.
        provider: Whom the agent asks.
    """

    def __init__(self, folder: Path, provider: ScriptedProvider) -> None:
        self.folder = folder
        self.provider = provider
        self.desk = Workbench(folder, provider.environment())
        self.desk.script(AGENT)

    @property
    def requests(self) -> int:
        """How often a model was asked."""
        return self.provider.counts.get(ASKED, 0)

    def record(self, question: str = "How long?", options: str = "") -> None:
        """Record the agent once."""
        self.desk.record("agent.py", question, options=options)

    def golden(self, name: str, expectation: str) -> None:
        """The last run as a golden, without the trial that ``golden add`` makes of it."""
        path = self.folder / "tests" / "goldens" / f"{name}.reenact"
        path.parent.mkdir(parents=True)
        told = Golden(name, expect=(expect(expectation).to_json(),)).to_json()
        with reenact.open_store(str(self.folder / ".reenact")) as store:
            pack(store, [("recorded", store.run("@"))], path, told)

    def shut(self) -> None:
        """From now on the real tool fails."""
        (self.folder / "shut").touch()

    def experiment(self, *words: str, status: int = 0) -> ExperimentResult:
        """``reenact experiment WORDS --json``."""
        done = self.desk.run("experiment", *words, "--json", status=status)
        return ExperimentResult([json.loads(line) for line in done.stdout.splitlines()], done.stderr)


class ExperimentResult:
    """What an experiment has printed.

    Args:
        lines: Its JSON lines.
        said: Its standard error.
    """

    def __init__(self, lines: list[dict[str, Any]], said: str) -> None:
        self.said = said
        self.cells = [line for line in lines if line["type"] == "cell"]
        self.rows = [line for line in lines if line["type"] == "row"]
        self.candidates = {line["candidate"]: line for line in lines if line["type"] == "candidate"}
        self.threshold = next((line for line in lines if line["type"] == "threshold"), None)

    def of(self, candidate: str) -> list[dict[str, Any]]:
        """The cells of a candidate."""
        return [cell for cell in self.cells if cell["candidate"] == candidate]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A project beside a provider."""
    folder = tmp_path / "a project"
    folder.mkdir()
    with ScriptedProvider(SCRIPT) as provider:
        yield Bench(folder, provider)
