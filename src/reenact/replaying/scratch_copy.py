"""The scratch copy: holds a program's changes of the disk; the disk itself stays unchanged.

A caller gives paths and gets the places that may be read or written for them. A file is copied before its first change.
A folder is copied without its contents.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from reenact.replaying.disk_cover import within
from reenact.replaying.layers import LayerPlace, Layers
from reenact.replaying.path_lookup import Spot, error, follow
from reenact.replaying.temporaries import MadeFiles

_open = os.open
_access = os.access
_chmod, _chown, _utime = os.chmod, os.lchown, os.utime
_getcwd = os.getcwd
_listdir = os.listdir
_mkdir, _rmdir, _unlink = os.mkdir, os.rmdir, os.unlink
_readlink, _symlink, _link, _rename = os.readlink, os.symlink, os.link, os.rename
_CHANGES: Final = os.O_WRONLY | os.O_RDWR | os.O_TRUNC
_NEW: Final = os.O_CREAT | os.O_EXCL


class Copy:
    """The changed files, and their places.

    Args:
        folder: An empty folder of ours for the changed files.
        keep: Folders that are not covered, because we write there ourselves; ``folder`` lies below one of them.
        made: Temporary files, which may be made on the disk itself, and are removed at the end.
        refuse: Called with a path that cannot be changed in scratch; raises if that would reach the world.
    """

    def __init__(self, folder: str, keep: Sequence[str], made: MadeFiles, refuse: Callable[[str], None]) -> None:
        self.layers = Layers()
        self.lock = threading.RLock()
        self.folder = folder
        self._keep = tuple(map(os.path.realpath, keep))
        self.made = made
        self._refuse = refuse
        self._count = 0
        self.cwd = ""
        """The program's working directory by its own name, if the system knows another name for it."""

    # --- looking -----------------------------------------------------------------------------------------------------

    def spot(self, text: str, *, last: bool) -> Spot:
        """Where a path leads. ``last``: a link at its end is followed."""
        if not text:
            raise error(errno.ENOENT)
        whole = text if text.startswith("/") else f"{self.cwd or _getcwd()}/{text}"
        return follow(self.layers, whole, last=last)

    def seen(self, text: str, *, last: bool) -> str | None:
        """The place of a path; None where it is not redirected.

        Raises:
            OSError: The path does not exist.
        """
        if not self.layers:
            return None
        with self.lock:
            spot = self.spot(text, last=last)
        if not spot.said and (not self.cwd or text.startswith("/")):
            return None
        if spot.is_the_systems:
            return spot.name
        if spot.about is None or spot.place is None:
            raise error(errno.ENOENT)
        return spot.place.path

    def names(self, text: str) -> list[str] | None:
        """The names in a folder; None where it is not redirected."""
        if not self.layers:
            return None
        with self.lock:
            spot = self.spot(text, last=True)
            told = {} if spot.is_the_systems else self.layers.names(spot.parts)
            if not told and not spot.said and (not self.cwd or text.startswith("/")):
                return None
            if spot.about is None or spot.place is None:
                raise error(errno.ENOENT)
            return self._names(spot.place, told)

    def _names(self, place: LayerPlace, told: dict[str, bool]) -> list[str]:
        found = [name for name in _listdir(place.path) if told.get(name, True)]
        return [*found, *(name for name, there in told.items() if there and name not in found)]

    def below(self, folder: int) -> str | None:
        """The program's name for the folder under a descriptor; None where the system does not tell."""
        with suppress(OSError), self.lock:
            return self.layers.called(_readlink(f"/proc/self/fd/{folder}"))
        return None

    def hides(self, place: str) -> bool:
        """Whether changes of a path are made in scratch."""
        return not any(within(place, each) for each in self._keep)

    # --- changing: the lock is held in all of these functions ---------------------------------------------------------

    def target(self, text: str, *, last: bool, makes: bool = False) -> Spot | None:
        """The place for a change; None where the change may be made on the disk itself: a device, a path of ours, a
        temporary file.

        Args:
            text: The path.
            last: Whether a link at its end is followed.
            makes: Whether the change may make the path.
        """
        spot = self.spot(text, last=last)
        if spot.is_the_systems:
            self._refuse(spot.name)  # this allows a device
        return None if self.stays(spot) or (makes and self._takes(spot)) else spot

    def stays(self, spot: Spot) -> bool:
        """Whether changes of a path are not made in scratch."""
        name = spot.name
        if spot.is_the_systems or not self.hides(name):
            return True
        return not spot.said and self.made.holds(name)

    def _takes(self, spot: Spot) -> bool:
        """Whether a path is made on the disk itself, and removed at the end."""
        return spot.about is None and not spot.said and self.made.takes(spot.name)

    def _may(self, place: LayerPlace | None, what: int) -> None:
        """Raise the system's error for a folder or a file that this user may not change."""
        if place is None:
            raise error(errno.ENOENT)
        if not _access(place.path, what):
            read_only = os.statvfs(place.path).f_flag & getattr(os, "ST_RDONLY", 1)
            raise error(errno.EROFS if read_only else errno.EACCES)

    def _above(self, spot: Spot) -> LayerPlace:
        place = self.layers.find(spot.parts[:-1]).place
        self._may(place, os.W_OK | os.X_OK)
        assert place is not None
        return place

    def fresh(self, spot: Spot) -> str:
        """A place in scratch at which the new content of a path can be made."""
        above = self._above(spot)
        return f"{above.path}/{spot.parts[-1]}" if above.own and not spot.exact else self._another()

    def _another(self) -> str:
        self._count += 1
        return f"{self.folder}/{self._count}"

    def put(self, spot: Spot, path: str) -> None:
        """Set the place where a path lies from now on."""
        if os.path.dirname(path) == self.folder:
            self.layers.put(spot.parts, LayerPlace(path, True))
        if spot.parts[-1].endswith(".py"):  # an import looks for a change of the folder on disk, which has none
            finder = sys.path_importer_cache.get(os.path.dirname(spot.name))
            if finder is not None and hasattr(finder, "invalidate_caches"):
                finder.invalidate_caches()

    def to_open(self, spot: Spot, flags: int) -> str:
        """The place at which to open a file that is about to be written."""
        if spot.about is None or spot.place is None:
            if not flags & os.O_CREAT:
                raise error(errno.ENOENT)
            return self.fresh(spot)
        mode = spot.about.st_mode
        if spot.place.own or not flags & _CHANGES or flags & _NEW == _NEW or stat.S_ISDIR(mode) or stat.S_ISLNK(mode):
            return spot.place.path  # opening only reads, or fails for a folder or an existing path
        if not stat.S_ISREG(mode):
            self._refuse(spot.name)
        self._may(spot.place, os.W_OK)
        return self.copied(spot, content=not flags & os.O_TRUNC)

    def to_change(self, spot: Spot, *, owned: bool) -> str:
        """The place at which to change an existing file. ``owned``: only the file's owner may change it."""
        if spot.about is None or spot.place is None:
            raise error(errno.ENOENT)
        if spot.place.own:
            return spot.place.path
        if owned and os.geteuid() not in (0, spot.about.st_uid):
            raise error(errno.EPERM)
        if not owned:
            self._may(spot.place, os.W_OK)
        return self.copied(spot)

    def copied(self, spot: Spot, *, content: bool = True) -> str:
        """Copy a file, a link, or a folder without its contents, to scratch."""
        assert spot.about is not None and spot.place is not None
        path, mode, place = self._another(), spot.about.st_mode, spot.place.path
        if stat.S_ISLNK(mode):
            _symlink(_readlink(place), path)
        elif stat.S_ISDIR(mode):
            _mkdir(path, 0o700)
            told = self.layers.names(spot.parts)
            for name in _listdir(place):
                if name not in told:
                    self.layers.put((*spot.parts, name), LayerPlace(f"{place}/{name}", False))
        elif stat.S_ISREG(mode):
            self._filled(path, place if content else os.devnull, spot)
        else:
            self._refuse(spot.name)
        if (spot.about.st_uid, spot.about.st_gid) != (os.geteuid(), os.getegid()):
            with suppress(OSError):
                _chown(path, spot.about.st_uid, spot.about.st_gid)
        if not stat.S_ISLNK(mode):
            _chmod(path, stat.S_IMODE(mode))
            _utime(path, ns=(spot.about.st_atime_ns, spot.about.st_mtime_ns))
        self.layers.put(spot.parts, LayerPlace(path, True))
        return path

    def _filled(self, path: str, source: str, spot: Spot) -> None:
        try:
            read = _open(source, os.O_RDONLY | os.O_CLOEXEC)
        except PermissionError:  # the user may write the file, and not read it
            self._refuse(spot.name)
            raise
        write = _open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(read, "rb") as from_, os.fdopen(write, "wb") as to:
            shutil.copyfileobj(from_, to, 1 << 20)

    def let_go(self, spot: Spot, *, folder: bool, slash: bool = False) -> None:
        """Remove a path. ``slash``: the path was written with a slash at its end."""
        if not spot.parts:
            raise error(errno.EBUSY)
        if spot.about is None or spot.place is None:
            raise error(errno.ENOENT)
        if (folder or slash) and not spot.is_folder:
            raise error(errno.ENOTDIR)
        if spot.is_folder and not folder:
            raise error(errno.EISDIR)
        if folder and self._names(spot.place, self.layers.names(spot.parts)):
            raise error(errno.ENOTEMPTY)
        self._above(spot)
        self._dropped(spot)
        self.layers.let_go(spot.parts)

    def _dropped(self, spot: Spot) -> None:
        """Drop all links to a place in scratch. A folder may contain entries with other names by now."""
        if spot.place is not None and spot.place.own and spot.about is not None:
            with suppress(OSError):
                (_rmdir if spot.is_folder else _unlink)(spot.place.path)

    def move(self, source: Spot, target: Spot, *, slash: bool = False) -> None:
        """Move a path to another path, which it replaces. ``slash``: one of the paths was written with a slash at its
        end."""
        if source.about is None:
            raise error(errno.ENOENT)
        there = target.about
        if slash and not source.is_folder:
            raise error(errno.ENOTDIR)
        if source.parts == target.parts or (there is not None and os.path.samestat(source.about, there)):
            return
        if target.parts[: len(source.parts)] == source.parts:
            raise error(errno.EINVAL)
        if source.parts[: len(target.parts)] == target.parts:
            raise error(errno.ENOTEMPTY)
        if there is not None and source.is_folder and not target.is_folder:
            raise error(errno.ENOTDIR)
        if target.is_folder and not source.is_folder:
            raise error(errno.EISDIR)
        if target.is_folder and target.place and self._names(target.place, self.layers.names(target.parts)):
            raise error(errno.ENOTEMPTY)
        self._above(source)
        self._above(target)
        self._dropped(target)
        here = self.cwd or _getcwd()
        self.layers.move(source.parts, target.parts)
        if within(here, source.name):
            self.cwd = target.name + here[len(source.name) :]

    def taken_in(self, source: Spot, target: Spot, move: Callable[..., Any]) -> None:
        """Move a temporary file to the program's own files, in scratch."""
        if source.about is None or source.place is None:
            raise error(errno.ENOENT)
        if not self.made.holds(source.name):
            self._refuse(source.name)
        if target.about is not None:
            if source.is_folder != target.is_folder:
                raise error(errno.EISDIR if target.is_folder else errno.ENOTDIR)
            self.let_go(target, folder=target.is_folder)
        self._above(target)
        path = self._another()
        move(source.place.path, path, _rename)
        self.layers.put(target.parts, LayerPlace(path, True))

    def linked(self, source: Spot, target: Spot) -> None:
        """Make a second name for a file."""
        if source.about is None or source.place is None:
            raise error(errno.ENOENT)
        if target.about is not None:
            raise error(errno.EEXIST)
        if source.is_folder:
            raise error(errno.EPERM)
        path = self.fresh(target)
        if self.stays(source):
            self._refuse(target.name)
        place = source.place.path if source.place.own else self.copied(source)
        _link(place, path, follow_symlinks=False)
        self.put(target, path)
