"""Functions of ``os`` and ``io`` that act on a scratch copy, where the system permits no cover.

A program sees its own paths: in names of files, listings, errors and the working directory. Code that does not use
these functions acts on the disk itself: a change that Python code tries is refused, with its path, and native code is
not seen.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

from reenact.replaying.folder_moves import move
from reenact.replaying.path_lookup import bare, error, naming
from reenact.replaying.scratch_copy import Copy
from reenact.seams import project_paths
from reenact.seams.file_reads import unseen
from reenact.seams.listings import RecordedEntry, RelativeEntry, ScanIterator
from reenact.seams.rebinding import lay_beneath

_os: Final = {name: getattr(os, name) for name in dir(os) if callable(getattr(os, name))}
_open, _io_open, _open_code = os.open, io.open, io.open_code
_stat, _lstat, _access, _readlink = os.stat, os.lstat, os.access, os.readlink
_listdir, _scandir, _getcwd, _getcwdb = os.listdir, os.scandir, os.getcwd, os.getcwdb
_mkdir, _rmdir, _unlink, _remove = os.mkdir, os.rmdir, os.unlink, os.remove
_rename, _replace, _link, _symlink = os.rename, os.replace, os.link, os.symlink
_truncate, _chmod, _utime, _chdir = os.truncate, os.chmod, os.utime, os.chdir
_CHANGES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_NEW: Final = os.O_CREAT | os.O_EXCL
_READERS: Final = ("statvfs", "listxattr", "getxattr", "pathconf")
_OWNERS: Final = ("chown", "lchown", "setxattr", "removexattr", "chflags")
_SUPPORTS: Final = ("supports_dir_fd", "supports_effective_ids", "supports_fd", "supports_follow_symlinks")
_SPARED: Final = frozenset((__name__, "reenact.replaying.scratch_copy", "reenact.replaying.path_lookup"))


class Redirect:
    """The redirecting functions. They are bound methods, because these stay plain callables in a class, as builtins do.

    Args:
        copy: The target of their changes.
    """

    def __init__(self, copy: Copy) -> None:
        self._copy = copy

    def install(self) -> None:
        """Put these functions in the place of Python's own, for all callers and for the life of this process."""
        pairs = [(original, getattr(self, name)) for name, original in _REPLACED]
        pairs += [(_os[name], self._reading(_os[name])) for name in _READERS if name in _os]
        pairs += [(_os[name], self._changing(_os[name], name)) for name in _OWNERS if name in _os]
        lay_beneath({id(original): (original, mine) for original, mine in pairs}, _SPARED)
        for name in _SUPPORTS:
            held = getattr(os, name)
            held |= {mine for original, mine in pairs if original in held}

    def __deepcopy__(self, _memo: object) -> Redirect:
        return self

    # --- paths -------------------------------------------------------------------------------------------------------

    def _text(self, path: Any, folder: int | None = None) -> str | None:
        """A path as text; None for a descriptor, and for other values that are no path."""
        text = project_paths.text_of(path)
        if text is None or "\0" in text:
            return None
        if folder is not None and not text.startswith("/"):
            above = self._copy.below(folder)
            if above is None:
                raise error(errno.EBADF)
            text = f"{above}/{text}"
        return text

    def _seen(self, path: Any, folder: int | None = None, *, last: bool = True) -> str | None:
        """The place of a path; None where it is not redirected."""
        if not self._copy.layers:
            return None
        with naming(path):
            text = self._text(path, folder)
            return None if text is None else self._copy.seen(text, last=last)

    # --- looking -----------------------------------------------------------------------------------------------------

    def stat(self, path: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        """``os.stat``."""
        place = self._seen(path, dir_fd, last=follow_symlinks)
        if place is None:
            return _stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
        with naming(path):
            return _lstat(place)

    def lstat(self, path: Any, *, dir_fd: int | None = None) -> os.stat_result:
        """``os.lstat``."""
        place = self._seen(path, dir_fd, last=False)
        if place is None:
            return _lstat(path, dir_fd=dir_fd)
        with naming(path):
            return _lstat(place)

    def access(
        self,
        path: Any,
        mode: int,
        *,
        dir_fd: int | None = None,
        effective_ids: bool = False,
        follow_symlinks: bool = True,
    ) -> bool:
        """``os.access``."""
        try:
            place = self._seen(path, dir_fd, last=follow_symlinks)
        except OSError:
            return False
        if place is None:
            return _access(path, mode, dir_fd=dir_fd, effective_ids=effective_ids, follow_symlinks=follow_symlinks)
        return _access(place, mode, effective_ids=effective_ids, follow_symlinks=follow_symlinks)

    def readlink(self, path: Any, *, dir_fd: int | None = None) -> Any:
        """``os.readlink``."""
        place = self._seen(path, dir_fd, last=False)
        if place is None:
            return _readlink(path, dir_fd=dir_fd)
        lies: Any = os.fsencode(place) if isinstance(path, bytes) else place
        with naming(path):
            return _readlink(lies)

    def _listed(self, path: Any) -> list[str] | None:
        """The names in a folder; None where it is not redirected."""
        if not self._copy.layers:
            return None
        text = self._copy.below(path) if isinstance(path, int) else self._text("." if path is None else path)
        if text is None:
            return None
        with naming(path):
            return self._copy.names(text)

    def listdir(self, path: Any = None) -> list[Any]:
        """``os.listdir``."""
        names = self._listed(path)
        if names is None:
            return _listdir(path)
        return [os.fsencode(name) for name in names] if isinstance(path, bytes) else list(names)

    def scandir(self, path: Any = None) -> Any:
        """``os.scandir``."""
        names = self._listed(path)
        if names is None:
            return _scandir(path)
        by_descriptor = isinstance(path, int)
        top: Any = "." if path is None else "" if by_descriptor else os.fspath(path)
        above: Any = (self._copy.below(path) or "") if by_descriptor else top
        found = []
        for name in names:
            called: Any = os.fsencode(name) if isinstance(top, bytes) else name
            lies: Any = os.path.join(above, called)
            kind = RelativeEntry if by_descriptor else RecordedEntry
            found.append(kind(called, lies, self._sort(lies)))
        return ScanIterator(found)

    def _sort(self, path: Any) -> str:
        """A letter, as ``seams.listings`` has them."""
        mode = 0
        with suppress(OSError):
            mode = self.lstat(path).st_mode
        if not stat.S_ISLNK(mode):
            return "d" if stat.S_ISDIR(mode) else "f" if stat.S_ISREG(mode) else "o"
        try:
            mode = self.stat(path).st_mode
        except OSError:
            return "l"
        return "D" if stat.S_ISDIR(mode) else "F" if stat.S_ISREG(mode) else "l"

    def _reading(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def read(path: Any, *args: Any, **options: Any) -> Any:
            place = self._seen(path, last=options.get("follow_symlinks", True))
            if place is None:
                return original(path, *args, **options)
            with naming(path):
                return original(place, *args, **options)

        return read

    def getcwd(self) -> str:
        """``os.getcwd``."""
        return self._copy.cwd or _getcwd()

    def getcwdb(self) -> bytes:
        """``os.getcwdb``."""
        return os.fsencode(self._copy.cwd) if self._copy.cwd else _getcwdb()

    def chdir(self, path: Any) -> None:
        """``os.chdir``."""
        place = self._seen(path)
        if place is None:
            _chdir(path)
            self._copy.cwd = ""
            return
        with naming(path), self._copy.lock:
            spot = self._copy.spot(self._text(path) or "", last=True)
            _chdir(place)
            self._copy.cwd = spot.name

    # --- opening -----------------------------------------------------------------------------------------------------

    def os_open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """``os.open``."""
        follows = not flags & os.O_NOFOLLOW
        if not flags & _CHANGES:
            place = self._seen(path, dir_fd, last=follows)
            if place is None:
                return _open(path, flags, mode, dir_fd=dir_fd)
            with naming(path), unseen():
                return _open(place, flags, mode)
        opened = self._written(path, flags, mode, dir_fd, follows and flags & _NEW != _NEW)
        if opened is None:
            return _open(path, flags, mode, dir_fd=dir_fd)
        sys.audit("open", path, None, flags)
        return opened

    def _written(self, path: Any, flags: int, mode: int, folder: int | None, follows: bool) -> int | None:
        """Open a file that is about to be written; None where the file may be written on the disk itself."""
        with naming(path), self._copy.lock, unseen():
            text = self._text(path, folder)
            makes = bool(flags & os.O_CREAT)
            spot = self._copy.target(bare(text) if makes else text, last=follows, makes=makes) if text else None
            if spot is None:
                return None
            if makes and text and bare(text) != text:  # a slash at the end means a folder, and opening makes none
                raise error(errno.EISDIR)
            place = self._copy.to_open(spot, flags)
            opened = _open(place, flags, mode)
            if spot.about is None:
                self._copy.put(spot, place)
            return opened

    def open(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        """Open file and return a stream."""
        ours = opener is None and isinstance(file, (str, bytes, os.PathLike)) and isinstance(mode, str)
        if ours and (not _WRITES.isdisjoint(mode) or self._lies_elsewhere(file)):
            opener = self._opened
        return _io_open(file, mode, buffering, encoding, errors, newline, closefd, opener)

    def _lies_elsewhere(self, file: Any) -> bool:
        try:
            return self._seen(file) is not None
        except OSError:
            return True

    def _opened(self, path: Any, flags: int) -> int:
        """Open a path as the interpreter does after its audit event."""
        if flags & _CHANGES:
            opened = self._written(path, flags, 0o666, None, not flags & os.O_EXCL)
            if opened is not None:
                return opened
            place = None
        else:
            place = self._seen(path)
        with naming(path), unseen():
            return _open(path if place is None else place, flags, 0o666)

    def open_code(self, path: str) -> Any:
        """``io.open_code``: sources that are imported."""
        place = self._seen(path)
        if place is None:
            return _open_code(path)
        with naming(path), unseen():
            return _open_code(place)

    # --- changing ----------------------------------------------------------------------------------------------------

    def mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        """``os.mkdir``."""
        as_it_is = partial(_mkdir, path, mode, dir_fd=dir_fd)
        self._makes(path, dir_fd, lambda place: _mkdir(place, mode), as_it_is, folder_too=True)

    def symlink(self, src: Any, dst: Any, target_is_directory: bool = False, *, dir_fd: int | None = None) -> None:
        """``os.symlink``."""
        try:
            as_it_is = partial(_symlink, src, dst, target_is_directory, dir_fd=dir_fd)
            self._makes(dst, dir_fd, lambda place: _symlink(src, place), as_it_is)
        except OSError as told:
            if told.filename2 is None:
                told.filename, told.filename2 = os.fspath(src), os.fspath(dst)
            raise

    def _makes(
        self,
        path: Any,
        folder: int | None,
        make: Callable[[Any], None],
        as_it_is: Callable[[], None],
        *,
        folder_too: bool = False,
    ) -> None:
        with naming(path), self._copy.lock, unseen():
            text = self._text(path, folder)
            spot = None if text is None else self._copy.target(bare(text), last=False, makes=True)
            if spot is not None:
                if spot.about is not None or not spot.parts:
                    raise error(errno.EEXIST)
                if text and bare(text) != text and not folder_too:
                    raise error(errno.ENOENT)
                place = self._copy.fresh(spot)
                make(os.fsencode(place) if isinstance(path, bytes) else place)
                self._copy.put(spot, place)
                return
        as_it_is()

    def rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        """``os.rmdir``."""
        if not self._lets_go(path, dir_fd, folder=True):
            _rmdir(path, dir_fd=dir_fd)

    def unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        """``os.unlink``."""
        if not self._lets_go(path, dir_fd, folder=False):
            _unlink(path, dir_fd=dir_fd)

    def _lets_go(self, path: Any, folder_of: int | None, *, folder: bool) -> bool:
        with naming(path), self._copy.lock, unseen():
            text = self._text(path, folder_of)
            spot = None if text is None else self._copy.target(bare(text), last=False)
            if spot is None or text is None:
                return False
            self._copy.let_go(spot, folder=folder, slash=bare(text) != text)
            return True

    def rename(self, src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        """``os.rename``."""
        with naming(src, dst), self._copy.lock, unseen():
            one, two = self._text(src, src_dir_fd), self._text(dst, dst_dir_fd)
            if one is not None and two is not None:
                source = self._copy.spot(bare(one), last=False)
                stays = self._copy.stays(source)
                target = self._copy.target(bare(two), last=False, makes=stays)
                if target is not None and stays:
                    self._copy.taken_in(source, target, move)
                    return
                if not stays:
                    target = target or self._copy.spot(bare(two), last=False)
                    self._copy.move(source, target, slash=bare(one) != one or bare(two) != two)
                    return
        _rename(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    def link(
        self,
        src: Any,
        dst: Any,
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
        follow_symlinks: bool = True,
    ) -> None:
        """``os.link``."""
        with naming(src, dst), self._copy.lock, unseen():
            one, two = self._text(src, src_dir_fd), self._text(dst, dst_dir_fd)
            if one is not None and two is not None:
                source = self._copy.spot(one, last=False)
                target = self._copy.target(bare(two), last=False, makes=self._copy.stays(source))
                if target is not None and target.about is None and bare(two) != two:
                    raise error(errno.ENOENT)
                if target is not None:
                    self._copy.linked(source, target)
                    return
        _link(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, follow_symlinks=follow_symlinks)

    def _changed(
        self,
        path: Any,
        act: Callable[[str], object],
        folder: int | None = None,
        *,
        last: bool = True,
        owned: bool = True,
    ) -> bool:
        """Change the file at a path; False where the change may be made on the disk itself."""
        with naming(path), self._copy.lock, unseen():
            text = self._text(path, folder)
            spot = None if text is None else self._copy.target(text, last=last)
            place = None if spot is None else self._copy.to_change(spot, owned=owned)
            if place is not None:
                act(place)
            return place is not None

    def truncate(self, path: Any, length: int) -> None:
        """``os.truncate``."""
        if not self._changed(path, lambda place: _truncate(place, length), owned=False):
            _truncate(path, length)

    def chmod(self, path: Any, mode: int, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> None:
        """``os.chmod``."""
        act = partial(_chmod, mode=mode, follow_symlinks=follow_symlinks)
        if not self._changed(path, act, dir_fd, last=follow_symlinks):
            act(path, dir_fd=dir_fd)

    def utime(
        self, path: Any, times: Any = None, *, ns: Any = None, dir_fd: int | None = None, follow_symlinks: bool = True
    ) -> None:
        """``os.utime``."""
        given = {"times": times} if ns is None else {"ns": ns}
        act = partial(_utime, **given, follow_symlinks=False)
        owned = times is not None or ns is not None
        if not self._changed(path, act, dir_fd, last=follow_symlinks, owned=owned):
            _utime(path, **given, dir_fd=dir_fd, follow_symlinks=follow_symlinks)

    def _changing(self, original: Callable[..., Any], name: str) -> Callable[..., Any]:
        """A change that only the owner of a file may make."""

        def change(path: Any, *args: Any, dir_fd: int | None = None, **options: Any) -> None:
            last = options.get("follow_symlinks", True) and name != "lchown"
            if not self._changed(path, lambda place: original(place, *args, **options), dir_fd, last=last):
                more = {} if dir_fd is None else {"dir_fd": dir_fd}
                original(path, *args, **more, **options)

        return change


_WRITES: Final = frozenset("wax+")
_REPLACED: Final = (
    *(("stat", _stat), ("lstat", _lstat), ("access", _access), ("readlink", _readlink), ("listdir", _listdir)),
    *(("scandir", _scandir), ("getcwd", _getcwd), ("getcwdb", _getcwdb), ("chdir", _chdir), ("os_open", _open)),
    *(("open", _io_open), ("open_code", _open_code), ("mkdir", _mkdir), ("rmdir", _rmdir), ("unlink", _unlink)),
    *(("unlink", _remove), ("symlink", _symlink), ("link", _link), ("rename", _rename), ("rename", _replace)),
    *(("truncate", _truncate), ("chmod", _chmod), ("utime", _utime)),
)
