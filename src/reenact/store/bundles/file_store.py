"""A bundle as a read-only store, so that every reader of runs can read the bundle."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from reenact.abc.store import Log, Recording
from reenact.errors import UsageError
from reenact.facts.effects import Claim
from reenact.facts.event import Payload
from reenact.facts.marks import Mark
from reenact.facts.record import Record
from reenact.facts.run import Run
from reenact.store.back_ends import BUNDLE
from reenact.store.bundles.bundle_reader import read_bundle
from reenact.store.bundles.model import Bundle
from reenact.store.derived_reads import Views
from reenact.store.keyed_hash import KeyedHash
from reenact.store.memory_store import MemoryStore


def bundle_store(path: Path) -> BundleStore:
    """A bundle as a store that can only be read. All of the file is read and checked at once.

    Args:
        path: The file.

    Raises:
        UsageError, StoreError: See ``read_bundle``.
    """
    return BundleStore(path, read_bundle(path))


class ContentHash(KeyedHash):
    """The hash of a bundle, which is plain SHA-256, so that a payload has the same address in every copy of a
    bundle."""

    __slots__ = ()

    def __init__(self) -> None:
        self.begin = hashlib.sha256().copy


class BundleStore(Views):
    """A read-only store with the runs of one bundle.

    Args:
        path: The file.
        bundle: The content that was read from the file.

    Attributes:
        path: The file.
        bundle: The content of the file.
    """

    def __init__(self, path: Path, bundle: Bundle) -> None:
        self.url = os.path.abspath(path)
        self.path = path
        self.bundle = bundle
        self._read = MemoryStore(self.url, hasher=ContentHash(), home=self)
        self._read.adopt([(packed.run, packed.records) for packed in reversed(bundle.runs)])

    def runs(self, **filters: Any) -> Iterator[Run]:
        return self._read.runs(**filters)

    def run(self, ref: str) -> Run:
        """See ``abc.store.Store``. The file itself, ``@`` and ``@golden/NAME`` name the main run."""
        if ref == "@" or ref.endswith(BUNDLE) or ref.startswith("@golden/"):
            ref = self.bundle.main.run.id
        return self._read.run(ref)

    def open(self, run: Run | str) -> Recording:
        return self._read.open(self.run(run) if isinstance(run, str) else run)

    def payload(self, digest: Payload | str) -> bytes:
        return self._read.payload(digest)

    def marks(self) -> Sequence[Mark]:
        """No marks: they are no part of a bundle."""
        return ()

    def claimed(self, address: str) -> Claim | None:
        """No claim: claims are no part of a bundle."""

    def close(self) -> None:
        """See ``abc.store.Store``. Nothing is open, because all of the file was read."""

    def begin(self, run: Run) -> Log:
        """Refuse: a bundle is read-only."""
        self._refuse()

    def adopt(self, logs: Sequence[tuple[Run, Iterable[Record]]]) -> None:
        """Refuse: a bundle is read-only."""
        self._refuse()

    def amend(self, run: Run | str, *, flag: str | None = None, tags: Mapping[str, str] | None = None) -> Run:
        """Refuse: a bundle is read-only."""
        self._refuse()

    def mark(self, mark: Mark) -> None:
        """Refuse: a bundle is read-only."""
        self._refuse()

    def unmark(self, mark_id: str) -> None:
        """Refuse: a bundle is read-only."""
        self._refuse()

    def conclude(self, run: Run) -> Run:
        """Refuse: a bundle is read-only."""
        self._refuse()

    def claim(self, claim: Claim, *, over: Claim | None = None) -> bool:
        """Refuse: a bundle is read-only."""
        self._refuse()

    def note_claims(self, claims: Iterable[Claim]) -> None:
        """Refuse: a bundle is read-only."""
        self._refuse()

    def exchange(self, left: Run, right: Run) -> Run:
        """Refuse: a bundle is read-only."""
        self._refuse()

    def delete(self, run: Run | str) -> None:
        """Refuse: a bundle is read-only."""
        self._refuse()

    def discard(self, run_id: str) -> bool:
        """Refuse: a bundle is read-only."""
        self._refuse()

    def thin(self, run_id: str, why: str) -> bool:
        """Refuse: a bundle is read-only."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise UsageError(
            f"{self.path.name} is a bundle, and nothing is written in it",
            cause="a bundle is sealed: unpack it to change, resume or fork its run",
            next_command=f"reenact unpack {shlex.quote(str(self.path))}",
        )
