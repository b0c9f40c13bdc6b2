"""Bundles as somebody would forge them who knows the format: every digest and chain fits what they made up."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reenact.facts.record import Record, RunClosed, RunOpened
from reenact.facts.run import Run
from reenact.store.bundles import PackedRun, members_of, write_bundle
from reenact.store.bundles.archive import write_archive
from reenact.store.bundles.chain import chained, last_link, unchained
from tests.store.records import closing, issued, new_run, opening, settled

LINES = "runs/0000-run.jsonl"
COMMENT = b"reenact-bundle written=1 reader=1 sha256="


def small(run: Run | None = None, *more: Record) -> PackedRun:
    """A run of one call."""
    run = run or new_run()
    records = [*opening(run), issued(0), settled(0), *more]
    if not any(isinstance(each, RunClosed) for each in records):
        records.append(closing(run))
    ended = [each.run for each in records if isinstance(each, RunClosed | RunOpened)][-1]
    return PackedRun("run", ended, tuple(records))


def written(path: Path, packed: PackedRun | None = None) -> Path:
    """An honest bundle."""
    write_bundle(path, [packed or small()])
    return path


def parts(path: Path) -> dict[str, bytes]:
    """The members of a bundle, as any program would unzip them."""
    with zipfile.ZipFile(path) as found:
        return {name: found.read(name) for name in found.namelist()}


def lines(members: Mapping[str, bytes], name: str = LINES) -> list[dict[str, Any]]:
    """What stands in the lines of a member."""
    return [line for _, line in unchained(name, members[name])]


def relined(members: dict[str, bytes], records: Iterable[dict[str, Any]], name: str = LINES) -> dict[str, bytes]:
    """The members with other lines, chained anew."""
    return summed({**members, name: b"".join(chained(name, records))})


def summed(members: dict[str, bytes], change: Callable[[dict[str, Any]], object] = lambda _: None) -> dict[str, bytes]:
    """The members with a manifest that fits them."""
    manifest = json.loads(members["bundle.json"])
    for run in manifest["runs"]:
        data = members.get(run["member"], b"")
        run["lines"], run["chain"] = data.count(b"\n"), last_link([data] if data else [], run["member"])
    manifest["members"] = {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        for name, data in sorted(members.items())
        if name != "bundle.json"
    }
    change(manifest)
    return {**members, "bundle.json": json.dumps(manifest).encode()}


def contained(path: Path, members: Mapping[str, bytes]) -> Path:
    """A container as it should be, around any members."""
    with path.open("w+b") as file:
        write_archive(file, members.items())
    return path


def sealed(data: bytes) -> bytes:
    """A zip file with the comment and the digest of a bundle."""
    at = data.rindex(b"PK\x05\x06")
    body = data[: at + 20] + (len(COMMENT) + 64).to_bytes(2, "little") + COMMENT
    return body + hashlib.sha256(body).hexdigest().encode()


def zipped(entries: Iterable[tuple[zipfile.ZipInfo, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip file as another program makes it, sealed."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for info, data in entries:
            info.compress_type = method
            archive.writestr(info, data)
    return sealed(made.getvalue())


def info(name: str, **fields: Any) -> zipfile.ZipInfo:
    """An entry as the writer makes it, but for some fields."""
    found = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    found.create_system = 3
    found.external_attr = 0o100644 << 16
    for field, value in fields.items():
        setattr(found, field, value)
    return found


def honest(packed: PackedRun | None = None) -> dict[str, bytes]:
    """Members of an honest bundle."""
    return members_of([packed or small()], None)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the values of a document stand, containers among them."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, (*path, key))
    elif isinstance(value, list):
        for n, part in enumerate(value):
            yield from leaves(part, (*path, n))


def with_other(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    """A document with another value at one place."""
    if not path:
        return other
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = with_other(value[path[0]], path[1:], other)
    return copy
