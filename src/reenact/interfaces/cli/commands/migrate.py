"""``reenact migrate``: rewrites an old store in today's format, after making a copy."""

from __future__ import annotations

import click

from reenact.errors import StoreBusy, UsageError
from reenact.facts.call import Json
from reenact.facts.ids import is_run_id, tail
from reenact.facts.phrases import counted
from reenact.interfaces.cli.progress import ReadingProgress
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.shell import Command, Shell, current
from reenact.store.sqlite_store import SqliteStore
from reenact.store.store_migration import MigrationPlan, MigrationResult
from reenact.store.versions import WRITTEN
from reenact.timetravel.preview import safe, size

DAMAGED = 4
"""The exit code when damaged rows were left as they are."""


@click.command(
    cls=Command,
    name="migrate",
    short_help="bring an old store to this version",
    example="""
    reenact migrate --dry-run
    reenact migrate
    """,
)
@click.option(
    "--dry-run", is_flag=True, help="Say what would be done, the bytes before and after, and the room needed."
)
@click.option("--no-backup", is_flag=True, help="Make no copy of the store first.")
@click.pass_context
def command(ctx: click.Context, dry_run: bool, no_backup: bool) -> None:
    """Rewrite a store of an older format in today's, which takes less room and is read faster.

    First a copy of the store is made beside it, which stays until you remove it. Then the store is rewritten run by
    run, and each run is read back before the new one counts. Programs may record and read meanwhile; runs that are
    being recorded are left, and named. If it is killed, the next call continues; the store can be used in between.

    Exit code 0: done, or there is nothing to do; 4: damaged rows were left, or the disk has too little room.
    """
    shell = current(ctx)
    with opened(shell) as store:
        if not isinstance(store, SqliteStore):
            raise UsageError(
                f"{store.url} is no store in a file",
                cause="migrate rewrites stores; a bundle of any version is read as it is",
                next_command="reenact migrate",
            )
        migration = store.migration()
        if dry_run:
            _show(shell, store, migration.plan(backup=not no_backup))
            return
        lock = store.alone("migrate")
        if lock is None:
            raise StoreBusy(
                f"{store.path.name} is being migrated",
                cause="another reenact migrate is at work on it, or its folder cannot be written",
                next_command="reenact migrate --dry-run",
            )
        progress = ReadingProgress()
        try:
            plan = migration.plan(backup=not no_backup)
            if plan.is_newest and not plan.found:
                migration.make_index(store.writing())
                shell.talk("reenact: an index was made, by which runs are found")
                plan = migration.plan(backup=not no_backup)
            if plan.is_new or not (plan.logs or plan.rewrites or plan.goes_on or plan.written < WRITTEN):
                _show(shell, store, plan)
                return
            found = migration.migrate(store.writing(), plan, progress.at)
            for left in store.give_back(rewrite=False):
                progress.at("free pages left", left, left)
        finally:
            progress.end()
            lock.release()
        after = migration.size()
    _tell(shell, store, found, after)
    ctx.exit(DAMAGED if found.damaged else 0)


def _show(shell: Shell, store: SqliteStore, plan: MigrationPlan) -> None:
    if shell.json:
        data: dict[str, Json] = {
            "type": "plan",
            "store": store.url,
            "format": plan.written,
            "newest": WRITTEN,
            "runs": [run for _, run in plan.logs],
            "live": [*plan.live],
            "bytes": plan.size,
            "after": plan.after,
            "needed": plan.needed,
            "free": plan.free,
            "backup": str(plan.backup) if plan.backup is not None else None,
            "goes_on": plan.goes_on,
        }
        shell.line(data)
        return
    place = safe(store.url)
    if plan.is_new:
        shell.data(f"{place} is of format {plan.written}, the newest: there is nothing to do")
        shell.next("reenact ls")
        return
    if plan.is_newest:
        shell.data(f"{place} is of format {plan.written}, the newest: an index by which runs are found would be made")
        shell.next("reenact migrate")
        return
    how = "goes on with" if plan.goes_on else "would rewrite"
    shell.data(f"{place} is of format {plan.written}, the newest is {WRITTEN}")
    shell.data(f"  {how} {counted(len(plan.logs), 'run')}: {size(plan.size)} now, about {size(plan.after)} after")
    if plan.backup is not None:
        shell.data(f"  a copy first: {safe(plan.backup.name)}")
    shell.data(f"  free bytes needed: {size(plan.needed)}; there are {size(plan.free)}")
    _say_live(shell, plan.live)
    shell.next("reenact ls" if plan.live and not plan.logs else "reenact migrate")


def _say_live(shell: Shell, live: tuple[str, ...]) -> None:
    for run in live:
        shell.data(f"  run {tail(run)} is being recorded, and left as it is")


def _tell(shell: Shell, store: SqliteStore, found: MigrationResult, after: int) -> None:
    if shell.json:
        for run, what in found.damaged:
            shell.line({"type": "damaged", "run": run, "what": what})
        shell.line(
            {
                "type": "migrated",
                "store": store.url,
                "format": WRITTEN,
                "runs": [*found.runs],
                "live": [*found.live],
                "before": found.before,
                "after": after,
                "backup": str(found.backup) if found.backup is not None else None,
                "rewrites": found.rewrites,
            }
        )
        return
    for run, what in found.damaged:
        name = tail(run) if is_run_id(run) else safe(run)
        shell.data(f"run {name}: {safe(what)} is damaged, and left as it is")
    counts = f"{counted(len(found.runs), 'run')} rewritten"
    shell.data(f"{safe(store.url)} is of format {WRITTEN}: {counts}, {size(found.before)} before, {size(after)} now")
    _say_live(shell, found.live)
    if not found.rewrites:
        shell.data("  the file keeps its size until nothing is recorded: migrate again then")
    if found.backup is not None:
        shell.data(
            f"  the copy is {safe(found.backup.name)}, with all runs of then: remove it when it is no longer needed"
        )
    shell.next("reenact fsck")
