"""The origin of a recording: a seal that only this user of this machine can make.

A command in a store is data, and data never becomes code. The exception is a run that this user recorded here, and a
seal proves that: a keyed digest over the run's id and its entry, under a key that lies outside every store.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import sys
from pathlib import Path

from reenact.abc.sources import Entropy
from reenact.facts.lazy_dataclass import fields
from reenact.facts.run import Entry, Run

_BYTES = 32
_FIELDS = tuple(each.name for each in fields(Entry))
_keys: dict[tuple[object, ...], bytes] = {}


def key_path() -> Path:
    """The path of the key: in the user's directory for state, never in a project."""
    return Path(_place())


def _place() -> str:
    """``key_path`` as a text, cached because every opened run needs it."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home())
    else:
        base = os.environ.get("XDG_STATE_HOME") or os.path.join(_home(), ".local", "state")
    return os.path.join(base, "reenact", "key")


def _home() -> str:
    """See ``Path.home``.

    Raises:
        RuntimeError: No variable names the home directory.
    """
    found = os.path.expanduser("~")
    if found == "~":
        raise RuntimeError("the home directory of this user is not known")
    return found


def _key(entropy: Entropy | None) -> bytes | None:
    """The key. It is made if there is none and ``entropy`` is given. None where it cannot be read or kept."""
    try:
        place = _place()
        with contextlib.suppress(FileNotFoundError):
            return _read(place)
        if entropy is None:
            return None
        path = Path(place)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = entropy.bytes(_BYTES)
        mine = path.with_name(f"key.{os.getpid()}")
        mine.touch(mode=0o600)
        mine.write_bytes(fresh)
        with contextlib.suppress(FileExistsError):
            os.link(mine, path)  # the first of several processes wins, and no process sees half a key
        mine.unlink()
        return path.read_bytes()
    except (OSError, RuntimeError):
        return None


def _read(path: str) -> bytes | None:
    """The content of a file, if it is a key; cached while it is the same file."""
    found = os.stat(path)
    state = (path, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    known = _keys.get(state)
    if known is None:
        known = Path(path).read_bytes()
        _keys.clear()
        _keys[state] = known
    return known if len(known) == _BYTES else None


def _digest(key: bytes, run: str, entry: Entry) -> str:
    said = {name: value for name in _FIELDS if (value := getattr(entry, name)) or name != "own"}
    text = json.dumps([run, said], sort_keys=True).encode()
    return hmac.new(key, text, hashlib.sha256).hexdigest()


def seal(run: str, entry: Entry, entropy: Entropy) -> str:
    """The seal of a run; empty where no key can be kept."""
    key = _key(entropy)
    return _digest(key, run, entry) if key is not None else ""


def is_ours(run: Run) -> bool:
    """Whether this user recorded the run on this machine, and its entry has not changed since."""
    found = str(run.capture.get("seal") or "")
    key = _key(None) if found else None  # a bundle's run has no seal: the key need not be read
    return key is not None and hmac.compare_digest(found, _digest(key, run.id, run.entry))
