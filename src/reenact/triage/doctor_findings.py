"""The doctor: what a recording of this project would capture and what not, and the remedies, judged before any
recording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from reenact.facts.call import Json
from reenact.facts.clients import TOOL, Client, client_of, too_old, way_in
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.triage.source_imports import SourceImports

_OLDEST = (3, 11)
_NEWEST = (3, 14)
_SHOWN = 3


class FindingState(StrEnum):
    """The meaning of a finding: ``FINE`` works, ``CAPTURED`` is a client that is recorded, ``NOTE`` is worth knowing,
    ``GAP`` would be missing from a recording."""

    FINE = "fine"
    CAPTURED = "captured"
    NOTE = "note"
    GAP = "not captured"


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One thing the doctor found.

    Attributes:
        name: Its subject.
        state: Its meaning.
        about: The finding, in words.
        fix: How to mend it, cheapest first.
        places: The places in the sources (``file:line``).
    """

    name: str
    state: FindingState
    about: str
    fix: tuple[str, ...] = ()
    places: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """JSON-able data."""
        return {
            "name": self.name,
            "state": self.state.value,
            "about": self.about,
            "fix": list(self.fix),
            "places": list(self.places),
        }


@dataclass(frozen=True, slots=True)
class Premises:
    """The facts that the doctor judges, gathered by the caller, so that judging is pure.

    Attributes:
        python: Version of the interpreter that would record; ``locked`` whether it has its global lock.
        store: The store for runs, in words.
        store_fault: Why that store cannot be written; empty where it can.
        sqlite: Version of SQLite in that interpreter.
        sqlite_resets_safely: The first version whose checkpoints may meet a commit.
        commit: Commit that is checked out; empty without git.
        git: Whether the program git is at hand.
        hash_seed: ``PYTHONHASHSEED``.
        disabled: Whether ``REENACT_DISABLE`` is set.
        packages: Installed distributions of the program's environment with their versions.
        environment: The program's environment, if it differs from ours; else empty.
        hooked: Modules that have a seam.
        imported: The imports of the sources.
    """

    python: tuple[int, int, int]
    store: str
    store_fault: str = ""
    sqlite: tuple[int, ...] = ()
    sqlite_resets_safely: tuple[int, ...] = ()
    commit: str = ""
    git: bool = True
    hash_seed: str = ""
    disabled: bool = False
    packages: Mapping[str, str] = field(default_factory=dict)
    environment: str = ""
    hooked: frozenset[str] = frozenset()
    imported: SourceImports = field(default_factory=SourceImports)
    locked: bool = True


def examine(premises: Premises) -> tuple[DoctorFinding, ...]:
    """Everything found, the premises first, then the clients: pure."""
    return (*_ground(premises), *_sources(premises.imported), *_clients(premises))


def _ground(here: Premises) -> Iterator[DoctorFinding]:
    version = ".".join(map(str, here.python))
    if here.python[:2] < _OLDEST:
        yield DoctorFinding("python", FindingState.GAP, f"{version} is too old", ("Python 3.11 or newer",))
    elif not here.locked:
        about = f"{version} runs without its global lock: the order of threads is not followed, and a replay stops"
        yield DoctorFinding("python", FindingState.GAP, about, ("PYTHON_GIL=1 in the environment",))
    elif here.python[:2] > _NEWEST:
        yield DoctorFinding("python", FindingState.NOTE, f"{version} is newer than what was tested (3.14)")
    else:
        yield DoctorFinding("python", FindingState.FINE, version)
    if here.disabled:
        yield DoctorFinding(
            "switch", FindingState.GAP, "REENACT_DISABLE is set: nothing is recorded", ("unset REENACT_DISABLE",)
        )
    if here.environment and "reenact" not in here.packages:
        python = f"{here.environment}/bin/python"
        about = f"the program's environment is {here.environment}, and reenact is not installed there"
        yield DoctorFinding("environment", FindingState.GAP, about, (f"{python} -m pip install reenact",))
    if here.store_fault:
        fix = ("reenact --store PATH record -- …", "REENACT_STORE=PATH in the environment")
        yield DoctorFinding("store", FindingState.GAP, f"{here.store}: {here.store_fault}", fix)
    else:
        yield DoctorFinding("store", FindingState.FINE, f"{here.store}, writable")
    if here.sqlite < here.sqlite_resets_safely:
        least = ".".join(map(str, here.sqlite_resets_safely))
        about = (
            f"SQLite {'.'.join(map(str, here.sqlite))} is older than its repaired WAL reset ({least}): the store keeps"
            " writers waiting while it makes a checkpoint; another program that writes into its file can lose runs"
        )
        yield DoctorFinding("sqlite", FindingState.NOTE, about, (f"a Python with SQLite {least} or newer",))
    yield from _git(here)
    in_code = here.imported.marks.get("record", [])
    if here.hash_seed and here.hash_seed != "random":
        yield DoctorFinding("hash_seed", FindingState.FINE, f"PYTHONHASHSEED={here.hash_seed}")
    elif in_code:
        about = "reenact.record() in code keeps no hash seed unless one is set; `reenact record --` sets one"
        fix = ("PYTHONHASHSEED=0 in the program's environment", "reenact record -- …")
        yield DoctorFinding("hash_seed", FindingState.NOTE, about, fix, tuple(in_code[:_SHOWN]))
    else:
        yield DoctorFinding("hash_seed", FindingState.FINE, "`reenact record --` sets one")


