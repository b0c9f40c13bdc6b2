"""The program's own source files that a run has loaded, byte for byte, if git does not have them.

Only files below the program's own folders count: neither the interpreter's, nor installed packages, nor ours. Each
version of a file is read once in a process; a later run of the process only names the run that has it.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Mapping
from types import ModuleType

from reenact.facts.lazy_dataclass import dataclass

LARGEST = 256 << 10
"""A source file above this many bytes is named with its digest, not kept."""
ALTOGETHER = 2 << 20
"""The most bytes of source files that are kept with one run."""
MOST = 400
"""The most source files that are looked at."""

_PLACES = ("site-packages", "dist-packages")
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@dataclass(frozen=True, slots=True)
class Sources:
    """Source files of a program.

    Attributes:
        digests: Path (relative to the program's folder where it lies below) to digest of the content.
        texts: Path to content, for the files that are kept.
    """

    digests: Mapping[str, str]
    texts: Mapping[str, str]

    @property
    def digest(self) -> str:
        """One digest of all files."""
        whole = hashlib.blake2b(digest_size=16)
        for path, digest in sorted(self.digests.items()):
            whole.update(f"{path}\0{digest}\n".encode("utf-8", "surrogatepass"))
        return whole.hexdigest()


def loaded_sources(
    folders: Iterable[str], script: str = "", modules: Mapping[str, ModuleType] | None = None
) -> Sources:
    """Read the source files of the modules that are loaded from below some folders.

    Args:
        folders: The program's own folders; paths are relative to the first one.
        script: The script that was run, which is no module of that name.
        modules: The loaded modules; ``sys.modules`` by default.

    Returns:
        The files. Costs about 0.3 ms for a thousand modules, and one read for each file of the program.
    """
    roots = [os.path.abspath(folder) for folder in folders if folder]
    digests: dict[str, str] = {}
    texts: dict[str, str] = {}
    room = ALTOGETHER
    for path in _files(dict(sys.modules if modules is None else modules), script, roots)[:MOST]:
        try:
            with open(path, "rb") as file:
                data = file.read(LARGEST + 1)
        except OSError:
            continue
        name = _shown(path, roots)
        digests[name] = hashlib.blake2b(data, digest_size=16).hexdigest()
        if len(data) <= min(LARGEST, room):
            try:
                texts[name] = data.decode("utf-8")
            except UnicodeDecodeError:
                continue
            room -= len(data)
    return Sources(digests, texts)


def _files(modules: Mapping[str, ModuleType], script: str, roots: list[str]) -> list[str]:
    found: dict[str, None] = {}
    foreign = tuple(folder.rstrip(os.sep) + os.sep for folder in _foreign_folders())
    for path in (script, *(_attributes(module).get("__file__") for module in modules.values())):
        if not isinstance(path, str) or not path.endswith((".py", ".pyw")) or any(each in path for each in _PLACES):
            continue
        if path.startswith(foreign):  # most modules are excluded here, without a look at the file system
            continue
        full = os.path.abspath(path)
        if any(_below(full, root) for root in roots) and not _foreign(full):
            found[full] = None
    return sorted(found)


def _attributes(module: object) -> dict[str, object]:
    """The attributes of an entry of ``sys.modules``, read without a look-up that would load a lazy module."""
    try:
        found = object.__getattribute__(module, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}


def _foreign(path: str) -> bool:
    """Whether a file belongs to the interpreter, to its standard library, or to us."""
    return any(_below(path, folder) for folder in _foreign_folders())


def _foreign_folders() -> tuple[str, ...]:
    library = os.path.dirname(os.__file__)
    return library, sys.prefix if sys.prefix != sys.base_prefix else library, _OURS


def _below(path: str, folder: str) -> bool:
    return path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


def _shown(path: str, roots: list[str]) -> str:
    for root in roots[:1]:
        if _below(path, root):
            return os.path.relpath(path, root).replace(os.sep, "/")
    return path
