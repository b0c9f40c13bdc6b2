"""Files of other tools as plain data: read within bounds of size, depth and number, JSON and YAML alike."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from reenact.errors import InteropError
from reenact.facts.compression import undo
from reenact.facts.lazy_regex import lazy_regex
from reenact.interop import yamltext
from reenact.interop.file_refusal import refused

LARGEST: Final = 24 << 20
"""Most bytes of a file, unpacked."""
MOST_TOKENS: Final = 900_000
"""Most strings, lists, objects and separators in a JSON text."""

_GZIP = b"\x1f\x8b"
_SIGNS: Final = (b"[", b"{", b",")
_TOKEN = lazy_regex(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{,]', re.DOTALL)


def contents(path: Path) -> bytes:
    """The bytes of a file, unpacked where it is gzip; ``-`` is standard input.

    Raises:
        InteropError: The file cannot be read, or is too large.
    """
    try:
        if str(path) == "-":
            data = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with path.open("rb") as file:
                data = file.read(LARGEST + 1)
    except OSError as error:
        raise refused(f"{path} cannot be read: {error.strerror}", "its name, or its permissions") from None
    if data.startswith(_GZIP):
        unpacked = undo("gzip", data, LARGEST)
        if unpacked is None or not unpacked.whole:
            raise refused(f"{path.name} cannot be unpacked", f"it is damaged, or more than {LARGEST >> 20} MiB")
        data = unpacked.data
    if len(data) > LARGEST:
        raise refused(f"{path.name} is larger than {LARGEST >> 20} MiB", "split it, and import the parts")
    if not data.strip():
        raise refused(f"{path.name} is empty", "nothing was recorded into it")
    return data


def read_json(data: bytes, where: str = "") -> Any:
    """A JSON text as data.

    Raises:
        InteropError: The text is no JSON, or too large.
    """
    if (
        data.count(b'"') // 2 + sum(map(data.count, _SIGNS)) >= MOST_TOKENS
    ):  # counts signs in strings too: rather too many than too few
        for tokens, _ in enumerate(_TOKEN.finditer(data)):
            if tokens >= MOST_TOKENS:
                raise refused(f"it holds more than {MOST_TOKENS} values", "split it, and import the parts", where=where)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else f"this is no JSON: {error}"
        raise refused(reason, "another format, or a damaged file", where=where) from None


def read_document(data: bytes) -> Any:
    """A JSON or YAML text as data; its first character decides which it is.

    Raises:
        InteropError: The text is neither, or too large.
    """
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        try:
            return read_json(data)
        except InteropError as error:
            if "no JSON" not in error.message:
                raise
            try:
                return yamltext.read(data)  # YAML's flow style begins like JSON
            except InteropError:
                raise error from None
    return yamltext.read(data)


def lines(data: bytes) -> Iterator[tuple[int, Any]]:
    """The values of a text of JSON Lines, with the number of each line (from 1); empty lines are passed over.

    Raises:
        InteropError: A line is no JSON.
    """
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if line.strip():
            yield number, read_json(line, f"line {number}")
