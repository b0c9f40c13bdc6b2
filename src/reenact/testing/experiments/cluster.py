"""Running the cells of an experiment on a Ray cluster (the extra ``reenact[ray]``), with its usage reporting off.

Only JSON text is sent: the cell, and the place of the project. So a node needs this project under the same path (a
shared file system), the agent's packages, and the credentials for live calls. The node that runs a cell keeps it in the
usual place, so an experiment can continue here or there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from importlib import import_module
from typing import Any, Final

from reenact.errors import UsageError
from reenact.facts.lazy_dataclass import asdict
from reenact.testing.experiments.candidates import Candidate
from reenact.testing.experiments.cell import CellResult
from reenact.testing.experiments.cell_run import CellPlace, run_cell
from reenact.testing.experiments.dataset import Row
from reenact.testing.experiments.experiment_batch import CellOrder, Experiment, processors

SCHEME: Final = "ray://"
_OWN: Final = ("local", "auto")
"""The words that may stand after ``ray://`` in place of an address: for a cluster of this process alone, and for the
cluster that runs on this machine."""


def on_ray(
    address: str, experiment: Experiment, open_: Iterable[tuple[int, CellOrder]]
) -> Iterator[tuple[int, CellResult]]:
    """Run cells on a Ray cluster, one on each of its processors; gives each result with its number, when it is known.

    Args:
        address: ``ray://HOST:PORT``, ``ray://auto`` (the cluster that runs on this machine) or ``ray://local`` (a
            cluster that is started and stopped by us).
        experiment: The experiment.
        open_: The cells that are not done yet, with their numbers.

    Raises:
        UsageError: Ray is not installed, or there is no cluster there.
    """
    ray = _ray()
    with ExitStack() as stack:
        _connected(ray, address, experiment.workers)
        stack.callback(ray.shutdown)
        task = ray.remote(num_cpus=1)(run_told)
        waiting = {task.remote(_told(experiment, each)): (at, each) for at, each in open_}
        while waiting:
            (ready, *_), _ = ray.wait(list(waiting), num_returns=1)
            at, each = waiting.pop(ready)
            try:
                cell = CellResult.from_json(json.loads(ray.get(ready)))
            except ray.exceptions.RayError as error:
                why = f"the cluster could not run it: {str(error).strip().splitlines()[-1]}"
                cell = CellResult(each.row.name, each.candidate.name, each.repeat, "broken", message=why)
            yield at, cell


def run_told(text: str) -> str:
    """Run a cell that is described in JSON text, and return its result as JSON text: the work of a node."""
    told = json.loads(text)
    row, candidate = Row.from_json(told["row"]), Candidate.from_json(told["candidate"])
    cell = run_cell(CellPlace(**told["place"]), row, candidate, told["repeat"], fresh=told["fresh"])
    return json.dumps(cell.to_json(), default=str)


def _told(experiment: Experiment, asked: CellOrder) -> str:
    row, candidate = asked.row.to_json(), asked.candidate.to_json()
    told = {"place": asdict(experiment.place), "row": row, "candidate": candidate, "repeat": asked.repeat}
    return json.dumps({**told, "fresh": experiment.fresh}, default=str)


def _ray() -> Any:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # Ray reads it at its import, and so does a cluster started here
    try:
        return import_module("ray")
    except ImportError:
        raise UsageError(
            "--on ray://… needs Ray, which is not installed here",
            cause="Ray is a separate extra, because it is large",
            next_command="pip install 'reenact[ray]'",
        ) from None


def _connected(ray: Any, address: str, workers: int) -> None:
    """Connect to a cluster, or start one."""
    place = address.removeprefix(SCHEME)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if place == "local":
        options |= {"num_cpus": workers or processors(), "include_dashboard": False}
    try:
        ray.init(address=place if place in _OWN else address, **options)
    except (ConnectionError, ValueError, RuntimeError, ImportError) as error:
        raise UsageError(
            f"there is no Ray cluster at {address}: {str(error).strip().splitlines()[0]}",
            cause="it has not been started, or it runs another version of Ray or Python",
            next_command="ray status",
        ) from None
