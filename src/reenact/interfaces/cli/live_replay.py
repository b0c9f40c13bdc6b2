"""``replay --live``: makes a fork without writes, in which some calls go live."""

from __future__ import annotations

from reenact.abc.store import Recording
from reenact.facts.lazy_dataclass import replace
from reenact.interfaces.cli.fork_ending import tell_fork
from reenact.interfaces.cli.shell import Shell
from reenact.replaying.options import Options
from reenact.timetravel.forks.fork_launch import fork_run
from reenact.timetravel.forks.partial_replay import partial_replay
from reenact.timetravel.forks.plan import Plan


def plan_of(recording: Recording, options: Options) -> Plan:
    """The plan of the fork, which says which calls go live.

    Raises:
        UsageError: A name is neither a kind of calls nor the name of a call of the run.
    """
    return partial_replay(recording, options.live, options.rev)


def run(shell: Shell, url: str, run_id: str, plan: Plan, options: Options) -> int:
    """Run the fork, and print its result. Returns the exit code."""
    options = replace(options, live=(), rev="")
    fork = fork_run(url, run_id, plan, options, announce=lambda line: shell.talk(f"reenact: {line}"))
    tell_fork(shell, fork)
    return fork.exit_code
