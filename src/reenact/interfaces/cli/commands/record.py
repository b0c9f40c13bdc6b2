"""``reenact record``: runs any Python program and records it."""

from __future__ import annotations

import json
import os
import subprocess
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import click

from reenact.abc.project_settings import load_settings
from reenact.errors import ReenactError, UsageError
from reenact.facts.ids import tail
from reenact.facts.late import late
from reenact.facts.phrases import counted
from reenact.facts.run import Status
from reenact.facts.settings import ORDERS
from reenact.interfaces.cli.arguments import pairs
from reenact.interfaces.cli.run_outcome import outcome
from reenact.interfaces.cli.shell import Command, current
from reenact.interfaces.cli.stores import store_url
from reenact.recording.command import run_command
from reenact.seams.boot.signal_forwarder import SignalForwarder
from reenact.store import open_store

if TYPE_CHECKING:
    from reenact.facts import kit as kits
    from reenact.facts import served_requests
    from reenact.facts.kit import Item, Kit
    from reenact.facts.policy import Policy
    from reenact.facts.run import Run
    from reenact.facts.settings import Settings, policy_of
    from reenact.interfaces.cli.background_expiry import tidy
    from reenact.interfaces.cli.shell import Shell
    from reenact.seams.boot.parent import end_like
    from reenact.timetravel import preview
    from reenact.timetravel.json_views import run_data
    from reenact.triage import identity
    from reenact.triage.kit_of_run import kit_of
else:
    kits = late("reenact.facts.kit")
    served_requests = late("reenact.facts.served_requests")
    policy_of = late("reenact.facts.settings", "policy_of")
    tidy = late("reenact.interfaces.cli.background_expiry", "tidy")
    end_like = late("reenact.seams.boot.parent", "end_like")
    preview = late("reenact.timetravel.preview")
    run_data = late("reenact.timetravel.json_views", "run_data")
    kit_of = late("reenact.triage.kit_of_run", "kit_of")
    identity = late("reenact.triage.identity")

_SIGNAL = 128
_QUICK = 200
"""The most events of a run whose kit is made right after the recording."""
_FEW = 3
_AT_THE_END: Final = (
    "reenact.timetravel.preview",
    "reenact.triage.kit_of_run",
    "reenact.triage.kit_effects",
    "reenact.store.event_rows",
    "reenact.store.ambient_rows",
    "reenact.store.evidence_rows",
    "reenact.store.liveness",
    "reenact.store.slot_rows",
    "reenact.store.stream_rows",
    "reenact.store.attributes",
    "reenact.store.reference_lookup",
    "reenact.interfaces.cli.background_expiry",
    "reenact.store.housekeeping",
)
"""The modules that print the last line of ``record``, and that start the removal of old runs after it."""


@click.command(
    cls=Command,
    name="record",
    short_help="run any Python program recorded",
    context_settings={"allow_interspersed_args": False},
    example="""
    reenact record -- python agent.py "where is my order?"
    reenact record --agent order-lookup@1.4 --user u_7710 --tag ticket=r_8821 -- python agent.py
    """,
)
@click.option("--agent", metavar="NAME[@VERSION]", help="Name of the agent, and its version.")
@click.option("--user", metavar="ID", help="User the run is for.")
@click.option("--tenant", metavar="ID", help="Tenant the run is for.")
@click.option("--session", metavar="ID", help="Session the run belongs to.")
@click.option("--tag", metavar="K=V", multiple=True, help="A label; may be repeated.")
@click.option("--order", type=click.Choice(ORDERS), help="How the order of events is kept. Default: exact.")
@click.argument("argv", metavar="CMD…", nargs=-1, type=click.UNPROCESSED, required=True)
@click.pass_context
def command(ctx: click.Context, /, argv: tuple[str, ...], tag: tuple[str, ...], order: str | None, **who: Any) -> None:
    """Run a Python program recorded: python x.py, pytest, uvicorn …, or any console script.

    The program keeps its input, output and exit status; one line on standard error at the end names the run. With
    REENACT_DISABLE=1 it runs unrecorded.
    """
    if os.environ.get("REENACT_DISABLE", "") not in ("", "0"):
        ctx.exit(_bare(argv))
    shell = current(ctx)
    settings = load_settings()
    policy = _policy(settings, order)
    with SignalForwarder() as forwarding:  # to the last line: a signal for the program often reaches us, too
        ended = run_command(
            argv,
            store_url=store_url(shell),
            policy=policy,
            tags=pairs(tag),
            meanwhile=lambda: _load(policy),
            forwarding=forwarding,
            **{name: _named(settings, name, value) for name, value in who.items()},
        )
        if ended.run is not None:
            _tell(shell, ended.run, ended.became)
    if ended.run is not None:
        tidy(shell)
    if ended.status < 0:
        end_like(ended.status)
    ctx.exit(ended.status)


def _load(policy: Policy) -> None:
    """Import the modules for the last line while the program runs, so that after its end only the run must be read."""
    for name in _AT_THE_END:
        import_module(name)
    if policy.sample < 1 or policy.sampling:
        import_module("reenact.recording.sample")


def _policy(settings: Settings, order: str | None) -> Policy:
    return policy_of(settings, order=order)


def _named(settings: Settings, name: str, given: str | None) -> str | None:
    """The name of the agent, user, tenant or session: that of the option if given, else that of the setting."""
    value = given if given is not None else settings[name].value
    return value if isinstance(value, str) else None


