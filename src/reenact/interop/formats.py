"""The formats that are read and written, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from reenact.errors import InteropError, UsageError
from reenact.interop import archives, cassettes, conversations
from reenact.interop.arriving import Origin
from reenact.interop.documents import contents
from reenact.interop.exchanges import Found
from reenact.interop.refusing import refused


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person says beside the file.

    Attributes:
        only: Only exchanges whose address begins like this are imported; empty for all.
        url: Address that a file which names none was recorded at.
        params: Fields that a file does not say of its requests.
    """

    only: str = ""
    url: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)


Reader = Callable[[bytes, Asked], list[Found]]

READERS: Final[Mapping[str, Reader]] = {
    "vcr": lambda data, asked: [cassettes.read(data, asked.only)],
    "har": lambda data, asked: [archives.read(data, asked.only)],
    "messages": lambda data, asked: conversations.read(data, asked.url, asked.params, asked.only),
}
"""How each format is read."""


def read(name: str, path: Path, asked: Asked) -> tuple[list[Found], Origin]:
    """Everything that a file holds, read to its end; nothing is written.

    Args:
        name: Of the format.
        path: Of the file.
        asked: What is known beside it.

    Raises:
        UsageError: There is no such format.
        InteropError: The file cannot be read; says why, and where in it.
    """
    reader = READERS.get(name)
    if reader is None:
        raise UsageError(
            f"there is no format {name!r} to import",
            cause=f"these are read: {', '.join(READERS)}",
            next_command="reenact import --help",
        )
    try:
        data = contents(path)
        return reader(data, asked), Origin.of(path.name, data)
    except (MemoryError, RecursionError):
        raise refused(f"{path.name} takes more memory than there is", "made to exhaust its reader") from None
    except InteropError as error:
        raise InteropError(
            f"{path.name} is not imported: {error.message}",
            cause=error.cause,
            next_command=error.next_command,
            **error.facts,
        ) from None
