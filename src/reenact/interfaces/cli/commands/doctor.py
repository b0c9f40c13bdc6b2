"""``reenact doctor``: reports what a recording would capture here, what it would not, and how to mend that."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from reenact.abc.project_settings import project_directory
from reenact.errors import ReenactError
from reenact.facts.settings import strangers
from reenact.interfaces.cli.shell import Command, Shell, current, paint, shortened
from reenact.interfaces.cli.stores import store_url
from reenact.recording.head_commit import read_commit
from reenact.recording.packages import packages
from reenact.seams import patching, wiring
from reenact.store import open_store
from reenact.store.connection import RESETS_SAFELY
from reenact.timetravel.preview import safe
from reenact.triage.doctor_findings import DoctorFinding, FindingState, Premises, examine
from reenact.triage.source_imports import imports_of

_NOT_CAPTURED = 3
_TITLES = {
    FindingState.FINE: "",
    FindingState.CAPTURED: "captured",
    FindingState.NOTE: "worth knowing",
    FindingState.GAP: "not captured",
}


@click.command(
    cls=Command,
    name="doctor",
    short_help="what would be captured here, and what not",
    example="""
    reenact doctor
    reenact --json doctor
    """,
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Say what a recording of this project would capture, what not, and how to mend it.

    The sources below this directory are read, never imported or run; tests and environments are left out. Exit code 0:
    everything that they import is captured; 3: something is not.
    """
    shell = current(ctx)
    here = Path.cwd()
    found = examine(premises(shell, here))
    gaps = [each for each in found if each.state is FindingState.GAP]
    if shell.json:
        for each in found:
            shell.line({"type": "finding"} | each.to_json())
        shell.line({"type": "doctor", "gaps": len(gaps), "captured": _count(found, FindingState.CAPTURED)})
    else:
        shell.lines(_text(found))
    for name, near in strangers(os.environ):
        shell.talk(f"note: {name} in the environment sets nothing" + (f"; did you mean {near}?" if near else ""))
    shell.next("reenact record -- python agent.py")
    ctx.exit(_NOT_CAPTURED if gaps else 0)


def premises(shell: Shell, here: Path) -> Premises:
    """The facts about the project that the doctor judges."""
    wiring.install()  # sets hooks, and imports no client library
    store, fault = _store(shell)
    environment = _environment(here)
    path = None if environment is None else [str(each) for each in environment.glob("[Ll]ib*/**/site-packages")]
    return Premises(
        python=sys.version_info[:3],
        store=store,
        store_fault=fault,
        sqlite=sqlite3.sqlite_version_info,
        sqlite_resets_safely=RESETS_SAFELY,
        commit=str(read_commit(str(here)).get("commit") or ""),
        git=shutil.which("git") is not None,
        hash_seed=os.environ.get("PYTHONHASHSEED", ""),
        disabled=os.environ.get("REENACT_DISABLE", "") not in ("", "0"),
        packages={each[0]: each[1] for each in packages(path)},
        environment="" if environment is None else os.path.relpath(environment, here),
        hooked=patching.hooked(),
        imported=imports_of(str(here)),
        locked=getattr(sys, "_is_gil_enabled", lambda: True)(),
    )


def _environment(here: Path) -> Path | None:
    """The folder of the project's own environment, if we do not run in it."""
    project = project_directory(here) or here
    for folder in (here, project):
        for name in (".venv", "venv"):
            path = folder / name
            if (path / "pyvenv.cfg").is_file():
                return None if path.resolve() == Path(sys.prefix).resolve() else path
    return None


def _store(shell: Shell) -> tuple[str, str]:
    """The store that would keep runs, and the reason why it could not be used (empty if it could). Nothing is
    created."""
    url = store_url(shell)
    if url is not None and "://" not in url and not url.startswith("memory:"):
        url = os.path.abspath(url)
    try:
        with open_store(url) as store:
            shown = store.url
            place = shown.removeprefix("sqlite:///")
            if shown.startswith("memory:"):
                return shown, "runs are gone when the process ends"
            if os.path.exists(place):
                next(iter(store.runs(limit=1)), None)
    except ReenactError as error:
        return url or ".reenact", error.message
    return _shown(place), "" if _writable(place) else "it cannot be written"


def _shown(place: str) -> str:
    relative = os.path.relpath(place)
    return place if relative.startswith("..") else relative


def _writable(place: str) -> bool:
    """Whether a path can be written. For a path that does not exist, the nearest existing parent folder is checked."""
    nearest = place
    while not os.path.exists(nearest):
        above = os.path.dirname(nearest)
        if above == nearest:
            return False
        nearest = above
    return os.access(nearest, os.W_OK) and (nearest == place or os.path.isdir(nearest))


def _count(found: tuple[DoctorFinding, ...], state: FindingState) -> int:
    return sum(each.state is state for each in found)


def _text(found: tuple[DoctorFinding, ...]) -> Iterator[str]:
    width = max(len(safe(each.name)) for each in found)
    for state in FindingState:
        group = [each for each in found if each.state is state]
        if group and _TITLES[state]:
            yield paint(_TITLES[state], bold=True)
        for each in group:
            indent = "  " if _TITLES[state] else ""
            where = f"  ({', '.join(map(safe, each.places))})" if each.places else ""
            text = shortened(f"{indent}{safe(each.name):<{width}}  {safe(each.about)}{where}")
            yield paint(text, fg="red") if state is FindingState.GAP else text
            for number, fix in enumerate(each.fix):
                yield f"{indent}{'':<{width}}  {'fix:' if number == 0 else ' or:'} {safe(fix)}"
