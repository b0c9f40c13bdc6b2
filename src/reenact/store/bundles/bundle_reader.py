"""Reads a bundle: all of the file is checked before any part is returned."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from reenact.facts.call import Json
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.record import CallIssued, LaneOpened, Record, RunClosed, RunOpened
from reenact.facts.run import Run
from reenact.store.bundles import limits
from reenact.store.bundles.archive import OLDEST_READER, WRITTEN, Archive, open_archive, refused
from reenact.store.bundles.chain import last_link, texts, unchained, value_of
from reenact.store.bundles.model import MAIN, ROLES, Bundle, PackedRun
from reenact.store.bundles.record_lines import record_of

MANIFEST: Final = "bundle.json"
GOLDEN: Final = "golden.json"
_BLOB: Final = lazy_regex(r"blobs/([0-9a-f]{64})")
_STRUCTURE: Final = frozenset({RunOpened, RunClosed, CallIssued, LaneOpened})
"""The kinds of records that the check of a log needs."""
_EVIDENCE: Final = b'{"is":"note","event":null,"key":"kit.'
_MOST_SHARED: Final = 16
_LONGEST_SHARED: Final = 32 << 10
_shared: Final[dict[bytes, Record]] = {}
"""Parsed surroundings of runs, by their exact line. Runs of one project have the same line, the longest of a small
run."""
_FAULTS: Final = (ValueError, KeyError, TypeError, AttributeError, OverflowError, IndexError)


def read_bundle(path: Path) -> Bundle:
    """Read a bundle and check all of it: the digest over the file, the shape of the container, each member, the chain
    of the lines, and each record.

    Args:
        path: The file.

    Returns:
        The content, in memory. Reading takes about 2 ms for a run of 20 calls, and 10 ms a megabyte.

    Raises:
        UsageError: There is no such file.
        FormatTooNew: A newer version of reenact wrote it.
        StoreError: The file was changed after it was written, or is larger than a bundle may be.
    """
    with open_archive(path) as archive:
        try:
            return _FileReading(archive).bundle()
        except MemoryError:
            raise refused(path.name, "it needs more memory than this process may have") from None


class _FileReading:
    """Reads and checks one file.

    Args:
        archive: The open container.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._sums: dict[str, tuple[str, int]] = {}
        self._blobs: dict[str, bytes] = {}
        self._parts = 0
        sizes = (each.size for name, each in archive.members.items() if not name.startswith("blobs/"))
        self._light = sum(sizes) <= limits.PARTS
        self._ids: set[str] = set()
        self._began: Any = None

    def bundle(self) -> Bundle:
        """The content of the bundle, checked."""
        text = self._small(MANIFEST)
        manifest = self._json(MANIFEST, text)
        try:
            listed, golden = self._listed(manifest)
        except _FAULTS as error:
            raise self._refused(f"{MANIFEST} is none ({_words(error)})") from None
        runs = tuple(self._run(number, said) for number, said in enumerate(listed))
        unused = {name for name in self._sums if name.startswith("blobs/")} - self._blobs.keys()
        if unused:
            raise self._refused(f"{min(unused)} belongs to no record")
        return Bundle(runs, golden, hashlib.sha256(text).hexdigest(), self._archive.seal, self._archive.size)

    def _listed(self, manifest: Any) -> tuple[list[dict[str, Json]], Mapping[str, Json] | None]:
        """The content of the manifest: the runs, and the golden's own member."""
        if manifest["format"] != {"written": WRITTEN, "oldest_reader": OLDEST_READER}:
            raise ValueError("it names another format than the file's end")
        self._sums = {str(name): (said["sha256"], said["size"]) for name, said in manifest["members"].items()}
        runs = manifest["runs"]
        expected = [f"runs/{number:04}-{said['role']}.jsonl" for number, said in enumerate(runs)]
        if [said["member"] for said in runs] != expected or not runs:
            raise ValueError("its runs are not those that it names")
        if any(said["role"] not in ROLES for said in runs):
            raise ValueError("a run has an unknown role")
        if [said["role"] in MAIN for said in runs] != [True] + [False] * (len(runs) - 1):
            raise ValueError("it must have one main run, the first")
        others = set(self._sums) - {GOLDEN, *expected}
        if set(self._sums) | {MANIFEST} != set(self._archive.members) or not all(map(_BLOB.fullmatch, others)):
            raise ValueError("its members are not those that it names")
        golden = self._json(GOLDEN, self._checked(GOLDEN, self._small(GOLDEN))) if GOLDEN in self._sums else None
        if golden is not None and type(golden) is not dict:
            raise ValueError(f"{GOLDEN} is no object")
        return runs, golden

    def _small(self, name: str) -> bytes:
        """The bytes of a member that is read as one JSON document."""
        member = self._archive.members.get(name)
        if member is None or member.size > limits.MANIFEST:
            raise self._refused(f"{name} is missing, or too large")
        return self._archive.read(name)

    def _json(self, name: str, text: bytes) -> Any:
        try:
            found = json.loads(text)
            self._weigh(found)
        except RecursionError:
            raise self._refused(f"{name} is nested too deeply") from None
        except ValueError as error:
            raise self._refused(f"{name} is no JSON ({_words(error)})") from None
        return found

    def _checked(self, name: str, data: bytes) -> bytes:
        """A member's content, if it agrees with the manifest."""
        if self._sums.get(name) != (hashlib.sha256(data).hexdigest(), len(data)):
            raise self._refused(f"{name} is not what the manifest says")
        return data

    def _run(self, number: int, said: Mapping[str, Json]) -> PackedRun:
        name = str(said["member"])
        member = self._archive.members[name]
        if member.size > limits.LINES:
            raise self._refused(f"{name} is larger than records may be")
        data = self._checked(name, self._archive.read(name))
        records: list[Record] = []
        try:
            for at, text in texts(name, data):
                records.append(self._record(at, text, records))
        except RecursionError:
            raise self._refused(f"line {len(records) + 1} of {name} is nested too deeply") from None
        except _FAULTS as error:
            words = _words(error)
            place = f"{name}: " if words.startswith("line ") else f"line {len(records) + 1} of {name} is no record: "
            raise self._refused(f"{place}{words}") from None
        try:
            if (said["lines"], said["chain"]) != (len(records), last_link([data], name)):
                raise ValueError("the manifest names another count or chain")
            return PackedRun(str(said["role"]), self._whole(records, said["id"]), tuple(records))
        except _FAULTS as error:
            raise self._refused(f"{name} is no log of a run ({_words(error)})") from None

    def _record(self, number: int, text: bytes, before: list[Record]) -> Record:
        """The record of a line. Surroundings that another run had in the same form are not parsed again."""
        if not (self._light and text.startswith(_EVIDENCE)):
            return self._looked_at(value_of(number, text), before)
        record = _shared.get(text)
        if record is None:
            record = self._looked_at(value_of(number, text), before)
            if len(text) <= _LONGEST_SHARED:
                if len(_shared) >= _MOST_SHARED:
                    _shared.clear()
                _shared[text] = record
        return record

    def _looked_at(self, line: Any, before: list[Record]) -> Record:
        """The record of a line's data, checked. The end of a packed run repeats texts that were checked at its
        beginning."""
        self._weigh(line)
        if not before and type(line) is dict:
            self._began = line.get("run")
        elif before and type(line) is dict and line.get("is") == "run-end" and "notes" not in line:
            began = before[0]
            if isinstance(began, RunOpened) and line.get("run") == self._began:
                return RunClosed(began.run)
        return record_of(line, self._fetch)

    def _whole(self, records: list[Record], run_id: Any) -> Run:
        """The run of a log, which is checked: it opens first, has every event and lane once, and none inside a later
        one."""
        first = records[0]
        if not isinstance(first, RunOpened) or first.run.id != run_id or first.run.lane:
            raise ValueError("it does not begin with the run that the manifest names")
        run = first.run
        opened: dict[str, Run] = {}
        events: set[int] = set()
        lanes: set[int] = set()
        for record in records:
            if type(record) not in _STRUCTURE:
                continue
            if isinstance(record, RunOpened):
                if record.run.id in self._ids or bool(record.run.lane) is not bool(opened):
                    raise ValueError("a run stands in it twice, or in no lane of its log")
                self._ids.add(record.run.id)
                opened[record.run.id] = record.run
            elif isinstance(record, RunClosed):
                known = opened.get(record.run.id)
                if known is None or known.lane != record.run.lane:
                    raise ValueError("a run ends that never began")
                run = record.run if record.run.id == run_id else run
            elif isinstance(record, CallIssued):
                _once(events, record.event, record.parent)
            elif isinstance(record, LaneOpened):
                _once(lanes, record.number)
        return run

    def _fetch(self, digest: str, size: int) -> bytes:
        """The content of a blob."""
        name = f"blobs/{digest}"
        found = self._blobs.get(name)
        if found is None:
            if self._sums.get(name) != (digest, size):
                raise ValueError(f"it names a blob that is not there ({digest[:12]})")
            found = self._blobs[name] = self._checked(name, self._archive.read(name))
        if len(found) != size:
            raise ValueError("it names a blob of another size")
        return found

    def _weigh(self, data: Any) -> None:
        """Count the values of a document, so that no small file becomes a large thing in memory. The values of a short
        record are not counted, because each value has at least a byte."""
        if self._light:
            return
        waiting = [data]
        while waiting:
            value = waiting.pop()
            if type(value) is dict:
                self._parts += len(value)
                waiting += value.values()
            elif type(value) is list:
                self._parts += len(value)
                waiting += value
        if self._parts > limits.PARTS:
            raise self._refused(f"it has more than {limits.PARTS} values")

    def _refused(self, why: str) -> Exception:
        return refused(self._archive.name, why)


def _once(known: set[int], number: int, parent: int | None = None) -> None:
    if number in known or (parent is not None and parent >= number):
        raise ValueError(f"number {number} occurs twice, or its parent comes later")
    known.add(number)


def _words(error: Exception) -> str:
    """A short text for an error that a hostile file has caused."""
    text = str(error) or type(error).__name__
    return ("missing " if isinstance(error, KeyError) else "") + text[:160]


def lines_of(path: Path) -> Iterator[tuple[str, Any]]:
    """The lines of a bundle that has been read and checked, as data for display, each with its member's name."""
    with open_archive(path) as archive:
        for name in archive.members:
            if name.startswith("runs/"):
                for _, line in unchained(name, archive.read(name)):
                    yield name, line
