"""A rename that a cover refuses, and that the file system below would allow, is done by copying.

Each part of a cover is a file system of its own, and in a user namespace an overlay renames no folder that it did not
make. There a program gets the error *cross-device link*, which it did not get when it was recorded. A file that Python
code renames is then copied within the scratch; where there really are two devices, the program gets the error.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Sequence
from typing import Any, Final

from reenact.replaying.disk_cover import within
from reenact.seams import lanes
from reenact.seams.patching import replace

_NAMES: Final = ("rename", "replace")


class FolderRenames:
    """Renames in covered folders.

    Args:
        folders: The covered folders, each with its device.
    """

    def __init__(self, folders: Sequence[tuple[str, int]]) -> None:
        self._folders = sorted(folders, key=lambda each: len(each[0]), reverse=True)

    def install(self) -> None:
        """Copy where a rename is refused, from now on, for the life of this process."""
        for name in _NAMES:
            replace(os, name, self._renaming, answers=False)

    def _renaming(self, original: Callable[..., None]) -> Callable[..., None]:
        def rename(src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
            try:
                original(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
            except OSError as error:
                by_descriptor = src_dir_fd is not None or dst_dir_fd is not None
                if error.errno != errno.EXDEV or by_descriptor or not self._on_one_device(src, dst):
                    raise
                with lanes.inside(None):
                    move(os.fsdecode(src), os.fsdecode(dst), original)

        return rename

    def _on_one_device(self, *paths: Any) -> bool:
        devices = {self._device(os.fsdecode(path)) for path in paths}
        return len(devices) == 1 and None not in devices

    def _device(self, path: str) -> int | None:
        place = os.path.join(os.path.realpath(os.path.dirname(path) or "."), os.path.basename(path))
        return next((device for folder, device in self._folders if within(place, folder)), None)


def move(source: str, target: str, rename: Callable[..., None]) -> None:
    """Copy the source to the target, and remove the source. The target has the whole copy, or none of it."""
    aside = f"{target.rstrip(os.sep)}.reenact-moving"
    if not os.path.isdir(source) or os.path.islink(source):
        if os.path.isdir(target) and not os.path.islink(target):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), source, None, target)
        _copy(source, aside)
        rename(aside, target)
        os.unlink(source)
        return
    if os.path.lexists(target):
        os.rmdir(target)  # an empty folder may be replaced; for all else the system raises its own error
    if within(os.path.realpath(target), os.path.realpath(source)):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), source, None, target)
    shutil.copytree(source, aside, symlinks=True, copy_function=_copy)
    _own(source, aside)
    rename(aside, target)
    shutil.rmtree(source)


def _copy(source: str, target: str) -> str:
    """Copy one file, with its times, mode and owner; a link as a link."""
    shutil.copy2(source, target, follow_symlinks=False)
    _own(source, target)
    return target


def _own(source: str, target: str) -> None:
    about = os.lstat(source)
    if (about.st_uid, about.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.lchown(target, about.st_uid, about.st_gid)
        except OSError:  # the owner does not exist in a user namespace
            pass
