"""record and replay hand over what was asked, keep the agent's exit status and say their lines on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from reenact.facts.ids import tail
from reenact.facts.policy import Policy
from reenact.interfaces.cli.commands import record, replay
from reenact.recording.command import ProgramEnd
from reenact.replaying.options import Options
from reenact.replaying.replay_report import EndDifference, Report
from reenact.seams.boot.signal_forwarder import SignalForwarder
from tests.cli import scenes

Cli = Callable[..., Any]


@pytest.fixture
def recorded(record_store: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, dict[str, Any]]]:
    """Calls of ``run_command``; each leaves a failed run and the exit status 7."""
    calls: list[tuple[Any, dict[str, Any]]] = []

    def run_command(argv: Any, **options: Any) -> ProgramEnd:
        calls.append((argv, options))
        return ProgramEnd(7, scenes.broken(record_store))

    monkeypatch.setattr(record, "run_command", run_command)
    return calls


def test_record_keeps_the_command_as_it_is(recorded: list[Any], reenact: Cli) -> None:
    answer = reenact(
        "record", "--agent", "a@1", "--tag", "k=v", "--order", "off", "--", "prog", "--json", "-n", "--", "x"
    )
    ((argv, options),) = recorded
    assert callable(options.pop("meanwhile")) and isinstance(options.pop("forwarding"), SignalForwarder)
    assert argv == ("prog", "--json", "-n", "--", "x")
    assert options == {
        "store_url": None,
        "policy": Policy(order="off"),
        "tags": {"k": "v"},
        "agent": "a@1",
        "user": None,
        "tenant": None,
        "session": None,
    }
    assert (answer.code, answer.out) == (7, "")
    (line,) = answer.err.splitlines()
    assert line.startswith("reenact: ") and "failed: SMTPException" in line and "5 events (1 model, 3 tool)" in line


def test_record_takes_what_is_not_given_from_the_settings(
    recorded: list[Any], reenact: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REENACT_AGENT", "from-env")
    monkeypatch.setenv("REENACT_HOLD_MS", "5")
    monkeypatch.setenv("REENACT_STORE", "sqlite:///x")
    reenact("--json", "record", "prog")
    ((_, options),) = recorded
    assert (options["agent"], options["store_url"], options["policy"]) == (
        "from-env",
        "sqlite:///x",
        Policy(hold_ms=5.0),
    )


def test_a_disabled_recording_runs_the_program_bare(
    recorded: list[Any], reenact: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REENACT_DISABLE", "1")
    assert reenact("record", "--", sys.executable, "-c", "raise SystemExit(3)").code == 3
    assert reenact("record", "--", "no-such-program-at-all").code == 2
    assert recorded == []


@pytest.fixture
def replayed(filled: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Calls of ``replay_run``; each reports a difference at event 2."""
    calls: list[Any] = []

    def replay_run(url: str, run: str, options: Options, *, announce: Callable[[str], None]) -> Report:
        calls.append((url, run, options))
        announce("mode=code frozen=all live calls allowed=0")
        difference = EndDifference("divergence", "DIVERGED at #2\x1b[31m\n  now: 1", 2, {"event": 2})
        return Report(
            "different", "mode=code", "live calls made=0 verdict: different", differences=(difference,), exit_code=1
        )

    monkeypatch.setattr(replay, "replay_run", replay_run)
    return calls


def test_replay_says_first_what_is_frozen_and_last_the_verdict(replayed: list[Any], reenact: Cli) -> None:
    answer = reenact("replay", "@failed")
    assert (answer.code, answer.out) == (1, "")
    lines = answer.err.splitlines()
    assert lines[0] == "reenact: mode=code frozen=all live calls allowed=0"
    assert lines[1:3] == ["reenact: DIVERGED at #2\\x1b[31m", "reenact:   now: 1"]
    assert lines[3].startswith("reenact: next: reenact show ") and lines[3].endswith(":2")
    assert lines[-1] == "reenact: live calls made=0 verdict: different"


def test_a_divergence_that_says_what_to_do_next_says_it_once(
    filled: Any, reenact: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    difference = EndDifference("divergence", "diverged at event 2\n  next: reenact show 7f3c:2", 2, {"event": 2})
    report = Report("different", "mode: code", "verdict: different", differences=(difference,), exit_code=1)
    monkeypatch.setattr(replay, "replay_run", lambda *_, **__: report)
    answer = reenact("replay", "@")
    assert answer.err.count("next: ") == 1 and "reenact show 7f3c:2" in answer.err


@pytest.mark.parametrize(
    ("how", "following"),
    [
        ({}, ""),
        ({"saved": "01m8f7g2kd3p5q7r9s"}, "diff"),
        ({"refused": ("a connection",), "exit_code": 5}, "doctor"),
        ({"mode": "events", "differences": (), "exit_code": 0}, "replay"),
        ({"differences": (), "exit_code": 0}, "golden"),
    ],
)
def test_the_command_after_a_replay_leads_on_or_there_is_none(
    filled: Any, reenact: Cli, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any], following: str
) -> None:
    told: dict[str, Any] = {"differences": (EndDifference("output", "stdout differs at byte 2"),), "exit_code": 1}
    report = Report("different", "mode: code", "verdict: different", **(told | how))
    monkeypatch.setattr(replay, "replay_run", lambda *_, **__: report)
    assert reenact("replay", "@").err.partition("next: reenact ")[2].split()[:1] == following.split()


def test_replay_hands_its_options_over(replayed: list[Any], filled: Any, reenact: Cli) -> None:
    answer = reenact(
        *("replay", "@", "--events", "--through", "a", "--through", "b", "--order", "shuffle:7"),
        *("--on-divergence", "observe", "--cmd", "python 'my agent.py' -x", "--save", "--json"),
    )
    ((url, run, options),) = replayed
    assert (url, run) == (filled.url, filled.run("@").id)
    assert options == Options(
        mode="events",
        through=("a", "b"),
        order="shuffle:7",
        on_divergence="observe",
        command=("python", "my agent.py", "-x"),
        save=True,
        divert_output=True,
    )
    (report,) = answer.data
    assert report["verdict"] == "different" and report["exit_code"] == 1
    assert answer.code == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--order", "sideways"),
        ("--rev", "main", "--events"),
        ("--rev", ""),
        ("--cmd", "'open"),
        ("--cmd", "a", "--entry", "b:c"),
        ("--on-divergence", "guess"),
        ("--live", "tool", "--order", "shuffle"),
    ],
)
def test_replay_refuses_what_it_cannot_do(words: tuple[str, ...], replayed: list[Any], reenact: Cli) -> None:
    assert reenact("replay", "@", *words).code == 2
    assert replayed == []


def test_replay_of_an_event_is_usage(replayed: list[Any], reenact: Cli) -> None:
    assert reenact("replay", "@:3").code == 2


def test_the_line_names_the_run_to_look_at(recorded: list[Any], record_store: Any, reenact: Cli) -> None:
    answer = reenact("record", "prog")
    assert f"-> reenact show {tail(record_store.run('@').id)}" in answer.err