def _bare(argv: tuple[str, ...]) -> int:
    """Run the program without reenact."""
    try:
        status = subprocess.run(argv, check=False).returncode
    except FileNotFoundError:
        raise UsageError(
            f"no program {argv[0]} was found",
            cause="a typing mistake, or it is not on PATH",
            next_command=f"which {argv[0]}",
        ) from None
    return _SIGNAL - status if status < 0 else status


def _tell(shell: Shell, run: Run, dropped: str) -> None:
    """Print the last line of a recording, and its warnings. ``dropped`` is the reason why the run was not kept, or not
    kept whole; empty if there is none."""
    if shell.json:
        # The line goes to standard error, although it is JSON, because standard output belongs to the agent.
        shell.talk(
            json.dumps({**run_data(run), "kept": not dropped.startswith("not kept")}, ensure_ascii=False, default=str)
        )
        return
    requests = _requests(shell, run)
    kit = None if dropped else _kit(shell, run)
    totals = run.totals
    shell.talk(
        f"reenact: {tail(run.id)}  {preview.safe(outcome(run))}  {counted(totals.events, 'event')} "
        f"({totals.models} model, {totals.tools} tool){_served(run, len(requests))}  {preview.duration(run.lasted_us)}"
        + (f"  {dropped}" if dropped else f"{_score(kit)}{_order(shell, run)}")
        + (
            ""
            if dropped and not dropped.startswith("thinned")
            else f"  -> {shell.called(f'reenact show {tail(run.id)}')}"
        )
    )
    for item in _stopping(kit):
        shell.talk(preview.safe(f"reenact: its code cannot be replayed: {item.about}; {item.capture[0]}"))
    looked_at = (kit, *(_kit(shell, each) for each in requests[:_FEW]))
    bare = (each.item(kits.UNDECORATED) for each in looked_at if each is not None)
    for item in islice((each for each in bare if each is not None and not each.there), 1):
        shell.talk(preview.safe(f"reenact: {item.about}; {item.capture[0]}"))
    for reason in run.degraded[:1]:
        shell.talk(f"reenact: the recording is incomplete: {preview.safe(reason)}")
        if "cannot be written" in reason:
            shell.next("df -h")


def _requests(shell: Shell, run: Run) -> list[Run]:
    """The last runs of a server's requests, newest first. If the server was killed and could not count them, all of its
    runs."""
    served = run.capture.get("served")
    if not served and run.status is not Status.INTERRUPTED:
        return []
    try:
        with open_store(store_url(shell)) as store:
            asked = store.runs(parent=run.id, limit=_FEW if served else None)
            return [each for each in asked if each.relation == served_requests.RELATION]
    except ReenactError:
        return []


def _served(run: Run, kept: int) -> str:
    """The number of requests that a server has answered, each of which is a run, and of requests that were ignored.
    ``kept`` is the number of runs of a server that was killed."""
    served, ignored = run.capture.get("served", kept or None), run.capture.get("ignored")
    more = f", {ignored} more ignored" if ignored else ""
    return f"  {counted(served, 'request')}{more}" if isinstance(served, int) else ""


def _order(shell: Shell, run: Run) -> str:
    """The first event whose order is not proven, and the number of others: there the same code may replay
    differently."""
    if not run.totals.unproven:
        return ""
    try:
        with open_store(store_url(shell)) as store:
            first = next((each.number for each in store.open(run).deliveries() if not each.proven), None)
    except ReenactError:
        return ""
    more = f" and {run.totals.unproven - 1} more" if run.totals.unproven > 1 else ""
    return "" if first is None else f"  order not proven at {first}{more}"


def _kit(shell: Shell, run: Run) -> Kit | None:
    """The kit of the run, if it is quickly made, because the user waits; else None."""
    if run.totals.events > _QUICK:
        return None
    try:
        with open_store(store_url(shell)) as store:
            return kit_of(store, run)
    except ReenactError:  # `reenact kit` shows the fault
        return None


def _stopping(kit: Kit | None) -> list[Item]:
    """The items of a kit for calls whose stored answers cannot serve the code, so that a replay stops there."""
    lacking = () if kit is None else kit.lacking
    stop = (kits.Stops.CODE, kits.Stops.EVENTS)
    return [each for each in lacking if each.stops in stop and each.standing is kits.ItemState.PARTIAL and each.capture]


def _score(kit: Kit | None) -> str:
    """How complete a kit is, if the run used something that is missing."""
    if kit is None:
        return ""
    there, counted = kit.score
    missing = [_short(item) for item in kit.lacking if _used(item)]
    more = " …" if len(missing) > _FEW else ""
    return f"  kit {there}/{counted} ({', '.join(missing[:_FEW])}{more} missing)" if missing else ""


def _short(item: Item) -> str:
    """The name of a missing item. For an identity that is missing in tool calls only, the name says so."""
    return f"{item.name} in tool calls" if item.name in identity.IDENTITIES else preview.safe(item.name)


def _used(item: Item) -> bool:
    """Whether the run used a missing item, or was told to have it; only `reenact kit` lists the other items."""
    used = bool(item.events or item.stops) or item.bucket is not kits.Bucket.ENVIRONMENT
    return item.standing is kits.ItemState.MISSING and used
