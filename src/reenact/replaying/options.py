"""The options of a replay, as one frozen value for the replay process."""

from __future__ import annotations

from collections.abc import Mapping

from reenact.facts.lazy_dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
class Options:
    """How to replay a run.

    Attributes:
        mode: ``code`` re-executes the agent's code, ``events`` walks the log without it.
        through: Names of tools whose own code runs; the calls that this code makes stay frozen.
        live: Kinds or names that are opened to the world; everything else stays frozen.
        order: ``exact``, ``shuffle`` or ``shuffle:SEED``.
        on_divergence: ``stop`` at the first one, or ``observe`` every one in a single pass.
        command: The command line to run in place of the captured one; empty for the captured one.
        entry: ``module:function`` to call in place of the captured one.
        rev: Revision whose code runs; empty takes the files as they are.
        patch: A diff that is applied to that revision first: the uncommitted changes of a run.
        as_is: Whether the files run as they are, also for a run that keeps a revision as its code.
        sources: Whether the sources that the bundle carries run, where the system can isolate them.
        save: Keep the replay as a run of its own.
        divert_output: Send the agent's standard output to standard error (a program reads ours).
        ignore: Ignore rules that join the run's own: name to path (``Policy.ignore``).
    """

    mode: str = "code"
    through: tuple[str, ...] = ()
    live: tuple[str, ...] = ()
    order: str = "exact"
    on_divergence: str = "stop"
    command: tuple[str, ...] = ()
    entry: str = ""
    rev: str = ""
    patch: str = ""
    as_is: bool = False
    sources: bool = False
    save: bool = False
    divert_output: bool = False
    ignore: Mapping[str, str] = field(default_factory=dict)
