"""Healthy runs: the project's own corpus agents, recorded as often as is asked for, against their scripted worlds.

The agents are programs of ``tests/fresh/agents`` and ``tests/withstand/corpus``; none was written for the rules. Only
runs that ended well count.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired

from tests.desk import KEYS, Desk
from tests.fresh.test_agents import AGENTS, COMMANDS, HERE, world
from tests.withstand import stage


def record_fresh(folder: Path, rounds: int) -> Iterator[Path]:
    """Record every fresh agent so many times; gives the store, which all of them share, once it is full."""
    desk = Desk(folder)
    shutil.copytree(HERE / "agents", desk.folder, dirs_exist_ok=True)
    with world() as url:
        desk.environment |= {"WORLD_URL": url, "OPENAI_BASE_URL": f"{url}/v1", "ANTHROPIC_BASE_URL": url}
        for number in range(rounds):
            for name in AGENTS:
                say(f"round {number + 1}/{rounds}  {name}")
                command, stdin = COMMANDS.get(name, (["python", f"{name}.py"], ""))
                with suppress(TimeoutExpired):  # one that hangs is no healthy run
                    desk.run("reenact", "record", "--agent", name, "--", *command, stdin=stdin.encode(), more=KEYS)
    yield desk.folder / ".reenact"


def record_corpus(folder: Path, rounds: int) -> Iterator[Path]:
    """Record every script of the corpus so many times; gives the store of each recording."""
    for number in range(rounds):
        for name in stage.SCRIPTS:
            say(f"round {number + 1}/{rounds}  {name}")
            place = folder / f"{name}-{number}"
            place.mkdir()
            stage.record(name, place)
            yield place / ".reenact"


def say(text: str) -> None:
    """Where it stands, on standard error."""
    print(text, file=sys.stderr, flush=True)
