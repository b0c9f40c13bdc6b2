"""The cells of an experiment for the command line: reads candidates, finds the folder of the cells, shows progress."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from reenact.errors import UsageError
from reenact.interfaces.cli.progress import Progress
from reenact.interfaces.cli.shell import Shell
from reenact.interfaces.cli.signal_end import told_to_end
from reenact.interfaces.cli.stores import store_url
from reenact.replaying.replay_launch import folder_of
from reenact.testing.experiments.cache import FOLDER
from reenact.testing.experiments.candidates import Candidate, parse_candidate
from reenact.testing.experiments.cell import CellResult
from reenact.testing.experiments.code_digest import commit_of
from reenact.testing.experiments.experiment_batch import Experiment, Runner, run_experiment


def candidates_of(texts: Sequence[str], project: Path) -> list[Candidate]:
    """Candidates, read from the command line.

    Args:
        texts: The texts, each of one candidate.
        project: The root of the project; candidates may name its revisions.

    Raises:
        UsageError: A text is no candidate, or two candidates have the same name.
    """
    found = [parse_candidate(text, _text, partial(commit_of, folder=project)) for text in texts]
    names = [candidate.name for candidate in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(
            f"two candidates are called {twice}",
            cause="the table and the threshold tell them apart by name",
            next_command="reenact experiment --help",
        )
    return found


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} cannot be read: {error}", cause="@ stands before the path of a text file", next_command="ls"
        ) from None


def cells_folder(shell: Shell, project: str) -> Path:
    """The folder of the cells: beside the store, or in the project where the store has no folder."""
    url = store_url(shell)
    return Path((folder_of(url) if url else "") or os.path.join(project, ".reenact")) / FOLDER


def run_cells(shell: Shell, experiment: Experiment, run: Runner) -> list[CellResult]:
    """Run every cell of an experiment; print the number of cells first, then the progress.

    Args:
        shell: The shell of the running command.
        experiment: The experiment.
        run: The runner, which runs the cells that are not done yet.
    """
    kept = experiment.kept()
    known = sum(cell is not None for cell in kept)
    shell.talk(
        f"reenact: rows: {len(experiment.rows)}  candidates: {len(experiment.candidates)}  repeat:"
        f" {experiment.repeat}  cells: {len(kept)}, done already: {known}"
    )
    progress = Progress(len(kept), "not passed", known=known)
    try:
        with told_to_end():
            return run_experiment(
                experiment, run, done=lambda cell: progress.one(bad=cell.status not in ("passed", "ran"))
            )
    except KeyboardInterrupt:
        progress.end()
        shell.talk("reenact: interrupted; what is done is kept, and the same command continues")
        raise
    finally:
        progress.end()
