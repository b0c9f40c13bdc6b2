"""One run as one file: a ``.reenact`` bundle, written, checked and opened as a store that can only be read.

The module ``archive`` is about the container, ``record_lines`` about a record as a line of JSON, ``bundle_writer`` and
``bundle_reader`` about a bundle as a whole, ``file_store`` about a store over a bundle, and ``text`` about a bundle as
text for a review. ``docs/reference/bundle.md`` documents the format.
"""

from reenact.store.bundles.archive import is_sealed
from reenact.store.bundles.bundle_reader import read_bundle
from reenact.store.bundles.bundle_writer import content_digest, members_of, write_bundle
from reenact.store.bundles.file_store import BundleStore, bundle_store
from reenact.store.bundles.model import BELONGING, Bundle, PackedRun

__all__ = [
    "BELONGING",
    "Bundle",
    "BundleStore",
    "PackedRun",
    "bundle_store",
    "content_digest",
    "is_sealed",
    "members_of",
    "read_bundle",
    "write_bundle",
]
