"""Proves the main job on scripts nothing was tuned for: record, end the world, replay, the same to the byte."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.withstand import stage
from tests.withstand.stage import SCRIPTS, Ended, Recorded, reenact, replay

ONCE, OFTEN = 2, 10
"""Replays of each script: in a sample (one plain, one with --json), in a sweep."""

Recording = Callable[[str], Recorded]

PROMPTS = {
    "chat": ("How many lamps", "How few lamps", 0, ".body.messages"),
    "streams": ("job {number}", "job no. {number}", None, ".body.messages"),
    "claude": ("What is left of", "What remains of", 0, ".body.messages"),
    "pool": ("thing {number}", "things {number}", None, ".url"),
    "races": ('"hedged"', '"wedged"', 6, ".url"),
    "nested": ("write about", "sing about", None, ".body.input"),
    "tools": ('"jammed"', '"broken"', 8, ".arguments.text"),
    "steps": ("query {", "question {", None, ".arguments.query"),
    "retries": ("a crowded place", "a crowded street", 0, ".body.messages"),
    "ambient": ('"argv": sys', '"args": sys', 2, ".body.argv"),
}
"""For each script: what of a request is edited and how, the event that must be named (None: of several strands any may
be first), and how the first differing path begins."""


def _own(error: bytes) -> bytes:
    """What the agent itself wrote to standard error."""
    return b"".join(line for line in error.splitlines(keepends=True) if not line.startswith(b"reenact: "))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_replays_to_the_byte_with_the_world_gone(recorded: Recording, name: str, sweep: bool) -> None:
    before = recorded(name)
    assert before.ended.status == (3 if name == "ambient" else 0), before.ended.err
    plain = reenact("replay", "@", cwd=before.folder)
    assert (plain.out, plain.status) == (before.ended.out, 0), plain.err
    assert _own(plain.err) == _own(before.ended.err)
    first, *_, last = plain.err.splitlines()
    assert b"mode: code" in first and b"live calls allowed: 0" in first
    assert b"live calls made: 0" in last and b"verdict: same" in last
    chains = set()
    for _ in range(OFTEN - 1 if sweep else ONCE - 1):
        report = replay(before).report
        assert report["verdict"] in ("exact", "same") and report["exit_code"] == 0
        assert report["live_calls"] == 0 and report["refused"] == [] and report["divergence"] is None
        assert report["executed"] > 0, "the agent's own code has run"
        assert report["unused"] == report["reordered"] == report["moved"] == 0
        chains.add(report["digest_chain"])
    assert len(chains) == 1


def _edited(recorded: Recorded, before: str, after: str) -> Ended:
    """Replay with the script edited: the edited one runs in the recorded place."""
    text = recorded.script.read_text()
    assert before in text
    try:
        recorded.script.write_text(text.replace(before, after, 1))
        return replay(recorded)
    finally:
        recorded.script.write_text(text)


def _sampled(sweep: bool, chance: random.Random, count: int) -> list[str]:
    return list(SCRIPTS) if sweep else chance.sample(SCRIPTS, count)


@pytest.mark.timeout(600)
def test_an_edited_print_makes_it_different(recorded: Recording, sweep: bool, chance: random.Random) -> None:
    for name in _sampled(sweep, chance, 3):
        ended = _edited(recorded(name), "print(", "print('more', ")
        assert ended.status == 1 and ended.report["verdict"] == "different", name
        assert ended.report["divergence"] is None, "no call differs"
        (difference,) = ended.report["differences"]
        assert difference["what"] == "stdout" and "more " in difference["text"].splitlines()[-1]


@pytest.mark.timeout(600)
def test_an_edited_request_is_named(recorded: Recording, sweep: bool, chance: random.Random) -> None:
    assert set(PROMPTS) == set(SCRIPTS)
    for name in _sampled(sweep, chance, 3):
        before, after, event, path = PROMPTS[name]
        run = recorded(name)
        ended = _edited(run, before, after)
        found = ended.report["divergence"]
        assert ended.status == 1 and found is not None, (name, ended.report)
        assert found["event"] == event or (event is None and found["event"] is not None), (name, found)
        assert re.fullmatch(rf".*{name}\.py:\d+", found["source"]), (name, found)
        assert ("." + found["path"].lstrip(".")).startswith(path), (name, found)
        assert found["recorded"] != found["now"] and found["recorded"] is not None and found["now"] is not None
        assert found["cause"] and found["next"].startswith("reenact "), (name, found)
        assert ended.report["live_calls"] == 0


def test_a_script_that_swallows_everything_is_still_caught(tmp_path: Path) -> None:
    """Also by an agent that catches ``BaseException``, and asks again."""
    source = (stage.CORPUS / "chat.py").read_text()
    head, loop = source.split("while True:\n")
    swallowing = f"{head}QUESTION = 'How many?'\nmessages[1]['content'] = QUESTION\ntries = 0\nwhile tries < 6:\n"
    swallowing += "    try:\n        tries += 1\n"
    swallowing += "".join(f"    {line}\n" for line in loop.splitlines() if not line.startswith("print"))
    swallowing += "    except BaseException as error:\n        print('swallowed', type(error).__name__)\n"
    run = stage.record("swallow", tmp_path, source=swallowing)
    assert run.ended.status == 0, run.ended.err
    assert replay(run).report["verdict"] == "exact"
    ended = _edited(run, "How many?", "How few?")
    assert ended.status == 1 and ended.report["divergence"]["event"] == 0
    assert ended.report["differences"][0]["what"] == "divergence"
