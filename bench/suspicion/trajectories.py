"""Other people's trajectories: conversations of tau-bench, and failures of Who&When with their decisive steps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import reenact
from reenact.facts.suspicions import Act, Course, ModelTurn, Sort
from reenact.store.courses import course_of

ROOT = Path(__file__).resolve().parents[2]


class Absent(Exception):
    """The trajectories are not here; the text says where they were looked for."""


def shared() -> Path:
    """The folder of trajectories.

    Raises:
        Absent: It is not here.
    """
    named = os.environ.get("REENACT_SHARED")
    folder = (Path(named) if named else ROOT.parent / "shared") / "data" / "trajectories"
    if not folder.is_dir():
        raise Absent("no trajectories: REENACT_SHARED names no folder with data/trajectories, nor has ../shared one")
    return folder


@dataclass(frozen=True, slots=True)
class Trial:
    """One conversation of tau-bench.

    Attributes:
        name: Task and trial.
        passed: Whether it got its reward.
        course: As rules see the imported run.
    """

    name: str
    passed: bool
    course: Course


def tau_bench(folder: Path) -> Iterator[Trial]:
    """Every trial, imported by the public command into a store below ``folder``."""
    rows: list[dict[str, Any]] = json.loads((shared() / "tau-bench-airline-tasks-0-3.json").read_text())
    place = folder / "tau"
    place.mkdir()
    for number, row in enumerate(rows):
        file = place / f"{number}.jsonl"
        file.write_text(json.dumps({"messages": row["traj"]}) + "\n")
        store = place / f"store-{number}"
        command = [sys.executable, "-m", "reenact", "--store", str(store), "import", "messages", str(file)]
        subprocess.run(command, cwd=place, check=True, capture_output=True)
        with reenact.open_store(str(store)) as opened:
            course = course_of(opened.open(opened.run("@")))
        yield Trial(f"task {row['task_id']}, trial {row['trial']}", row["reward"] == 1, course)


@dataclass(frozen=True, slots=True)
class Failed:
    """One failure of Who&When.

    Attributes:
        group: Its set.
        name: Name of its file.
        course: As rules see it: agents are models, terminals are tools, events are steps by their number.
        step: The decisive step, as people have labelled it.
        messages: How many messages it has.
    """

    group: str
    name: str
    course: Course
    step: int
    messages: int


GROUPS = ("Algorithm-Generated", "Hand-Crafted")


def who_and_when(group: str, names: Iterable[str] | None = None) -> list[Failed]:
    """The failures of one set, or those of some names.

    Raises:
        Absent: They are not here.
    """
    folder = shared() / "who-and-when" / group
    chosen = sorted(each.name for each in folder.glob("*.json")) if names is None else names
    found = []
    for name in chosen:
        row = json.loads((folder / name).read_text())
        acts = tuple(act for at, one in enumerate(row["history"]) if (act := _step(at, one)) is not None)
        course = Course(acts, {"input": row["question"]}, failed=True)
        found.append(Failed(group, name, course, int(row["mistake_step"]), len(row["history"])))
    return found


def _step(at: int, message: dict[str, Any]) -> Act | None:
    """A message as an act, as an imported run has it; None for what people say."""
    speaker, text = str(message.get("name") or message["role"]), str(message["content"])
    if speaker in ("human", "user"):
        return None
    if "terminal" in speaker.lower():
        return Act(at, Sort.TOOL, "tool", speaker, result=text)
    return Act(at, Sort.MODEL, "model", speaker, said=ModelTurn(text=text))
