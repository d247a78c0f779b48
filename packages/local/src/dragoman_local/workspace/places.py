"""A place: an open folder and a name in it that is not a link. All file operations start from one.

Between finding a place and using it the disk may change. The folder cannot be exchanged any more, since it is
open; the name can, so every use refuses a link (`O_NOFOLLOW`) and looks at what was opened, not at what was
there before.
"""

from __future__ import annotations

import errno
import os
import stat
from types import TracebackType

from dragoman_local.workspace.kernel import is_kernel_made
from dragoman_local.workspace.refusals import not_a_file, path_changed, path_missing, special_file

_CAREFUL = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
"""No link, no waiting for the other end of a FIFO, no terminal that becomes ours."""

_KINDS = (
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class FolderMissing(FileNotFoundError):
    """A folder on the way does not exist. `path` is where the way would lead."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.ENOENT, os.strerror(errno.ENOENT))
        self.path = path


class FilePlace:
    """Owns the folder's descriptor; use it as a `with`."""

    __slots__ = ("folder", "name", "path")

    def __init__(self, folder: int, name: str, path: str) -> None:
        self.folder = folder
        self.name = name
        """`.` when the place is the folder itself."""
        self.path = path
        """Where that is, links resolved. To remember it by, never to open it by."""

    def status(self) -> os.stat_result | None:
        """Return the file at a path, without following a link; None if there is none."""
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def file_status(self) -> os.stat_result | None:
        """Return the same, but refuse everything except a regular file."""
        status = self.status()
        if status is not None:
            check_regular(status.st_mode)
        return status

    def open_file(self, *, writable: bool = False) -> int:
        """Return a descriptor of the regular file at this place."""
        if self.file_status() is None:  # looked at first, because opening a device can do something
            raise path_missing()
        try:
            fd = os.open(self.name, _CAREFUL | (os.O_RDWR if writable else os.O_RDONLY), dir_fd=self.folder)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):  # a link or a FIFO since we looked
                raise path_changed() from error
            raise
        try:
            check_regular(os.fstat(fd).st_mode)
            if is_kernel_made(fd):
                raise special_file("a file that the kernel makes up")
        except BaseException:
            os.close(fd)
            raise
        return fd

    def open_folder(self) -> int:
        """Return a descriptor of the folder at this place, for listing it."""
        return open_listing(self.name, dir_fd=self.folder)

    def open_own_folder(self) -> int:
        """Return a descriptor of the folder around the place, for listing or syncing it."""
        return open_listing(".", dir_fd=self.folder)

    def close(self) -> None:
        if self.folder >= 0:
            os.close(self.folder)
            self.folder = -1

    def __enter__(self) -> FilePlace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_listing(name: str, *, dir_fd: int) -> int:
    """Open a folder for listing; the system refuses a link."""
    fd = os.open(name, _CAREFUL | os.O_RDONLY | os.O_DIRECTORY, dir_fd=dir_fd)
    if is_kernel_made(fd):
        os.close(fd)
        raise special_file("a folder that the kernel makes up")
    return fd


def check_regular(mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise not_a_file()
    if stat.S_ISLNK(mode):
        raise path_changed()
    what = next((name for matches, name in _KINDS if matches(mode)), "something that is not a file")
    raise special_file(what)
