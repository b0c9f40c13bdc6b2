"""The parent's side of ``reenact record -- CMD``: runs the program as if we were not there, and reports the run."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from threading import Thread
from typing import TYPE_CHECKING, Any

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.errors import ReenactError, RunNotFound
from reenact.facts.ids import make_run_id, tail
from reenact.facts.late import late
from reenact.facts.lazy_dataclass import asdict, dataclass, replace
from reenact.facts.policy import Policy
from reenact.facts.run import Status
from reenact.recording.git import ask_git
from reenact.seams.boot.child import UNIMPORTABLE
from reenact.seams.boot.parent import Boot, choose_hash_seed, find_program, ignores_boot, run_program
from reenact.store import open_store

if TYPE_CHECKING:
    from reenact.abc.store import Store
    from reenact.facts.call import Json
    from reenact.facts.run import Run
    from reenact.recording.sample import leave_out
    from reenact.seams.boot.signal_forwarder import SignalForwarder
else:
    leave_out = late("reenact.recording.sample", "leave_out")

__all__ = ["ProgramEnd", "run_command"]


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """A recorded program that has ended.

    Attributes:
        status: Its exit status; negative: the signal that ended it.
        run: Its run; None when nothing was recorded.
        became: The treatment of a run that is not in the sample; empty for a run that is kept whole.
    """

    status: int
    run: Run | None = None
    became: str = ""


def _talk(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def run_command(
    argv: Sequence[str],
    *,
    store_url: str | None = None,
    policy: Policy | None = None,
    tags: Mapping[str, str] | None = None,
    meanwhile: Callable[[], object] = lambda: None,
    forwarding: SignalForwarder | None = None,
    **who: str | None,
) -> ProgramEnd:
    """Run a program recorded, with our environment, standard streams, process group and signals.

    If nothing was recorded, standard error says why.

    Args:
        argv: The command as typed.
        store_url: The URL of the store; by default the store in force, which is made if there is none.
        policy: Rules for what may be kept, and how.
        tags: Free labels.
        meanwhile: Called in a thread of its own while the program runs.
        forwarding: Forwards our signals to the program; the caller begins and ends it.
        **who: ``agent``, ``user``, ``tenant``, ``session``.

    Raises:
        UsageError: The program cannot be started.
        StoreError: The store cannot be opened; the program was not started.
    """
    policy = policy or Policy()
    base = dict(os.environ)
    command = find_program(argv, base.get("PATH"))
    with open_store(store_url) as store:
        url = store.url
    run_id = make_run_id(CLOCK.wall_us(), ENTROPY.bytes(8))
    instructions: dict[str, Any] = {
        "mode": "record",
        "store": url,
        "run": run_id,
        "who": {**{name: value for name, value in who.items() if value is not None}, "tags": dict(tags or {})},
        "policy": asdict(policy),
        "argv": list(argv),
    }
    with Boot(instructions, base, hash_seed=choose_hash_seed(base, ENTROPY)) as boot:
        git = ask_git(os.getcwd(), boot.leave)
        Thread(target=meanwhile, name="reenact-meanwhile", daemon=True).start()
        status = run_program(command, boot.environment, close_fds=False, forwarding=forwarding)
        evidence = git.facts()
        if not boot.began:
            _talk(f"reenact: not recorded: {_why_nothing(command, boot.failure)}")
            return ProgramEnd(status)
    try:
        with open_store(url) as store:
            run = _concluded(store, run_id, status, evidence, argv, in_memory=url.startswith("memory:"))
            return ProgramEnd(status, run, became="" if run is None else _left_out(store, run, policy))
    except ReenactError as error:
        _talk(f"reenact: the run was recorded but cannot be read back: {error}")
        return ProgramEnd(status)


def _left_out(store: Store, run: Run, policy: Policy) -> str:
    """Remove a run that is not in the sample, or its contents (``sample.leave_out``), and return a text that says
    which."""
    if policy.sample >= 1 and not policy.sampling:
        return ""
    try:
        return leave_out(store, run, policy)
    except ReenactError:  # then the run is kept
        return ""


def _why_nothing(command: Sequence[str], failure: str) -> str:
    """Why a program left no run, and the remedy."""
    typed = shlex.join(command[1:])
    if failure.startswith(UNIMPORTABLE):
        return (
            f"{failure}\n  likely cause: reenact is installed in another environment than the program's\n"
            f"  next: reenact record -- {shlex.quote(sys.executable)} {typed}"
        )
    if failure:
        return failure if "\n  next: " in failure else f"{failure}\n  next: reenact doctor"
    option = ignores_boot(command)
    if option:
        return (
            f"Python was started with {option}, which keeps it from loading reenact\n"
            f"  next: reenact record -- {shlex.join(word for word in command if word != option)}"
        )
    return (
        f"{command[0]} started no Python interpreter that loads reenact\n"
        "  likely cause: it is not a Python program, or clears its environment\n"
        "  next: reenact record -- python agent.py"
    )


def _not_there(argv: Sequence[str]) -> tuple[str, str]:
    """Why a program could not start, and the remedy: the script that was typed does not exist."""
    script = next((word for word in argv[1:] if word.endswith(".py") and not os.path.exists(word)), "")
    if not script:
        return "", ""
    from difflib import get_close_matches  # late: few names are misspelled

    folder = os.path.dirname(script)
    there = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
    near = get_close_matches(script, [os.path.join(folder, name) for name in there if name.endswith(".py")], 1)
    if near:
        typed = shlex.join(near[0] if word == script else word for word in argv)
        return f"there is no file {script}; did you mean {near[0]}?", f"reenact record -- {typed}"
    return f"there is no file {script}", "ls"


def _concluded(
    store: Store, run_id: str, status: int, evidence: Mapping[str, Json], argv: Sequence[str], *, in_memory: bool
) -> Run | None:
    """The run with the facts that only its parent could see: the exit status, and the state of the code."""
    try:
        run = store.run(run_id)
    except RunNotFound:
        cause, then = ("what is in memory ends with its process", "") if in_memory else _not_there(argv)
        _talk(
            "reenact: not recorded: the program ended and nothing of its run is in the store\n"
            f"  likely cause: {cause or 'it could not start, or it was killed'}\n"
            f"  next: {then or 'reenact config'}"
        )
        return None
    if run.status is Status.INTERRUPTED and status >= 0:
        _talk(
            "reenact: the recording is incomplete: the program ended, and its end is not in the store\n"
            "  likely cause: the disk is full, or the program put another one in its place\n"
            f"  next: reenact show {tail(run.id)}"
        )
    if run.status in (Status.INTERRUPTED, Status.RECORDING):
        return run  # the program was killed, or a child of it still writes
    stopped = status != 0 and run.capture.get("stopped_by") == -status  # a server that was asked to stop, and stopped
    failed = status != 0 and not stopped and run.status is Status.OK
    concluded = replace(
        run,
        exit_status=status,
        status=Status.FAILED if failed else run.status,
        error=_ended(status) if failed else run.error,
        environment={**run.environment, "git": evidence},
    )
    try:
        return store.conclude(concluded)
    except ReenactError as error:  # perhaps a full disk: the records of the run's process are there
        return replace(concluded, degraded=(*run.degraded, f"its exit status is not kept: {error}"))


def _ended(status: int) -> str:
    return f"exit status {status}" if status > 0 else f"ended by signal {-status}"
