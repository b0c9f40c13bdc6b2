"""Telemetry is folded in the story of a run, and no difference between two runs."""

from __future__ import annotations

import reenact
from reenact.facts.plumbing import is_plumbing
from reenact.timetravel.conduct import acts

from .conftest import Bench
from .test_exports import FEW, agent


def test_the_story_folds_it(bench: Bench) -> None:
    """Neighbouring exports are one line; all of them are shown where all is asked for."""
    bench.record(agent("export('a'); export('b')", "export('c')"))
    folded = [line for line in bench.run("show", "@") if "plumbing" in line]
    assert len(folded) == 2
    assert "2 exports" in folded[0]
    assert "2 otlp" in folded[0]
    every = [line for line in bench.run("show", "@", "--all") if "plumbing" in line]
    assert len(every) == 3


def test_it_is_no_difference_between_runs(bench: Bench) -> None:
    """A run against its own replay with other exports."""
    bench.record(agent(*FEW))
    bench.write(agent("export('x'); export('y')", ""))
    bench.replay("--save")
    said = bench.run("diff", "@~1", "@")
    assert "plumbing" not in "\n".join(said)
    assert not [line for line in said if "->" in line], "nor do their figures differ"


def test_observing_sees_none_of_it(bench: Bench) -> None:
    """What is collected in one pass are differences of the agent."""
    bench.record(agent(*FEW))
    bench.write(agent("", "export('x'); export('y')").replace('"question": 1', '"question": 2'))
    said = bench.run("replay", "@", "--on-divergence", "observe", code=1)
    assert not [line for line in said if "/v1/traces" in line]


def test_it_is_nothing_that_the_agent_did(bench: Bench) -> None:
    """Exports that ask the same are no repeats, and none stands for the answer of a tool."""
    bench.record(agent("export('a'); export('b')", "export('c')"))
    with reenact.open_store(str(bench.folder / ".reenact")) as store:
        recording = store.open("@")
        exports = [event for event in recording.events() if is_plumbing(event.call)]
        assert len(exports) == 3
        assert not {event.number for event in acts(recording)} & {event.number for event in exports}
