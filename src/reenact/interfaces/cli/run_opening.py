"""Opening what a command reads or writes: a bundle where the reference names one, else the store in force: ``--store``,
the settings, or ``.reenact/`` found upwards."""

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
    from reenact.store.nesting import holder_of
    from reenact.testing.goldens.golden_dir import open_golden_dir
    from reenact.timetravel.bundling.unpacking import unpack
    from reenact.timetravel.references import parse_reference
else:
    bundle_store = late("reenact.store.bundles", "bundle_store")
    holder_of = late("reenact.store.nesting", "holder_of")
    open_golden_dir = late("reenact.testing.goldens.golden_dir", "open_golden_dir")
    unpack = late("reenact.timetravel.bundling.unpacking", "unpack")
    parse_reference = late("reenact.timetravel.references", "parse_reference")

GOLDEN = "@golden/"


def opened(shell: Shell, ref: str = "") -> Store:
    """What a reference is looked up in, to be used in a ``with`` block.

    Args:
        shell: The running command's.
        ref: The reference; one that names a ``.reenact`` file opens that, for reading.

    Raises:
        StoreError, UsageError: It cannot be opened, or the settings are wrong.
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
    """Say so where a run is nested: it is the run around it whose code runs.

    Args:
        shell: The running command's.
        store: Where the run is.
        run: What was named.
        entry: A function that is called in its place; then the run is taken by itself.
    """
    holder = run if entry else holder_of(store, run)
    if holder.id != run.id:
        shell.talk(f"reenact: run {tail(run.id)} is part of run {tail(holder.id)}, which is run with it")


def stored(shell: Shell, ref: str) -> str:
    """A reference to a run of the store in force, for what writes: a bundle is unpacked first, and that is said.

    Args:
        shell: The running command's.
        ref: A reference; to a run, an event or anything else.
    """
    file = bundle_of(ref)
    if file is None:
        return ref
    with opened(shell) as store:
        found = unpack(file, store)
    how = "unpacked" if found.run.id in found.fresh else "was unpacked before"
    shell.talk(f"reenact: {file} {how}, as run {tail(found.run.id)}: new runs are kept beside it")
    return found.run.id + ref[len(str(parse_reference(ref).run)) :]