def _git(here: Premises) -> Iterator[DoctorFinding]:
    if here.commit and here.git:
        yield DoctorFinding("git", FindingState.FINE, here.commit[:12])
    elif here.commit:
        about = (
            f"{here.commit[:12]}; without the program git no diff of changed files is kept, the sources that ran are"
        )
        yield DoctorFinding("git", FindingState.NOTE, about, ("install git",))
    else:
        about = "no repository here: a run's kit will name no commit; the sources that ran are kept"
        yield DoctorFinding("git", FindingState.NOTE, about, ("git init", "GIT_COMMIT=… in the environment"))


def _sources(imported: SourceImports) -> Iterator[DoctorFinding]:
    if imported.unread:
        about = f"{len(imported.unread)} files could not be read: {', '.join(imported.unread[:_SHOWN])}"
        yield DoctorFinding("sources", FindingState.NOTE, about)
    if imported.cut:
        yield DoctorFinding("sources", FindingState.NOTE, f"only the first {imported.files} files were looked at")
    elif not imported.files:
        yield DoctorFinding(
            "sources", FindingState.NOTE, "there is no Python here", ("run it in the project's folder",)
        )
    tools = imported.marks.get("tool", [])
    if tools:
        about = f"{len(tools)} marked; one without effect= counts as a write, and no replay repeats it"
        yield DoctorFinding("tools", FindingState.CAPTURED, about, places=tuple(tools[:_SHOWN]))


def _clients(here: Premises) -> Iterator[DoctorFinding]:
    """The clients that the sources import; the captured ones come first."""
    places: dict[str, tuple[Client, list[str]]] = {}
    for module, where in here.imported.modules.items():
        known = client_of(module)
        if known is not None:
            places.setdefault(known[0], (known[1], []))[1].extend(where)
    found = [_client(here, name, client, tuple(where)) for name, (client, where) in sorted(places.items())]
    yield from (each for each in found if each.state is not FindingState.GAP)
    yield from (each for each in found if each.state is FindingState.GAP)


def _client(here: Premises, name: str, client: Client, places: tuple[str, ...]) -> DoctorFinding:
    distribution = client.distribution or name.partition(".")[0].replace("_", "-").lower()
    version = here.packages.get(distribution, "")
    shown = f"{name} {version}".rstrip()
    way = way_in(client, here.hooked)
    if way:
        least = too_old(distribution, version)
        if least:
            about = f"through {way}; older than what the seams know ({least})"
            return DoctorFinding(
                shown, FindingState.NOTE, about, (f"pip install '{distribution}>={least}'",), places[:_SHOWN]
            )
        own = "its own seam" if way == name else f"through {way}"
        return DoctorFinding(shown, FindingState.CAPTURED, own, places=places[:_SHOWN])
    if here.imported.marks.keys() & {"tool", "model", "retriever"} and _behind_marks(here.imported, places):
        about = "behind functions that are marked in the same file; check that all its uses are"
        return DoctorFinding(shown, FindingState.NOTE, about, client.fix, places[:_SHOWN])
    about = "a C library or program of its own talks to the world" if client.native else "has no seam in this version"
    return DoctorFinding(shown, FindingState.GAP, about, client.fix or (TOOL,), places[:_SHOWN])


def _behind_marks(imported: SourceImports, places: tuple[str, ...]) -> bool:
    """Whether each file that imports a client also marks functions as tools, models or retrievers."""
    marked = {
        place.rpartition(":")[0] for name in ("tool", "model", "retriever") for place in imported.marks.get(name, ())
    }
    return all(place.rpartition(":")[0] in marked for place in places)
