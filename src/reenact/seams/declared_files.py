"""The declared files of a run: their contents at its end."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable


def file_digests(root: str, patterns: Iterable[str]) -> dict[str, str]:
    """Digests of declared files.

    Args:
        root: Directory the patterns are relative to.
        patterns: Glob patterns; ``**`` goes into folders.

    Returns:
        Relative path to digest, sorted. A file that cannot be read has the digest ``unreadable``.
    """
    digests: dict[str, str] = {}
    for pattern in patterns:
        for path in glob.glob(pattern, root_dir=root, recursive=True):
            full = os.path.join(root, path)
            if os.path.isfile(full):
                digests[path] = _digest(full)
    return dict(sorted(digests.items()))


def _digest(path: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    try:
        with open(path, "rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    except OSError:
        return "unreadable"
    return digest.hexdigest()
