"""Writes a bundle: its runs as lines and blobs, and a manifest of them. The file is written completely or not at
all."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from reenact.abc.sources import ENTROPY
from reenact.errors import StoreError, UsageError
from reenact.facts.call import Json
from reenact.facts.jsontext import writer
from reenact.facts.record import Record
from reenact.store.bundles import limits
from reenact.store.bundles.archive import OLDEST_READER, WRITTEN, too_large, write_archive
from reenact.store.bundles.bundle_reader import GOLDEN, MANIFEST, read_bundle
from reenact.store.bundles.chain import chained, last_link
from reenact.store.bundles.model import PackedRun
from reenact.store.bundles.record_lines import line_of

_json = writer(ascii_only=True, nan=False)
_PERMISSIONS: Final = 0o644
_FLAGS: Final = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)


def write_bundle(path: Path, runs: Sequence[PackedRun], golden: Mapping[str, Json] | None = None) -> str:
    """Write a bundle. The file is read again, with every check, before it gets its name.

    With one version of zlib, the same runs give the same bytes; with any version, the same digest.

    Args:
        path: The path; an existing file is replaced, in one step.
        runs: The runs to write, the main run first. The caller must have removed credentials.
        golden: The facts of a golden.

    Returns:
        The digest of its content, see ``Bundle.digest``.

    Raises:
        StoreError: The bundle would be too large, or cannot be kept.
        UsageError: The bundle cannot be written there.
    """
    members = members_of(runs, golden)
    draft = path.with_name(f".{path.name[:80]}.{ENTROPY.bytes(6).hex()}.reenact")
    try:
        with open(os.open(draft, _FLAGS, _PERMISSIONS), "w+b") as file:
            write_archive(file, members.items())
            file.flush()
            os.fsync(file.fileno())
        digest = read_bundle(draft).digest
        os.replace(draft, path)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror}",
            cause="its folder is not there, cannot be written, or the disk is full",
            next_command="reenact pack --help",
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink()
    return digest


def members_of(runs: Sequence[PackedRun], golden: Mapping[str, Json] | None) -> dict[str, bytes]:
    """Names and contents of all members.

    Raises:
        StoreError: The members would be larger than a bundle may be.
    """
    members: dict[str, bytes] = {}

    def keep(data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        members[f"blobs/{digest}"] = data
        return digest

    listed = []
    for number, packed in enumerate(runs):
        name = member_name(number, packed.role)
        lines = _lines(name, packed, keep)
        members[name] = b"".join(lines)
        listed.append(
            {
                "role": packed.role,
                "id": packed.run.id,
                "member": name,
                "lines": len(lines),
                "chain": last_link(lines, name),
            }
        )
    if golden is not None:
        members[GOLDEN] = _json(dict(golden)).encode()
    total = sum(map(len, members.values()))
    if total > limits.CONTENT or len(members) >= limits.MEMBERS:
        raise too_large(f"{total >> 20} MiB in {len(members)} parts")
    manifest = {
        "format": {"written": WRITTEN, "oldest_reader": OLDEST_READER},
        "runs": listed,
        "members": {
            name: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
            for name, data in sorted(members.items())
        },
    }
    members[MANIFEST] = _json(manifest).encode()
    return members


def content_digest(records: Iterable[Record]) -> str:
    """One digest over the records of a run, which is the same in every store."""
    name = member_name(0, "run")
    found: list[bytes] = []
    for line in chained(name, (line_of(record, lambda data: hashlib.sha256(data).hexdigest()) for record in records)):
        found = [line]
    return last_link(found, name)


def member_name(number: int, role: str) -> str:
    """Name of the member that holds a run's records."""
    return f"runs/{number:04}-{role}.jsonl"


def _lines(name: str, packed: PackedRun, keep: Callable[[bytes], str]) -> list[bytes]:
    try:
        lines = list(chained(name, (line_of(record, keep) for record in packed.records)))
    except (TypeError, ValueError) as error:
        raise StoreError(
            f"a record of run {packed.run.id} cannot be written: {error}",
            cause="a fact that is not JSON-able",
            next_command="reenact ls",
        ) from error
    if any(len(line) > limits.LINE for line in lines) or sum(map(len, lines)) > limits.LINES:
        raise too_large("its records are")
    return lines
