"""Writes runs of a store, with all that belongs to them, into one file, cleaned once more; and checks that the
file replays."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reenact.abc.store import Store
from reenact.errors import RedactionLeak
from reenact.facts.call import Json
from reenact.facts.ids import tail
from reenact.facts.known_credentials import KnownCredentials
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.record import RunClosed
from reenact.facts.run import Run
from reenact.facts.thinned_runs import require_bodies
from reenact.facts.variables import is_secret
from reenact.privacy import RemovedValues
from reenact.replaying.program_start import interpreted
from reenact.replaying.replay_launch import project_of
from reenact.seams import trust
from reenact.store.bundles import BELONGING, PackedRun, members_of, write_bundle
from reenact.timetravel.bundling.cleaning import CleanBundle, clean, known_here, list_of
from reenact.timetravel.bundling.leftovers import Sought, leftover
from reenact.timetravel.bundling.related_runs import GatheredRun, gather, records


@dataclass(frozen=True, slots=True)
class PackResult:
    """A bundle that was packed.

    Attributes:
        path: The file.
        digest: Digest of its content.
        runs: Ids of the runs in it, the main one first.
        removed: The places where credentials were removed: id of the run, and place.
        personal: Findings that look like personal data: id of the run, sort, and the number of different ones at each
            place.
    """

    path: Path
    digest: str
    runs: tuple[str, ...]
    removed: tuple[tuple[str, str], ...]
    personal: tuple[tuple[str, str, Mapping[str, int]], ...]


def pack(
    store: Store,
    runs: Sequence[tuple[str, Run]],
    path: Path,
    golden: Mapping[str, Json] | None = None,
    redact: Iterable[str] = (),
) -> PackResult:
    """Write runs, and the runs that belong to them, into one file without credentials.

    Args:
        store: The store with the runs.
        runs: Role in the bundle (``run``, or ``recorded``, ``fixed`` and ``overlay`` of a golden) and run; the main one
            first.
        path: The file to write; an existing file is replaced.
        golden: The data of a golden.
        redact: Names of fields that hold credentials, beside those that a run was recorded with.

    Raises:
        UsageError: A run cannot be packed, or the file not be written.
        RedactionLeak: A credential would be left in the file; nothing was written.
        StoreError: A part of a run is missing or damaged, or the bundle is too large.
        UnreplayableRun: A run was thinned.
    """
    whole: dict[str, GatheredRun] = {}
    for role, run in runs:
        require_bodies(run)
        for each in gather(store, run, role):
            whole.setdefault(each.recording.run.id, each)
    logs = {run_id: tuple(records(each, store)) for run_id, each in whole.items()}
    lists = [list_of(each.recording.run, logs[run_id]) for run_id, each in whole.items()]
    known = {run_id: known_here(each.recording.run, os.environ, lists, redact) for run_id, each in whole.items()}
    gone = RemovedValues()
    done: dict[str, tuple[bytes, CleanBundle]] = {}
    for _ in range(2):  # a value that was removed from one of them is removed from the earlier ones too
        for run_id, each in whole.items():
            if run_id not in done or done[run_id][0] != gone.mark:
                cleaned = clean(each.recording.run, logs[run_id], known[run_id], gone)
                done[run_id] = (gone.mark, cleaned)
    found: dict[str, PackedRun] = {}
    for run_id, (_, cleaned) in done.items():
        ends = [record.run for record in cleaned.records if isinstance(record, RunClosed)]
        own = whole[run_id]
        found[run_id] = PackedRun(own.role, ends[-1] if ends else own.recording.run, cleaned.records)
    removed = [(run_id, place) for run_id, (_, cleaned) in done.items() for place in cleaned.removed]
    people = [(run_id, sort, at) for run_id, (_, cleaned) in done.items() for sort, at in cleaned.personal.items()]
    secrets = [(run_id, _both(each, gone)) for run_id, each in known.items() if each.told or gone]
    packed = _in_order(found.values())
    require_no_secret(members_of(packed, golden), secrets)
    digest = write_bundle(path, packed, golden)
    return PackResult(path, digest, tuple(each.run.id for each in packed), tuple(removed), tuple(people))


def _in_order(runs: Iterable[PackedRun]) -> list[PackedRun]:
    """The runs in the given order, then the runs that only belong to them."""
    return sorted(runs, key=lambda each: each.role in BELONGING)


def _both(known: KnownCredentials, removed: RemovedValues) -> Sought:
    return lambda data: [*known.spans(data), *removed.spans(data)]


def require_no_secret(members: Mapping[str, bytes], secrets: Iterable[tuple[str, Sought]]) -> None:
    """Look for every known credential, and for every removed value, in the very bytes that are about to be written.

    Args:
        members: Names and contents of all parts.
        secrets: For each run, the function that finds its credentials in a text.

    Raises:
        RedactionLeak: A credential was found.
    """
    every = list(secrets)
    left = leftover(members, lambda data: [span for _, sought in every for span in sought(data)]) if every else None
    if left is None:
        return
    part = {left.member: members[left.member]}
    run = next((run for run, sought in every if leftover(part, sought) is not None), every[0][0])
    place = f"{left.place} ({left.member})" if left.place else left.member
    cause = "it stands where redaction does not look, or in what was said about a golden"
    if left.field:
        cause += f'; redact = {{"{left.field}" = "credential"}} in reenact.toml removes all that stands in such a field'
    raise RedactionLeak(
        f"run {tail(run)} is not handed on: a credential that was removed elsewhere, or is one here, is in {place}",
        cause=cause,
        next_command=f"reenact show {tail(run)}" + ("" if left.event is None else f":{left.event}"),
        run=run,
    )


@dataclass(frozen=True, slots=True)
class BundleCheck:
    """The result of replaying a bundle in a process of its own.

    Attributes:
        verdict: ``exact``, ``same`` or ``different``; empty where the bundle could not be replayed.
        words: The message for a person.
        exit_code: The exit code of ``replay``; 0 where the bundle could not be replayed.
    """

    verdict: str
    words: str
    exit_code: int


def check(path: Path, run: Run) -> BundleCheck:
    """Replay a bundle once, with nothing but the bundle and the code: in a fresh process, without the credentials of
    this environment, without access to the store of its origin.

    Args:
        path: The bundle.
        run: The run that was packed: where this user has recorded it, its own command may be started.
    """
    words = [sys.executable, "-m", "reenact", "--json", "replay", os.path.abspath(path)]
    folder = project_of()
    if run.entry.kind == "command" and run.entry.argv and trust.is_ours(run):
        words += ["--cmd", shlex.join(interpreted(run))]
        folder = run.entry.cwd if os.path.isdir(run.entry.cwd) else folder
    environment = {name: value for name, value in os.environ.items() if not is_secret(name) and name != "REENACT_STORE"}
    done = subprocess.run(
        words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    report = _report(done.stdout)
    if report is None:
        said = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.startswith("reenact: ")]
        why = said[-1].removeprefix("reenact: ") if said else f"exit status {done.returncode}"
        return BundleCheck("", f"not replayed: {why}", 0)
    return BundleCheck(str(report.get("verdict") or ""), str(report.get("last_line") or ""), done.returncode)


def _report(output: bytes) -> dict[str, Any] | None:
    for line in reversed(output.splitlines()):
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and "verdict" in found:
            return found
    return None
