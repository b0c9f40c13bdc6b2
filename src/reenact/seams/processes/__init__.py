"""Processes that the agent starts: ``subprocess``, ``asyncio``'s, ``os.system`` and their like.

One start is one call (kind ``process``). Its key has the command, the folder, and the changes of the environment. The
agent's further use of the process is further calls, which name the start by its event: each line written to standard
input, the data from standard output and error (a packed stream each), waits, signals. In a replay nothing is started:
the agent's own ``Popen`` object works on what was recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reenact.facts.late import late
from reenact.seams import descriptors
from reenact.seams.patching import when_imported
from reenact.seams.processes import channels, child_runs, popen, system

if TYPE_CHECKING:
    from reenact.seams.processes.asyncio_processes import patch as patch_asyncio
else:
    patch_asyncio = late("reenact.seams.processes.asyncio_processes", "patch")


def install() -> None:
    """Hook the functions that start processes, once in each process of ours; hook further modules at their import."""
    system.install()
    channels.install()
    descriptors.install()
    when_imported("subprocess", popen.patch)
    when_imported("asyncio", patch_asyncio)
    when_imported("multiprocessing.process", child_runs.patch_processes, answers=False)
    when_imported("multiprocessing.util", child_runs.patch_spawning, answers=False)
