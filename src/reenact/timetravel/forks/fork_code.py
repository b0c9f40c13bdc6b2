"""The code of a fork: the present files, or a revision in a worktree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from reenact.errors import ForkError
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.run import Run
from reenact.facts.served_requests import REQUEST, preamble_of
from reenact.replaying.options import Options
from reenact.replaying.program_start import Start
from reenact.replaying.worktree import Tree, find_revision, kept_revision, tree_of
from reenact.timetravel.forks.plan import Plan


@dataclass(frozen=True, slots=True)
class Code:
    """The code that a fork starts.

    Attributes:
        start: The command, in the folder that holds the code.
        plan: The plan, with the commit in place of a name that may move.
        tree: The worktree, or the project's folder for a run from elsewhere; None where nothing has moved.
    """

    start: Start
    plan: Plan
    tree: Tree | None = None


@contextmanager
def code_of(run: Run, plan: Plan, start: Start, moved: Tree | None = None, patch: str = "") -> Iterator[Code]:
    """The code of one fork; a worktree exists as long as the block runs.

    Args:
        run: The parent; a fork of a fork under ``--rev`` keeps its code unless the plan names another.
        plan: The plan, whose ``rev`` names the revision.
        start: The command for the present files.
        moved: The project's present folder, for a run that was recorded elsewhere.
        patch: A diff that is applied to a revision.

    Raises:
        UsageError: There is no repository, or no such revision.
    """
    rev = plan.rev or kept_revision(run)
    if not rev:
        yield Code(start, plan, moved)
        return
    with tree_of(rev, start.cwd, run, patch) as tree:
        yield Code(tree.start(start, run, rev), replace(plan, rev=tree.commit), tree)


def with_command(plan: Plan, run: Run, options: Options) -> Plan:
    """The plan with the command line of ``options``, if ``run`` was not started by the same one."""
    same = run.entry.kind in ("command", REQUEST) and run.entry.argv == options.command
    return plan if same else replace(plan, command=options.command)


def require_code(run: Run, plan: Plan, start: Start) -> None:
    """Require that the code of a fork can be checked out.

    Raises:
        UsageError: There is no repository, or no such revision.
    """
    rev = plan.rev or kept_revision(run)
    if rev:
        find_revision(rev, start.cwd, run)


def require_code_here(run: Run, plan: Plan) -> None:
    """Require that a fork by a function of this process can run the code that this process has imported.

    Raises:
        ForkError: The plan, or the parent, wants the code of a revision; or the parent is a request of a server.
    """
    if preamble_of(run):
        raise ForkError(
            f"run {tail(run.id)} is a request of a server: a function cannot stand in for it",
            cause="it goes to the server's own program, which is started for it",
            next_command=f"reenact fork {tail(run.id)}:{plan.at}",
        )
    rev = plan.rev or kept_revision(run)
    if rev:
        raise ForkError(
            f"a function that is already imported here cannot run as the code of {rev}",
            cause="another revision is checked out for an interpreter of its own: name the entry as module:function",
            next_command=f"reenact fork {tail(run.id)}:{plan.at} --rev {rev}",
        )
