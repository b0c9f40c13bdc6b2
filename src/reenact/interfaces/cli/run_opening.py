"""Opens the store for a command: the bundle that the reference names, else the store in force (``--store``, the
settings, or the nearest ``.reenact/`` upwards)."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from reenact.facts.ids import tail
from reenact.facts.late import late
from reenact.interfaces.cli.stores import store_url
from reenact.store import open_store
from reenact.store.back_ends import BUNDLE as SUFFIX

if TYPE_CHECKING:
    from reenact.abc.store import Store
    from reenact.facts.run import Run
    from reenact.interfaces.cli.shell import Shell
    from reenact.store.bundles import bundle_store
    from reenact.store.nested_runs import holder_of
    from reenact.testing.goldens.golden_dir import open_golden_dir
    from reenact.timetravel.bundling.unpacking import unpack
    from reenact.timetravel.reference_syntax import parse_reference
else:
    bundle_store = late("reenact.store.bundles", "bundle_store")
    holder_of = late("reenact.store.nested_runs", "holder_of")
    open_golden_dir = late("reenact.testing.goldens.golden_dir", "open_golden_dir")
    unpack = late("reenact.timetravel.bundling.unpacking", "unpack")
    parse_reference = late("reenact.timetravel.reference_syntax", "parse_reference")

GOLDEN = "@golden/"


def opened(shell: Shell, ref: str = "") -> Store:
    """The store in which a reference is looked up, opened; use the result in a ``with`` block.

    Args:
        shell: The shell of the running command.
        ref: The reference. If it names a ``.reenact`` file, this file is opened for reading.

    Raises:
        StoreError, UsageError: The store cannot be opened, or the settings are wrong.
    """
    file = bundle_of(ref)
    if file is None:
        return open_store(store_url(shell))
    store = bundle_store(file)
    shell.named[tail(store.bundle.main.run.id)] = shlex.quote(str(file))
    return store


def bundle_of(ref: str) -> Path | None:
    """The bundle that a reference names (``x.reenact``, ``@golden/NAME``); None where it names a run of a store."""
    if SUFFIX not in ref and not ref.startswith(GOLDEN):
        return None
    run = parse_reference(ref).run
    if run.startswith(GOLDEN):
        golden_dir = open_golden_dir()
        return golden_dir.path(golden_dir.matching([run.removeprefix(GOLDEN)])[0])
    return Path(run) if run.endswith(SUFFIX) else None


def said_around(shell: Shell, store: Store, run: Run, entry: str = "") -> None:
    """Tell the user if a run is part of another run, because the code of that other run is then executed.

    Args:
        shell: The shell of the running command.
        store: The store of the run.
        run: The run that was named.
        entry: The entry point that the user gave for this run; with one, nothing is printed.
    """
    holder = run if entry else holder_of(store, run)
    if holder.id != run.id:
        shell.talk(f"reenact: run {tail(run.id)} is part of run {tail(holder.id)}, so the code of that one runs")


def stored(shell: Shell, ref: str) -> str:
    """A reference to a run of the store in force, for a command that writes. A bundle is unpacked first, and the user
    is told.

    Args:
        shell: The shell of the running command.
        ref: A reference to a run, an event or any other part of a run.
    """
    file = bundle_of(ref)
    if file is None:
        return ref
    with opened(shell) as store:
        found = unpack(file, store)
    how = "unpacked" if found.run.id in found.fresh else "was unpacked before"
    shell.talk(f"reenact: {file} {how}, as run {tail(found.run.id)}: new runs are kept beside it")
    return found.run.id + ref[len(str(parse_reference(ref).run)) :]
