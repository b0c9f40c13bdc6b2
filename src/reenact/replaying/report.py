"""What a replay is asked for and what it reports: the two values between the command line and the replay process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reenact.facts.call import Json


@dataclass(frozen=True, slots=True)
class Options:
    """How to replay a run.

    Attributes:
        mode: ``code`` re-executes the agent's code, ``events`` walks the log without it.
        through: Names of tools whose own code runs, with what they call frozen.
        live: Kinds or names that are opened to the world; everything else stays frozen.
        order: ``exact``, ``shuffle`` or ``shuffle:SEED``.
        on_divergence: ``stop`` at the first one, or ``observe`` every one in a single pass.
        command: Command line to run in place of the captured one.
        entry: ``module:function`` to call in place of the captured one.
        save: Keep the replay as a run of its own.
        divert_output: What the agent writes to standard output goes to standard error (a program reads ours).
    """

    mode: str = "code"
    through: tuple[str, ...] = ()
    live: tuple[str, ...] = ()
    order: str = "exact"
    on_divergence: str = "stop"
    command: tuple[str, ...] = ()
    entry: str = ""
    save: bool = False
    divert_output: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a replay.

    Attributes:
        verdict: ``exact``, ``same``, ``different`` or ``incomplete``.
        first_line: Mode, what is frozen, live calls allowed; said before the agent starts, repeated here.
        last_line: Live calls made, events matched, reordered, moved, unused, fidelity, enforcement and verdict.
        divergence: The first divergence as data (``Divergence`` attributes and its message); None without one.
        divergences: All of them, where they were observed.
        live_calls, matched, reordered, moved, unused: Counts.
        skipped: Notes on deliveries whose order is not proven.
        fidelity: The weakest that was served.
        enforcement: Names of what kept the replay from the world.
        digest_chain: Digest over all answers in their order; equal for two replays that handed out the same.
        exit_code: 0 same, 1 different, 3 not replayable, 5 contact with the world outside the seams.
        saved: Id of the replay's own run; empty unless it was kept.
    """

    verdict: str
    first_line: str
    last_line: str
    divergence: Mapping[str, Json] | None = None
    divergences: tuple[Mapping[str, Json], ...] = ()
    live_calls: int = 0
    matched: int = 0
    reordered: int = 0
    moved: int = 0
    unused: int = 0
    skipped: tuple[str, ...] = ()
    fidelity: str = "exact"
    enforcement: tuple[str, ...] = field(default_factory=tuple)
    digest_chain: str = ""
    exit_code: int = 0
    saved: str = ""
